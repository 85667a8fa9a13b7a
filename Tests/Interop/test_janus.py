"""Through an SFU: the publisher's offer makes it a publisher of Janus's video room, and who subscribes there decodes."""
import time

import pytest

from beat import Beat
from janus import Janus, JanusSession, publish_from
from processes import Process

@pytest.fixture
def session(is_lite):
    janus = Janus(is_lite)
    try:
        session = JanusSession(janus)
        yield session
        session.close()
    finally:
        janus.close()


# Once with the ICE of a full agent, once with that of a lite one (RFC 8445 §2.5), which answers checks and sends none.
@pytest.mark.parametrize(
    "is_lite, viewers, seconds", [(False, ("wrtc", "chromium"), 8), (True, (), 2)], ids=["full", "lite"])
def test_pictures_and_sound_pass_through_janus_to_peers_and_back_to_watch(
        server, started, publish, connections, join, session, is_lite, viewers, seconds):
    publisher = publish("inside", "--video", "pattern", "--audio", "tone")

    inside = join("inside")
    _, feed = publish_from(inside, session)

    # Janus offers to each subscriber: to peers …
    connected = {}
    for name in viewers:
        handle, offer = session.subscribe(feed)
        connected[name] = connections(name, sends=False)
        session.start(handle, connected[name].answer(offer))

    # … and to the project's own, which takes it for a publisher that offers.
    outside = join("outside")
    handles = {}

    def subscribed(message):
        handles[message["subscription"]], offer = session.subscribe(feed)
        assert ("a=ice-lite" in offer) == is_lite
        outside.on(message["subscription"], answered)
        outside.send("offer", subscription=message["subscription"], sdp=offer)

    def answered(message):
        if message["type"] == "answer":
            session.start(handles[message["subscription"]], message["sdp"])

    outside.on("subscribe", subscribed)
    outside.announce("main")
    watcher = started(
        Process, "watch", server.room("outside"), "--frames", 30 * seconds, "--timeout", 120, "--offerer", "publisher")

    def pump():
        inside.pump()
        outside.pump()

    for name, viewer in connected.items():
        viewer.wait_for(lambda f: f.get("framesDecoded", 0) > 0, 60, f"{name}'s first picture", pump)
    deadline = time.monotonic() + 150
    begin, rates, last = {}, {}, {}
    with Beat() as beat:
        for name, viewer in connected.items():
            begin[name] = time.monotonic(), viewer.figures()["framesDecoded"]
        while watcher.process.poll() is None:
            pump()
            assert time.monotonic() < deadline, "watch heeds its own time limit"
            time.sleep(0.02)
        for name, viewer in connected.items():
            start, frames = begin[name]
            figures = viewer.wait_for(
                lambda _: time.monotonic() - start >= seconds, seconds + 60, "the end", pump)
            rates[name] = (figures["framesDecoded"] - frames) / (time.monotonic() - start)
    for name, viewer in connected.items():
        last[name] = viewer.wait_for(
            lambda f: f.get("audioRMS") == pytest.approx(0.0707, rel=0.15)
            and f.get("audioFrequency") == pytest.approx(440, abs=6), 30, "the tone", pump)
    for name, figures in last.items():
        print(f"janus to {name}: {rates[name]:.1f} pictures/s (machine {beat.share:.2f}), level "
              f"{figures['audioRMS']:.4f}, {figures['audioFrequency']:.0f} Hz")
        assert rates[name] >= 25 * beat.share, figures
        assert (figures["frameWidth"], figures["frameHeight"]) == (640, 480)
    assert watcher.wait() == 0, watcher.stderr() + watcher.stdout()
    figures = watcher.figures()
    print(f"janus to watch: {figures}")
    assert figures["framesPerSecond"] >= 25 * beat.share
    # Every picture is one of the publisher's, in order.
    assert figures["patternFrames"] == 30 * seconds and figures["patternFramesOutOfOrder"] == 0
    assert figures["audioLevelP50"] == pytest.approx(0.0707, rel=0.15)
    assert publisher.interrupt() == 0
    assert publisher.figures()["subscribersTotal"] == 1
