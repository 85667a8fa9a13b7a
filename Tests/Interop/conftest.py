import pytest

from fixtures import chromium, publish, server, started  # noqa: F401
from peers import PEERS
from relay import Relay
from room import Room
from sound_server import SoundServer


@pytest.fixture(scope="session")
def sound_server():
    server = SoundServer()
    yield server
    server.close()


@pytest.fixture(scope="session")
def peers(sound_server):
    """Gives each peer by name, started when it is first asked for and ended with the run."""
    running = {}

    def get(name):
        if name not in running:
            running[name] = PEERS[name]()
        return running[name]

    yield get
    for peer in running.values():
        peer.close()


@pytest.fixture
def connections(peers):
    """Makes connections that are closed with the test."""
    made = []

    def make(name, sends):
        connection = peers(name).connection(sends)
        made.append(connection)
        return connection

    yield make
    for connection in made:
        connection.close()


@pytest.fixture
def join(server):
    """Makes participants of a room."""
    rooms = []

    def make(name):
        room = Room(server.room(name))
        rooms.append(room)
        return room

    yield make
    for room in rooms:
        room.close()


@pytest.fixture
def relays():
    """Makes paths between publisher and viewer."""
    made = []

    def make(**options):
        relay = Relay(**options)
        made.append(relay)
        return relay

    yield make
    for relay in made:
        relay.close()
