"""A peer that lives in a Python process of its own, so that its work and its failures stay apart from the test's."""
import json
import pathlib
import subprocess
import sys
import threading

from processes import LOGS

from .peer import Connection, Peer

ENDPOINTS = pathlib.Path(__file__).parent / "endpoints"


class ChildPeer(Peer):
    """Calls go down its standard input and answers come back, one JSON object a line; see `endpoints/serve.py`."""

    def __init__(self, name):
        self.name = name
        self._next = 0
        LOGS.mkdir(parents=True, exist_ok=True)
        self._err_path = LOGS / f"peer-{name}.err"
        with open(self._err_path, "ab") as err:
            self._process = subprocess.Popen(
                [sys.executable, str(ENDPOINTS / f"{name}_endpoint.py")], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=err, text=True)
        self._lock = threading.Lock()

    def call(self, method, *arguments):
        with self._lock:
            print(json.dumps({"call": method, "arguments": arguments}), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended: {self._err_path.read_text(errors='replace')[-2000:]}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(f"{self.name}.{method}: {answer['error']}")
        return answer["result"]

    def connection(self, sends):
        self._next += 1
        self.call("open", self._next, sends)
        return _ChildConnection(self, self._next)

    def close(self):
        self._process.stdin.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


class _ChildConnection(Connection):
    def __init__(self, peer, id):
        self.peer = peer
        self._id = id

    def offer(self):
        return self.peer.call("offer", self._id)

    def answer(self, sdp):
        return self.peer.call("answer", self._id, sdp)

    def accept(self, sdp):
        self.peer.call("accept", self._id, sdp)

    def add_candidate(self, candidate):
        self.peer.call("add_candidate", self._id, candidate)

    def figures(self):
        return self.peer.call("figures", self._id)

    def restart_gaps(self):
        self.peer.call("restart_gaps", self._id)

    def close(self):
        self.peer.call("close", self._id)
