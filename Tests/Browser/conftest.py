import pytest

from browsers import BROWSERS
from fixtures import chromium, publish, server, started  # noqa: F401
from processes import LOGS


@pytest.fixture(params=list(BROWSERS))
def browser(request):
    browser = BROWSERS[request.param]()
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def pictures():
    folder = LOGS / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
