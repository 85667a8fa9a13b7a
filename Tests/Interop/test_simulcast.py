"""Simulcast through an SFU: the publisher sends three sizes, and who watches there gets the one that it asks for."""
import secrets
import time

import pytest

from beat import Beat
from janus import Janus, JanusSession

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
    inside.wait_for(lambda: "main" in inside.streams, 60, "the stream")
    feeds = []

    def offered(message):
        if message["type"] == "offer":
            assert "a=simulcast:send h;m;l" in message["sdp"]
            handle, number, answer = session.publish(message["sdp"])
            assert "a=simulcast:recv h;m;l" in answer, answer
            feeds.append((handle, number))
            inside.send("answer", subscription=id, sdp=answer)

    id = secrets.token_hex(16)
    inside.on(id, offered)
    inside.send("subscribe", subscription=id, stream="main", sdp="")
    inside.wait_for(lambda: feeds, 60, "the publisher's offer")
    session.wait_until_up(feeds[0][0])

    handle, offer = session.subscribe(feeds[0][1])
    viewer = connections("chromium", sends=False)
    session.start(handle, viewer.answer(offer))
    rates = {}
    with Beat() as beat:
        for substream in (2, 0, 1, 2):
            session.configure(handle, substream=substream)
            size = SIZES[substream]
            figures = viewer.wait_for(
                lambda f: (f.get("frameWidth"), f.get("frameHeight")) == size, 60, f"pictures of {size}", inside.pump)
            frames, start = figures["framesDecoded"], time.monotonic()
            figures = viewer.wait_for(lambda _: time.monotonic() - start >= 3, 60, "three seconds", inside.pump)
            rates[substream] = (figures["framesDecoded"] - frames) / (time.monotonic() - start)
            assert (figures["frameWidth"], figures["frameHeight"]) == size
    print(f"pictures a second by substream: {rates} (machine {beat.share:.2f})")
    assert min(rates.values()) >= 22 * beat.share, rates
    assert publisher.interrupt() == 0
    figures = publisher.figures()
    assert [(one["rid"], one["frameWidth"]) for one in figures["encodings"]] == [("h", 640), ("m", 320), ("l", 160)]
    assert all(one["framesEncoded"] > 200 * beat.share for one in figures["encodings"]), figures
