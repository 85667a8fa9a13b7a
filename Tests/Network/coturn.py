"""A coturn of its own on free ports; ended by id."""
import os
import socket
import struct
import subprocess
import time


def free_port(host="127.0.0.1"):
    """A port that is free for UDP and TCP."""
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, socket.socket() as tcp:
            udp.bind((host, 0))
            try:
                tcp.bind((host, udp.getsockname()[1]))
                return udp.getsockname()[1]
            except OSError:
                continue


def outside_address():
    """An address of this machine that is not loopback; browsers make no relayed candidates on loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        # Nothing is sent: the system only says where it would send from.
        probe.connect(("192.0.2.1", 9))
        return probe.getsockname()[0]


class Coturn:
    USER = "lab"
    PASSWORD = "labpass"

    def __init__(self, folder, authority, address="0.0.0.0", relay=None, port=None, tls_port=None, command=(), options=(),
                 secret=None):
        """`address` and `relay` may be several, with a space between them; `secret`: passwords are made of it
        (`use-auth-secret`), in place of one user's."""
        self.port = port or free_port()
        self.tls_port = tls_port or free_port()
        self.relay = relay or outside_address()
        addresses = address.split()
        listening = [word for one in addresses for word in ("-L", one)]
        relaying = [word for one in self.relay.split() for word in ("-E", one)]
        self._log = folder / f"coturn-{self.port}.log"
        self._command = list(command)
        self._folder = folder
        self.process = subprocess.Popen(
            [*command, "turnserver", "-n", f"--log-file={self._log}", "--no-stdout-log", "--simple-log", "-v",
             *listening, *relaying, "-p", str(self.port), "--tls-listening-port", str(self.tls_port),
             "--min-port=49152", "--max-port=65535", "--realm=lab.test", "--fingerprint",
             *(["--use-auth-secret", f"--static-auth-secret={secret}"] if secret else
               ["--lt-cred-mech", f"--user={self.USER}:{self.PASSWORD}"]), "--allow-loopback-peers", "--no-dtls", "--no-cli",
             f"--userdb={folder}/users-{self.port}", f"--pidfile={folder}/pid-{self.port}",
             f"--cert={authority.server_certificate}", f"--pkey={authority.server_key}", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._wait_until_it_answers("127.0.0.1" if address == "0.0.0.0" else addresses[0])

    def _wait_until_it_answers(self, address):
        """It is there when it tells an address."""
        question = struct.pack("!HHI12s", 1, 0, 0x2112A442, os.urandom(12))
        family = "AF_INET6" if ":" in address else "AF_INET"
        ask = (f"import socket,sys; s=socket.socket(socket.{family}, socket.SOCK_DGRAM); s.settimeout(0.3);"
               f"s.sendto(bytes.fromhex('{question.hex()}'), ('{address}', {self.port})); s.recv(1500)")
        deadline = time.monotonic() + 60
        while subprocess.run([*self._command, "python3", "-c", ask], capture_output=True).returncode != 0:
            assert self.process.poll() is None, "turnserver ended: " + self.log()
            assert time.monotonic() < deadline, "turnserver does not answer: " + self.log()

    def wait_for_log(self, text, count=1):
        """Until that text stands so often in its log, which it writes when it has answered."""
        deadline = time.monotonic() + 30
        while self.log().count(text) < count:
            assert time.monotonic() < deadline, f"no {text}, {count} times, in: " + self.log()
            time.sleep(0.02)

    def log(self):
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    @property
    def credentials(self):
        return ["--ice-user", self.USER, "--ice-credential", self.PASSWORD]

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
