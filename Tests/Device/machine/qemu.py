"""One QEMU process: its command line, its four channels and its monitor."""
import json
import selectors
import shutil
import socket
import subprocess
import time

from .errors import MachineError

QEMU = "qemu-system-x86_64"
# Nothing that a test of cameras does not need: each of these costs boot time under emulation.
KERNEL_COMMAND_LINE = " ".join([
    "console=ttyS0 quiet panic=-1 nokaslr mitigations=off audit=0 nowatchdog",
    "cryptomgr.notests rodata=off random.trust_cpu=on",
])


class Qemu:
    """Started when made; `close` ends it. What the machine writes is gathered while `wait` runs.

    `received`: name of the channel → bytes. `control` is a channel both ways, `out`, `err` and `console` go out only.
    """

    CHANNELS = ("control", "out", "err", "console", "monitor")

    def __init__(self, *, kernel, initramfs, memory_file, memory, cpus, keep_memory, incoming=None):
        if shutil.which(QEMU) is None:
            raise MachineError(f"{QEMU} is missing; apt-get install qemu-system-x86")
        self.received = {name: bytearray() for name in self.CHANNELS}
        self._selector = selectors.DefaultSelector()
        self._sockets, theirs = {}, {}
        for name in self.CHANNELS:
            self._sockets[name], theirs[name] = socket.socketpair()
            self._sockets[name].setblocking(False)
            self._selector.register(self._sockets[name], selectors.EVENT_READ, name)
        handed_on = [end.fileno() for end in theirs.values()] + ([incoming] if incoming is not None else [])
        arguments = [
            QEMU, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
            # No interrupt-heavy devices, the small firmware: what is left is memory, serial line and PCI.
            "-machine", "pc,usb=off,vmport=off,smbus=off,hpet=off,memory-backend=memory", "-bios", "qboot.rom",
            # Without 5-level page tables an access costs one look-up less.
            "-accel", "tcg,thread=multi", "-cpu", "max,la57=off", "-smp", str(cpus), "-m", str(memory),
            "-object", f"memory-backend-file,id=memory,size={memory}M,mem-path={_escaped(memory_file)},"
                       f"share={'on' if keep_memory else 'off'}",
            "-kernel", str(kernel), "-initrd", str(initramfs), "-append", KERNEL_COMMAND_LINE,
            "-device", "virtio-serial-pci",
        ]
        for name, end in theirs.items():
            arguments += ["-chardev", f"socket,id={name},fd={end.fileno()}"]
        for number, name in enumerate(("control", "out", "err"), 1):
            arguments += ["-device", f"virtserialport,chardev={name},nr={number}"]
        arguments += ["-serial", "chardev:console", "-mon", "chardev=monitor,mode=control"]
        if incoming is not None:
            arguments += ["-incoming", "defer"]
        self._process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, pass_fds=handed_on)
        for end in theirs.values():
            end.close()
        self._answers = 0
        self.command("qmp_capabilities")
        # The memory of a kept machine lies in its file: only the rest goes through migration.
        self.command("migrate-set-capabilities", capabilities=[{"capability": "x-ignore-shared", "state": True}])
        if incoming is not None:
            self.command("migrate-incoming", uri=f"fd:{incoming}")

    def send(self, content):
        """Sends on the control channel."""
        control = self._sockets["control"]
        control.setblocking(True)
        control.settimeout(30)
        try:
            control.sendall(content)
        except OSError as error:
            raise self.failure(f"the machine takes no request: {error}") from error
        control.setblocking(False)

    def wait(self, reached, seconds):
        """Gathers what the machine writes until `reached()` is true: whether it was within `seconds`."""
        deadline = time.monotonic() + seconds
        while not reached():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            for key, _ in self._selector.select(left):
                self._gather(key)
            if not self._selector.get_map() and not reached():
                raise self.failure("QEMU ended by itself")
        # What was written before, on another channel, is here already, but perhaps not read.
        while ready := self._selector.select(0):
            for key, _ in ready:
                self._gather(key)
        return True

    def command(self, name, **arguments):
        """A command of the QEMU Machine Protocol, and its answer."""
        self._answers += 1
        text = json.dumps({"execute": name, "arguments": arguments})
        self._sockets["monitor"].sendall(text.encode() + b"\n")
        if not self.wait(lambda: len(self._replies()) >= self._answers, 60):
            raise self.failure(f"QEMU does not answer {name}")
        answer = self._replies()[self._answers - 1]
        if "error" in answer:
            raise self.failure(f"QEMU refuses {name}: {answer['error'].get('desc')}")
        return answer["return"]

    def failure(self, what):
        """The error that says so, with what QEMU and the machine wrote last."""
        self.close()
        own = self._process.stdout.read().decode(errors="replace")
        return MachineError(f"{what}\n{own}{self.console[-4000:]}")

    @property
    def console(self):
        return self.received["console"].decode(errors="replace")

    def close(self):
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for end in self._sockets.values():
            end.close()
        self._selector.close()

    def _gather(self, key):
        try:
            part = key.fileobj.recv(1 << 18)
        except ConnectionResetError:
            part = b""
        self.received[key.data] += part
        if not part:
            self._selector.unregister(key.fileobj)

    def _replies(self):
        # The last piece is a line that has not ended yet, or empty.
        lines = map(json.loads, self.received["monitor"].split(b"\n")[:-1])
        return [line for line in lines if "return" in line or "error" in line]


def _escaped(path):
    # QEMU's options end at a comma, which is written twice within one.
    return str(path).replace(",", ",,")
