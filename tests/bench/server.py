# SPDX-License-Identifier: Apache-2.0
"""Temporary ZooKeeper servers, child processes on free loopback ports, and their counters."""
import glob
import os
import random
import re
import shutil
import socket
import subprocess
import tempfile
import time

CLASS_PATH = os.environ.get("ZKLOCK_ZOOKEEPER_CLASSPATH",
                            "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def is_installed():
    """Whether there are Java and the server. The class path may have the wildcard of Java."""
    return bool(shutil.which(java()) and all(map(glob.glob, CLASS_PATH.split(":"))))


def java(program="java"):
    home = os.environ.get("JAVA_HOME")
    return os.path.join(home, "bin", program) if home else program


def dies_with_us(command):
    """Returns the command such that the kernel kills the child when the thread that starts it ends, or this process."""
    return ["setpriv", "--pdeathsig", "KILL", *command]


def end(process, timeout=10):
    """Ends a child of this process: first with SIGTERM, then with SIGKILL."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait()


def cpu_seconds(pid):
    """Returns the user and system time that a process has used."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


def written_bytes(pid):
    """Returns the bytes that a process has written to disks, with those that the kernel delays."""
    with open(f"/proc/{pid}/io", encoding="ascii") as io:
        return int(re.search(r"^write_bytes: (\d+)", io.read(), re.MULTILINE).group(1))


def occupied_bytes(directory):
    """Returns the disk space or memory that the files of a directory occupy."""
    return sum(os.stat(os.path.join(folder, file)).st_blocks * 512
               for folder, _, files in os.walk(directory) for file in files)


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
    """One server. It is a child process, and its files are in the directory."""

    def __init__(self, directory, port, address="127.0.0.1"):
        self.directory = directory
        self.port = port
        self.address = address
        self.process = None

    def file(self, name):
        return os.path.join(self.directory, name)

    def start(self, tick_ms, heap, ensemble, my_id):
        """Starts the server. `ensemble`: lines of the configuration, equal for all members."""
        os.makedirs(self.file("data"), exist_ok=True)
        with open(self.file("data/myid"), "w", encoding="utf-8") as my_id_file:
            my_id_file.write(f"{my_id}\n")
        with open(self.file("zoo.cfg"), "w", encoding="utf-8") as config:
            config.write(f"tickTime={tick_ms}\n"
                         f"dataDir={self.file('data')}\nclientPort={self.port}\n"
                         f"clientPortAddress={self.address}\nadmin.enableServer=false\n"
                         "4lw.commands.whitelist=*\nmaxClientCnxns=0\n" + ensemble)
        # An empty container must not be deleted during a measure.
        command = [java(), f"-Xms{heap}", "-Xmx1g", "-XX:-UsePerfData",
                   "-Dzookeeper.jmx.log4j.disable=true",
                   "-Dznode.container.checkIntervalMs=86400000",
                   "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", CLASS_PATH,
                   "org.apache.zookeeper.server.quorum.QuorumPeerMain", self.file("zoo.cfg")]
        with open(self.file("server.log"), "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(dies_with_us(command), stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log)

    def serves(self):
        # Another server may listen on this port.
        ours = f"dataDir={self.file('data')}/" in self.request("conf")
        return ours and "Mode: " in self.request("srvr")

    def request(self, word):
        """Sends a four-letter word. Returns an empty string if there is no answer."""
        try:
            with socket.create_connection((self.address, self.port), timeout=5) as connection:
                connection.sendall(word.encode())
                return b"".join(iter(lambda: connection.recv(65536), b"")).decode()
        except OSError:
            return ""

    def heap_in_use(self):
        """Returns the bytes of Java's heap that a collection of garbage leaves in use."""
        for command in ("GC.run", "GC.heap_info"):
            answer = subprocess.run([java("jcmd"), str(self.process.pid), command], check=True,
                                    stdout=subprocess.PIPE, text=True).stdout
        return int(re.search(r"heap .*\bused (\d+)K", answer).group(1)) * 1024

    def log(self):
        with open(self.file("server.log"), encoding="utf-8", errors="replace") as log:
            return log.read()[-2000:]


def counter(text, name):
    """Returns a counter in the answer to the word mntr."""
    counted = re.search(rf"^zk_{name}\s+(\d+)", text, re.MULTILINE)
    if not counted:
        raise RuntimeError(f"the server does not say zk_{name}")
    return int(counted.group(1))


class Servers:
    """A context manager: one server, or several as an ensemble. They serve inside it, and are
    removed with their data at the end. Each counter is the sum over the servers.
    """

    def __init__(self, directory, size=1, tick_ms=2000, heap="512m", address="127.0.0.1"):
        self.size = size
        self.address = address
        self.tick_ms = tick_ms
        self.heap = heap
        self.directory = tempfile.mkdtemp(prefix="zklock-bench.", dir=directory)
        self.members = []

    def __enter__(self):
        try:
            for _ in range(5):
                if self._start():
                    return self
            logs = "\n".join(member.log() for member in self.members)
            raise RuntimeError("no ZooKeeper server could be started:\n" + logs)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_):
        self._stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    @property
    def ports(self):
        return [member.port for member in self.members]

    @property
    def hosts(self):
        return ",".join(f"{self.address}:{port}" for port in self.ports)

    def _start(self):
        # Below the range of ports that the system uses for outgoing connections.
        ports = random.sample(range(10000, 20000), 3 * self.size)
        self.members = [Server(os.path.join(self.directory, str(i + 1)), ports[3 * i], self.address)
                        for i in range(self.size)]
        ensemble = "initLimit=10\nsyncLimit=5\n" + "".join(
            f"server.{i + 1}=127.0.0.1:{ports[3 * i + 1]}:{ports[3 * i + 2]}\n"
            for i in range(self.size))
        for i, member in enumerate(self.members):
            member.start(self.tick_ms, self.heap, ensemble if self.size > 1 else "", i + 1)
        withdraw = time.monotonic() + 60
        while time.monotonic() < withdraw and self._run():
            if all(member.serves() for member in self.members):
                return True
            time.sleep(0.05)
        self._stop()
        return False

    def _run(self):
        return all(member.process.poll() is None for member in self.members)

    def _stop(self):
        for member in self.members:
            if member.process:
                end(member.process)

    def counters(self):
        """Returns what the servers have done since their start. The query counts as a packet."""
        texts = [member.request("mntr") for member in self.members]
        pids = [member.process.pid for member in self.members]
        return {
            "received": sum(counter(text, "packets_received") for text in texts),
            "sent": sum(counter(text, "packets_sent") for text in texts),
            "server_cpu": sum(map(cpu_seconds, pids)),
            "written": sum(map(written_bytes, pids)),
            "occupied": occupied_bytes(self.directory),
        }

    def heap_in_use(self):
        return sum(member.heap_in_use() for member in self.members)

    def ephemerals(self):
        """Returns the number of ephemeral znodes; each member has all."""
        return counter(self.members[0].request("mntr"), "ephemerals_count")

    def version(self):
        found = re.search(r"version: ([\w.]+)", self.members[0].request("srvr"))
        return found.group(1) if found else "?"

    def bytes_on_the_wire(self):
        """Returns the TCP payload (TCP_INFO) of all connected clients, in both directions."""
        ports = " or ".join(f"dport = :{port}" for port in self.ports)
        listing = subprocess.run(
            ["ss", "--tcp", "--info", "--numeric", "--no-header", f"( {ports} )"],
            stdout=subprocess.PIPE, check=True, text=True).stdout
        return sum(int(count) for count in re.findall(r"\bbytes_(?:acked|received):(\d+)", listing))
