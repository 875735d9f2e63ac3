#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that the commands of two `zklock run` never run at the same time, whatever fails.

    tests/cli/two_hosts.py --zklock PROGRAM --ticker PROGRAM --request PROGRAM [--rounds N] [--seed N] [FAULT...]

In each round, the command of A ticks on one host, and B waits on another one. Then one fault happens. All processes
run on one kernel, so CLOCK_BOOTTIME is one clock for all. The last tick of A must come before the first tick of B. B
is the A of the next round. There are four pairs of hosts at a time. At the end, the script prints the shortest gap
between two commands and the longest delay of a kill.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

from harness import children_of, guardian_of, server, wait_for
from hosts import Host, SERVER_ADDRESS, enter_namespace, make_bridge

LANES = 4
TIMEOUT = 6.0
TICK_MS = 500
# The time in which B ticks after a fault: the session timeout, two ticks, and what a loaded machine adds.
LONGEST = TIMEOUT + 2 * TICK_MS / 1000 + 8

# A busy machine can make a short fault long enough for a loss.
SHORT = {0, 3, 79}
# fault: weight, exit codes of A
FAULTS = {
    "kill_zklock": (20, {-9}),
    "stop_zklock": (20, {79}),
    "stop_zklock_briefly": (10, SHORT),
    "kill_guardian": (20, {137}),
    "stop_guardian_and_partition": (12, {79}),
    "kill_both": (12, {-9}),
    "partition": (30, {79}),
    "short_partition": (12, SHORT),
    "force": (20, {79}),
    "force_and_stop": (12, {79}),
    "max_hold": (16, {79}),
    "server_restart": (16, {0, 3, 79}),
}


class Contender:
    """One `zklock run` with a ticker."""

    def __init__(self, lane, host, fault):
        self.lane = lane
        self.host = host
        self.fault = fault
        self.number = lane.count
        lane.count += 1
        self.report = os.path.join(lane.folder, f"report{self.number}")
        modes = ["ignore", "ignore", "exit"] + (["daemon"] if fault != "kill_both" else [])
        mode = lane.random.choice(modes)
        options = ["--max-hold", "2500ms"] if fault == "max_hold" else []
        command = [lane.args.zklock, "-z", lane.hosts, "-T", f"{TIMEOUT:g}s", "run", *options, "--report", self.report,
                   lane.path, lane.args.ticker, lane.ticks, mode]
        self.process = subprocess.Popen(server.dies_with_us(host.command(command)), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.mode = mode
        self.error = None

    def send(self, number):
        self.process.send_signal(number)

    def end(self):
        """Returns the exit code, when the process has ended."""
        try:
            _, self.error = self.process.communicate(timeout=40)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.fault}: A does not end") from None
        return self.process.returncode

    def story(self):
        """Ends the process. Returns its exit code and its messages."""
        is_alive = self.process.poll() is None
        self.send(signal.SIGTERM)
        return f"{'waited' if is_alive else 'had ended'}, exit {self.end()}, {self.error}"

    def facts(self):
        try:
            return json.loads(pathlib.Path(self.report).read_text(encoding="utf-8"))
        except OSError:
            return None


