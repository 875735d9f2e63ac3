# SPDX-License-Identifier: Apache-2.0
"""Runs the contestants in turn against one server, and says how they compare. See README.md."""
import argparse
import contextlib
import datetime
import json
import os
import platform
import resource
import signal
import statistics
import sys
import time

import plot
import table
from contestants import Failure, all_contestants
from measures import MEASURES
from network import Network, duration
from server import Servers, file_system

SESSION_TIMEOUT = 10
SETTLE = 4  # longer than the 2.9 s in which zklock sends its last requests for a waiter
# At least 8 s of all kinds of work before any measure, for Java's compiler, also the server's.
WARM_UP = (("handoff_8", 2.5), ("cycle_free", 1.0), ("handoff_64_shared", 1.5),
           ("independent_64", 1.5), ("acquire_free", 0.5), ("handoff_single", 0.5),
           ("reentrant", 0.5), ("cold_path", 0.5), ("drain_100", 0.0))
OTHERS_WARM_UP = 0.1  # part of that time, for contestants without such a compiler
TIMEOUT = 300
QUICK_SECONDS = 170  # a round that would end later is not begun
MOST_DESCRIPTORS = 65536  # each session needs some


class Benchmark:
    def __init__(self, servers, contestants, arguments):
        self.servers = servers
        self.contestants = contestants
        self.quick = arguments.quick
        self.most_rounds = arguments.rounds
        self.measures = [m for m in MEASURES if takes_part(m, arguments)]
        # By measure and contestant: the runs, by the number of their round.
        self.runs = {m.key: {} for m in self.measures}
        self.absent = {m.key: {} for m in self.measures}
        self.begun = time.monotonic()
        self.rounds_done = 0
        self.failures = []
        self.ended = set()  # contestants that cannot continue
        self._serial = 0

    def say(self, text):
        print(text, file=sys.stderr, flush=True)

    def warm_up(self):
        by_key = {m.key: m for m in MEASURES}
        for contestant in self.contestants:
            self.say(f"warming up {contestant.name}")
            part = 1 if contestant.name == "curator" else OTHERS_WARM_UP
            for key, seconds in WARM_UP:
                self.attempt(by_key[key], contestant, seconds * part)

    def run(self):
        rounds = max(self.rounds(m, c) for m in self.measures for c in self.contestants)
        for round_ in range(rounds):
            begun = time.monotonic()
            self.say(f"round {round_ + 1} of {rounds}")
            for measure in self.measures:
                turn = round_ % len(self.contestants)
                for contestant in self.contestants[turn:] + self.contestants[:turn]:
                    self.visit(measure, contestant, round_)
            self.rounds_done += 1
            now = time.monotonic()
            # The first round does the work of the later ones, and more.
            if self.quick and now + (now - begun) - self.begun > QUICK_SECONDS:
                return

    def rounds(self, measure, contestant):
        return min(self.most_rounds, measure.rounds(contestant.name, self.quick))

    def visit(self, measure, contestant, round_):
        """Runs one measure of one contestant, if it takes part in this round."""
        if measure.only and contestant.name not in measure.only:
            self.absent[measure.key][contestant.name] = "-"
            return
        rounds = self.rounds(measure, contestant)
        if rounds == 0:
            self.absent[measure.key][contestant.name] = "not quick"
        if round_ >= rounds:
            return
        seconds = measure.seconds / 5 if self.quick else measure.seconds
        run = self.attempt(measure, contestant, seconds)
        if "absent" in run:
            self.absent[measure.key][contestant.name] = run["absent"]
        else:
            self.runs[measure.key].setdefault(contestant.name, {})[round_] = run

    def fail(self, text):
        self.failures.append(text)
        self.say(text)

    def attempt(self, measure, contestant, seconds):
        """Like run_once(), but a failure counts as absent and the benchmark continues."""
        if contestant.name in self.ended:
            return {"absent": "failed"}
        try:
            run = self.run_once(measure, contestant, seconds)
        except Failure as failure:
            self.fail(str(failure))
            if not contestant.is_ready():
                self.ended.add(contestant.name)
            return {"absent": "failed"}
        if run.get("overlaps"):
            self.fail(f"{contestant.name}: {measure.key}: {run['overlaps']} overlaps: "
                      "it does not exclude")
            return {"absent": "overlaps"}
        return run

    def run_once(self, measure, contestant, seconds):
        self._serial += 1
        warm = min(measure.warm, seconds / 2)
        params = {"kind": measure.kind, "path": f"/bench/{contestant.name}/{self._serial}",
                  "timeout": SESSION_TIMEOUT, "settle": SETTLE, "apart": 0, "seconds": seconds,
                  "warm": warm, **measure.params}
        line = " ".join(f"{name}={value}" for name, value in params.items())
        heap = self.servers.heap_in_use() if measure.server_memory_of else 0
        prepared = contestant.request("prepare " + line, TIMEOUT)
        if "absent" in prepared:
            return prepared
        before = self.counters(contestant, measure)
        run = contestant.request("run", TIMEOUT)
        after = self.counters(contestant, measure)
        if measure.contenders is not None:
            self.check_contenders(measure, contestant)
        if measure.server_memory_of:
            grown = self.servers.heap_in_use() - heap
            run["server_kilobytes"] = grown / 1024 / measure.server_memory_of
        contestant.request("finish", TIMEOUT)
        spent = run["spent"] = {name: after[name] - before[name] for name in before}
        spent["received"] -= len(self.servers.members)  # the second query
        each = max(run["cycles"], 1)
        run["requests"] = max(0, spent["received"]) / each
        run["cpu"] = spent["cpu"] / each * 1e6
        run["server_cpu"] = spent["server_cpu"] / each * 1e6
        run["bytes"] = spent.get("bytes")
        return run

    def check_contenders(self, measure, contestant):
        """Raises Failure if another number of sessions waits or holds."""
        found = self.servers.ephemerals()
        # zklock marks each hold that lasts, by one more ephemeral znode.
        marked = {"waiting": 1, "holding": measure.contenders}.get(measure.kind, 0)
        if found not in (measure.contenders, measure.contenders + marked):
            raise Failure(f"{contestant.name}: {measure.key}: {found} ephemeral znodes instead of "
                          f"{measure.contenders}")

    def counters(self, contestant, measure):
        counters = {"time": time.monotonic(), "cpu": contestant.cpu(), **self.servers.counters()}
        if measure.with_bytes:
            counters["bytes"] = self.servers.bytes_on_the_wire()
        return counters

    def results(self, missing):
        """Returns the content of the JSON: a row for each figure, by its key."""
        results = {}
        for measure in self.measures:
            runs = self.runs[measure.key]
            absent = {**missing, **self.absent[measure.key]}
            for key, figure in measure.rows():
                values = by_round(runs, figure.value)
                results[key] = row_of(figure.title, figure.unit, values, absent)
            row = results[measure.key]
            if measure.contenders is None:
                add_costs(row, measure, runs)
            if measure.kind == "waiters":
                row["threads_more"] = {who: max(run["threads"] for run in each.values())
                                       for who, each in runs.items()}
        return results


