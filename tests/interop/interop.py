#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""interop.py --worker PROGRAM [--grants N] CASE

Checks whether zklock and the recipes of Curator and Kazoo exclude each other on one path: see
README.md. Starts a ZooKeeper server and the contenders, one process each. Exit status 0: the case
is as README.md says. 77: a needed package is not installed.
"""
import argparse
import importlib.util
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "bench"))
sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
from contestants import CURATOR_JARS, MORE_JARS, jar  # noqa: E402
from server import Servers, dies_with_us, end, java  # noqa: E402

PATH = "/interop/a"
TIMEOUT = 120  # the timeout of every wait, enough for a busy machine
SKIPPED = 77

# Kinds of contenders: "library:recipe". Each row has its own test: see README.md.
SHARES = {
    "mutex-curator": ("zklock:mutex", "curator:mutex"),
    "mutex-kazoo": ("zklock:mutex", "kazoo:lock"),
    "shared-curator": ("zklock:shared", "curator:shared"),
    "election-curator": ("zklock:election", "curator:selector"),
    "latch-curator": ("zklock:latch", "curator:selector"),
}
# The first kind holds for so long that it creates a hold marker (zklock/core/hold_marker.h).
LONG_HOLDS = {
    "marker-curator": ("zklock:mutex", "curator:mutex"),
    "marker-shared-curator": ("zklock:shared", "curator:shared"),
    "marker-kazoo": ("zklock:mutex", "kazoo:lock"),
}
# The second kind is granted although the first one holds.
DOES_NOT_SHARE = {
    "not-latch-curator": ("zklock:latch", "curator:latch"),
    "not-semaphore-curator": ("zklock:semaphore", "curator:semaphore"),
    "not-semaphore-mutex-curator": ("zklock:mutex", "curator:semaphore-mutex"),
    "not-lock-kazoo": ("zklock:mutex", "kazoo:lock-without-patterns"),
    "not-election-kazoo": ("zklock:election", "kazoo:election"),
    "not-semaphore-kazoo": ("kazoo:semaphore", "zklock:semaphore"),
    "not-read-kazoo": ("zklock:shared", "kazoo:read"),
    "not-write-kazoo": ("zklock:shared", "kazoo:write"),
    "not-curator-kazoo": ("curator:mutex", "kazoo:lock-without-patterns"),
}


class Failure(Exception):
    pass


class Libraries:
    """Starts contenders of each library."""

    def __init__(self, program, directory):
        self.program = program
        self.classes = os.path.join(directory, "classes")
        self.class_path = ""

    def prepare(self, library):
        """Returns why contenders of that library cannot be started; empty if they can."""
        if library == "kazoo" and importlib.util.find_spec("kazoo") is None:
            return "no python3-kazoo"
        if library != "curator":
            return ""
        if not all(os.path.exists(jar(name)) for name in CURATOR_JARS):
            return "no libcurator-recipes-java"
        jars = [jar(name) for name in CURATOR_JARS + MORE_JARS if os.path.exists(jar(name))]
        self.class_path = ":".join([self.classes, *jars])
        os.makedirs(self.classes)
        try:
            subprocess.run([java("javac"), "-Xlint:-options", "-d", self.classes, "-cp",
                            self.class_path, os.path.join(HERE, "CuratorWorker.java")], check=True)
        except FileNotFoundError:
            return "no javac (openjdk-17-jdk-headless)"
        return ""

    def command(self, library):
        if library == "zklock":
            return [self.program]
        if library == "kazoo":
            return [sys.executable, os.path.join(HERE, "kazoo_worker.py")]
        return [java(), "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", self.class_path,
                "CuratorWorker"]


class Contender:
    """One process. A thread counts its output."""

    def __init__(self, environment, kind):
        self.environment = environment
        self.kind = kind
        library, recipe = kind.split(":")
        command = environment.libraries.command(library)
        self.process = subprocess.Popen(
            dies_with_us([*command, recipe, environment.hosts, PATH, environment.guard]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.grants = 0
        self.words = queue.Queue()  # all output except the grants
        threading.Thread(target=self._listen, daemon=True).start()
        self.expect("ready")

    def _listen(self):
        for line in self.process.stdout:
            word = line.strip()
            if word == "grant":
                self.grants += 1
            elif word == "overlap":
                self.environment.overlaps.append(self.kind)
            else:
                self.words.put(word)
        self.words.put(None)  # it has ended

    def send(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def expect(self, word):
        try:
            said = self.words.get(timeout=TIMEOUT)
        except queue.Empty:
            raise Failure(f"{self.kind}: no \"{word}\" within {TIMEOUT} s") from None
        if said is None:
            raise Failure(f"{self.kind}: ended without \"{word}\"")
        if said != word:
            raise Failure(f"{self.kind}: said \"{said}\", not \"{word}\"")

    def hold(self):
        """Blocks until the contender holds. It holds until go()."""
        self.send("hold")
        self.expect("held")

    def go(self):
        self.send("go")

    def kill(self):
        self.process.kill()
        self.process.wait()


class Environment:
    """The contenders of one case. They are killed when it ends."""

    def __init__(self, libraries, server, guard):
        self.libraries = libraries
        self.server = server
        self.hosts = server.hosts
        self.guard = guard
        self.contenders = []
        self.overlaps = []
        self.killed_grants = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for contender in self.contenders:
            end(contender.process, 0)

    def add(self, kind):
        contender = Contender(self, kind)
        self.contenders.append(contender)
        return contender

    def kill(self, contender):
        self.contenders.remove(contender)
        contender.kill()
        self.killed_grants += contender.grants

    def grants(self):
        return self.killed_grants + sum(each.grants for each in self.contenders)

    def wait_until(self, what, fact):
        withdraw = time.monotonic() + TIMEOUT
        while not fact():
            if self.overlaps:
                raise Failure(f"two were granted at once: {self.overlaps}")
            for contender in self.contenders:
                if contender.process.poll() is not None:
                    raise Failure(f"{contender.kind} has ended")
            if time.monotonic() > withdraw:
                counts = [(each.kind, each.grants) for each in self.contenders]
                raise Failure(f"not within {TIMEOUT} s: {what}; grants: {counts}")
            time.sleep(0.01)

    def is_marked(self):
        """Whether there is a hold marker."""
        return any(znode.startswith(f"{PATH}/held-") for _, znode in self.znodes("dump"))

    def znodes(self, word):
        """Pairs of a session and a znode below PATH, from the answers to "dump" or "wchc"."""
        found = set()
        for member in self.server.members:
            session = ""
            for line in member.request(word).splitlines():
                if line.startswith("0x"):
                    session = line.rstrip(":")
                elif line.startswith(f"\t{PATH}/"):
                    found.add((session, line.strip()))
        return found

    def all_wait(self):
        """Whether all but the holder watch the znode of another contender."""
        return len({session for session, _ in self.znodes("wchc") - self.znodes("dump")}) >= len(self.contenders) - 1

    def all_are_granted(self, count, what):
        """Waits until every contender was granted `count` more times."""
        goal = [(each, each.grants + count) for each in self.contenders]
        self.wait_until(what, lambda: all(each.grants >= wanted for each, wanted in goal))


def shares(environment, kinds, grants):
    """Checks that they exclude each other, even after kills, and that none waits forever."""
    for kind in (*kinds, *kinds):
        environment.add(kind)
    environment.wait_until("grants", lambda: environment.grants() >= grants)
    environment.all_are_granted(1, "each contender is granted")
    for kind in kinds:
        victim = next(each for each in environment.contenders if each.kind == kind)
        victim.hold()
        environment.kill(victim)
        environment.all_are_granted(2, f"each is granted after {kind} was killed while it held")
        environment.add(kind)
        holder = next(each for each in environment.contenders if each.kind != kind)
        waiter = next(each for each in environment.contenders if each.kind == kind)
        holder.hold()
        # All others wait now, or are about to.
        environment.kill(waiter)
        holder.go()
        environment.all_are_granted(2, f"each is granted after {kind} was killed while it waited")
        environment.add(kind)
    environment.all_are_granted(2, "each is granted in the end")
    if environment.overlaps:
        raise Failure(f"two were granted at once: {environment.overlaps}")
    print(f"{environment.grants()} grants, no overlap")


def long_hold(environment, kinds):
    """Checks that a marked hold excludes the others, and that all are granted after it."""
    holder = environment.add(kinds[0])
    for kind in kinds:
        environment.add(kind)
    for ending in ("go", "kill"):
        holder.hold()
        environment.wait_until("a hold marker", environment.is_marked)
        late = environment.add(kinds[1])
        environment.wait_until("all others wait", environment.all_wait)
        if ending == "go":
            holder.go()
        else:
            environment.kill(holder)
        environment.wait_until("no hold marker", lambda: not environment.is_marked())
        environment.all_are_granted(2, f"each is granted after a marked hold: {ending}")
        environment.kill(late)
    if environment.overlaps:
        raise Failure(f"two were granted at once: {environment.overlaps}")
    print(f"{environment.grants()} grants, no overlap")


def does_not_share(environment, kinds):
    """Demonstrates a warning of README.md: the second is granted although the first holds."""
    environment.add(kinds[0]).hold()
    other = environment.add(kinds[1])
    environment.wait_until(f"{kinds[1]} is granted while {kinds[0]} holds", lambda: other.grants > 0)
    print(f"{kinds[1]} is granted while {kinds[0]} holds")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--worker", required=True)
    parser.add_argument("--grants", type=int, default=1000)
    cases = {**SHARES, **LONG_HOLDS, **DOES_NOT_SHARE}
    parser.add_argument("case", choices=cases)
    args = parser.parse_args()
    kinds = cases[args.case]
    with tempfile.TemporaryDirectory(prefix="zklock-interop.") as directory:
        libraries = Libraries(args.worker, directory)
        for kind in kinds:
            absence = libraries.prepare(kind.split(":")[0])
            if absence:
                print(f"skipped: {absence}")
                return SKIPPED
        guard = "-"
        if args.case not in DOES_NOT_SHARE:
            guard = os.path.join(directory, "guard")
            with open(guard, "w", encoding="ascii"):
                pass
        with Servers(directory, tick_ms=500, heap="128m") as server:
            with Environment(libraries, server, guard) as environment:
                try:
                    if args.case in SHARES:
                        shares(environment, kinds, args.grants)
                    elif args.case in LONG_HOLDS:
                        long_hold(environment, kinds)
                    else:
                        does_not_share(environment, kinds)
                except Failure as failure:
                    print(f"failed: {failure}", file=sys.stderr)
                    return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
