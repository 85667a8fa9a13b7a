"""Networks of the tests' own: namespaces joined by veth pairs, with NATs and firewalls by nftables."""
import ctypes
import itertools
import os
import socket
import subprocess
import threading
import time


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout


class Host:
    """One machine of the lab."""

    def __init__(self, name):
        self.name = name
        run("ip", "netns", "add", name)
        self("ip", "link", "set", "lo", "up")

    def at_once(self, *lines):
        """Several commands of `ip` without a pause between them."""
        done = subprocess.run([*self.command, "ip", "-batch", "-"], input="\n".join(lines), capture_output=True, text=True)
        assert done.returncode == 0, f"{lines}: {done.stderr}"

    @property
    def command(self):
        return ["ip", "netns", "exec", self.name]

    def __call__(self, *command):
        return run(*self.command, *command)

    def add_address(self, interface, address, *options):
        # Nobody else is on the cable: an IPv6 address need not wait until it is found to be unique.
        self("ip", "addr", "add", address, "dev", interface, *(["nodad"] if ":" in address else []), *options)

    def address(self, interface, flag, but="tentative"):
        """The IPv6 address with that flag, such as `temporary`, and without another one, as soon as there is one."""
        deadline = time.monotonic() + 60
        while True:
            for line in self("ip", "-6", "-o", "addr", "show", "dev", interface, "scope", "global", flag).splitlines():
                if but not in line.split():
                    return line.split()[3].split("/")[0]
            assert time.monotonic() < deadline, f"{interface} has no {flag} address"
            time.sleep(0.05)

    def connect(self, address, port):
        """A TCP connection made on that machine."""
        made = []

        def connect():
            # A thread has a network of its own, and takes it along when it ends.
            with open(f"/run/netns/{self.name}") as namespace:
                if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0) == 0:
                    made.append(socket.create_connection((address, port), timeout=30))

        thread = threading.Thread(target=connect)
        thread.start()
        thread.join()
        assert made, f"no connection to {address}:{port} on {self.name}"
        return made[0]

    def nft(self, *rules):
        for rule in rules:
            self("nft", rule)

    def route(self, gateway):
        self("ip", "-6" if ":" in gateway else "-4", "route", "replace", "default", "via", gateway)

    def forward(self):
        self("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")

    def masquerade(self, interface, is_symmetric=False):
        """A NAT in front of all others: keeps ports where it can, or draws another for each destination.

        Who knocks from outside is not heard, as at any home router: else the first packet of a peer would take the port
        that the answer to it is to leave from."""
        self.forward()
        self.nft("add table inet door", "add chain inet door take { type filter hook input priority 0; }",
                 f"add rule inet door take iifname {interface} ct state new drop",
                 "add table ip nat", "add chain ip nat out { type nat hook postrouting priority 100; }",
                 f"add rule ip nat out oifname {interface} masquerade" + (" fully-random" if is_symmetric else ""))

    def full_cone(self, interface):
        """A NAT that lets anybody in to a port that somebody inside has sent from (RFC 4787: endpoint-independent mapping
        and filtering)."""
        self.forward()
        self.nft("add table ip nat",
                 "add map ip nat opened { type inet_service : ipv4_addr; flags dynamic,timeout; timeout 5m; }",
                 # Where from, before the address is changed; the port stays, since nobody else is inside.
                 "add chain ip nat note { type filter hook forward priority 0; }",
                 f"add rule ip nat note oifname {interface} meta l4proto udp update @opened {{ udp sport : ip saddr }}",
                 "add chain ip nat out { type nat hook postrouting priority 100; }",
                 f"add rule ip nat out oifname {interface} masquerade persistent",
                 "add chain ip nat in { type nat hook prerouting priority -100; }",
                 f"add rule ip nat in iifname {interface} meta l4proto udp dnat to udp dport map @opened")

    def block_udp(self):
        self.nft("add table inet wall", "add chain inet wall pass { type filter hook forward priority 0; }",
                 "add chain inet wall take { type filter hook input priority 0; }",
                 "add rule inet wall pass meta l4proto udp drop", "add rule inet wall take meta l4proto udp drop")


class Lab:
    _count = itertools.count()

    def __init__(self):
        self._hosts = []
        self._prefix = f"emi{os.getpid() % 100000}{next(self._count)}"

    def host(self, name):
        host = Host(f"{self._prefix}-{name}")
        self._hosts.append(host)
        return host

    def join(self, left, left_interface, left_address, right, right_interface, right_address):
        """A cable between two machines."""
        one, other = f"{self._prefix}a"[:15], f"{self._prefix}b"[:15]
        run("ip", "link", "add", one, "type", "veth", "peer", "name", other)
        for end, host, interface, address in ((one, left, left_interface, left_address),
                                              (other, right, right_interface, right_address)):
            run("ip", "link", "set", end, "netns", host.name)
            host("ip", "link", "set", end, "name", interface)
            host.add_address(interface, address)
            host("ip", "link", "set", interface, "up")

    def close(self):
        for host in self._hosts:
            subprocess.run(["ip", "netns", "del", host.name], capture_output=True)
