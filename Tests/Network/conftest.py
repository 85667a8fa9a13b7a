import os

import pytest

from access import Access
from authority import Authority
from browsers import BROWSERS
from coturn import Coturn, outside_address
from fixtures import server, started  # noqa: F401
from lab import Lab


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def coturn(started, authority, tmp_path):
    return started(Coturn, tmp_path, authority)


@pytest.fixture(params=list(BROWSERS), scope="module")
def browser(request, authority):
    browser = BROWSERS[request.param](authority=authority.certificate, address=outside_address())
    yield browser
    browser.close()


@pytest.fixture
def lab():
    """Networks of one's own need root; who has no right to make them may not take this for a success."""
    assert os.geteuid() == 0, "network namespaces need root"
    lab = Lab()
    yield lab
    lab.close()


@pytest.fixture
def access(tmp_path):
    return Access(tmp_path)


@pytest.fixture
def tls(authority, tmp_path):
    """Copies of the server's certificate and key, which a test may exchange."""
    paths = tmp_path / "certificate.pem", tmp_path / "key.pem"
    paths[0].write_bytes(authority.server_certificate.read_bytes())
    paths[1].write_bytes(authority.server_key.read_bytes())
    return paths
