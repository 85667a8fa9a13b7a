"""A machine with a real V4L2 device, for tests.

Debian's own kernel with its `vivid` driver, in QEMU's software emulation: no hardware, no root rights and no module on
the host. Programs built on the host run in it against `/dev/video0`:

    machine = Machine(Image(programs=["/usr/bin/v4l2-ctl"]))
    print(machine.run("v4l2-ctl --list-formats-ext", driver={"multiplanar": 2}).stdout)

The first run of an image boots it and keeps the state of the booted machine; each further run starts from there, in a
machine of its own that nothing of an earlier run has touched.
"""
from .errors import MachineError, RunTimeout
from .image import Image
from .machine import Machine, Result

__all__ = ["Image", "Machine", "MachineError", "Result", "RunTimeout"]
