"""The server under attack: it lives, a good client joins meanwhile as fast as ever, and no memory piles up."""
import http.client
import pathlib
import shutil
import socket
import ssl
import statistics
import subprocess
import sys
import time

import pytest
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from access import join, tls_options
from processes import Process, Server, binary

ATTACKER = pathlib.Path(__file__).with_name("attacker.py")
# What a slow machine adds is measured before the attack.
# A debug build takes several times as long over each fragment.
JOIN_SECONDS = 0.1 if "release" in binary() else 0.5
FLOOR_FACTOR = 8
GROWTH = 24 << 20

OFFER = ("v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\na=setup:actpass\r\n"
         "a=ice-ufrag:abcd\r\na=mid:0\r\na=recvonly\r\n")


def beside_others(server):
    """How long a join takes on this machine where two programs keep it busy that the server has nothing to do with."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        return statistics.median(seconds_to_join(server) for _ in range(15))
    finally:
        for one in busy:
            one.kill()
            one.wait()


def seconds_to_join(server):
    start = time.monotonic()
    for attempt in range(3):
        try:
            answer, link = join(server)
            break
        except (ConnectionClosed, InvalidHandshake, OSError, EOFError):
            # Where strangers crowd, one that takes its time gives way; clients try again, and it counts.
            if attempt == 2:
                raise
    seconds = time.monotonic() - start
    assert answer["type"] == "welcome"
    link.close()
    return seconds


class Attacker:
    def __init__(self, kind, port):
        self.process = subprocess.Popen(
            [sys.executable, str(ATTACKER), kind, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def is_at_work(self):
        return self.process.poll() is None

    def finish(self):
        """Its figure."""
        # Not `communicate`: it passes over what came with the first line already.
        self.process.stdin.close()
        out = self.process.stdout.read()
        assert self.process.wait(120) == 0
        return int(out.split()[-1])

    def kill(self):
        self.process.kill()
        self.process.wait()


@pytest.mark.parametrize("kind", ["slowloris", "fragments", "endless", "lengths", "documents", "nesting", "bodies"])
def test_the_server_lives_and_good_clients_join(started, record_property, kind):
    # No client is refused for its haste, since all of what comes is to be read.
    server = started(Server, options=["--limit", "messages-per-second=1000000"])
    floor = beside_others(server)
    before = server.resident_bytes()
    attacker = started(Attacker, kind, server.port)
    times = [seconds_to_join(server) for _ in range(9)]
    while kind != "slowloris" and attacker.is_at_work() and len(times) < 400:
        times.append(seconds_to_join(server))
    figure = attacker.finish()
    growth = server.resident_bytes() - before
    print(f"{kind}: {figure}; joins {statistics.median(times) * 1000:.1f} ms (without: {floor * 1000:.1f} ms), "
          f"memory +{growth / 2 ** 20:.1f} MiB")
    record_property("join_ms", statistics.median(times) * 1000)
    record_property("memory_bytes", growth)
    assert statistics.median(times) < max(JOIN_SECONDS, FLOOR_FACTOR * floor)
    assert growth < GROWTH
    assert seconds_to_join(server) > 0
    assert server.interrupt() == 0


def test_with_few_descriptors_strangers_give_way(started):
    server = started(Server, command=["prlimit", "--nofile=64:64"])
    floor = beside_others(server)
    strangers = [socket.create_connection(("127.0.0.1", server.port), timeout=30) for _ in range(200)]
    times = [seconds_to_join(server) for _ in range(9)]
    assert statistics.median(times) < max(JOIN_SECONDS, FLOOR_FACTOR * floor), times
    for one in strangers:
        one.close()
    # As many members as there is room for, and one more when one has gone.
    members = []
    with pytest.raises(Exception):
        while len(members) < 64:
            members.append(join(server)[1])
    assert 16 <= len(members) < 64
    members.pop().close()
    for one in members:
        one.close()
    deadline = time.monotonic() + 30
    while True:
        try:
            seconds_to_join(server)
            break
        except Exception:
            assert time.monotonic() < deadline
    assert server.interrupt() == 0


# The input with which libwebsockets 4.1.6 uses freed memory, where its user lets it.
USE_AFTER_FREE = [
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, Upgrade\r\nUpgrade: foo\r\n\r\n",
]


def test_memory_is_used_as_it_may_be(started, tmp_path, monkeypatch):
    assert shutil.which("valgrind"), "valgrind is needed: scripts/setup --tests"
    log = tmp_path / "valgrind"
    # Debian 12's valgrind stumbles over the debug information that Swift writes.
    program = tmp_path / "emisora"
    subprocess.run(["strip", "--strip-debug", "-o", program, binary()], check=True)
    monkeypatch.setenv("EMISORA_BIN", str(program))
    # What Swift's own libraries do with values that were never set is not what this is about.
    server = started(Server, command=["valgrind", f"--log-file={log}", "--undef-value-errors=no", "--error-exitcode=99"])
    for _ in range(3):
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as one:
            first, second = USE_AFTER_FREE
            one.sendall(first)
            # All of it, so that the second request meets a connection that is kept.
            answer = http.client.HTTPResponse(one)
            answer.begin()
            assert answer.status == 200 and answer.read()
            one.sendall(second)
            refused = one.recv(65536)
            assert not refused or refused.startswith(b"HTTP/1.1 ")
    answer, link = join(server)
    assert answer["type"] == "welcome"
    link.close()
    assert server.interrupt(timeout=60) == 0, log.read_text()[-3000:]
    assert "ERROR SUMMARY: 0 errors" in log.read_text()


def test_a_player_that_hangs_up_by_tls_is_noticed(started, authority, tls):
    server = started(Server, options=tls_options(tls))
    context = ssl.create_default_context(cafile=authority.certificate)
    _, publisher = join(server, context=context)
    publisher.send('{"type":"publish","stream":"camera"}')
    request = (f"POST /whep/demo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sdp\r\n"
               f"Content-Length: {len(OFFER)}\r\n\r\n{OFFER}").encode()
    player = context.wrap_socket(socket.create_connection(("127.0.0.1", server.port)), server_hostname="localhost")
    player.sendall(request)
    while '"subscribe"' not in publisher.recv(timeout=30):
        pass
    # With the last word of TLS, as browsers and libraries do it.
    try:
        player.settimeout(0.2)
        player.unwrap()
    except (OSError, ValueError):
        pass
    player.close()
    while True:
        text = publisher.recv(timeout=30)
        if '"subscriptionEnded"' in text:
            break
    # Not because the time for the answer was over.
    assert '"left"' in text
    publisher.close()
