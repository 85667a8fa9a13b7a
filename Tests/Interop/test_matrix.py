"""Each peer with the project's publisher and subscriber, once offering and once answering: VP8 and Opus both ways."""
import time

import pytest

from peers import PEERS
from processes import Process

SECONDS = 8
#: Of both tones a root mean square of 0.1 / √2; codecs and resamplers may take or add a tenth.
LEVEL = pytest.approx(0.0707, rel=0.15)
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
    begin = {}
    for offerer, viewer in viewers.items():
        figures = viewer.wait_for(
            lambda f: f.get("framesDecoded", 0) > 0, 15, f"a picture ({offerer} offered)", room.pump)
        begin[offerer] = (time.monotonic(), figures["framesDecoded"])
    for offerer, viewer in viewers.items():
        start, frames = begin[offerer]
        figures = viewer.wait_for(lambda _: time.monotonic() - start >= SECONDS, SECONDS + 15, "the end", room.pump)
        rate = (figures["framesDecoded"] - frames) / (time.monotonic() - start)
        print(f"{name}, {offerer} offers: {rate:.1f} pictures/s, level {figures['audioRMS']:.4f}, "
              f"{figures['audioFrequency']:.0f} Hz")
        assert rate >= 25, f"{offerer} offered: {figures}"
        assert figures["audioRMS"] == LEVEL and figures["audioFrequency"] == FREQUENCY
        if "frameWidth" in figures:
            assert (figures["frameWidth"], figures["frameHeight"]) == (640, 480)
    assert publisher.interrupt() == 0
    ledger = publisher.figures()
    assert ledger["subscribersTotal"] == 2
    assert ledger["framesCaptured"] == ledger["framesEncoded"] + sum(ledger["framesDroppedByReason"].values())


def test_receives_from_a_peer_that_answers_and_from_one_that_offers(server, started, connections, join, name):
    room = join("demo")
    sending = room.publish(lambda: connections(name, sends=True))
    frames = 30 * SECONDS
    watchers = {}
    for offerer in ("subscriber", "publisher"):
        watchers[offerer] = started(
            Process, "watch", server.room("demo"), "--frames", frames, "--timeout", 40, "--offerer", offerer)
        room.wait_for(lambda: len(sending) == len(watchers), 15, "the subscription")
    start = time.monotonic()
    while any(watcher.process.poll() is None for watcher in watchers.values()):
        room.pump()
        assert time.monotonic() - start < 60, "watch heeds its own time limit"
        time.sleep(0.02)
    for offerer, watcher in watchers.items():
        figures = watcher.figures() if watcher.wait() == 0 else pytest.fail(watcher.stderr() + watcher.stdout())
        print(f"{name}, {offerer} offers: {figures}")
        assert figures["framesPerSecond"] >= 25, f"{offerer} offered: {figures}"
        assert (figures["frameWidth"], figures["frameHeight"]) == (640, 480)
        assert figures["audioLevelP50"] == LEVEL
