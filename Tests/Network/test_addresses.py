"""Which of a machine's addresses are told and used: IPv6 beside IPv4, temporary ones, loopback."""
import pytest

from coturn import Coturn
from processes import Process, Server
from offers import offered_candidates

LEFT, MIDDLE, RIGHT = "fd77:1::2", "fd77:1::1", "fd77:2::2"


def publish(started, host, room, *options):
    publisher = started(Process, "publish", room, "--video", "pattern", "--size", "320x240", *options,
                        command=host.command)
    publisher.wait_for_text("Publishing")
    return publisher


def watch(started, host, room, *options):
    watcher = started(Process, "watch", room, "--frames", 30, "--timeout", 50, *options, command=host.command)
    assert watcher.wait() == 0, watcher.stderr()
    return watcher.figures()["transport"]


@pytest.fixture
def ipv6(lab):
    """Two machines with a router between them, all by IPv6 alone."""
    left, middle, right = lab.host("left"), lab.host("middle"), lab.host("right")
    lab.join(left, "eth0", f"{LEFT}/64", middle, "left", f"{MIDDLE}/64")
    lab.join(middle, "right", "fd77:2::1/64", right, "eth0", f"{RIGHT}/64")
    left.route(MIDDLE)
    right.route("fd77:2::1")
    middle.forward()
    return left, middle, right


def test_calls_and_servers_by_ipv6_alone(started, ipv6):
    left, middle, right = ipv6
    server = started(Server, host="::", command=middle.command)
    publish(started, left, f"ws://[{MIDDLE}]:{server.port}/demo")
    transport = watch(started, right, f"ws://[fd77:2::1]:{server.port}/demo")
    assert transport["localAddress"].startswith(f"[{RIGHT}]:")
    assert transport["remoteAddress"].startswith(f"[{LEFT}]:")


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_relay_that_is_reached_by_ipv6_relays_ipv6(started, ipv6, authority, tmp_path, transport):
    left, middle, right = ipv6
    server = started(Server, host="::", command=middle.command)
    coturn = started(Coturn, tmp_path, authority, address=MIDDLE, relay=MIDDLE, command=middle.command)
    options = ["--ice-server", f"turn:[{MIDDLE}]:{coturn.port}?transport={transport}", *coturn.credentials, "--relay-only"]
    publisher = publish(started, left, f"ws://[{MIDDLE}]:{server.port}/demo", *options)
    watched = watch(started, right, f"ws://[fd77:2::1]:{server.port}/demo", *options)
    assert publisher.interrupt() == 0
    published = publisher.figures()["transports"][0]
    for one in (watched, published):
        assert (one["localCandidateType"], one["remoteCandidateType"]) == ("relay", "relay")
        assert one["relayProtocol"] == transport
        assert one["localAddress"].startswith(f"[{MIDDLE}]:") and one["remoteAddress"].startswith(f"[{MIDDLE}]:")


def test_a_relay_of_both_families_joins_a_side_of_one_and_a_side_of_the_other(started, lab, authority, tmp_path):
    left, middle, right = lab.host("left"), lab.host("middle"), lab.host("right")
    lab.join(left, "eth0", "10.77.1.2/24", middle, "left", "10.77.1.1/24")
    lab.join(middle, "right", "fd77:2::1/64", right, "eth0", f"{RIGHT}/64")
    server = started(Server, host="::", command=middle.command)
    coturn = started(Coturn, tmp_path, authority, address="10.77.1.1 fd77:2::1", relay="10.77.1.1 fd77:2::1",
                     command=middle.command)
    publisher = publish(started, left, f"ws://10.77.1.1:{server.port}/demo", "--ice-server",
                        f"turn:10.77.1.1:{coturn.port}", *coturn.credentials)
    # Who has IPv6 alone asks the relay for an IPv4 address, too.
    watched = watch(started, right, f"ws://[fd77:2::1]:{server.port}/demo", "--ice-server",
                    f"turn:[fd77:2::1]:{coturn.port}", *coturn.credentials)
    assert watched["localCandidateType"] == "relay"
    assert watched["localAddress"].startswith("10.77.1.1:")
    assert publisher.interrupt() == 0
    # Nobody was let in that the relayed address could not send to.
    coturn.wait_for_log("CREATE_PERMISSION processed, success")
    assert "error 443" not in coturn.log()


