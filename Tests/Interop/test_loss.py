"""Three of a hundred packets lost: what is missing is asked for and comes again by RTX, and nobody sees a freeze."""
import time

import pytest

from beat import Beat
from peers import PEERS
from processes import Process

SECONDS = 8
LOSS = 0.03
#: The longest time without a new picture, in seconds; on an overloaded machine by as much more as it fell behind.
FREEZE = 1.0
NAMES = list(PEERS)


def lost(relay):
    """The part of all datagrams of both ends that was dropped."""
    return (relay.viewer.dropped + relay.publisher.dropped) / (relay.viewer.received + relay.publisher.received)


@pytest.mark.parametrize("name", NAMES)
def test_a_peer_gets_again_what_the_path_lost(publish, connections, join, relays, name):
    publisher = publish("demo", "--video", "pattern", "--audio", "tone")
    room = join("demo")
    relay = relays(loss=LOSS)
    viewer = connections(name, sends=False)
    room.subscribe(viewer, "peer", relay=relay)
    viewer.wait_for(lambda f: f.get("framesShown", 0) > 0, 60, "the first picture", room.pump)
    viewer.restart_gaps()
    start = time.monotonic()
    with Beat() as beat:
        figures = viewer.wait_for(lambda _: time.monotonic() - start >= SECONDS, SECONDS + 60, "the end", room.pump)
    assert publisher.interrupt() == 0
    sent = publisher.figures()
    print(f"{name}: {lost(relay):.1%} lost, {figures.get('nackCount')} NACKs, {sent['nackCount']} heard, "
          f"{sent['retransmittedPacketsSent']} sent again, {figures.get('retransmittedPacketsReceived')} came, longest "
          f"gap {figures['longestFrameGap']:.3f} s, {figures['framesDecoded']} pictures, PLIs {figures.get('pliCount')}")
    assert lost(relay) == pytest.approx(LOSS, abs=0.02)
    assert sent["nackCount"] > 0 and sent["retransmittedPacketsSent"] > 0
    assert figures["longestFrameGap"] <= beat.limit(FREEZE)
    # Where the peer counts it itself.
    assert figures.get("nackCount", 1) > 0
    if "retransmittedPacketsReceived" in figures:
        # What went out again, and was not lost once more.
        assert 0 < figures["retransmittedPacketsReceived"] <= sent["retransmittedPacketsSent"]
    if "rtxSsrc" in figures:
        assert figures["rtxSsrc"] and figures["rtxSsrc"] != figures["ssrc"]


@pytest.mark.parametrize("name", NAMES)
def test_watch_gets_again_what_the_path_lost(server, started, connections, join, relays, name):
    room = join("demo")
    relay = relays(loss=LOSS)
    sending = room.publish(lambda: connections(name, sends=True), relay=relay)
    watcher = started(Process, "watch", server.room("demo"), "--frames", 30 * SECONDS, "--timeout", 120)
    room.wait_for(lambda: sending, 60, "the subscription")
    sent = {}
    deadline = time.monotonic() + 150
    with Beat() as beat:
        while watcher.process.poll() is None:
            room.pump()
            assert time.monotonic() < deadline, "watch heeds its own time limit"
            sent = sending[0].figures()
            time.sleep(0.02)
    assert watcher.wait() == 0, watcher.stderr() + watcher.stdout()
    figures = watcher.figures()
    print(f"{name}: {lost(relay):.1%} lost, {figures['nackCount']} NACKs, {sent.get('nackCount')} heard, "
          f"{sent.get('retransmittedPacketsSent')} sent again, {figures['retransmittedPacketsReceived']} came, "
          f"longest gap {figures['longestFrameGapMs']:.0f} ms, {figures['framesPerSecond']:.1f} pictures/s, "
          f"PLIs {figures['pliCount']}")
    assert lost(relay) == pytest.approx(LOSS, abs=0.02)
    assert figures["nackCount"] > 0 and figures["retransmittedPacketsReceived"] > 0
    # Where the peer counts it itself.
    for count in ("nackCount", "retransmittedPacketsSent"):
        assert sent.get(count, 1) > 0
    assert figures["longestFrameGapMs"] <= beat.limit(FREEZE) * 1_000
