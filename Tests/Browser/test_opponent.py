"""Bad bytes into a running session, through every door it has: the stream goes on and new viewers find it."""
import json
import os
import random
import socket
import time
import urllib.error
import urllib.request

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from beat import Beat
from processes import Process


def udp_ports(pid):
    """The IPv4 UDP sockets of a process: (address, port)."""
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{fd}")
        except FileNotFoundError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    found = []
    for line in open("/proc/net/udp").readlines()[1:]:
        fields = line.split()
        if fields[9] in inodes:
            address, port = fields[1].split(":")
            found.append((socket.inet_ntoa(bytes.fromhex(address)[::-1]), int(port, 16)))
    return found


def stun(random_, length):
    """A binding request with attributes that promise more than there is."""
    body = random_.randbytes(length)
    return b"\x00\x01" + len(body).to_bytes(2, "big") + b"\x21\x12\xa4\x42" + random_.randbytes(12) + body


def datagrams(seed, count):
    random_ = random.Random(seed)
    whole = stun(random_, 64)
    yield from (whole[:length] for length in range(len(whole)))
    for index in range(count):
        body = random_.randbytes(random_.randrange(0, 1500))
        first = [random_.randrange(0, 4), random_.randrange(20, 64), random_.randrange(64, 80),
                 random_.randrange(128, 192), random_.randrange(0, 256)][index % 5]
        if index % 5 == 0:
            yield stun(random_, 4 * random_.randrange(0, 80))
        elif index % 5 == 1:
            # A DTLS record header that is in order, with what follows at random.
            yield bytes([20 + index % 4, 0xFE, 0xFD]) + body[:8] + len(body).to_bytes(2, "big") + body
        elif index % 5 == 3:
            yield bytes([first, random_.choice([72, 73, 74, 75, 76, 77, 78, 96, 97, 111])]) + body
        else:
            yield bytes([first]) + body


def real_offer(server, started):
    """What a viewer really offers: this test plays the publisher for a moment."""
    with connect(server.room("bait"), subprotocols=["emisora.v1"]) as ws:
        ws.send(json.dumps({"type": "join", "version": 1, "room": "bait"}))
        ws.send(json.dumps({"type": "publish", "stream": "bait"}))
        watcher = started(Process, "watch", server.room("bait"), "--frames", 1, "--timeout", 60)
        while True:
            message = json.loads(ws.recv(timeout=60))
            if message["type"] == "subscribe":
                with Beat() as beat:
                    start = time.monotonic()
                    watcher.interrupt()
                    took = time.monotonic() - start
                assert took < beat.limit(2), "a viewer that waits for its answer ends at once"
                return message["sdp"]


def mutations(seed, text, count):
    random_ = random.Random(seed)
    for index in range(count):
        data = bytearray(text.encode())
        match index % 4:
            case 0:
                del data[random_.randrange(len(data)):]
            case 1:
                for _ in range(1 + random_.randrange(8)):
                    data[random_.randrange(len(data))] = random_.randrange(32, 127)
            case 2:
                at = random_.randrange(len(data))
                data[at:at] = random_.choice([b"99999999999999999999", b"-1", b"\r\nm=video 9 X 0\r\n", b"\x00", b":" * 300])
            case 3:
                lines = bytes(data).split(b"\r\n")
                del lines[random_.randrange(len(lines))]
                data = bytearray(b"\r\n".join(lines))
        yield bytes(data)


def test_bad_bytes_leave_a_live_session_running(server, started, publish):
    publisher = publish("demo", "--video", "pattern", "--audio", "tone")
    watcher = started(Process, "watch", server.room("demo"), "--frames", 100_000, "--timeout", 600)
    publisher.wait_for_text("viewers 1")

    # The network: everything that a stranger can send to the sockets of both ends.
    sent = 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for process in (publisher, watcher):
            ports = udp_ports(process.process.pid)
            assert ports
            for target in ports:
                for datagram in datagrams(target[1], 10_000):
                    try:
                        stranger.sendto(datagram, target)
                        sent += 1
                    except ConnectionRefusedError:
                        raise AssertionError(f"{process.arguments[0]} closed its socket {target}")
    assert sent >= 20_000

    # Descriptions: a real offer, damaged, to the real publisher.
    offer = real_offer(server, started)
    codes = []
    for text in mutations(1, offer, 120):
        request = urllib.request.Request(
            server.http("/whep/demo"), data=text, headers={"Content-Type": "application/sdp"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                codes.append(answer.status)
                resource = answer.headers["Location"]
            end = urllib.request.Request(server.http(resource), method="DELETE")
            urllib.request.urlopen(end, timeout=60).close()
        except urllib.error.HTTPError as error:
            codes.append(error.code)
            assert error.code in (400, 406, 413, 422, 503), f"{error.code} {error.read()} {error.url}: {text}"
    assert 400 in codes and 201 in codes, "some damage must be harmful and some harmless"

    # Messages: every type, damaged, from a participant of the same room.
    messages = [
        {"type": "join", "version": 1, "room": "demo"},
        {"type": "subscribe", "subscription": "x" * 22, "stream": "main", "sdp": offer},
        {"type": "answer", "subscription": "x" * 22, "sdp": offer},
        {"type": "candidate", "subscription": "x" * 22, "candidate": "candidate:1 1 udp 1 127.0.0.1 9 typ host"},
        {"type": "bye", "subscription": "x" * 22},
    ]
    for seed, message in enumerate(messages):
        for text in mutations(seed, json.dumps(message), 12):
            with connect(server.room("demo"), subprotocols=["emisora.v1"]) as ws:
                try:
                    ws.send(json.dumps(messages[0]))
                    ws.send(text.decode(errors="replace"))
                    ws.recv(timeout=30)
                except ConnectionClosed:
                    pass

    # Both ends are well: pictures still come, in order, and a new viewer finds the stream.
    late = started(Process, "watch", server.room("demo"), "--frames", 60, "--timeout", 60)
    assert late.wait(90) == 0
    assert watcher.process.poll() is None and publisher.process.poll() is None
    watcher.interrupt()
    figures = watcher.figures()
    assert figures["patternFramesOutOfOrder"] == 0 and figures["framesDecoded"] > 100
    assert publisher.interrupt() == 0
    ledger = publisher.figures()
    assert ledger["framesCaptured"] == ledger["framesEncoded"] + sum(ledger["framesDroppedByReason"].values())
