"""Header extensions encrypted in SRTP (RFC 6904), with the one peer here that takes them: Chromium, whose page asks for it.

A wrong keystream would show: what carries a MID of no m-line is dropped by both sides."""
import re

import pytest

from processes import Process

ENCRYPT = "urn:ietf:params:rtp-hdrext:encrypt"
EXTENSION = r"a=extmap:(\d+\S*) (?!urn:ietf:params:rtp-hdrext:encrypt)(\S+)"
#: Encrypted only, or both ways under ids of their own, which need two-byte heads.
OFFERS = {"only": [(EXTENSION, f"a=extmap:$1 {ENCRYPT} $2")],
          "beside": [(EXTENSION, f"a=extmap:$1 $2\r\na=extmap:2$1 {ENCRYPT} $2")]}


class Encrypting:
    """A connection that offers its header extensions encrypted, and remembers how it was answered."""

    def __init__(self, connection, changes):
        self._connection = connection
        self._changes = changes
        self.answer = None

    def offer(self):
        return self._connection.offer(self._changes)

    def accept(self, sdp):
        self.answer = sdp
        self._connection.accept(sdp)

    def __getattr__(self, name):
        return getattr(self._connection, name)


def check(answer):
    extensions = re.findall(r"a=extmap:\S+ .*", answer)
    print(*extensions, sep="\n")
    assert len(extensions) >= 4 and all(ENCRYPT in line for line in extensions)
    assert any("sdes:mid" in line for line in extensions)


@pytest.mark.parametrize("offered", OFFERS)
def test_publishes_to_a_viewer_that_wants_them_encrypted(publish, connections, join, offered):
    publish("demo", "--video", "pattern", "--audio", "tone")
    room = join("demo")
    viewer = Encrypting(connections("chromium", sends=False), OFFERS[offered])
    room.subscribe(viewer, "peer")
    check(viewer.answer)
    viewer.wait_for(
        lambda f: f.get("framesDecoded", 0) >= 60 and f.get("audioRMS") == pytest.approx(0.0707, rel=0.15), 60,
        "sixty pictures and the tone", room.pump)


@pytest.mark.parametrize("offered", OFFERS)
def test_receives_from_a_publisher_that_wants_them_encrypted(server, started, connections, join, offered):
    room = join("demo")
    sending = room.publish(lambda: Encrypting(connections("chromium", sends=True), OFFERS[offered]))
    watcher = started(Process, "watch", server.room("demo"), "--frames", 60, "--timeout", 90, "--offerer", "publisher")
    room.wait_for(lambda: sending and sending[0].answer, 60, "the answer")
    check(sending[0].answer)
    while watcher.process.poll() is None:
        room.pump(0.05)
    figures = watcher.figures() if watcher.wait() == 0 else pytest.fail(watcher.stderr() + watcher.stdout())
    assert figures["audioLevelP50"] == pytest.approx(0.0707, rel=0.15)
