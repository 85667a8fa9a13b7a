"""Networks of the tests' own: namespaces joined by veth pairs, with NATs and firewalls by nftables."""
import itertools
import os
import subprocess


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

    @property
    def command(self):
        return ["ip", "netns", "exec", self.name]

    def __call__(self, *command):
        return run(*self.command, *command)

    def nft(self, *rules):
        for rule in rules:
            self("nft", rule)

    def route(self, gateway):
        self("ip", "route", "replace", "default", "via", gateway)

    def forward(self):
        self("sysctl", "-qw", "net.ipv4.ip_forward=1")

    def masquerade(self, interface, is_symmetric=False):
        """A NAT in front of all others: keeps ports where it can, or draws another for each destination."""
        self.forward()
        self.nft("add table ip nat", "add chain ip nat out { type nat hook postrouting priority 100; }",
                 f"add rule ip nat out oifname {interface} masquerade" + (" fully-random" if is_symmetric else ""))

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
            host("ip", "addr", "add", address, "dev", interface)
            host("ip", "link", "set", interface, "up")

    def close(self):
        for host in self._hosts:
            subprocess.run(["ip", "netns", "del", host.name], capture_output=True)
