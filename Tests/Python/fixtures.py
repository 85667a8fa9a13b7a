"""Fixtures that every suite needs; a suite's conftest imports what it uses."""
import pytest

from browsers import BROWSERS
from processes import Process, Server


@pytest.fixture
def chromium():
    browser = BROWSERS["chromium"]()
    yield browser
    browser.close()


@pytest.fixture
def started():
    """Makes processes that are ended with the test, whatever happens."""
    running = []

    def start(make, *arguments, **options):
        process = make(*arguments, **options)
        running.append(process)
        return process

    start.processes = running
    yield start
    for process in reversed(running):
        process.kill()


@pytest.fixture
def server(started):
    return started(Server)


@pytest.fixture
def publish(started, server):
    def start(room="demo", *arguments):
        process = started(Process, "publish", server.room(room), *arguments)
        process.wait_for_text("Publishing")
        return process

    return start
