"""Each peer with the project's publisher and subscriber, once offering and once answering: VP8 and Opus both ways."""
import time

import pytest

from beat import Beat
from peers import PEERS
from processes import Process

SECONDS = 8
#: Of 30 pictures a second; less only by as much as the machine itself fell behind (`Beat`).
RATE = 25
#: Of both tones a root mean square of 0.1 / √2; codecs and resamplers may take or add a tenth.
LEVEL = pytest.approx(0.0707, rel=0.15)
#: Firefox begins smaller wherever a receiver gives feedback on the path, be it Chromium, and takes so many seconds to grow
#: to the whole size; on a machine that cannot keep the pace it may stay smaller.
GROWTH = {"firefox": 18}
#: Of the publisher's own tone.
FREQUENCY = pytest.approx(440, abs=6)


@pytest.fixture(params=list(PEERS))
def name(request):
    return request.param


def test_publishes_to_a_peer_that_offers_and_to_one_that_answers(publish, connections, join, name):
    publisher = publish("demo", "--video", "pattern", "--audio", "tone")
    room = join("demo")
    viewers = {}
    for offerer in ("peer", "emisora"):
        viewers[offerer] = connections(name, sends=False)
        room.subscribe(viewers[offerer], offerer)
    for offerer, viewer in viewers.items():
        viewer.wait_for(lambda f: f.get("framesDecoded", 0) > 0, 60, f"a picture ({offerer} offered)", room.pump)
    begin, rates, last = {}, {}, {}
    with Beat() as beat:
        for offerer, viewer in viewers.items():
            begin[offerer] = time.monotonic(), viewer.figures()["framesDecoded"]
        for offerer, viewer in viewers.items():
            start, frames = begin[offerer]
            figures = viewer.wait_for(
                lambda _: time.monotonic() - start >= SECONDS, SECONDS + 60, "the end", room.pump)
            rates[offerer] = (figures["framesDecoded"] - frames) / (time.monotonic() - start)
    for offerer, viewer in viewers.items():
        last[offerer] = viewer.wait_for(
            lambda f: f.get("audioRMS") == LEVEL and f.get("audioFrequency") == FREQUENCY, 30, "the tone", room.pump)
    for offerer, figures in last.items():
        print(f"{name}, {offerer} offers: {rates[offerer]:.1f} pictures/s (machine {beat.share:.2f}), level "
              f"{figures['audioRMS']:.4f}, {figures['audioFrequency']:.0f} Hz")
        assert rates[offerer] >= RATE * beat.share, f"{offerer} offered: {figures}"
        if "frameWidth" in figures:
            assert (figures["frameWidth"], figures["frameHeight"]) == (640, 480)
    assert publisher.interrupt() == 0
    ledger = publisher.figures()
    assert ledger["subscribersTotal"] == 2
    assert ledger["framesCaptured"] == ledger["framesEncoded"] + sum(ledger["framesDroppedByReason"].values())


def test_receives_from_a_peer_that_answers_and_from_one_that_offers(server, started, connections, join, name):
    room = join("demo")
    sending = room.publish(lambda: connections(name, sends=True))
    frames = 30 * (SECONDS + GROWTH.get(name, 0))
    watchers = {}
    start = time.monotonic()
    with Beat() as beat:
        for offerer in ("subscriber", "publisher"):
            watchers[offerer] = started(
                Process, "watch", server.room("demo"), "--frames", frames, "--timeout", 120, "--offerer", offerer)
            room.wait_for(lambda: len(sending) == len(watchers), 60, "the subscription")
        while any(watcher.process.poll() is None for watcher in watchers.values()):
            room.pump()
            assert time.monotonic() - start < 300, "watch heeds its own time limit"
            time.sleep(0.02)
    for offerer, watcher in watchers.items():
        figures = watcher.figures() if watcher.wait() == 0 else pytest.fail(watcher.stderr() + watcher.stdout())
        print(f"{name}, {offerer} offers: {figures['framesPerSecond']:.1f} pictures/s (machine {beat.share:.2f}), "
              f"level {figures['audioLevelP50']:.3f}, {figures['srtpCipher']}")
        assert figures["framesPerSecond"] >= RATE * beat.share, f"{offerer} offered: {figures}"
        may_be_smaller = name in GROWTH and beat.share < 0.9
        assert figures["frameWidth"] in ((320, 480, 640) if may_be_smaller else (640,))
        assert 4 * figures["frameHeight"] == 3 * figures["frameWidth"]
        assert figures["audioLevelP50"] == LEVEL
