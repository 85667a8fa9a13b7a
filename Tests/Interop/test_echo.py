"""The sample `WebRTCEchoes` against the contract of webrtc-echoes, with a browser and with aiortc as clients."""
import asyncio
import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request

import aiortc
import pytest

from browsers import Chromium
from processes import LOGS, binary

PAGE = pathlib.Path(__file__).with_name("echo_client.html").as_uri()


class EchoServer:
    def __init__(self):
        program = os.environ.get("EMISORA_ECHOES") or str(pathlib.Path(binary()).with_name("WebRTCEchoes"))
        LOGS.mkdir(parents=True, exist_ok=True)
        self._path = LOGS / "echoes.out"
        with open(self._path, "wb") as log:
            self.process = subprocess.Popen([program, "0"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            self.url = self.wait_for_text(r"Echoing offers to (\S+)").group(1)
        except AssertionError:
            self.close()
            raise

    def text(self):
        return self._path.read_text(errors="replace")

    def wait_for_text(self, pattern, seconds=30):
        deadline = time.monotonic() + seconds
        while not (found := re.search(pattern, self.text())):
            assert self.process.poll() is None and time.monotonic() < deadline, f"no /{pattern}/ in: {self.text()}"
            time.sleep(0.02)
        return found

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=10)


@pytest.fixture
def echoes():
    server = EchoServer()
    yield server
    server.close()


def post(url, body, method="POST"):
    request = urllib.request.Request(
        url, json.dumps(body).encode() if body is not None else None, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_a_browser_sees_and_hears_itself(echoes):
    browser = Chromium()
    try:
        browser.open(f"{PAGE}?url={echoes.url}")
        browser.wait_for("echo.error || echo.frames > 0", 30, "the first picture that returns")
        assert browser.evaluate("echo.error") is None
        # What is sent now is what returns: a colour that was never there before.
        for color in ([220, 30, 30], [30, 60, 220]):
            browser.evaluate(f"echo.color = {color}")
            browser.wait_for(
                f"echo.seen && {color}.every((value, i) => Math.abs(value - echo.seen[i]) < 40)", 30, f"{color}")
        browser.wait_for("echo.soundEnergy > 0.01", 30, "the tone")
        browser.evaluate("leave()")
        echoes.wait_for_text("a peer left")
    finally:
        browser.close()


def test_aiortc_gets_its_pictures_and_sound_back(echoes):
    async def call():
        connection = aiortc.RTCPeerConnection()
        counted = {"video": 0, "audio": 0}

        async def count(track):
            while True:
                await track.recv()
                counted[track.kind] += 1

        tasks = []
        connection.on("track", lambda track: tasks.append(asyncio.ensure_future(count(track))))
        connection.addTrack(aiortc.VideoStreamTrack())
        connection.addTrack(aiortc.AudioStreamTrack())
        await connection.setLocalDescription(await connection.createOffer())
        offer = {"type": connection.localDescription.type, "sdp": connection.localDescription.sdp}
        status, body = await asyncio.to_thread(post, echoes.url, offer)
        assert status == 200, body
        answer = json.loads(body)
        assert answer["type"] == "answer" and "a=candidate:" in answer["sdp"]
        await connection.setRemoteDescription(aiortc.RTCSessionDescription(**answer))
        try:
            async with asyncio.timeout(60):
                while counted["video"] < 30 or counted["audio"] < 50:
                    await asyncio.sleep(0.05)
        finally:
            for task in tasks:
                task.cancel()
            await connection.close()
        return counted

    # The browsers of other tests have a loop on this thread.
    with concurrent.futures.ThreadPoolExecutor() as apart:
        print(apart.submit(asyncio.run, call()).result())
    echoes.wait_for_text("a peer left")


def test_what_is_no_offer_is_refused_and_the_next_one_is_not(echoes):
    assert post(echoes.url, {"type": "answer", "sdp": "v=0"})[0] == 400
    assert post(echoes.url, {"type": "offer", "sdp": "nonsense"})[0] == 406
    assert post(echoes.url, ["offer"])[0] == 400
    assert post(echoes.url.replace("/offer", "/other"), {})[0] == 404
    assert post(echoes.url, None, "GET")[0] == 405
    assert post(echoes.url, {"type": "offer", "sdp": "x" * 70_000})[0] == 413
    # Each of them gave its place back.
    for _ in range(10):
        assert post(echoes.url, {"type": "offer", "sdp": ""})[0] == 406
