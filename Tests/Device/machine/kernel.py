"""Debian's kernel package, unpacked beside the build products; nothing is installed on the host."""
import lzma
import pathlib
import platform
import re
import shutil
import subprocess

from .errors import MachineError

# The meta package that names the newest kernel of this Debian.
META_PACKAGE = "linux-image-amd64"


class Kernel:
    """One kernel: `boot` is what QEMU starts, `modules` are found by name.

    `folder` holds it; what is missing there is downloaded with apt-get, once.
    """

    def __init__(self, folder):
        if platform.machine() != "x86_64":
            raise MachineError(f"the test machine is x86-64 only; this host is {platform.machine()}")
        self._folder = pathlib.Path(folder)
        if not (self._folder / "version").exists():
            self._download()
        self.version = (self._folder / "version").read_text()
        self.boot = self._folder / "vmlinux"
        modules = self._folder / "tree/lib/modules" / self.version / "kernel"
        self._modules = {_module_name(path): path for path in modules.rglob("*.ko*")}

    def with_dependencies(self, names):
        """The named modules and all they need: (name, content), in the order in which they are to be loaded.

        A name the kernel has built in is no error, a name that it does not know is.
        """
        loaded = {}

        def load(name):
            if name in loaded:
                return
            content = _read(self._path(name))
            # Each module names its direct dependencies in its .modinfo section, a list of NUL-ended "key=value".
            found = re.search(rb"\0depends=([^\0]*)\0", content)
            for needed in filter(None, found.group(1).decode().split(",")) if found else ():
                load(needed.replace("-", "_"))
            loaded[name] = content

        for name in names:
            load(name)
        return list(loaded.items())

    def _path(self, name):
        if name not in self._modules:
            raise MachineError(f"kernel {self.version} has no module {name}")
        return self._modules[name]

    def _download(self):
        listed = subprocess.run(["apt-cache", "depends", META_PACKAGE], capture_output=True, text=True)
        found = re.search(r"Depends: (linux-image-(\S+))", listed.stdout)
        if not found:
            raise MachineError(f"apt-cache knows no {META_PACKAGE}; run apt-get update, and see that this is Debian")
        package, version = found.groups()
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        downloaded = subprocess.run(
            ["apt-get", "-qq", "download", package], cwd=self._folder, capture_output=True, text=True)
        archives = list(self._folder.glob("*.deb"))
        if downloaded.returncode != 0 or len(archives) != 1:
            raise MachineError(f"apt-get could not download {package}; is there a network?\n{downloaded.stderr}")
        subprocess.run(["dpkg-deb", "-x", archives[0], self._folder / "tree"], check=True)
        archives[0].unlink()
        (self._folder / "vmlinux").write_bytes(_unpacked((self._folder / f"tree/boot/vmlinuz-{version}").read_bytes()))
        # Written last: a folder without it is one whose making was cut short.
        (self._folder / "version").write_text(version)


def _unpacked(kernel):
    """The plain ELF kernel in a compressed one: QEMU starts it at once, emulation would take seconds to unpack it.

    A kernel that is compressed in another way than xz stays as it is, which costs time at the first boot only.
    """
    start = kernel.find(b"\xfd7zXZ\0")
    return lzma.LZMADecompressor().decompress(kernel[start:]) if start >= 0 else kernel


def _module_name(path):
    return path.name.split(".ko")[0].replace("-", "_")


def _read(path):
    content = path.read_bytes()
    return lzma.decompress(content) if path.suffix == ".xz" else content
