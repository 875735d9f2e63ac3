# SPDX-License-Identifier: Apache-2.0
"""The measures, their units, and the targets of zklock. README.md defines them."""
from dataclasses import dataclass, field
from typing import Callable, Optional


def median_latency(answer):
    return answer["p50"]


def rate(answer):
    return answer["ops"] / answer["seconds"] if answer["seconds"] else 0.0


def microseconds_each(answer):
    return answer["seconds"] / answer["ops"] * 1e6 if answer["ops"] else 0.0


def nanoseconds_of_pair(answer):
    return answer["pair_ns"]


def kilobytes_each(answer):
    return answer["kilobytes"]


def server_kilobytes_each(answer):
    return answer["server_kilobytes"]


def threads_each(answer):
    return answer["threads"]


def bytes_in_all(answer):
    return answer["bytes"]


def per_second(counter, unit=1):
    """Returns a function of a run: by how many units a counter has grown in each second."""
    return lambda run: run["spent"][counter] / run["spent"]["time"] / unit


def kilobytes_written(run):
    # The kernel does not count what is written to /dev/shm; there the files occupy more.
    return max(per_second("written", 1024)(run), per_second("occupied", 1024)(run))


QUICK_ROUNDS = 3
LONG = 6  # the rounds of a long measure, which varies less


CURATOR, FLOOR, OWN = "ratio_to_curator", "ratio_to_floor", "zklock"
CURATOR_CPU = "cpu_ratio_to_curator"
PEERS = {CURATOR: " x Curator", FLOOR: " x floor", CURATOR_CPU: " x Curator's CPU"}


@dataclass(frozen=True)
class Target:
    """A bound for `of`: a ratio in a row of the results, or "zklock" itself."""

    of: str
    bound: float
    at_least: bool = False
    delayed: Optional[bool] = None  # whether it applies with --rtt only, or without it only

    def holds(self, value):
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self):
        sign = ">=" if self.at_least else "<="
        peer = PEERS.get(self.of, "")
        bound = f"1/{1 / self.bound:.0f}" if self.bound < 0.01 else f"{self.bound:g}"
        return f"{sign} {bound}{peer}"


@dataclass(frozen=True)
class Figure:
    """One more row for the runs of a measure."""

    suffix: str  # of the measure's key
    title: str
    unit: str
    value: Callable
    targets: tuple = ()


@dataclass(frozen=True)
class Measure:
    key: str
    title: str
    unit: str
    kind: str
    value: Callable
    params: dict = field(default_factory=dict)
    targets: tuple = ()
    seconds: float = 1.0  # the counted time, in the full benchmark; 0: as long as it takes
    warm: float = 0.3
    figures: tuple = ()  # more rows
    with_bytes: bool = False  # whether runs have "bytes"
    server_memory_of: int = 0  # the sessions or contenders that use the server's memory
    contenders: Optional[int] = None  # of sessions at rest, which have no operations
    full_rounds: int = 12  # each of four contestants begins three of them
    quick_rounds: Optional[int] = None  # fewer than for the other measures
    only: Optional[tuple] = None  # the only contestants that take part
    most_rounds: dict = field(default_factory=dict)  # by contestant
    picture: bool = False  # only with --plot
    scale: bool = False  # only with --scale

    def rows(self):
        """Yields each row of the results as key and Figure."""
        yield self.key, Figure("", self.title, self.unit, self.value, self.targets)
        for figure in self.figures:
            yield self.key + figure.suffix, figure

    def rounds(self, contestant, quick):
        """Returns in how many rounds the contestant takes part; 0 if it is too slow for --quick."""
        if not quick:
            return self.most_rounds.get(contestant, self.full_rounds)
        if self.picture:
            return 1
        if self.quick_rounds is None:
            return QUICK_ROUNDS
        return 0 if contestant in self.most_rounds else self.quick_rounds


def at_most(of, bound, delayed=None):
    return Target(of, bound, delayed=delayed)


def at_least(of, bound, delayed=None):
    return Target(of, bound, at_least=True, delayed=delayed)


