"""Meetecho's simple-whip-server in front of Janus, as a process of its own: `scripts/setup --tests` unpacks it."""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import urllib.error
import urllib.request

from processes import LOGS, ROOT, wait_for_port

FOLDER = ROOT / ".build" / "whip-server"
SOURCES = FOLDER / "usr/share/simple-whip-server/src"


class WhipServer:
    def __init__(self, janus):
        assert SOURCES.is_dir(), "simple-whip-server is missing; run: scripts/setup --tests"
        with socket.socket() as probe:
            # It cannot say which port it took, so it is given one that is free now.
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        # It reads its configuration from beside its sources.
        self._folder = pathlib.Path(tempfile.mkdtemp(prefix="emisora-whip-"))
        for name in ("server.js", "whip-janus.js"):
            shutil.copy(SOURCES / name, self._folder / name)
        (self._folder / "config.js").write_text("module.exports = " + json.dumps({
            "janus": {"address": f"ws://127.0.0.1:{janus.port}"}, "port": self.port, "rest": "/whip",
            "allowTrickle": True, "strictETags": True, "iceServers": []}))
        LOGS.mkdir(parents=True, exist_ok=True)
        self._log_path = LOGS / "whip-server.out"
        modules = [FOLDER / "usr/share/nodejs", *FOLDER.glob("usr/lib/*/nodejs")]
        with open(self._log_path, "wb") as log:
            self._process = subprocess.Popen(
                ["node", "server.js"], cwd=self._folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, "NODE_PATH": ":".join(map(str, modules)), "DEBUG": "whip:*"})
        try:
            wait_for_port(self.port, self._process, "simple-whip-server", self.log)
        except AssertionError:
            self.close()
            raise

    def log(self):
        return self._log_path.read_text(errors="replace")

    def create(self, name, room, token):
        """Makes an endpoint that publishes into a room of Janus's; gives its URL."""
        self._ask("/whip/create", {"id": name, "room": room, "token": token})
        return f"http://127.0.0.1:{self.port}/whip/endpoint/{name}"

    def endpoint(self, name):
        """What the server knows of an endpoint."""
        return next(one for one in json.loads(self._ask("/whip/endpoints")) if one["id"] == name)

    def _ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", data=data, headers={"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=15) as answer:
            return answer.read()

    def close(self):
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