def takes_part(measure, arguments):
    if arguments.only:
        return measure.key in arguments.only
    if arguments.scale:
        return measure.scale
    return bool(arguments.plot) if measure.picture else not measure.scale


def add_costs(row, measure, runs):
    """Adds to a row: p99, and the cost of an operation with its ratios."""
    p99 = "pair_ns_p99" if measure.kind == "nested" else "p99"
    for name, key in (("p99", p99), ("requests", "requests"), ("cpu", "cpu"),
                      ("server_cpu", "server_cpu")):
        if measure.kind == "waiters" and name == "p99":
            continue
        row[name] = {who: statistics.median(run[key] for run in each.values())
                     for who, each in runs.items()}
    for name in ("cpu", "server_cpu"):
        add_ratios(row, by_round(runs, lambda run, name=name: run[name]), name + "_")


def add_ratios(row, values, prefix=""):
    """Adds zklock's ratios to its peers. `values`: by contestant and round."""
    for peer in ("curator", "floor"):
        ratio = median_ratio(values.get("zklock", {}), values.get(peer, {}))
        row[f"{prefix}ratio_to_{peer}"] = ratio


def by_round(runs, value):
    return {name: {round_: value(run) for round_, run in each.items()}
            for name, each in runs.items()}


def row_of(title, unit, values, absent):
    """`values`: by contestant and round."""
    row = {"title": title, "unit": unit,
           **{name: None for name in table.NAMES},
           **{name: statistics.median(each.values()) for name, each in values.items()}}
    add_ratios(row, values)
    row["rounds"] = {name: list(each.values()) for name, each in values.items()}
    row["absent"] = {name: why for name, why in absent.items() if row.get(name) is None}
    return row


