"""Boots an image once, keeps its state, and runs programs in copies of that state."""
import contextlib
import dataclasses
import fcntl
import io
import json
import os
import pathlib
import shutil
import tarfile
import time

from .errors import MachineError, RunTimeout
from .image import Image
from .kernel import Kernel
from .qemu import Qemu

BUILD = pathlib.Path(__file__).resolve().parents[3] / ".build"
# One webcam at /dev/video0 and nothing else.
WEBCAM = {"n_devs": 1, "node_types": 1, "num_inputs": 1, "input_types": 0}
# Kept states of images that no test uses any more go, the oldest first.
KEPT_STATES = 4


@dataclasses.dataclass(frozen=True)
class Result:
    """What a run left behind. `files`: path under the machine's /out → content. `console`: the kernel's messages."""

    status: int
    stdout: str
    stderr: str
    files: dict
    console: str
    seconds: float

    def json(self):
        """Standard output, which is one JSON value."""
        return json.loads(self.stdout)

    def checked(self):
        """This result, if the run ended well; else an error that shows what it wrote."""
        if self.status != 0:
            raise AssertionError(f"ended with {self.status}\n{self.report()}")
        return self

    def report(self):
        """What was written, for people: of each the end."""
        parts = {"standard output": self.stdout, "standard error": self.stderr}
        parts |= {f"/out/{name}": content.decode(errors="replace") for name, content in sorted(self.files.items())}
        parts["console"] = self.console
        return "\n".join(f"-- {name}\n{text[-4000:]}" for name, text in parts.items() if text)


class Machine:
    """Runs programs against a virtual camera; see the package's text.

    `cpus`: processors of the machine; emulation gives each at most one of the host's. `build`: where the kernel and the
    kept states are. Machines may run beside each other, also in several processes.
    """

    def __init__(self, image, *, cpus=1, build=BUILD):
        self._image, self._cpus = image, cpus
        self._folder = pathlib.Path(build) / "device-machine"
        self._logs = pathlib.Path(build) / "test-logs" / "device"
        self._state = None
        self._runs = 0

    def run(self, script, *, driver=None, camera=True, user="root", files=None, environment=None, timeout=120):
        """Runs a shell script, whose status is the result's.

        `driver`: options of the vivid driver, over those of one webcam; `camera=False`: the driver is not loaded.
        `user`: `root`, `user` (in the group `video`, as on a desk) or `stranger` (not in it). `files`: name → content,
        which the script finds in its folder; what it writes to /out comes back. `timeout`: seconds, after which the run
        is an error that shows what it had written and the machine's console.
        """
        script = "".join(f"export {name}={_quoted(value)}\n" for name, value in (environment or {}).items()) + script
        options = " ".join(f"{name}={value}" for name, value in {**WEBCAM, **(driver or {})}.items())
        request = _archive(
            {"run": script, "files/": None, **{f"files/{name}": content for name, content in (files or {}).items()},
             **({"driver": options} if camera else {})})
        state = self._kept_state()
        started = time.monotonic()
        with self._restored(state) as machine:
            machine.send(f"{len(request)} {time.time():.0f} {timeout} {user}\n".encode() + request)
            # The machine keeps the time itself, and tells what it was doing; that it does not even do that is the
            # second line of defence.
            answered = machine.wait(lambda: _answer(machine) is not None, timeout + 30)
            log = self._keep_console(machine)
            outcome, archive = _answer(machine) or ("no answer", None)
            result = Result(
                int(outcome) if outcome.isdigit() else None, machine.received["out"].decode(errors="replace"),
                machine.received["err"].decode(errors="replace"), _unpacked(archive) if answered else {},
                machine.console, time.monotonic() - started)
        if not answered or outcome == "time-out":
            raise RunTimeout(
                f"{'not ended' if answered else 'the machine did not answer'} within {timeout} s; console: {log}\n"
                f"{script.strip()}\n{result.report()}", result)
        if result.status is None:
            raise MachineError(f"{outcome}; console: {log}\n{result.report()}")
        return result

    def _kept_state(self):
        """The folder with the state of the booted image, made if it is not there."""
        if self._state is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            # Two test runs at once would make the same.
            with open(self._folder / "lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                kernel = Kernel(self._folder / "kernel")
                state = self._folder / f"state-{self._image.key(kernel)}-{self._cpus}"
                if not (state / "device-state").exists():
                    self._make_state(state, kernel)
                os.utime(state)
                kept = sorted(self._folder.glob("state-*"), key=lambda path: path.stat().st_mtime, reverse=True)
                for old in kept[KEPT_STATES:]:
                    shutil.rmtree(old)
            self._state = state
        return self._state

    def _make_state(self, state, kernel):
        shutil.rmtree(state, ignore_errors=True)
        state.mkdir()
        self._image.write(state / "initramfs", kernel)
        # The archive and what is unpacked from it are in memory at the same time, and half of it may be files.
        megabytes = (state / "initramfs").stat().st_size >> 20
        memory = 64 * (4 + (3 * megabytes + 63) // 64)
        (state / "memory-size").write_text(str(memory))
        with contextlib.closing(self._qemu(state, keep_memory=True)) as machine:
            if not machine.wait(lambda: b"ready\n" in machine.received["control"], 120):
                raise machine.failure("the machine does not start")
            # Under its final name only when whole: its being there is what says that the state can be used.
            machine.command("migrate", uri=f"exec:cat > {_quoted(state / 'device-state.part')}")
            while (status := machine.command("query-migrate").get("status")) != "completed":
                if status in ("failed", "cancelled"):
                    raise machine.failure("QEMU could not keep the machine's state")
                machine.wait(lambda: False, 0.05)
        (state / "device-state.part").rename(state / "device-state")

    @contextlib.contextmanager
    def _restored(self, state):
        with open(state / "device-state", "rb") as file:
            machine = self._qemu(state, keep_memory=False, incoming=file.fileno())
        with contextlib.closing(machine):
            yield machine

    def _qemu(self, state, **options):
        return Qemu(
            kernel=self._folder / "kernel/vmlinux", initramfs=state / "initramfs", memory_file=state / "memory",
            memory=int((state / "memory-size").read_text()), cpus=self._cpus, **options)

    def _keep_console(self, machine):
        self._logs.mkdir(parents=True, exist_ok=True)
        self._runs += 1
        log = self._logs / f"{os.getpid()}-{id(self):x}-{self._runs:03}.console"
        log.write_text(machine.console)
        return log


def _answer(machine):
    """Outcome and archive of the run, when they are here whole: a line "SIZE OUTCOME", then SIZE bytes."""
    line, ended, rest = bytes(machine.received["control"]).removeprefix(b"ready\n").partition(b"\n")
    if not ended:
        return None
    size, _, outcome = line.decode(errors="replace").partition(" ")
    if not size.isdigit() or len(rest) < int(size):
        return None
    return outcome, rest[:int(size)]


def _archive(entries):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in entries.items():
            entry = tarfile.TarInfo(name)
            if content is None:
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(entry)
                continue
            encoded = content.encode() if isinstance(content, str) else content
            entry.size, entry.mode = len(encoded), 0o755
            archive.addfile(entry, io.BytesIO(encoded))
    return packed.getvalue()


def _unpacked(archive):
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        return {
            entry.name.removeprefix("./"): opened.extractfile(entry).read() for entry in opened if entry.isfile()}


def _quoted(value):
    return "'" + str(value).replace("'", "'\\''") + "'"
