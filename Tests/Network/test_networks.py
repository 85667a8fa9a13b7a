"""Calls across networks of the tests' own: firewalls, NATs, addresses and ports that change while a call goes on."""
import json
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

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


def behind_nats(lab):
    """Two hosts, each behind a router that is still to become a NAT, and the Internet between them."""
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
    return left, left_nat, internet, right_nat, right


@pytest.mark.parametrize("is_symmetric", [False, True], ids=["cone", "symmetric"])
def test_behind_two_nats(started, lab, authority, tmp_path, is_symmetric):
    left, left_nat, internet, right_nat, right = behind_nats(lab)
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


def test_a_full_cone_lets_a_symmetric_nat_in_without_a_relay(started, lab, authority, tmp_path):
    """Whatever NAT a peer sits behind, it reaches the address that a full cone shows (RFC 4787: endpoint-independent
    filtering); behind one that hears only whom its host has sent to, this pair has no path at all."""
    left, left_nat, internet, right_nat, right = behind_nats(lab)
    left_nat.full_cone("out")
    right_nat.masquerade("out", is_symmetric=True)
    server = serve(started, internet)
    coturn = started(Coturn, tmp_path, authority, address="198.51.100.1", relay="198.51.100.1", command=internet.command)
    options = ["--no-tcp", "--ice-server", f"stun:198.51.100.1:{coturn.port}"]
    call = Call(started, server, left, right, ("198.51.100.1", "203.0.113.1"), 60, options, options)
    watched, published = call.finish()
    assert watched["transport"]["remoteAddress"].startswith("198.51.100.2:")
    # A port that no server has told of: the symmetric one draws another for each destination.
    assert published["transports"][0]["remoteAddress"].startswith("203.0.113.2:")
    assert published["transports"][0]["remoteCandidateType"] == "prflx"
    assert published["transports"][0]["localCandidateType"] in ("srflx", "prflx")


class SignalingTap:
    """What a viewer is told, with the times; see signaling_tap.py."""

    def __init__(self, address, port, command):
        self._process = subprocess.Popen(
            [*command, sys.executable, str(Path(__file__).with_name("signaling_tap.py")), address, str(port)],
            stdout=subprocess.PIPE, text=True)
        self.port = int(self._process.stdout.readline())
        self._lines = []
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            with self._changed:
                self._lines.append(json.loads(line))
                self._changed.notify()

    def offers(self):
        with self._changed:
            return [one["at"] for one in self._lines if one["message"]["type"] == "offer"]

    def wait_for_offers(self, count, timeout):
        with self._changed:
            assert self._changed.wait_for(
                lambda: sum(one["message"]["type"] == "offer" for one in self._lines) >= count, timeout), self._lines

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()


@pytest.mark.parametrize("new_address", ["leads to the peer", "leads nowhere"])
def test_a_second_after_an_address_has_changed_the_restart_is_signalled(started, lab, new_address):
    """From the change, which netlink tells of, to the offer with new credentials at the other side."""
    inside, router, outside = lab.host("inside"), lab.host("router"), lab.host("outside")
    lab.join(inside, "eth0", "10.77.1.2/24", router, "in", "10.77.1.1/24")
    lab.join(inside, "eth1", "10.77.3.2/24", router, "other", "10.77.3.1/24")
    lab.join(router, "out", "10.77.2.1/24", outside, "eth0", "10.77.2.2/24")
    inside.route("10.77.1.1")
    outside.route("10.77.2.1")
    router.forward()
    server = serve(started, router)
    tap = started(SignalingTap, "10.77.2.1", server.port, command=outside.command)
    publisher = started(Process, "publish", f"ws://10.77.3.1:{server.port}/demo", "--video", "pattern", "--size",
                        "320x240", "--interface", "eth0", command=inside.command)
    publisher.wait_for_text("Publishing")
    started(Process, "watch", f"ws://127.0.0.1:{tap.port}/demo", "--offerer", "publisher", "--frames", 3_000,
            "--timeout", 120,
            command=outside.command)
    publisher.wait_for_text(r"viewers 1", timeout=30)
    assert len(tap.offers()) == 1
    with Beat() as beat:
        # Not by the way that was there: a route is what makes the new address of use.
        routes = ["route replace default via 10.77.1.1"] if new_address == "leads to the peer" else []
        inside.at_once("addr del 10.77.1.2/24 dev eth0", "addr add 10.77.1.9/24 dev eth0", *routes)
        changed_at = time.monotonic()
        tap.wait_for_offers(2, timeout=30)
    delay = tap.offers()[1] - changed_at
    print(f"The new address {new_address}: the restart was signalled after {delay * 1_000:.0f} ms, {beat.share:.2f} of a pace")
    assert delay <= 1 / beat.share


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
    # Each of them was told when it happened.
    paths = re.findall(r"Path to a viewer: (\S+) .* by (\w+)", call.publisher.stderr())
    assert len(paths) == transport["selectedCandidatePairChanges"], paths
    assert paths[-1] == (transport["localAddress"], protocol)
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
