"""What others say is shown to a person, and steers no terminal."""
import json
import threading

import pytest
from websockets.sync.server import serve

from processes import Process

HOSTILE = "\x1b]0;owned\x07\x1b[2Jno\x9b31m\r\nFAKE: all is well‮"


@pytest.fixture
def hostile():
    """A signaling server that answers `join` with what the test wants."""
    running = []

    def start(*answers):
        def handle(connection):
            connection.recv()
            for answer in answers:
                connection.send(json.dumps(answer))
            for _ in connection:
                pass

        server = serve(handle, "127.0.0.1", 0, subprotocols=["emisora.v1"])
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        running.append((server, thread))
        return f"ws://127.0.0.1:{server.socket.getsockname()[1]}/demo"

    yield start
    for server, thread in running:
        server.shutdown()
        thread.join()


def steering(text):
    return [c for c in text if (ord(c) < 0x20 and c != "\n") or 0x7F <= ord(c) < 0xA0 or c in "‮⁦"]


@pytest.mark.parametrize("command", ["publish", "watch"])
def test_a_servers_words_are_shown_without_what_steers_a_terminal(hostile, started, command):
    url = hostile({"type": "error", "code": "unauthorized", "message": HOSTILE, "inReplyTo": "join"})
    options = ["--video", "pattern"] if command == "publish" else ["--frames", 1, "--timeout", 5]
    process = started(Process, command, url, *options)
    assert process.wait(30) != 0
    said = process.err_path.read_text(newline="")
    assert "FAKE" in said and not steering(said), repr(said)
    assert not [line for line in said.splitlines() if line.startswith("FAKE")], "a line of its own looks like ours"


def test_what_a_viewer_gives_as_its_reason_is_shown_likewise(hostile, started):
    url = hostile(
        {"type": "welcome", "version": 1, "id": "me", "room": "demo",
         "streams": [{"stream": "main", "publisher": "them"}]},
        {"type": "error", "code": "\x1b[2Jcode", "message": HOSTILE, "inReplyTo": "subscribe"},
        {"type": "streamPublished", "stream": "\x1b[2Jmain", "publisher": "them"})
    process = started(Process, "watch", url, "--frames", 1, "--timeout", 3)
    assert process.wait(30) != 0
    said = process.err_path.read_text(newline="") + process.stdout()
    assert not steering(said), repr(said)
