import pytest

from machine import Image, Machine


@pytest.fixture(scope="session")
def plain_machine():
    """A machine with v4l2-ctl alone: what the machine itself is tested with."""
    return Machine(Image(programs=["/usr/bin/v4l2-ctl"]))
