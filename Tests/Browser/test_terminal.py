"""What others say is shown to a person, and steers no terminal."""
import json
import threading

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve

from processes import Process

HOSTILE = "\x1b]0;owned\x07\x1b[2Jno\x9b31m\r\nFAKE: all is well\u202e"


@pytest.fixture
def hostile():
    """A signaling server that answers messages by their type with what the test wants."""
    running = []

    def start(**answers):
        def handle(connection):
            try:
                for text in connection:
                    message = json.loads(text)
                    for answer in answers.get(message["type"], ()):
                        if "subscription" in message:
                            answer = {**answer, "subscription": message["subscription"]}
                        connection.send(json.dumps(answer))
            except ConnectionClosed:
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


def assert_harmless(process):
    """What was meant to be shown is there, on a line of ours and as text alone."""
    for said in (process.err_path.read_bytes().decode(), process.out_path.read_bytes().decode()):
        assert not [c for c in said if (ord(c) < 0x20 and c != "\n") or 0x7F <= ord(c) < 0xA0 or c == "\u202e"], repr(said)
        assert not [line for line in said.split("\n") if line.startswith("FAKE")], "a line of its own looks like ours"
    assert "FAKE: all is well" in process.stderr()


@pytest.mark.parametrize("command", ["publish", "watch"])
def test_a_servers_words_steer_no_terminal(hostile, started, command):
    url = hostile(join=[{"type": "error", "code": "unauthorized", "message": HOSTILE, "inReplyTo": "join"}])
    options = ["--video", "pattern"] if command == "publish" else ["--frames", 1, "--timeout", 5]
    process = started(Process, command, url, *options)
    assert process.wait(30) != 0
    assert_harmless(process)


@pytest.mark.parametrize("answer", [
    {"type": "error", "code": "limitReached", "message": HOSTILE, "inReplyTo": "subscribe"},
    {"type": "subscriptionEnded", "reason": HOSTILE},
])
def test_a_publishers_words_steer_no_terminal(hostile, started, answer):
    stream = {"stream": "main", "publisher": "them"}
    url = hostile(
        join=[{"type": "welcome", "version": 1, "id": "me", "room": "demo", "streams": [stream]}], subscribe=[answer])
    process = started(Process, "watch", url, "--frames", 1, "--timeout", 5)
    assert process.wait(30) != 0
    assert_harmless(process)
