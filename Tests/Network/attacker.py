"""What nobody should send to a server, in a process of its own: `attacker.py KIND PORT`.

Says "ready" when it is at work and "done" with its figures when there is no more of it; ends when standard input does.
"""
import json
import random
import select
import socket
import struct
import sys
import time

UPGRADE = ("GET /demo HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
           "Sec-WebSocket-Protocol: emisora.v1\r\n\r\n").encode()


def frame(opcode, payload, final=True, length=None):
    length = len(payload) if length is None else length
    head = bytes([(0x80 if final else 0) | opcode])
    if length < 126:
        head += bytes([0x80 | length])
    elif length < 65536:
        head += struct.pack(">BH", 0x80 | 126, length)
    else:
        head += struct.pack(">BQ", 0x80 | 127, length)
    return head + bytes(4) + payload


class Ended(Exception):
    """The server has had enough of this connection."""


class Link:
    """A websocket that reads what comes, so that it is not taken for a slow reader, and looks at nothing."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.answers = 0
        self.tail = b""
        self.send(UPGRADE)
        answer = b""
        while b"\r\n\r\n" not in answer:
            more = self.socket.recv(65536)
            if not more:
                raise Ended
            answer += more
        assert answer.startswith(b"HTTP/1.1 101"), answer

    def send(self, data):
        view = memoryview(data)
        deadline = time.monotonic() + 30
        while view:
            readable, writable, _ = select.select([self.socket], [self.socket], [], deadline - time.monotonic())
            assert readable or writable, "nothing went on for half a minute"
            try:
                if readable:
                    more = self.socket.recv(65536)
                    if not more:
                        raise Ended
                    self.count(more)
                if writable:
                    # No more than there is room for: `send` of a socket with a time-out does not wait then.
                    view = view[self.socket.send(view[:65536]):]
            except (ConnectionError, socket.timeout) as error:
                raise Ended from error


    ANSWER = b'"type":"'

    def count(self, more):
        """The server says one thing to each message, and nothing of its own accord."""
        data = self.tail + more
        self.answers += data.count(self.ANSWER)
        self.tail = data[-len(self.ANSWER) + 1:]

    def await_answers(self, count):
        while self.answers < count:
            try:
                more = self.socket.recv(65536)
            except ConnectionError as error:
                raise Ended from error
            if not more:
                raise Ended
            self.count(more)


def answered(port, total, make):
    """Sends what `make` makes, `(bytes, messages)`, until so many messages were read and answered, over as many connections
    as it takes; gives their number. Not faster than they are answered, or the server would take it for a slow reader."""
    answers = links = 0
    while answers < total:
        links += 1
        link = Link(port)
        try:
            sent = 0
            while answers + link.answers < total:
                data, count = make()
                link.send(data)
                link.await_answers(sent)
                sent += count
            link.await_answers(sent)
        except Ended:
            pass
        if links == 1:
            print("ready", flush=True)
        answers += link.answers
        link.socket.close()
    return links


def slowloris(port):
    """Five hundred sockets with a byte each now and then; those that are ended are made again."""
    sockets = []
    made = 0
    is_ready = False
    while not select.select([sys.stdin], [], [], 0.2)[0]:
        for one in sockets[:]:
            try:
                one.send(b"x")
            except OSError:
                sockets.remove(one)
                one.close()
        while len(sockets) < 500:
            one = socket.create_connection(("127.0.0.1", port), timeout=30)
            one.setblocking(False)
            try:
                one.send(b"GET /demo HTTP/1.1\r\nX: ")
            except OSError:
                pass
            sockets.append(one)
            made += 1
        if not is_ready:
            print("ready", flush=True)
            is_ready = True
    return made


def fragments(port):
    """A million fragments of one byte or none, a thousand a message."""
    rest = frame(0, b"x", final=False) * 500 + frame(0, b"", final=False) * 498 + frame(0, b"")
    return answered(port, 1_000, lambda: (frame(1, b"", final=False) + rest, 1))


def over_and_over(port, count, *parts):
    """Sends the same over one connection after the other, each until it is ended."""
    for number in range(count):
        link = Link(port)
        try:
            for part in parts:
                link.send(part)
        except Ended:
            pass
        link.socket.close()
        if number == 0:
            print("ready", flush=True)
    return count


def endless(port):
    """Messages whose fragments never end, for a million of these."""
    rest = frame(0, b"", final=False) * 10_000
    return over_and_over(port, 100, frame(1, b"", final=False) + rest, rest)


def lengths(port):
    """Frames that say they are 2^63 bytes long, and go on for three megabytes."""
    return over_and_over(port, 30, frame(2, b"x" * (3 << 20), length=1 << 63))


def documents(port):
    """A hundred thousand random JSON documents, some of them damaged."""
    rng = random.Random(1)
    words = ["join", "subscribe", "offer", "candidate", "bye", "type", "room", "sdp", "stream", "subscription", "demo", ""]

    def value(depth):
        kind = rng.randrange(8 if depth < 4 else 5)
        if kind == 0:
            return rng.choice([True, False, None])
        if kind == 1:
            return rng.choice([0, -1, 1, 2 ** 63, -2 ** 63, 1e308, 1.5])
        if kind < 5:
            return rng.choice(words) + "".join(chr(rng.choice([0, 34, 92, 0xE9, 0x1F600])) for _ in range(rng.randrange(3)))
        if kind == 5:
            return [value(depth + 1) for _ in range(rng.randrange(4))]
        return {rng.choice(words): value(depth + 1) for _ in range(rng.randrange(5))}

    def document():
        text = {"type": rng.choice(words), **{rng.choice(words): value(0) for _ in range(3)}}
        return json.dumps(text, ensure_ascii=rng.random() < 0.5).encode()

    pool = [document() for _ in range(1_000)]

    def make():
        block = b""
        for _ in range(100):
            data = bytearray(rng.choice(pool))
            for _ in range(rng.randrange(3)):
                # Text it stays, or the connection ends.
                position = rng.randrange(len(data))
                if data[position] < 128:
                    data[position] = rng.randrange(32, 127)
            block += frame(1, bytes(data))
        return block, 100

    return answered(port, 100_000, make)


def nesting(port):
    """Documents nested a hundred thousand deep, and as deep as fits into a message that is read."""
    texts = [b"[" * 100_000, b"[" * 65_536, b'{"type":"join","a":' + b"[" * 65_000, b'{"a":' * 13_000,
             b'{"type":' + b"[" * 32_000 + b"]" * 32_000 + b"}"]
    rng = random.Random(1)
    return answered(port, 500, lambda: (frame(1, rng.choice(texts)), 1))


def bodies(port):
    """HTTP whose `Content-Length` is no length, or not that of the body."""
    values = ["-1", "+5", "0x10", "5, 6", "99999999999999999999", "18446744073709551615", "2147483648", "4294967297",
              "1e3", " ", "5;5", "65537", "5\r\nContent-Length: 6", "٣", "70000", "3", "0"]
    answered = 0
    for turn in range(1_000):
        value = values[turn % len(values)]
        with socket.create_connection(("127.0.0.1", port), timeout=30) as one:
            method = ("POST", "PATCH", "GET", "DELETE")[turn // len(values) % 4]
            head = f"{method} /whep/demo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/sdp\r\nContent-Length: {value}\r\n\r\n"
            try:
                one.sendall(head.encode() + b"v=0\r\n" * 4)
                one.shutdown(socket.SHUT_WR)
                answered += one.recv(65536).startswith(b"HTTP/1.1 ")
            except ConnectionError:
                pass
        if turn == 0:
            print("ready", flush=True)
    return answered


if __name__ == "__main__":
    figure = {one.__name__: one for one in (slowloris, fragments, endless, lengths, documents, nesting, bodies)}[sys.argv[1]](
        int(sys.argv[2]))
    print(f"done {figure}", flush=True)
