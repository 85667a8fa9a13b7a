"""Relay-only calls through coturn: over UDP, TCP and TLS, between our own programs and to browsers."""
import json

import pytest

from coturn import Coturn, outside_address
from peers.browser_peer import BrowserPeer
from processes import Process, Server, watch_until_heard
from room import Room

LIVE = "window.emisora && window.emisora.state === 'live'"
# The pair that carries the media: more than one may be nominated.
PAIR = """(async () => {
    const stats = await call.peer.getStats();
    const pairs = [...stats.values()].filter((one) => one.type === 'candidate-pair' && one.state === 'succeeded');
    const used = pairs.reduce((best, one) => (one.bytesReceived || 0) > (best.bytesReceived || 0) ? one : best);
    const local = stats.get(used.localCandidateId), remote = stats.get(used.remoteCandidateId);
    return { local: local.candidateType, remote: remote.candidateType, relayProtocol: local.relayProtocol };
})()"""

URLS = {
    "udp": lambda coturn: f"turn:127.0.0.1:{coturn.port}",
    "tcp": lambda coturn: f"turn:127.0.0.1:{coturn.port}?transport=tcp",
    "tls": lambda coturn: f"turns:localhost:{coturn.tls_port}",
}


@pytest.mark.parametrize("transport", list(URLS))
def test_pictures_and_sound_come_by_the_relay_alone(started, coturn, authority, transport):
    server = started(Server)
    options = ["--ice-server", URLS[transport](coturn), *coturn.credentials, "--relay-only", "--ice-ca",
               authority.certificate]
    publisher = started(Process, "publish", server.room("demo"), "--video", "pattern", *options)
    publisher.wait_for_text("Publishing")
    figures = watch_until_heard(started, server.room("demo"), 0.01, "--frames", 60, *options)
    assert figures["patternFramesOutOfOrder"] == 0
    transport_figures = figures["transport"]
    assert (transport_figures["localCandidateType"], transport_figures["remoteCandidateType"]) == ("relay", "relay")
    assert transport_figures["relayProtocol"] == transport
    assert transport_figures["localAddress"].startswith(outside_address() + ":")
    assert publisher.interrupt() == 0
    assert publisher.figures()["transports"][0]["relayProtocol"] == transport


def test_two_receivers_share_the_publishers_one_allocation(started, coturn):
    server = started(Server)
    options = ["--ice-server", URLS["udp"](coturn), *coturn.credentials, "--relay-only"]
    publisher = started(Process, "publish", server.room("demo"), "--video", "pattern", *options)
    publisher.wait_for_text("Publishing")
    watchers = [started(Process, "watch", server.room("demo"), "--frames", 90, "--timeout", 50, *options)
                for _ in range(2)]
    assert [w.wait() for w in watchers] == [0, 0], [w.stderr() for w in watchers]
    remotes = {w.figures()["transport"]["remoteAddress"] for w in watchers}
    assert len(remotes) == 1
    assert publisher.interrupt() == 0
    # Refreshed to a lifetime of zero: nothing of ours stays on the server.
    coturn.wait_for_log("refreshed, realm=<lab.test>, username=<lab>, lifetime=0", 3)
    assert coturn.log().count("ALLOCATE processed, success") == 3


@pytest.mark.parametrize("what, options, sentence", [
    ("password", lambda c, a: ["--ice-server", URLS["udp"](c), "--ice-user", "lab", "--ice-credential", "wrong"],
     "refuses the username or the credential"),
    ("authority", lambda c, a: ["--ice-server", URLS["tls"](c), *c.credentials], "certificate of localhost is not accepted"),
    ("host", lambda c, a: ["--ice-server", f"turns:127.0.0.2:{c.tls_port}", *c.credentials, "--ice-ca", a.certificate],
     "certificate of 127.0.0.2 is not accepted"),
    ("port", lambda c, a: ["--ice-server", f"turns:localhost:{c.port}", *c.credentials], "turns:localhost"),
    ("name", lambda c, a: ["--ice-server", "turn:no-such-host.invalid", *c.credentials], "no-such-host.invalid"),
])
def test_a_server_that_cannot_be_used_is_told_in_words(started, coturn, authority, what, options, sentence):
    server = started(Server)
    publisher = started(Process, "publish", server.room("demo"), "--video", "pattern", *options(coturn, authority))
    publisher.wait_for_text(sentence)
    # The call itself needs no relay here.
    watcher = started(Process, "watch", server.room("demo"), "--frames", 5, "--timeout", 50)
    assert watcher.wait() == 0, watcher.stderr()
    assert watcher.figures()["transport"]["remoteCandidateType"] in ("host", "prflx")


