import os
import pathlib

import pytest

from machine import Image, Machine

ROOT = pathlib.Path(__file__).resolve().parents[2]
V4L2_CTL = "/usr/bin/v4l2-ctl"


def built(name, variable):
    """A program of the project: where the environment says, or the newest build."""
    if variable in os.environ:
        return os.environ[variable]
    found = [path for kind in ("release", "debug") if (path := ROOT / ".build" / kind / name).exists()]
    assert found, f"{name} is not built; run: swift build --product {name}"
    return str(max(found, key=lambda path: path.stat().st_mtime))


@pytest.fixture(scope="session")
def plain_machine():
    """A machine with v4l2-ctl alone: what the machine itself is tested with."""
    return Machine(Image(programs=[V4L2_CTL]))


@pytest.fixture(scope="session")
def machine():
    """A machine with what captures, publishes and watches, and two processors as the host has."""
    programs = [V4L2_CTL, built("emisora", "EMISORA_BIN"), built("camera-probe", "EMISORA_CAMERA_PROBE")]
    return Machine(Image(programs=programs), cpus=2)