def test_where_one_family_leads_nowhere_the_other_carries_the_call(started, lab):
    left, middle, right = lab.host("left"), lab.host("middle"), lab.host("right")
    for side, host, near in (("left", left, 1), ("right", right, 2)):
        lab.join(host, "eth0", f"10.77.{near}.2/24", middle, side, f"10.77.{near}.1/24")
        host.add_address("eth0", f"fd77:{near}::2/64")
        middle.add_address(side, f"fd77:{near}::1/64")
        host.route(f"10.77.{near}.1")
        host.route(f"fd77:{near}::1")
    middle.forward()
    middle.nft("add table ip wall", "add chain ip wall pass { type filter hook forward priority 0; }",
               "add rule ip wall pass drop")
    server = started(Server, host="::", command=middle.command)
    publish(started, left, f"ws://10.77.1.1:{server.port}/demo")
    candidates = offered_candidates(right, "10.77.2.1", server.port)
    assert {(one["address"], one["transport"]) for one in candidates} == {
        (address, transport) for address in ("10.77.1.2", LEFT) for transport in ("udp", "tcp")}
    transport = watch(started, right, f"ws://10.77.2.1:{server.port}/demo")
    assert transport["remoteAddress"].startswith(f"[{LEFT}]:")
    assert transport["protocol"] == "udp"


def test_a_temporary_address_is_told_in_place_of_the_one_that_stays(started, ipv6):
    left, middle, right = ipv6
    left("sysctl", "-qw", "net.ipv6.conf.eth0.use_tempaddr=2")
    left("ip", "addr", "del", f"{LEFT}/64", "dev", "eth0")
    left.add_address("eth0", f"{LEFT}/64", "mngtmpaddr")
    left.route(MIDDLE)
    temporary = left.address("eth0", "temporary")
    assert temporary.startswith("fd77:1:") and temporary != LEFT
    server = started(Server, host="::", command=middle.command)
    publish(started, left, f"ws://[{MIDDLE}]:{server.port}/demo")
    candidates = offered_candidates(right, "fd77:2::1", server.port)
    assert {one["address"] for one in candidates} == {temporary}
    # A deprecated one is for what began with it: the next viewer learns the address that stays. The machine is not to make
    # itself another temporary one meanwhile, which would be as good.
    left("sysctl", "-qw", "net.ipv6.conf.eth0.use_tempaddr=0")
    left("ip", "addr", "change", f"{temporary}/64", "dev", "eth0", "preferred_lft", "0", "valid_lft", "600")
    transport = watch(started, right, f"ws://[fd77:2::1]:{server.port}/demo")
    assert transport["remoteAddress"].startswith(f"[{LEFT}]:")


def test_an_address_that_another_machine_has_is_not_told(started, ipv6):
    left, middle, right = ipv6
    middle.add_address("left", "fd77:1::8/64")
    left("ip", "addr", "add", "fd77:1::8/64", "dev", "eth0")
    # As long as it is not known to be unique an address may not be used (RFC 4862 §5.4), and this one never will be.
    assert left.address("eth0", "dadfailed", but="permanent") == "fd77:1::8"
    server = started(Server, host="::", command=middle.command)
    publish(started, left, f"ws://[{MIDDLE}]:{server.port}/demo")
    candidates = offered_candidates(right, "fd77:2::1", server.port)
    assert {one["address"] for one in candidates} == {LEFT}


def test_loopback_is_told_only_where_there_is_nothing_else(started, lab):
    alone, right = lab.host("alone"), lab.host("right")
    server = started(Server, host="0.0.0.0", command=alone.command)
    publish(started, alone, f"ws://127.0.0.1:{server.port}/demo")
    transport = watch(started, alone, f"ws://127.0.0.1:{server.port}/demo")
    assert transport["remoteAddress"].startswith(("127.0.0.1:", "[::1]:"))
    candidates = offered_candidates(alone, "127.0.0.1", server.port)
    assert {one["address"] for one in candidates} == {"127.0.0.1", "::1"}

    # A cable is plugged in.
    lab.join(alone, "eth0", "10.77.1.1/24", right, "eth0", "10.77.1.2/24")
    watch(started, right, f"ws://10.77.1.1:{server.port}/demo")
    candidates = offered_candidates(right, "10.77.1.1", server.port)
    assert {one["address"] for one in candidates} == {"10.77.1.1"}
