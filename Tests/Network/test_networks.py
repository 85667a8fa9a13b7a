"""Calls across networks of the tests' own: firewalls, NATs, addresses and ports that change while a call goes on."""
import time

import pytest

from beat import Beat
from browsers import BROWSERS
from coturn import Coturn
from processes import Process, Server


class Call:
    """A publisher and a watcher in rooms of a server, each on a machine of the lab."""

    def __init__(self, started, server, publisher_host, watcher_host, server_address, frames, publish=(), watch=()):
        def room(address):
            return f"ws://{address}:{server.port}/demo"

        self.publisher = started(
            Process, "publish", room(server_address[0]), "--video", "pattern", "--size", "320x240", *publish,
            command=publisher_host.command)
        self.publisher.wait_for_text("Publishing")
        self.watcher = started(
            Process, "watch", room(server_address[1]), "--frames", frames, "--timeout", 60, *watch,
            command=watcher_host.command)

    def wait_until_seen(self):
        """Until the publisher's own figures say that pictures flow."""
        self.publisher.wait_for_text(r"viewers 1", timeout=60)

    def finish(self):
        assert self.watcher.wait() == 0, self.watcher.stderr() + self.publisher.stderr()
        assert self.publisher.interrupt() == 0
        return self.watcher.figures(), self.publisher.figures()


def serve(started, host):
    return started(Server, host="0.0.0.0", command=host.command)


def behind_a_wall(lab):
    """Two machines between which no UDP gets through."""
    inside, wall, outside = lab.host("inside"), lab.host("wall"), lab.host("outside")
    lab.join(inside, "eth0", "10.77.1.2/24", wall, "in", "10.77.1.1/24")
    lab.join(wall, "out", "10.77.2.1/24", outside, "eth0", "10.77.2.2/24")
    inside.route("10.77.1.1")
    outside.route("10.77.2.1")
    wall.forward()
    wall.block_udp()
    return inside, outside


def test_where_udp_is_blocked_the_relay_is_reached_over_tcp(started, lab, authority, tmp_path):
    inside, outside = behind_a_wall(lab)
    server = serve(started, outside)
    coturn = started(Coturn, tmp_path, authority, address="10.77.2.2", relay="10.77.2.2", command=outside.command)
    url = f"turn:10.77.2.2:{coturn.port}"
    call = Call(started, server, inside, outside, ("10.77.2.2", "127.0.0.1"), 60,
                publish=["--no-tcp", "--ice-server", url, "--ice-server", url + "?transport=tcp", *coturn.credentials])
    _, figures = call.finish()
    transport = figures["transports"][0]
    assert (transport["localCandidateType"], transport["relayProtocol"]) == ("relay", "tcp")


@pytest.mark.parametrize("behind", ["watcher", "publisher"])
def test_where_udp_is_blocked_and_no_relay_is_there_both_sides_connect_over_tcp(started, lab, behind):
    inside, outside = behind_a_wall(lab)
    server = serve(started, outside)
    hosts = (inside, outside) if behind == "publisher" else (outside, inside)
    addresses = ("10.77.2.2", "127.0.0.1") if behind == "publisher" else ("127.0.0.1", "10.77.2.2")
    call = Call(started, server, *hosts, addresses, 60, publish=["--ports", "50000-50001"])
    watched, published = call.finish()
    assert watched["patternFramesOutOfOrder"] == 0
    assert watched["audioLevel"] > 0.01
    for transport in (watched["transport"], published["transports"][0]):
        assert transport["protocol"] == "tcp", transport


@pytest.mark.parametrize("name", list(BROWSERS))
def test_where_udp_is_blocked_browsers_connect_over_tcp(started, lab, name):
    inside, outside = behind_a_wall(lab)
    server = serve(started, outside)
    publisher = started(Process, "publish", f"ws://127.0.0.1:{server.port}/demo", "--video", "pattern", "--ports",
                        "50000-50001", command=outside.command)
    publisher.wait_for_text("Publishing")
    browser = BROWSERS[name](inside)
    try:
        browser.open(f"http://10.77.2.2:{server.port}/demo")
        browser.wait_for("window.emisora && window.emisora.state === 'live'", 60)
        browser.wait_for("window.emisora.stats && window.emisora.stats.framesDecoded > 60", 60)
        assert publisher.interrupt() == 0
    finally:
        browser.close()
    transport = publisher.figures()["transports"][0]
    assert transport["protocol"] == "tcp", transport
    assert transport["localCandidateType"] == "host"
    assert transport["localAddress"] in ("10.77.2.2:50000", "10.77.2.2:50001")


