import pytest

from cluster import PASSWORD, Node, Redis
from fixtures import started  # noqa: F401


@pytest.fixture
def redis(started, tmp_path):
    return started(Redis, tmp_path)


@pytest.fixture
def nodes(started, redis, tmp_path):
    nodes = [started(Node, redis, tmp_path) for _ in range(2)]
    yield nodes
    for node in nodes:
        assert PASSWORD not in node.said()
