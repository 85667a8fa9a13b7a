"""Losses on a long path are mended before anybody asks: pictures by parity packets, sound by packets that carry their
forerunners."""
import time

import pytest

from beat import Beat
from processes import Process

#: Of each datagram; in seconds. On a shorter path asking again is quicker, and libwebrtc sends no parity packets.
LOSS, ROUND_TRIP = 0.05, 0.2
SECONDS = 12
#: Of the publisher's own tone, and of what a loss that is not mended leaves of it.
LEVEL = pytest.approx(0.0707, rel=0.15)


@pytest.fixture(params=["chromium", "wrtc"])
def name(request):
    return request.param


def test_a_peer_mends_what_the_path_lost(publish, connections, join, relays, name):
    publisher = publish("demo", "--video", "pattern", "--audio", "tone")
    room = join("demo")
    relay = relays(loss=LOSS, round_trip=ROUND_TRIP)
    viewer = connections(name, sends=False)
    room.subscribe(viewer, "peer", relay=relay)
    viewer.wait_for(lambda f: f.get("framesShown", 0) > 0, 60, "the first picture", room.pump)
    # Reports tell of the losses first.
    viewer.wait_for(lambda f: f.get("fecPacketsReceived", 0) > 0, 60, "a parity packet", room.pump)
    begin = viewer.wait_for(
        lambda f: f.get("audio", {}).get("fecPacketsReceived", 0) > 0, 60, "sound in RED", room.pump)
    start = time.monotonic()
    figures = viewer.wait_for(lambda _: time.monotonic() - start >= SECONDS, SECONDS + 60, "the end", room.pump)
    sound, before = figures["audio"], begin["audio"]
    received = sound["totalSamplesReceived"] - before["totalSamplesReceived"]
    concealed = sound["concealedSamples"] - before["concealedSamples"]
    print(f"{name}: {figures['fecPacketsReceived']} parity packets, {figures.get('fecPacketsDiscarded')} of no use, "
          f"{figures['retransmittedPacketsReceived']} came again, {figures['nackCount']} NACKs, "
          f"{figures['framesDecoded']} pictures; sound: {sound['fecPacketsReceived']} carried once more, "
          f"{sound.get('fecPacketsDiscarded')} of no use, {concealed / received:.2%} made up, "
          f"level {figures['audioRMS']:.3f}")
    assert figures["fecPacketsReceived"] > begin["fecPacketsReceived"]
    # They count those alone that brought something: about as many as packets were lost.
    assert sound["fecPacketsReceived"] > before["fecPacketsReceived"]
    # Losses in a row are a twentieth as frequent as losses.
    assert concealed / received < LOSS / 2
    assert figures["audioRMS"] == LEVEL
    assert publisher.interrupt() == 0
    sent = publisher.figures()
    assert sent["fecPacketsSent"] >= figures["fecPacketsReceived"] + sound["fecPacketsReceived"]
    assert sent["fecBytesSent"] > 0


def test_watch_mends_what_the_path_lost(server, started, connections, join, relays, name):
    room = join("demo")
    relay = relays(loss=LOSS, round_trip=ROUND_TRIP)
    sending = room.publish(lambda: connections(name, sends=True), relay=relay)
    watcher = started(Process, "watch", server.room("demo"), "--frames", 30 * SECONDS, "--timeout", 120)
    room.wait_for(lambda: sending, 60, "the subscription")
    deadline = time.monotonic() + 150
    with Beat() as beat:
        while watcher.process.poll() is None:
            room.pump()
            assert time.monotonic() < deadline, "watch heeds its own time limit"
            time.sleep(0.02)
    assert watcher.wait() == 0, watcher.stderr() + watcher.stdout()
    figures = watcher.figures()
    print(f"{name}: {figures['fecPacketsReceived']} parity packets, {figures['fecPacketsDiscarded']} of no use, "
          f"{figures['packetsRepaired']} packets came back by them, {figures['retransmittedPacketsReceived']} by RTX, "
          f"{figures['framesPerSecond']:.1f} pictures/s (machine {beat.share:.2f}), longest gap "
          f"{figures['longestFrameGapMs']:.0f} ms, PLIs {figures['pliCount']}")
    assert figures["fecPacketsReceived"] > 0 and figures["packetsRepaired"] > 0
    assert figures["packetsRepaired"] <= figures["fecPacketsReceived"]
