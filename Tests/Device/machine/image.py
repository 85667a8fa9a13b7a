"""What the machine's memory file system holds: the programs under test and all they need, busybox and the modules."""
import dataclasses
import hashlib
import pathlib
import re
import shutil
import subprocess
import tempfile

from .archive import CpioArchive
from .errors import MachineError

GUEST = pathlib.Path(__file__).parent / "guest"
BUSYBOX = "/usr/bin/busybox"
# virtio_console carries what goes in and comes out. vivid is loaded at each run, with the options of that run.
MODULES = ["virtio_pci", "virtio_console", "vivid"]
# What a library loads itself when it is first used, and ldd cannot see. libsrtp's ciphers are those of NSS.
LOADED_LATER = {"libnss3.so": ["libsoftokn3.so", "libfreebl3.so", "libfreeblpriv3.so"]}


@dataclasses.dataclass(frozen=True)
class Image:
    """The content of a machine.

    `programs`: paths of executables on the host. In the machine they are at the same path, are found by their names, and
    have with them the shared libraries that `ldd` names. `files`: path in the machine → path on the host.
    """

    programs: list
    files: dict = dataclasses.field(default_factory=dict)

    def contents(self):
        """Path in the machine → path on the host, of all that comes from the host."""
        found = {"/bin/busybox": pathlib.Path(_existing(BUSYBOX, "apt-get install busybox-static"))}
        for program in self.programs:
            path = pathlib.Path(_existing(program, "build it first")).absolute()
            found[str(path)] = path
            found.update(_libraries(path))
        # Where the loader finds libraries outside its built-in folders.
        if pathlib.Path("/etc/ld.so.cache").exists():
            found["/etc/ld.so.cache"] = pathlib.Path("/etc/ld.so.cache")
        for inside, outside in self.files.items():
            found[inside] = pathlib.Path(_existing(outside, "it is to be in the image"))
        return found

    def key(self, kernel):
        """Names the content: equal for equal bytes, whatever their age."""
        digest = hashlib.blake2b(kernel.version.encode(), digest_size=12)
        for inside, outside in sorted(self.contents().items()):
            digest.update(f"{inside}\0".encode() + _digest(outside))
        for part in [*sorted(GUEST.iterdir()), *sorted(pathlib.Path(__file__).parent.glob("*.py"))]:
            digest.update(_digest(part))
        return digest.hexdigest()

    def write(self, path, kernel):
        """Writes the archive that the kernel unpacks at boot."""
        with open(path, "wb") as output, tempfile.TemporaryDirectory() as scratch:
            archive = CpioArchive(output)
            for folder in ["/proc", "/sys", "/dev", "/run", "/out", "/request", "/root"]:
                archive.add_folder(folder)
            archive.add_folder("/tmp", mode=0o1777)
            for part in GUEST.iterdir():
                inside = "/init" if part.name == "init" else f"/etc/{part.name}"
                archive.add_file(inside, part.read_bytes(), executable=part.stat().st_mode & 0o100 != 0)
            for inside, outside in self.contents().items():
                archive.add_file(inside, _without_debug_information(outside, scratch), executable=True)
            for program in self.programs:
                archive.add_link(f"/usr/local/bin/{pathlib.Path(program).name}", str(pathlib.Path(program).absolute()))
            applets = subprocess.run([BUSYBOX, "--list"], check=True, capture_output=True, text=True).stdout.split()
            for applet in set(applets) - {"busybox"}:
                archive.add_link(f"/bin/{applet}", "busybox")
            order = []
            for name, content in kernel.with_dependencies(MODULES):
                archive.add_file(f"/modules/{name}.ko", _stripped(content, scratch))
                order += [] if name == "vivid" else [name]
            archive.add_file("/modules/order", "".join(f"{name}\n" for name in order).encode())
            archive.finish()


def _existing(path, advice):
    if not pathlib.Path(path).is_file():
        raise MachineError(f"{path} is not there; {advice}")
    return path


def _libraries(program):
    """The shared libraries of a program with the loader itself: none for a static one."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True)
    missing = re.findall(r"(\S+) => not found", listed.stdout)
    if missing:
        raise MachineError(f"{program} needs {', '.join(missing)}, which this host does not have; run scripts/setup")
    found = {path: pathlib.Path(path) for path in re.findall(r"(/\S+) \(0x", listed.stdout)}
    for path in list(found.values()):
        for name in LOADED_LATER.get(path.name, []):
            for later in (path.parent / name, path.parent / "nss" / name):
                if later.exists() and str(later) not in found:
                    found |= {str(later): later, **_libraries(later)}
    return found


def _digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "blake2b").digest()


def _without_debug_information(path, scratch):
    """Debug information is most of a debug build, and the machine has no use for it."""
    with open(path, "rb") as file:
        is_elf = file.read(4) == b"\x7fELF"
    return _stripped(path.read_bytes(), scratch) if is_elf else path.read_bytes()


def _stripped(content, scratch):
    # A module's signature goes with it, and so does the work of checking it. Its type information (.BTF) would be
    # parsed at each load.
    if shutil.which("objcopy") is None:
        raise MachineError("objcopy is missing; apt-get install binutils")
    before, after = pathlib.Path(scratch, "before"), pathlib.Path(scratch, "after")
    before.write_bytes(content)
    subprocess.run(["objcopy", "--strip-debug", "--remove-section=.BTF", before, after], check=True)
    return after.read_bytes()
