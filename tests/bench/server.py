# SPDX-License-Identifier: Apache-2.0
"""A throwaway ZooKeeper server, a child process on a free loopback port, and what it counts."""
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
    """The command as a child that the kernel ends with this process, however that ends."""
    return ["setpriv", "--pdeathsig", "KILL", *command]


def end(process, patience=10):
    """Ends a child of ours, first politely."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()


def cpu_seconds(pid):
    """What a process has used, of user and system time."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def file_system(path):
    """Type and mount point of the file system that a path is on."""
    found = ("", "?")
    with open("/proc/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            _, point, kind = line.split()[:3]
            inside = (os.path.realpath(path) + "/").startswith(point.rstrip("/") + "/")
            if inside and len(point) >= len(found[0]):
                found = (point, kind)
    return f"{found[1]} ({found[0]})"


class Server:
    """A context manager: serving inside, gone with its data afterwards."""

    def __init__(self, directory, tick_ms=2000, heap="512m"):
        self.tick_ms = tick_ms
        self.heap = heap
        self.directory = tempfile.mkdtemp(prefix="zklock-bench.", dir=directory)
        self.process = None
        self.port = 0

    def __enter__(self):
        try:
            for _ in range(5):
                # Below the range from which the system gives ports to outgoing connections.
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
        # Containers that are empty for a moment are not to be reaped in the midst of a measure.
        command = [java(), f"-Xms{self.heap}", "-Xmx1g", "-XX:-UsePerfData",
                   "-Dzookeeper.jmx.log4j.disable=true",
                   "-Dznode.container.checkIntervalMs=86400000",
                   "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", CLASS_PATH,
                   "org.apache.zookeeper.server.quorum.QuorumPeerMain", self._file("zoo.cfg")]
        with open(self._file("server.log"), "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(dies_with_us(command), stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log)
        give_up = time.monotonic() + 60
        while time.monotonic() < give_up and self.process.poll() is None:
            # It may be somebody else's server that answers on this port.
            ours = f"dataDir={self._file('data')}/" in self.ask("conf")
            if ours and "Mode: " in self.ask("srvr"):
                return True
            time.sleep(0.05)
        end(self.process)
        return False

    def ask(self, word):
        """One request of the four-letter-word protocol; empty without an answer."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                connection.sendall(word.encode())
                return b"".join(iter(lambda: connection.recv(65536), b"")).decode()
        except OSError:
            return ""

    def requests(self):
        """What it has received: requests and pings of all clients, and each of these questions."""
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
        """Sent and received by the clients that are connected now: TCP payload, from TCP_INFO."""
        listing = subprocess.run(
            ["ss", "--tcp", "--info", "--numeric", "--no-header", "dport", "=", f":{self.port}"],
            stdout=subprocess.PIPE, check=True, text=True).stdout
        return sum(int(count) for count in re.findall(r"\bbytes_(?:acked|received):(\d+)", listing))