class Lane(threading.Thread):
    """Two hosts, one path, and its rounds."""

    def __init__(self, number, test):
        super().__init__(daemon=True)
        self.args = test.args
        self.test = test
        self.number = number
        self.hosts = test.servers.hosts
        self.random = random.Random(test.args.seed * LANES + number)
        self.path = f"/lane{number}"
        self.folder = tempfile.mkdtemp(prefix=f"lane{number}.", dir=test.folder)
        self.ticks = os.path.join(self.folder, "ticks")
        os.mkdir(self.ticks)
        self.sides = [Host(number, side) for side in (0, 1)]
        self.count = 0
        self.results = []
        self.failure = None

    def tick_files(self):
        """Returns the times of the commands so far, in the order of their tokens."""
        found = []
        for name in os.listdir(self.ticks):
            data = pathlib.Path(self.ticks, name).read_bytes()
            if len(data) == 16 and struct.unpack("qq", data)[0]:
                found.append((tuple(map(int, name.split("."))), struct.unpack("qq", data)))
        return [times for _, times in sorted(found)]

    def await_commands(self, number, seconds):
        wait_for(lambda: len(self.tick_files()) >= number, f"command {number} ticks", seconds)

    def queue_length(self):
        return len(re.findall(rf"^\s+{self.path}/\S*lock-\d+", self.test.servers.members[0].request("dump"), re.MULTILINE))

    def run(self):
        try:
            self.rounds()
        except Exception:  # pylint: disable=broad-except
            self.failure = traceback.format_exc()
            self.test.barrier.abort()

    def rounds(self):
        faults = self.test.plan[self.number]
        holder = Contender(self, self.sides[0], faults[0])
        self.await_commands(1, 20)
        for index, fault in enumerate(faults):
            following = faults[index + 1] if index + 1 < len(faults) else "end"
            waiter = Contender(self, self.sides[(index + 1) % 2], following)
            # Before that, B would not be in the queue when the fault happens.
            wait_for(lambda: self.queue_length() >= 2 or fault == "max_hold" and len(self.tick_files()) > index + 1,
                     "B waits", 15)
            time.sleep(self.random.uniform(0, 0.5))
            begun = time.monotonic()
            try:
                code = self.round(holder, fault, index + 2)
            except AssertionError as error:
                raise AssertionError(f"{error} after {fault} ({holder.mode}); the next one: {waiter.story()}") from error
            self.judge(holder, fault, code, index)
            if self.args.verbose:
                print(f"lane {self.number} round {index} {fault} ({holder.mode}): {time.monotonic() - begun:.1f} s",
                      flush=True)
            holder = waiter
        holder.send(signal.SIGUSR1)
        holder.end()

    def round(self, holder, fault, commands):
        """Makes the fault, and waits for the next command. Returns the exit code of A."""
        getattr(self, fault)(holder)
        ends_by_itself = FAULTS[fault][1] is SHORT
        if fault == "server_restart":
            time.sleep(0.2)
            ends_by_itself = holder.process.poll() is None
        if ends_by_itself:
            holder.send(signal.SIGUSR1)
        self.await_commands(commands, LONGEST)
        holder.host.mend()
        if fault in ("stop_zklock", "force_and_stop"):
            holder.send(signal.SIGCONT)
        return holder.end()

    def judge(self, holder, fault, code, index):
        expected = FAULTS[fault][1]
        (_, last), (first, _) = self.tick_files()[index:index + 2]
        facts = holder.facts()
        gap = (first - last) / 1e6
        delay = (facts or {}).get("kill_delay_ms")
        self.results.append((fault, gap, delay))
        story = f"{fault} ({holder.mode}), exit {code}, gap {gap:.3f} ms, report {facts}, text {holder.error}"
        if gap <= 0:
            raise AssertionError("two commands ran at the same time: " + story)
        if code not in expected:
            raise AssertionError(f"expected the exit code {expected}: {story}")

    # The faults.
    def kill_zklock(self, holder):
        holder.send(signal.SIGKILL)

    def stop_zklock(self, holder):
        holder.send(signal.SIGSTOP)

    def stop_zklock_briefly(self, holder):
        holder.send(signal.SIGSTOP)
        time.sleep(TIMEOUT / 10)
        holder.send(signal.SIGCONT)
        time.sleep(TIMEOUT / 10)

    def kill_guardian(self, holder):
        os.kill(guardian_of(holder.process.pid), signal.SIGKILL)

    def stop_guardian_and_partition(self, holder):
        os.kill(guardian_of(holder.process.pid), signal.SIGSTOP)
        holder.host.cut()

    def kill_both(self, holder):
        guardian = guardian_of(holder.process.pid)
        assert children_of(guardian), "the guardian has no command"
        os.kill(guardian, signal.SIGSTOP)  # so that it does nothing between the two
        holder.send(signal.SIGKILL)
        os.kill(guardian, signal.SIGKILL)

    def partition(self, holder):
        holder.host.cut()

    def short_partition(self, holder):
        holder.host.cut()
        time.sleep(TIMEOUT / 8)
        holder.host.mend()
        time.sleep(TIMEOUT / 4)

    def force(self, _):
        host = self.sides[self.random.randrange(2)]
        self.requester = subprocess.Popen(
            server.dies_with_us(host.command([self.args.request, self.hosts, self.path, "force"])))
        threading.Thread(target=self.requester.wait, daemon=True).start()

    def force_and_stop(self, holder):
        self.force(holder)
        time.sleep(self.random.uniform(0, 0.3))
        holder.send(signal.SIGSTOP)

    def max_hold(self, _):
        pass

    def server_restart(self, _):
        self.test.barrier.wait(120)
        # The main thread restarts the server here.
        self.test.barrier.wait(120)