def median_ratio(ours, theirs):
    """Returns the median of the rounds' ratios: a slow round slows both sides."""
    ratios = [ours[round_] / theirs[round_] for round_ in ours if theirs.get(round_)]
    return statistics.median(ratios) if ratios else None


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        for line in info:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def package(name):
    """Returns the version of a Debian package; empty if it is not installed."""
    pipe = os.popen(f"dpkg-query -W -f '${{Version}}' {name} 2>/dev/null")
    with pipe:
        return pipe.read().strip()


def about(servers, contestants, arguments, directory):
    versions = {c.name: c.version if not c.absence else c.absence for c in contestants}
    if not contestants[1].absence:
        versions["curator"] = f"{package('libcurator-recipes-java')} {contestants[1].version}"
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "zookeeper": servers.version(),
        "servers": len(servers.members),
        "added_round_trip_us": arguments.rtt or 0,
        "versions": versions,
        "processor": processor(),
        "processors": os.cpu_count(),
        "kernel": platform.release(),
        "compiled": "-O2 -DNDEBUG",
        "data": file_system(directory) + (", in memory" if arguments.memory else ", with fsync"),
        "session_timeout_s": SESSION_TIMEOUT,
    }


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tests/bench/run.sh", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds: 3 minutes")
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--plot", metavar="DIR", help="draw two pictures of RESULTS.md there")
    parser.add_argument("--scale", action="store_true",
                        help="the measures of scale instead of the others: one round")
    parser.add_argument("--memory", action="store_true", help="the server's data on /dev/shm")
    parser.add_argument("--rtt", metavar="TIME", type=duration,
                        help="add that to each round trip to a server, such as 1ms")
    parser.add_argument("--ensemble", action="store_true", help="three servers instead of one")
    parser.add_argument("--rounds", metavar="N", type=int, default=sys.maxsize,
                        help="at most N rounds")
    parser.add_argument("--build", type=os.path.abspath, default="build/bench", help=argparse.SUPPRESS)
    parser.add_argument("--only", metavar="KEY", nargs="+", choices=[m.key for m in MEASURES],
                        help="these measures only")
    return parser.parse_args()


def report(benchmark, results, facts, arguments):
    print(json.dumps({"about": facts}, indent=2))
    print()
    print(table.table(results))
    print()
    if any("cpu" in row for row in results.values()):
        print(table.cost_table(results))
        print()
    print(table.target_lines(results, benchmark.measures, bool(arguments.rtt)))
    print("\nMedians over the rounds; a ratio is the median of the rounds' ratios."
          "\nRequests are the server's zk_packets_received, pings and heartbeats among them;"
          "\nbytes are TCP payload both ways, of the clients' sockets (TCP_INFO).")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as out:
            json.dump({**results, "about": facts}, out, indent=2)
            out.write("\n")
    if arguments.plot:
        for path in plot.draw(results, facts, arguments.plot):
            print("drawn:", path)
    for failure in benchmark.failures:
        print("FAILED:", failure)


def allow_descriptors():
    """Raises this process's limit of open files, which its children inherit."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_DESCRIPTORS if most == resource.RLIM_INFINITY else min(most, MOST_DESCRIPTORS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def main():
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the exit handlers then clean up
    begun = time.monotonic()
    directory = "/dev/shm" if arguments.memory else arguments.build
    contestants = all_contestants(arguments.build)
    missing = {c.name: c.absence for c in contestants if c.absence}
    for name, why in missing.items():
        print(f"{name} takes no part: {why}", file=sys.stderr)
    taking_part = [c for c in contestants if not c.absence]
    allow_descriptors()
    with contextlib.ExitStack() as stack:
        servers = stack.enter_context(Servers(directory, 3 if arguments.ensemble else 1))
        network = stack.enter_context(Network(arguments.build, servers.ports, arguments.rtt))
        for contestant in taking_part:
            stack.callback(contestant.stop)
            contestant.start(network.hosts)
        benchmark = Benchmark(servers, taking_part, arguments)
        facts = about(servers, contestants, arguments, directory)
        benchmark.warm_up()
        benchmark.run()
    facts["rounds"] = benchmark.rounds_done
    facts["seconds"] = round(time.monotonic() - begun)
    report(benchmark, benchmark.results(missing), facts, arguments)
    return 1 if benchmark.failures else 0


if __name__ == "__main__":
    sys.exit(main())
