"""The sample `WebRTCEchoes` against the contract of webrtc-echoes, with a browser and with aiortc as clients."""
import asyncio
import concurrent.futures
import json
import pathlib
import urllib.error
import urllib.request

import aiortc
import pytest

from processes import Sample

PAGE = pathlib.Path(__file__).with_name("echo_client.html").as_uri()


class EchoServer(Sample):
    def __init__(self):
        super().__init__("WebRTCEchoes", 0)
        self.url = self.wait_for_text(r"Echoing offers to (\S+)").group(1)


@pytest.fixture
def echoes(started):
    return started(EchoServer)


def post(url, body, method="POST"):
    request = urllib.request.Request(
        url, json.dumps(body).encode() if body is not None else None, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_a_browser_sees_and_hears_itself(echoes, chromium):
    chromium.open(f"{PAGE}?url={echoes.url}")
    chromium.wait_for("echo.error || echo.frames > 0", 30, "the first picture that returns")
    assert chromium.evaluate("echo.error") is None
    # What is sent now is what returns: a colour that was never there before.
    for color in ([220, 30, 30], [30, 60, 220]):
        chromium.evaluate(f"echo.color = {color}")
        chromium.wait_for(
            f"echo.seen && {color}.every((value, i) => Math.abs(value - echo.seen[i]) < 40)", 30, f"{color}")
    chromium.wait_for("echo.soundEnergy > 0.01", 30, "the tone")
    chromium.evaluate("leave()")
    echoes.wait_for_text("a peer left")


def test_aiortc_gets_its_pictures_and_sound_back(echoes):
    async def call():
        connection = aiortc.RTCPeerConnection()
        counted = {"video": 0, "audio": 0}
        is_enough = asyncio.Event()

        async def count(track):
            while True:
                await track.recv()
                counted[track.kind] += 1
                if counted["video"] >= 30 and counted["audio"] >= 50:
                    is_enough.set()

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
                await is_enough.wait()
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
