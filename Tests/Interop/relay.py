"""A path between a publisher and one viewer that can delay and lose, since the machine's kernel has no netem."""
import heapq
import random
import re
import select
import socket
import threading
import time

#: `a=candidate` lines: foundation, component, transport, priority, address, port.
CANDIDATE = re.compile(r"^a=candidate:(\S+) (\d+) (\S+) (\d+) (\S+) (\d+) typ host", re.IGNORECASE)


def own_address():
    """An IPv4 address of this machine that is not loopback's; Firefox pairs with no other."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            # Sends nothing: connecting a UDP socket only looks up the route.
            probe.connect(("192.0.2.1", 9))
            return probe.getsockname()[0]
        except OSError:
            # No network but loopback; the project's endpoints then use it, too.
            return "127.0.0.1"


class _Side:
    """What one end takes for the other: a socket, the end's own address, and what its datagrams met."""

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 21)
        self.socket.bind((address, 0))
        self.socket.setblocking(False)
        self.end = None
        self.received = 0
        self.dropped = 0


class Relay:
    """Rewrites descriptions so that each end knows the other by an address of the relay's alone.

    `round_trip` in seconds, half of it each way; `loss` is each datagram's chance to get lost, STUN's and DTLS's too."""

    def __init__(self, round_trip=0.0, loss=0.0, seed=1):
        address = own_address()
        self._delay = round_trip / 2
        self._loss = loss
        self._random = random.Random(seed)
        self.viewer = _Side(address)
        self.publisher = _Side(address)
        self._waiting = []
        self._order = 0
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def rewrite_publisher(self, sdp):
        """The publisher's description, for the viewer."""
        return self._rewrite(sdp, self.publisher, self.viewer)

    def rewrite_viewer(self, sdp):
        """The viewer's description, for the publisher."""
        return self._rewrite(sdp, self.viewer, self.publisher)

    def _rewrite(self, sdp, author, reader):
        own = author.socket.getsockname()[0]
        found = [match.groups() for match in map(CANDIDATE.match, sdp.splitlines()) if match]
        for _, component, transport, _, address, port in found:
            if author.end is None and component == "1" and transport.lower() == "udp" and address == own:
                author.end = (address, int(port))
        address, port = reader.socket.getsockname()
        sections = re.split(r"(?m)^(?=m=)", "\r\n".join(
            line for line in sdp.splitlines()
            if not line.startswith(("a=candidate:", "a=end-of-candidates", "a=rtcp:"))) + "\r\n")
        for index, section in enumerate(sections[1:], 1):
            section = re.sub(r"^(m=\w+) [1-9]\d* ", r"\1 9 ", section)
            sections[index] = re.sub(r"(?m)^c=IN IP\d \S+", "c=IN IP4 0.0.0.0", section)
        # Everything is bundled on the first section's transport.
        sections[1] += f"a=candidate:1 1 udp 2130706431 {address} {port} typ host\r\na=end-of-candidates\r\n"
        return "".join(sections)

    def _run(self):
        sides = {self.viewer.socket: (self.viewer, self.publisher), self.publisher.socket: (self.publisher, self.viewer)}
        while True:
            now = time.monotonic()
            while self._waiting and self._waiting[0][0] <= now:
                _, _, other, datagram = heapq.heappop(self._waiting)
                self._send(other, datagram)
            timeout = self._waiting[0][0] - now if self._waiting else None
            ready, _, _ = select.select([*sides, self._woken], [], [], timeout)
            if self._woken in ready:
                return
            for ready_socket in ready:
                self._receive(*sides[ready_socket])

    def _receive(self, side, other):
        while True:
            try:
                datagram, source = side.socket.recvfrom(2048)
            except BlockingIOError:
                return
            except ConnectionRefusedError:
                continue
            # Names that do not resolve (mDNS) and answers on their way leave it to the first datagram.
            if side.end is None:
                side.end = source
            side.received += 1
            if self._random.random() < self._loss:
                side.dropped += 1
            elif self._delay == 0:
                self._send(other, datagram)
            else:
                self._order += 1
                heapq.heappush(self._waiting, (time.monotonic() + self._delay, self._order, other, datagram))

    @staticmethod
    def _send(side, datagram):
        if side.end is None:
            return
        try:
            side.socket.sendto(datagram, side.end)
        except (BlockingIOError, ConnectionRefusedError):
            # Lost, as anywhere else on the way.
            return

    def close(self):
        self._wake.send(b"x")
        self._thread.join(timeout=5)
        for closing in (self.viewer.socket, self.publisher.socket, self._wake, self._woken):
            closing.close()