@pytest.mark.parametrize("is_symmetric", [False, True], ids=["cone", "symmetric"])
def test_behind_two_nats(started, lab, authority, tmp_path, is_symmetric):
    left, left_nat, internet, right_nat, right = (lab.host(n) for n in ("left", "lnat", "net", "rnat", "right"))
    lab.join(left, "eth0", "10.77.1.2/24", left_nat, "in", "10.77.1.1/24")
    lab.join(left_nat, "out", "198.51.100.2/24", internet, "eth0", "198.51.100.1/24")
    lab.join(right, "eth0", "10.77.2.2/24", right_nat, "in", "10.77.2.1/24")
    lab.join(right_nat, "out", "203.0.113.2/24", internet, "eth1", "203.0.113.1/24")
    left.route("10.77.1.1")
    right.route("10.77.2.1")
    left_nat.route("198.51.100.1")
    right_nat.route("203.0.113.1")
    internet.forward()
    # What goes to private addresses is swallowed, as on the Internet; an error would end coturn's allocation.
    internet("ip", "neigh", "add", "203.0.113.99", "lladdr", "02:00:00:00:00:99", "dev", "eth1")
    internet.route("203.0.113.99")
    for nat in (left_nat, right_nat):
        nat.masquerade("out", is_symmetric)
    server = serve(started, internet)
    coturn = started(Coturn, tmp_path, authority, address="198.51.100.1", relay="198.51.100.1", command=internet.command)
    scheme = "turn" if is_symmetric else "stun"
    options = ["--ice-server", f"{scheme}:198.51.100.1:{coturn.port}", *coturn.credentials]
    call = Call(started, server, left, right, ("198.51.100.1", "203.0.113.1"), 60, options, options)
    watched, published = call.finish()
    types = {watched["transport"]["localCandidateType"], published["transports"][0]["localCandidateType"]}
    if is_symmetric:
        assert "relay" in types
    else:
        assert types <= {"srflx", "prflx"}


@pytest.mark.parametrize("signaling, protocol", [("stays", "udp"), ("breaks", "udp"), ("stays", "tcp")])
def test_an_address_that_changes_mid_call_costs_two_seconds_at_most(started, lab, signaling, protocol):
    inside, router, outside = lab.host("inside"), lab.host("router"), lab.host("outside")
    lab.join(inside, "eth0", "10.77.1.2/24", router, "in", "10.77.1.1/24")
    lab.join(inside, "eth1", "10.77.3.2/24", router, "other", "10.77.3.1/24")
    lab.join(router, "out", "10.77.2.1/24", outside, "eth0", "10.77.2.2/24")
    inside.route("10.77.1.1")
    outside.route("10.77.2.1")
    router.forward()
    if protocol == "tcp":
        router.block_udp()
    server = serve(started, router)
    address = "10.77.3.1" if signaling == "stays" else "10.77.1.1"
    call = Call(started, server, inside, outside, (address, "10.77.2.1"), 300, publish=["--interface", "eth0"])
    call.wait_until_seen()
    # As when a lease is not renewed: the old address goes, another one comes.
    with Beat() as beat:
        inside.at_once("addr del 10.77.1.2/24 dev eth0", "addr add 10.77.1.9/24 dev eth0",
                       "route replace default via 10.77.1.1")
        watched, published = call.finish()
    assert watched["longestFrameGapMs"] <= 1_000 * beat.limit(2)
    transport = published["transports"][0]
    assert transport["localAddress"].startswith("10.77.1.9:")
    assert transport["protocol"] == protocol
    assert transport["selectedCandidatePairChanges"] >= 2
    print(f"signaling {signaling}, {protocol}: a pause of {watched['longestFrameGapMs']:.0f} ms")


@pytest.mark.parametrize("behind", ["publisher", "watcher"])
def test_a_nat_that_draws_another_port_mid_call_costs_three_seconds_at_most(started, lab, behind):
    inside, nat, outside = lab.host("inside"), lab.host("nat"), lab.host("outside")
    lab.join(inside, "eth0", "10.77.1.2/24", nat, "in", "10.77.1.1/24")
    lab.join(nat, "out", "10.77.2.1/24", outside, "eth0", "10.77.2.2/24")
    inside.route("10.77.1.1")
    nat.masquerade("out", is_symmetric=True)
    server = serve(started, outside)
    hosts = (inside, outside) if behind == "publisher" else (outside, inside)
    addresses = ("10.77.2.2", "127.0.0.1") if behind == "publisher" else ("127.0.0.1", "10.77.2.2")
    call = Call(started, server, *hosts, addresses, 400)
    call.wait_until_seen()
    # Its table goes with the address, and what comes next gets another port.
    with Beat() as beat:
        nat.at_once("addr del 10.77.2.1/24 dev out", "addr add 10.77.2.1/24 dev out")
        watched, published = call.finish()
    assert watched["longestFrameGapMs"] <= 1_000 * beat.limit(3)
    # Whose NAT has another port shows itself as another address to the other side.
    other = watched["transport"] if behind == "publisher" else published["transports"][0]
    assert other["selectedCandidatePairChanges"] >= 2
    print(f"{behind} behind the NAT: a pause of {watched['longestFrameGapMs']:.0f} ms")