def fast(curator, floor=None, delayed=None):
    """Targets of a duration: ratios to Curator and the floor, and to Curator with --rtt."""
    targets = (at_most(CURATOR, curator, False),)
    if floor:
        targets += (at_most(FLOOR, floor, False),)
    return targets + ((at_most(CURATOR, delayed, True),) if delayed else ())


def frequent(curator, delayed):
    """As fast(), of a rate."""
    return (at_least(CURATOR, curator, False), at_least(CURATOR, delayed, True))


def hand_off(contenders, shared, targets, key=None, title=None, picture=False, **params):
    own = "one session" if shared else "own sessions"
    return Measure(
        key or f"handoff_{contenders}" + ("_shared" if shared else ""),
        title or f"contended hand-offs, {contenders} on {own}", "1/s", "handoff", rate,
        {"contenders": contenders, "shared": int(shared), "apart": 0, **params}, targets,
        seconds=1.5, warm=0.4, picture=picture,
        full_rounds=LONG if picture else Measure.full_rounds)


def drain(waiters, targets=(), bytes_targets=(), full_rounds=LONG, **more):
    return Measure(
        f"drain_{waiters}", f"drain of {waiters} waiters, a hand-off", "us", "drain",
        microseconds_each, {"waiters": waiters, "sessions": 8}, targets, seconds=0, warm=0,
        figures=(Figure("_bytes", f"drain of {waiters} waiters, bytes in all", "byte",
                        bytes_in_all, bytes_targets),),
        with_bytes=True, full_rounds=full_rounds, **more)


def free(key, title, kind, targets, **params):
    return Measure(key, title, "us", kind, median_latency, params, targets)


def server_memory(title):
    return Figure("_server_memory", f"{title}: server memory each", "KB", server_kilobytes_each)


def at_rest(key, title, kind, sessions, locks=0, server_cpu=(), received=(), written=(), cpu=(),
            full_rounds=3, **more):
    """Sessions, each its own connection, that wait for one lock or hold `locks` each."""
    contenders = sessions + 1 if kind == "waiting" else sessions * locks
    # They begin in all phases of a session timeout of 10 s.
    params = {"sessions": sessions, "locks": locks, "settle": 10, "apart": 10 / sessions}
    return Measure(
        key, f"{title}: server CPU", "% core", kind, per_second("server_cpu", 0.01), params,
        server_cpu, seconds=20, warm=0, contenders=contenders, full_rounds=full_rounds,
        quick_rounds=0, server_memory_of=max(sessions, contenders),
        figures=(
            Figure("_received", f"{title}: packets to the server", "1/s", per_second("received"),
                   received),
            Figure("_sent", f"{title}: packets from the server", "1/s", per_second("sent")),
            Figure("_written", f"{title}: written to disk", "KB/s", kilobytes_written, written),
            Figure("_cpu", f"{title}: client CPU", "% core", per_second("cpu", 0.01), cpu),
            Figure("_memory", f"{title}: client memory each", "KB", kilobytes_each),
            Figure("_threads", f"{title}: client threads each", "1", threads_each),
            server_memory(title)), **more)


REST = {"most_rounds": {"kazoo": 1, "floor": 1}}
OURS = {"only": ("zklock", "floor"), "full_rounds": 1}


def waiters(key, count, sessions, targets=(), **more):
    # By then zklock watches the znode of each waiter: 1000 a second on each session.
    settle = 4 + count / sessions / 1000
    return Measure(key, f"{count:,} waiters by callbacks, memory each", "KB", "waiters",
                   kilobytes_each, {"waiters": count, "sessions": sessions, "settle": settle},
                   targets, seconds=0, warm=0, quick_rounds=1, server_memory_of=count,
                   figures=(server_memory(f"{count:,} waiters by callbacks"),), **more)


CHEAP = (at_most(CURATOR_CPU, 0.6),)
CONTENDED = (at_least(FLOOR, 0.98, False), at_least(FLOOR, 0.95, True), at_most(CURATOR_CPU, 0.4))
SHARED = (at_least(CURATOR, 1.9), at_most(CURATOR_CPU, 0.4))

