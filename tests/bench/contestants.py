# SPDX-License-Identifier: Apache-2.0
"""The measured programs: long-lived processes that answer command lines with lines of JSON."""
import importlib.util
import json
import os
import select
import subprocess
import sys

from server import cpu_seconds, dies_with_us, end, java

HERE = os.path.dirname(os.path.abspath(__file__))
CURATOR_SOURCES = ("BenchKit.java", "CuratorBench.java", "CuratorKit.java", "CuratorQueues.java")
JARS = "/usr/share/java"
CURATOR_JARS = ("curator-recipes", "curator-framework", "curator-client", "zookeeper", "guava",
                "slf4j-api", "slf4j-simple")
# Jars that some releases need, or that are needed only sometimes.
MORE_JARS = ("zookeeper-jute", "jackson-core", "jackson-databind", "jackson-annotations",
             "netty-all", "failureaccess", "commons-lang", "snappy-java", "metrics-core")


class Failure(Exception):
    """A contestant failed to execute a command."""


class Contestant:
    """`absence` says why it takes no part. If that is empty, start() starts it."""

    def __init__(self, name, command=(), absence=""):
        self.name = name
        self.command = list(command)
        self.absence = absence
        self.process = None
        self.version = ""
        self._input = b""

    def start(self, hosts):
        self.process = subprocess.Popen(dies_with_us([*self.command, hosts]),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.version = self.request("hello", 60)["version"]

    def stop(self):
        if self.process:
            end(self.process)

    def cpu(self):
        return cpu_seconds(self.process.pid)

    def is_ready(self):
        """Returns whether the contestant can continue after a failure."""
        try:
            self.request("finish", 60)
            return True
        except Failure:
            return False

    def request(self, line, timeout):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except OSError as error:
            raise Failure(f"{self.name} has ended") from error
        answer = json.loads(self._read_line(line, timeout))
        if "error" in answer:
            raise Failure(f"{self.name}: {line}: {answer['error']}")
        return answer

    def _read_line(self, line, timeout):
        output = self.process.stdout.fileno()
        while b"\n" not in self._input:
            readable, _, _ = select.select([output], [], [], timeout)
            if not readable:
                end(self.process, 0)
                raise Failure(f"{self.name}: {line}: no answer in {timeout:.0f} s")
            data = os.read(output, 65536)
            if not data:
                raise Failure(f"{self.name}: {line}: it ended")
            self._input += data
        first, _, self._input = self._input.partition(b"\n")
        return first


def jar(name):
    return os.path.join(JARS, name + ".jar")


def curator(build):
    missing = [name for name in CURATOR_JARS if not os.path.exists(jar(name))]
    if missing:
        return Contestant("curator", absence="no libcurator-recipes-java")
    jars = [jar(name) for name in CURATOR_JARS + MORE_JARS if os.path.exists(jar(name))]
    classes = os.path.join(build, "curator")
    class_path = ":".join([classes, *jars])
    os.makedirs(classes, exist_ok=True)
    try:
        subprocess.run([java("javac"), "-Xlint:-options", "-d", classes, "-cp", class_path,
                        *(os.path.join(HERE, file) for file in CURATOR_SOURCES)], check=True)
    except FileNotFoundError:
        return Contestant("curator", absence="no javac (openjdk-17-jdk-headless)")
    return Contestant("curator", [java(), "-Xss256k", "-Xms256m", "-Xmx2g", "-XX:-UsePerfData",
                                  "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
                                  "-cp", class_path, "CuratorBench"])


def kazoo():
    if importlib.util.find_spec("kazoo") is None:
        return Contestant("kazoo", absence="no python3-kazoo")
    return Contestant("kazoo", [sys.executable, os.path.join(HERE, "kazoo_bench.py")])


def all_contestants(build):
    program = os.path.join(build, "tests", "bench", "zklock_bench")
    return [Contestant("zklock", [program, "zklock"]), curator(build), kazoo(),
            Contestant("floor", [program, "floor"])]
