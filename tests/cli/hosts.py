# SPDX-License-Identifier: Apache-2.0
"""Hosts in network namespaces, without the rights of root outside of them."""
import os
import shutil
import subprocess
import sys

from harness import server

SERVER_ADDRESS = "10.87.0.1"
INSIDE = "ZKLOCK_TEST_INSIDE_NAMESPACE"


def enter_namespace():
    """Runs this script again in network and user namespaces of its own. Exits with 77 if the system refuses."""
    missing = [name for name in ("ip", "bridge", "nsenter", "unshare", "setpriv") if not shutil.which(name)]
    if missing:
        print("missing:", *missing)
        sys.exit(77)
    if os.environ.get(INSIDE):
        return
    unshare = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
    if subprocess.run([*unshare, "true"], check=False).returncode != 0:
        print("the system refuses namespaces")
        sys.exit(77)
    os.environ[INSIDE] = "1"
    os.execvp("unshare", [*unshare, sys.executable, *sys.argv])


def ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


def make_bridge():
    """Makes the network of all hosts, and the server's address in it. Exits with 77 without a bridge."""
    ip("link", "set", "lo", "up")
    for kind in (["type", "bridge", "forward_delay", "0"],):
        if subprocess.run(["ip", "link", "add", "br0", *kind], check=False).returncode != 0:
            print("the kernel has no bridge")
            sys.exit(77)
    ip("addr", "add", SERVER_ADDRESS + "/16", "dev", "br0")
    ip("link", "set", "br0", "up")


class Host:
    """A network namespace with one address. It ends with this process."""

    def __init__(self, lane, side):
        self.device = f"v{lane}s{side}"
        self.process = subprocess.Popen(server.dies_with_us(["unshare", "--net", "sleep", "infinity"]))
        own = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{self.process.pid}/ns/net") == own:
            pass
        peer = f"p{lane}s{side}"
        ip("link", "add", self.device, "type", "veth", "peer", "name", peer)
        ip("link", "set", peer, "netns", str(self.process.pid))
        ip("link", "set", self.device, "master", "br0", "up")
        for command in (["ip", "addr", "add", f"10.87.{lane + 1}.{side + 2}/16", "dev", peer],
                        ["ip", "link", "set", peer, "up"], ["ip", "link", "set", "lo", "up"]):
            subprocess.run(self.command(command), check=True)
        self.mend()

    def command(self, arguments):
        return ["nsenter", f"--net=/proc/{self.process.pid}/ns/net", *arguments]

    def cut(self):
        """Drops all packets, silently."""
        subprocess.run(["bridge", "link", "set", "dev", self.device, "state", "0"], check=True)

    def mend(self):
        subprocess.run(["bridge", "link", "set", "dev", self.device, "state", "3"], check=True)