MEASURES = (
    free("acquire_free", "free acquire, p50", "acquire",
         (*fast(0.70, floor=1.05, delayed=0.52), *CHEAP)),
    free("cycle_free", "free lock+unlock cycle, p50", "cycle", (*fast(0.62, delayed=0.40), *CHEAP)),
    free("cold_path", "acquire at a new path, p50", "cold",
         fast(0.5, floor=1.1, delayed=0.5)),
    free("unlock_return", "return of unlock(), p50", "unlock", (at_most(OWN, 4),)),
    hand_off(8, False, (*frequent(1.9, delayed=2.2), *CONTENDED)),
    hand_off(64, False, (*frequent(1.9, delayed=2.5), *CONTENDED)),
    hand_off(8, True, SHARED),
    hand_off(64, True, SHARED),
    Measure("handoff_single", "release to granted, one waiter, p50", "us", "single",
            median_latency, {"hold": 0.003}, fast(0.72, delayed=0.45)),
    drain(100, quick_rounds=2),
    drain(1000, (at_most(CURATOR, 0.35, True),), most_rounds={"kazoo": 2}, quick_rounds=1),
    drain(3000, (at_most(CURATOR, 0.15),), (at_most(CURATOR, 0.02),), most_rounds={"kazoo": 1},
          quick_rounds=1),
    Measure("independent_64", "64 independent locks on one session", "1/s", "independent", rate,
            {"contenders": 64, "shared": 1, "apart": 1}, frequent(1.4, delayed=2.5),
            seconds=1.5, warm=0.4),
    Measure("reentrant", "nested lock+unlock (floor: recursive_mutex)", "ns", "nested",
            nanoseconds_of_pair, {}, (at_most(OWN, 30),), seconds=0.5, warm=0.2),
    hand_off(8, True, (at_least(CURATOR, 100),), key="local_8",
             title="8 threads of one process, max_local_handoffs", max_local_handoffs=64),
    free("kept", "cycle of a lock retained when idle, p50", "cycle",
         (at_most(CURATOR, 1 / 1000),), keep_idle_for=60),
    waiters("waiters_10k", 10000, 1, (at_most(OWN, 1.2),), only=("zklock", "floor"),
            full_rounds=LONG),
    at_rest("waiting_300", "300 sessions wait for one lock", "waiting", 300, 0,
            (at_most(CURATOR, 1.2),), (at_most(CURATOR, 1.7),), (at_most(OWN, 4),),
            (at_most(CURATOR, 1.2),), **REST),
    at_rest("holding_300", "300 sessions hold a lock each", "holding", 300, 1, **REST),
    at_rest("idle_300", "300 idle sessions", "idle", 300, 0, (at_most(CURATOR, 1),),
            cpu=(at_most(CURATOR, 1),), **REST),
    *(hand_off(n, False, (), picture=True) for n in (2, 4, 16, 32)),
    drain(10, picture=True),
    drain(300, picture=True),
    *(at_rest(f"held_{n}", f"{n:,} locks held by one session", "holding", 1, n, scale=True, **OURS)
      for n in (100, 1000, 10000)),
    *(waiters(f"waiters_{n}", n, 4, scale=True, **OURS) for n in (1000, 10000, 50000)),
    *(drain(n, scale=True, picture=True, **OURS) for n in (10000, 50000)),
    *(Measure(f"crowd_{n}", f"200 waiters on each of {n} locks, hand-offs", "1/s", "drains", rate,
              {"waiters": 200, "queues": n, "sessions": 1, "settle": 0}, seconds=0, warm=0,
              scale=True, **OURS)
      for n in (1, 10, 100)),
    *(at_rest(f"{kind}_{n}", title, kind, n, locks, scale=True, full_rounds=1,
              only=("zklock", "curator"))
      for n in (100, 1000) for kind, locks, title in (
          ("idle", 0, f"{n:,} idle sessions"), ("holding", 1, f"{n:,} sessions hold a lock each"))),
)
