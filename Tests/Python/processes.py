"""The project's own programs as test fixtures: started on free ports, ended by id, their output kept."""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOGS = ROOT / ".build" / "test-logs"


def binary():
    """The tool under test: EMISORA_BIN, or the newest build."""
    if "EMISORA_BIN" in os.environ:
        return os.environ["EMISORA_BIN"]
    found = [p for p in (ROOT / ".build/release/emisora", ROOT / ".build/debug/emisora") if p.exists()]
    if not found:
        raise RuntimeError("emisora is not built; run: swift build -c release --product emisora")
    return str(max(found, key=lambda p: p.stat().st_mtime))


def sample(name):
    """A program of samples/: in the folder EMISORA_SAMPLES, or of the debug build, which the tests make."""
    return str(pathlib.Path(os.environ.get("EMISORA_SAMPLES", ROOT / ".build/debug")) / name)


def wait_for_port(port, process, name, log, seconds=30):
    """Until a program that cannot say so listens; `log` gives what it said where it does not."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{name} did not start: {log()[-2000:]}") from None
            time.sleep(0.05)


class Program:
    _count = 0

    def __init__(self, program, *arguments, label, env=None, command=(), listens=False):
        """`command`: what runs it, such as `ip netns exec NAME`; `label`: of its logs; `listens`: it takes lines from
        `say`."""
        LOGS.mkdir(parents=True, exist_ok=True)
        Program._count += 1
        self.arguments = [str(a) for a in arguments]
        name = f"{Program._count:03}-{label}"
        self.out_path = LOGS / f"{name}.out"
        self.err_path = LOGS / f"{name}.err"
        self._out = open(self.out_path, "wb")
        self._err = open(self.err_path, "wb")
        self.process = subprocess.Popen(
            [*command, program, *self.arguments], stdin=subprocess.PIPE if listens else subprocess.DEVNULL,
            stdout=self._out, stderr=self._err,
            env={**os.environ, **(env or {})})

    def say(self, line):
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def stderr(self):
        return self.err_path.read_text(errors="replace")

    def stdout(self):
        return self.out_path.read_text(errors="replace")

    def said(self):
        """What it tells a person."""
        return self.stderr()

    def wait_for_text(self, pattern, timeout=60):
        deadline = time.monotonic() + timeout
        while True:
            # Asked first: a program may say it and end between the two.
            is_over = self.process.poll() is not None or time.monotonic() > deadline
            found = re.search(pattern, self.said())
            if found:
                return found
            if is_over:
                raise AssertionError(f"{self.arguments}: no /{pattern}/ in: {self.said()}")
            time.sleep(0.02)

    def wait(self, timeout=60):
        code = self.process.wait(timeout=timeout)
        self._out.close()
        self._err.close()
        return code

    def resident_bytes(self):
        """Its memory."""
        pages = int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def figures(self):
        """The JSON line that standard output ends with."""
        return json.loads(self.stdout().strip().splitlines()[-1])

    def interrupt(self, timeout=60):
        """Ends it as Ctrl-C does; gives the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.wait(timeout)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Process(Program):
    """The tool under test."""

    def __init__(self, *arguments, **options):
        super().__init__(binary(), *arguments, label=arguments[0], **options)


class Sample(Program):
    def __init__(self, name, *arguments):
        # Line by line also where nobody looks on, so that a test can wait for what it says.
        super().__init__(sample(name), *arguments, label=name, command=("stdbuf", "-oL"))

    def said(self):
        return self.stdout() + self.stderr()


class Server(Process):
    def __init__(self, port=0, host="127.0.0.1", options=(), command=(), env=None):
        # Tests about tokens bring a secret; all others are about something else.
        is_open = ["--insecure-open"] if host in ("0.0.0.0", "::") and "--secret-file" not in options else []
        super().__init__("serve", "--host", host, "--port", port, *is_open, *options, command=command, env=env)
        self.host = f"[{host}]" if ":" in host else host
        started = self.wait_for_text(rf"Signaling server at (https?)://{re.escape(self.host)}:(\d+)/")
        self.scheme, self.port = started.group(1), int(started.group(2))

    def http(self, path):
        return f"{self.scheme}://{self.host}:{self.port}{path}"

    def room(self, name):
        return f"{self.scheme.replace('http', 'ws')}://{self.host}:{self.port}/{name}"


def watch_until_heard(started, room, level, *arguments):
    """Watches again until there was sound above that level, too: a viewer ends when it has its pictures, but sound may set
    in later than these. Gives the figures then."""
    deadline = time.monotonic() + 60
    while True:
        watch = started(Process, "watch", room, "--timeout", 50, *arguments)
        assert watch.wait(90) == 0, watch.stderr()
        if watch.figures()["audioLevel"] > level:
            return watch.figures()
        assert time.monotonic() < deadline, watch.figures()
