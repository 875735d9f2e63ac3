# SPDX-License-Identifier: Apache-2.0
"""A temporary ZooKeeper server, a child process on a free loopback port, and its counters."""
import os
import random
import re
import shutil
import socket
import subprocess
import tempfile
import time

CLASS_PATH = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar"
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def java(program="java"):
    home = os.environ.get("JAVA_HOME")
    return os.path.join(home, "bin", program) if home else program


def dies_with_us(command):
    """Returns the command such that the kernel kills the child when this process dies."""
    return ["setpriv", "--pdeathsig", "KILL", *command]


def end(process, patience=10):
    """Ends a child of this process: first with SIGTERM, then with SIGKILL."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()


def cpu_seconds(pid):
    """Returns the user and system time that a process has used."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def file_system(path):
    """Returns type and mount point of the file system that contains a path."""
    found = ("", "?")
    with open("/proc/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            _, point, kind = line.split()[:3]
            inside = (os.path.realpath(path) + "/").startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(found[0]):
                found = (point, kind)
    return f"{found[1]} ({found[0]})"


class Server:
    """A context manager. The server serves inside it, and is removed with its data at the end."""

    def __init__(self, directory, tick_ms=2000, heap="512m"):
        self.tick_ms = tick_ms
        self.heap = heap
        self.directory = tempfile.mkdtemp(prefix="zklock-bench.", dir=directory)
        self.process = None
        self.port = 0

    def __enter__(self):
        try:
            for _ in range(5):
                # Below the range of ports that the system uses for outgoing connections.
                self.port = random.randint(10000, 19999)
                if self._start():
                    return self
            with open(self._file("server.log"), encoding="utf-8", errors="replace") as log:
                raise RuntimeError("no ZooKeeper server could be started:\n" + log.read()[-2000:])
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        if self.process:
            end(self.process)
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def hosts(self):
        return f"127.0.0.1:{self.port}"

    def _file(self, name):
        return os.path.join(self.directory, name)

    def _start(self):
        os.makedirs(self._file("data"), exist_ok=True)
        with open(self._file("zoo.cfg"), "w", encoding="utf-8") as config:
            config.write(f"tickTime={self.tick_ms}\n"
                         f"dataDir={self._file('data')}\nclientPort={self.port}\n"
                         "clientPortAddress=127.0.0.1\nadmin.enableServer=false\n"
                         "4lw.commands.whitelist=*\nmaxClientCnxns=0\n")
        # An empty container must not be deleted during a measure.
        command = [java(), f"-Xms{self.heap}", "-Xmx1g", "-XX:-UsePerfData",
                   "-Dzookeeper.jmx.log4j.disable=true",
                   "-Dznode.container.checkIntervalMs=86400000",
                   "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", CLASS_PATH,
                   "org.apache.zookeeper.server.quorum.QuorumPeerMain", self._file("zoo.cfg")]
        with open(self._file("server.log"), "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(dies_with_us(command), stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log)
        withdraw = time.monotonic() + 60
        while time.monotonic() < withdraw and self.process.poll() is None:
            # Another server may listen on this port.
            ours = f"dataDir={self._file('data')}/" in self.ask("conf")
            if ours and "Mode: " in self.ask("srvr"):
                return True
            time.sleep(0.05)
        end(self.process)
        return False

    def ask(self, word):
        """Sends a four-letter word. Returns an empty string if there is no answer."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                connection.sendall(word.encode())
                return b"".join(iter(lambda: connection.recv(65536), b"")).decode()
        except OSError:
            return ""

    def requests(self):
        """Returns how many packets the server has received: requests, pings and these queries."""
        counted = re.search(r"^zk_packets_received\s+(\d+)", self.ask("mntr"), re.MULTILINE)
        if not counted:
            raise RuntimeError("the server does not say zk_packets_received")
        return int(counted.group(1))

    def version(self):
        found = re.search(r"version: ([\w.]+)", self.ask("srvr"))
        return found.group(1) if found else "?"

    def cpu(self):
        return cpu_seconds(self.process.pid)

    def bytes_on_the_wire(self):
        """Returns the TCP payload (TCP_INFO) of all connected clients, in both directions."""
        listing = subprocess.run(
            ["ss", "--tcp", "--info", "--numeric", "--no-header", "dport", "=", f":{self.port}"],
            stdout=subprocess.PIPE, check=True, text=True).stdout
        return sum(int(count) for count in re.findall(r"\bbytes_(?:acked|received):(\d+)", listing))
