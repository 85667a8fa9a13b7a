import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Browser"))

from authority import Authority  # noqa: E402
from browsers import BROWSERS  # noqa: E402
from coturn import Coturn  # noqa: E402
from lab import Lab  # noqa: E402


@pytest.fixture
def started():
    """Makes processes that are ended with the test, whatever happens."""
    running = []

    def start(make, *arguments, **options):
        process = make(*arguments, **options)
        running.append(process)
        return process

    yield start
    for process in reversed(running):
        process.kill()


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def coturn(started, authority, tmp_path):
    return started(Coturn, tmp_path, authority)


@pytest.fixture(params=list(BROWSERS))
def browser(request):
    browser = BROWSERS[request.param]()
    yield browser
    browser.close()


@pytest.fixture
def lab():
    """Networks of one's own need root; who has no right to make them may not take this for a success."""
    assert os.geteuid() == 0, "network namespaces need root"
    lab = Lab()
    yield lab
    lab.close()
