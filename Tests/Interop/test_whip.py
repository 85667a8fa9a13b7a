"""WHIP (RFC 9725) with others: an encoder that is not ours into a room, and our publisher into a server that is not."""
import json
import re
import time
import urllib.error
import urllib.request

import pytest

from janus import ROOM, Janus, JanusSession
from processes import Process
from whip_server import WhipServer


def ask(url, method="GET", body=None, **headers):
    """Status, headers and body of a response, whatever its status."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, method=method, headers=names, data=None if body is None else body.encode())
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read().decode()


def until(condition, what):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.02)


def only_h264(offer):
    """The offer without any video format but H.264."""
    kept, sections = [], re.split(r"(?m)^(?=m=)", offer)
    for section in sections:
        if not section.startswith("m=video"):
            kept.append(section)
            continue
        types = re.findall(r"(?m)^a=rtpmap:(\d+) H264/", section)
        assert types, offer
        lines = []
        for line in section.splitlines():
            found = re.match(r"a=(?:rtpmap|fmtp|rtcp-fb):(\d+)", line)
            if line.startswith("m=video"):
                line = " ".join(line.split()[:3] + types)
            if not found or found[1] in types:
                lines.append(line)
        kept.append("\r\n".join(lines) + "\r\n")
    return "".join(kept)


def receive(started, server, frames):
    watcher = started(
        Process, "watch", server.room("demo"), "--receive", "--stream", "studio", "--frames", frames, "--timeout", 90)
    watcher.wait_for_text("Receiving studio")
    return watcher


def test_an_encoder_of_aiortcs_publishes_into_a_room(server, started, connections):
    watcher = receive(started, server, 90)
    encoder = connections("aiortc", sends=True)
    status, headers, answer = ask(
        server.http("/whip/demo/studio"), "POST", encoder.offer(), Content_Type="application/sdp")
    assert status == 201, answer
    assert headers["ETag"] and headers["Location"].startswith("/whip/demo/studio/")
    # It offers to send and to receive; a receiver only receives.
    assert answer.count("a=recvonly") == 2 and "a=sendrecv" not in answer and "a=sendonly" not in answer
    encoder.accept(answer)
    assert watcher.wait(100) == 0, watcher.stderr()
    figures = watcher.figures()
    print(f"aiortc to watch by WHIP: {figures}")
    assert figures["framesDecoded"] >= 90
    assert figures["audioLevelP50"] == pytest.approx(0.0707, rel=0.2)
    # The receiver has left, and with it the session.
    assert ask(server.http(headers["Location"]), "DELETE")[0] == 404


def test_an_encoder_that_hangs_up_makes_room_for_the_next(server, started, connections):
    watcher = receive(started, server, 60)
    endpoint = server.http("/whip/demo/studio")
    first = connections("aiortc", sends=True)
    status, headers, answer = ask(endpoint, "POST", first.offer(), Content_Type="application/sdp")
    assert status == 201, answer
    second = connections("aiortc", sends=True)
    offer = second.offer()
    status, busy, _ = ask(endpoint, "POST", offer, Content_Type="application/sdp")
    assert status == 503 and int(busy["Retry-After"]) > 0
    assert ask(server.http(headers["Location"]), "DELETE", If_Match='"outdated"')[0] == 200
    watcher.wait_for_text("The stream ended")
    watcher.wait_for_text("Receiving studio(.|\n)*Receiving studio")
    status, _, answer = ask(endpoint, "POST", offer, Content_Type="application/sdp")
    assert status == 201, answer
    second.accept(answer)
    assert watcher.wait(100) == 0, watcher.stderr()


def test_an_encoder_with_h264_alone_is_not_acceptable(server, started, connections):
    watcher = receive(started, server, 1)
    offer = only_h264(connections("aiortc", sends=True).offer())
    assert "VP8" not in offer
    status, headers, body = ask(server.http("/whip/demo/studio"), "POST", offer, Content_Type="application/sdp")
    assert status == 406, body
    assert headers["Content-Type"] == "application/problem+json"
    assert "codec" in json.loads(body)["detail"]
    # And does not keep others out.
    other = connections("aiortc", sends=True)
    status, _, answer = ask(
        server.http("/whip/demo/studio"), "POST", other.offer(), Content_Type="application/sdp")
    assert status == 201, answer
    other.accept(answer)
    assert watcher.wait(100) == 0, watcher.stderr()


def test_our_publisher_goes_through_meetechos_server_into_janus(started, connections):
    janus = Janus()
    whip = None
    try:
        whip = WhipServer(janus)
        url = whip.create("studio", ROOM, "verysecret")
        refused = started(Process, "publish", url, "--token", "wrong", "--video", "pattern")
        assert refused.wait(60) == 1
        assert "403" in refused.stderr() and "Unauthorized" in refused.stderr(), refused.stderr()
        assert "wrong" not in refused.stderr()

        publisher = started(
            Process, "publish", url, "--token", "verysecret", "--video", "pattern", "--audio", "tone")
        publisher.wait_for_text("Publishing", timeout=60)
        publisher.wait_for_text("A viewer joined", timeout=60)
        assert whip.endpoint("studio")["enabled"]
        session = JanusSession(janus)
        asking = session.attach()

        def listed():
            found, _ = session.request(asking, {"request": "listparticipants", "room": ROOM})
            return found["participants"]

        # The room has it from its joining on, its feed when Janus has noticed that the connection is up.
        until(lambda: any(one["publisher"] for one in listed()), "the feed")
        handle, offer = session.subscribe(listed()[0]["id"])
        viewer = connections("wrtc", sends=False)
        session.start(handle, viewer.answer(offer))
        figures = viewer.wait_for(lambda f: f.get("framesDecoded", 0) >= 90, 90, "90 pictures")
        print(f"publish by WHIP, Janus to wrtc: {figures}")
        assert (figures["frameWidth"], figures["frameHeight"]) == (640, 480)
        session.close()
        assert publisher.interrupt() == 0
        assert publisher.figures()["framesSent"] >= 90
        # Who leaves deletes its session.
        until(lambda: not whip.endpoint("studio")["enabled"], "the end of the session")
        assert "verysecret" not in publisher.stderr() + publisher.stdout()
    finally:
        if whip:
            whip.close()
        janus.close()
