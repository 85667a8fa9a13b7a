"""Writer of the archive format that Linux unpacks at boot (Documentation/driver-api/early-userspace/buffer-format.rst)."""
import stat


class CpioArchive:
    """Entries belong to root and are written as they come; folders on the way to one are made when first needed."""

    def __init__(self, output):
        self._output = output
        self._count = 0
        self._folders = {""}

    def add_folder(self, path, mode=0o755):
        name = path.strip("/")
        if name not in self._folders:
            self._add_parent(name)
            self._folders.add(name)
            self._add(name, stat.S_IFDIR | mode, b"")

    def add_file(self, path, content, executable=False):
        self._add_parent(path.strip("/"))
        self._add(path.strip("/"), stat.S_IFREG | (0o755 if executable else 0o644), content)

    def add_link(self, path, target):
        self._add_parent(path.strip("/"))
        self._add(path.strip("/"), stat.S_IFLNK | 0o777, target.encode())

    def finish(self):
        self._add("TRAILER!!!", 0, b"")

    def _add_parent(self, name):
        self.add_folder(name.rpartition("/")[0])

    def _add(self, name, mode, content):
        self._count += 1
        encoded = name.encode() + b"\0"
        # inode, mode, uid, gid, links, time, size, device (2), device of a node (2), length of the name, checksum
        fields = [self._count, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0]
        self._write(b"070701" + b"".join(b"%08x" % field for field in fields) + encoded)
        self._write(content)

    def _write(self, part):
        self._output.write(part)
        self._output.write(bytes(-self._output.tell() % 4))