def url_for_browsers(url):
    """Firefox wants a name to look for in the certificate; this one leads nowhere outside of the browser."""
    return url.replace("localhost", "turn.test").replace("127.0.0.1", outside_address())


@pytest.mark.parametrize("transport", list(URLS))
def test_browsers_play_by_the_relay_alone(started, coturn, authority, browser, transport):
    url = URLS[transport](coturn)
    options = ["--relay-only"]
    if transport == "tls":
        options += ["--ice-server", url, *coturn.credentials, "--ice-ca", authority.certificate]
    server = started(Server, options=["--ice-server", url_for_browsers(url), *coturn.credentials])
    # Where it has none of its own the publisher takes the room's servers.
    publisher = started(Process, "publish", server.room("demo"), "--video", "pattern", *options)
    publisher.wait_for_text("Publishing")
    browser.open(server.http("/demo?relay"))
    browser.wait_for(LIVE, 60)
    browser.wait_for("window.emisora.stats && window.emisora.stats.framesDecoded > 60", 60)
    pair = browser.evaluate(PAIR)
    assert (pair["local"], pair["relayProtocol"]) == ("relay", transport), json.dumps(pair)
    assert pair["remote"] in ("relay", "prflx"), json.dumps(pair)
    assert publisher.interrupt() == 0
    figures = publisher.figures()["transports"][0]
    assert (figures["localCandidateType"], figures["relayProtocol"]) == ("relay", transport)


@pytest.mark.parametrize("transport", list(URLS))
def test_browsers_send_by_the_relay_alone(started, server, coturn, authority, browser, transport):
    url = URLS[transport](coturn)
    peer = BrowserPeer(browser.name, browser)
    servers = [{"urls": url_for_browsers(url), "username": coturn.USER, "credential": coturn.PASSWORD}]
    room = Room(server.room("demo"))
    try:
        room.publish(lambda: peer.connection(
            sends=True, configuration={"iceServers": servers, "iceTransportPolicy": "relay"}))
        watcher = started(Process, "watch", server.room("demo"), "--frames", 30, "--timeout", 60, "--relay-only",
                          "--ice-server", url, *coturn.credentials, "--ice-ca", authority.certificate)
        while watcher.process.poll() is None:
            room.pump(wait=0.1)
    finally:
        room.close()
    assert watcher.wait() == 0, watcher.stderr()
    figures = watcher.figures()
    # Firefox's tone begins later than its pictures: that there is sound has to do.
    assert figures["totalSamplesReceived"] > 0
    transport_figures = figures["transport"]
    assert (transport_figures["localCandidateType"], transport_figures["relayProtocol"]) == ("relay", transport)
    assert transport_figures["remoteCandidateType"] == "relay"


@pytest.mark.parametrize("transport", list(URLS))
def test_a_server_that_sends_its_clients_on_is_followed(started, coturn, authority, tmp_path, transport):
    # It hands all its clients to the other one (TURN 300, ALTERNATE-SERVER).
    others = [f"--alternate-server=127.0.0.1:{coturn.port}", f"--tls-alternate-server=127.0.0.1:{coturn.tls_port}"]
    first = started(Coturn, tmp_path, authority, options=others)
    server = started(Server)
    options = ["--ice-server", URLS[transport](first), *coturn.credentials, "--relay-only", "--ice-ca",
               authority.certificate]
    publisher = started(Process, "publish", server.room("demo"), "--video", "pattern", *options)
    publisher.wait_for_text("Publishing")
    watcher = started(Process, "watch", server.room("demo"), "--frames", 30, "--timeout", 50, *options)
    assert watcher.wait() == 0, watcher.stderr()
    assert watcher.figures()["transport"]["relayProtocol"] == transport
    assert publisher.interrupt() == 0
    coturn.wait_for_log("lifetime=0", 2)
    assert "ALLOCATE processed, success" not in first.log()
    assert coturn.log().count("ALLOCATE processed, success") == 2
