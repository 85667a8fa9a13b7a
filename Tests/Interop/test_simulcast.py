"""Simulcast through an SFU: the publisher sends three sizes, and who watches there gets the one that it asks for."""
import time

import pytest

from beat import Beat
from janus import Janus, JanusSession, publish_from
from processes import Process

# By Janus's number of the substream, which counts from the smallest.
SIZES = {0: (160, 120), 1: (320, 240), 2: (640, 480)}


@pytest.fixture
def session():
    janus = Janus()
    try:
        session = JanusSession(janus)
        yield session
        session.close()
    finally:
        janus.close()


def test_a_viewer_behind_janus_chooses_among_three_sizes(server, publish, connections, join, session):
    publisher = publish("inside", "--video", "pattern", "--audio", "tone", "--simulcast", 3)
    inside = join("inside")

    def check(offer, answer):
        assert "a=simulcast:send h;m;l" in offer
        assert "a=simulcast:recv h;m;l" in answer, answer

    _, feed = publish_from(inside, session, check)
    handle, offer = session.subscribe(feed)
    viewer = connections("chromium", sends=False)
    session.start(handle, viewer.answer(offer))
    rates, shares = [], []
    for substream in (2, 0, 1, 2):
        session.configure(handle, substream=substream)
        size = SIZES[substream]
        viewer.wait_for(
            lambda f: (f.get("frameWidth"), f.get("frameHeight")) == size, 60, f"pictures of {size}", inside.pump)
        # Each judged by the machine as it was then.
        with Beat() as beat:
            start, frames = time.monotonic(), viewer.figures()["framesDecoded"]
            figures = viewer.wait_for(lambda _: time.monotonic() - start >= 3, 60, "three seconds", inside.pump)
            rates.append((figures["framesDecoded"] - frames) / (time.monotonic() - start))
        shares.append(beat.share)
        assert (figures["frameWidth"], figures["frameHeight"]) == size
    print(f"pictures a second by substream: {rates} (machine {shares})")
    assert all(rate >= 22 * share for rate, share in zip(rates, shares)), (rates, shares)
    assert publisher.interrupt() == 0
    figures = publisher.figures()
    assert [(one["rid"], one["frameWidth"]) for one in figures["encodings"]] == [("h", 640), ("m", 320), ("l", 160)]
    assert all(one["framesEncoded"] > 200 * min(shares) for one in figures["encodings"]), figures


def test_of_a_browser_that_sends_three_sizes_the_one_it_prefers_is_watched(server, started, peers, join):
    room = join("demo")
    encodings = [{"rid": "h"}, {"rid": "m", "scaleResolutionDownBy": 2}, {"rid": "l", "scaleResolutionDownBy": 4}]
    chromium = peers("chromium")
    sending = room.publish(lambda: chromium.connection(True, encodings=encodings))
    watcher = started(Process, "watch", server.room("demo"), "--frames", 150, "--timeout", 60, "--offerer", "publisher")
    with Beat() as beat:
        while watcher.process.poll() is None:
            room.pump(wait=0.05)
    assert watcher.wait() == 0, watcher.stderr()
    [connection] = sending
    offer, answer = connection.descriptions()
    connection.close()
    assert "a=simulcast:send h;m;l" in offer and "a=simulcast:recv h" in answer.splitlines(), answer
    figures = watcher.figures()
    print(f"{figures['framesPerSecond']:.1f} pictures/s (machine {beat.share:.2f})")
    # Where two of three are not taken, Chromium begins the third at a size for the bandwidth that it knows of so far.
    assert figures["frameWidth"] in (320, 480, 640) and 4 * figures["frameHeight"] == 3 * figures["frameWidth"]
    assert figures["framesPerSecond"] >= 25 * beat.share