class Test:
    def __init__(self, args, servers, folder):
        self.args = args
        self.servers = servers
        self.folder = folder
        self.barrier = threading.Barrier(LANES + 1)
        self.plan = self.plan_of(random.Random(args.seed))

    def plan_of(self, rng):
        """Returns the faults of each lane. The server restarts in the same rounds of all lanes."""
        names = self.args.faults or list(FAULTS)
        others = [name for name in names if name != "server_restart"]
        weights = [FAULTS[name][0] for name in others]
        rounds = max(1, self.args.rounds // LANES)
        restarts = set()
        if "server_restart" in names:
            restarts = set(rng.sample(range(rounds), min(rounds, max(1, rounds * 16 // 200))))
        return [["server_restart" if i in restarts or not others else rng.choices(others, weights)[0]
                 for i in range(rounds)] for _ in range(LANES)]

    def restart_server(self):
        """Restarts the server. REQUIRES: the main thread. The kernel kills the server when the thread that started it
        ends."""
        member = self.servers.members[0]
        member.process.kill()
        member.process.wait()
        member.start(TICK_MS, "128m", "", 1)
        wait_for(member.serves, "the server serves")

    def restarts(self):
        """Restarts the server each time that all lanes have stopped for it. Returns early if a lane fails."""
        try:
            for _ in range(self.plan[0].count("server_restart")):
                self.barrier.wait()
                self.restart_server()
                self.barrier.wait()
        except threading.BrokenBarrierError:
            pass

    def run(self):
        lanes = [Lane(number, self) for number in range(LANES)]
        for lane in lanes:
            lane.start()
        self.restarts()
        for lane in lanes:
            lane.join()
        table = collections.defaultdict(list)
        for lane in lanes:
            for fault, gap, delay in lane.results:
                table[fault].append((gap, delay or 0))
        print(f"{'fault':30} rounds  shortest gap ms  longest kill delay ms")
        for fault, rows in table.items():
            print(f"{fault:30} {len(rows):6} {min(gap for gap, _ in rows):16.1f} {max(d for _, d in rows):22.1f}")
        failures = [lane.failure for lane in lanes if lane.failure]
        print(*failures, sep="\n")
        rounds = sum(len(rows) for rows in table.values())
        print(f"{rounds} rounds with seed {self.args.seed}, {len(failures)} lanes failed")
        return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser()
    for name in ("zklock", "ticker", "request"):
        parser.add_argument("--" + name, required=True, type=os.path.abspath)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(10 ** 6))
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("faults", nargs="*", metavar="FAULT", help="default: all")
    args = parser.parse_args()
    if not server.is_installed():
        print("no ZooKeeper server")
        return 77
    enter_namespace()
    make_bridge()
    print("seed", args.seed, flush=True)
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="zklock-two-hosts.") as folder:
        with server.Servers(None, tick_ms=TICK_MS, heap="128m", address=SERVER_ADDRESS) as servers:
            return Test(args, servers, folder).run()


if __name__ == "__main__":
    sys.exit(main())
