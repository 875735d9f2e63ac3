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


QUICK_ROUNDS = 3
LONG = 6  # the rounds of a long measure, which varies less


@dataclass(frozen=True)
class Target:
    """A bound for `of`: "ratio_to_curator", "ratio_to_floor", or "zklock" itself."""

    of: str
    bound: float
    at_least: bool = False

    def holds(self, value):
        return value >= self.bound if self.at_least else value <= self.bound

    def __str__(self):
        sign = ">=" if self.at_least else "<="
        peer = {"ratio_to_curator": " x Curator", "ratio_to_floor": " x floor"}.get(self.of, "")
        bound = f"1/{1 / self.bound:.0f}" if self.bound < 0.01 else f"{self.bound:g}"
        return f"{sign} {bound}{peer}"


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
    with_bytes: bool = False
    full_rounds: int = 12  # each of four contestants begins three of them
    quick_rounds: Optional[int] = None  # fewer than for the other measures
    only: Optional[tuple] = None  # the only contestants that take part
    most_rounds: dict = field(default_factory=dict)  # by contestant
    picture: bool = False  # only with --plot

    def rounds(self, contestant, quick):
        """Returns in how many rounds the contestant takes part; 0 if it is too slow for --quick."""
        if not quick:
            return self.most_rounds.get(contestant, self.full_rounds)
        if self.picture:
            return 1
        if self.quick_rounds is None:
            return QUICK_ROUNDS
        return 0 if contestant in self.most_rounds else self.quick_rounds


def at_most(of, bound):
    return Target(of, bound)


def at_least(of, bound):
    return Target(of, bound, at_least=True)


CURATOR, FLOOR, OWN = "ratio_to_curator", "ratio_to_floor", "zklock"


def hand_off(contenders, shared, targets, key=None, title=None, picture=False, **params):
    own = "one session" if shared else "own sessions"
    return Measure(
        key or f"handoff_{contenders}" + ("_shared" if shared else ""),
        title or f"contended hand-offs, {contenders} on {own}", "1/s", "handoff", rate,
        {"contenders": contenders, "shared": int(shared), "apart": 0, **params}, targets,
        seconds=1.5, warm=0.4, picture=picture, full_rounds=LONG if picture else Measure.full_rounds)


def drain(waiters, targets=(), picture=False, **more):
    return Measure(
        f"drain_{waiters}", f"drain of {waiters} waiters, a hand-off", "us", "drain",
        microseconds_each, {"waiters": waiters, "sessions": 8}, targets, seconds=0, warm=0,
        with_bytes=True, picture=picture, full_rounds=LONG, **more)


def free(key, title, kind, targets, **params):
    return Measure(key, title, "us", kind, median_latency, params, targets)


CONTENDED = (at_least(CURATOR, 1.8), at_least(FLOOR, 0.90))
SHARED = (at_least(CURATOR, 1.8),)

MEASURES = (
    free("acquire_free", "free acquire, p50", "acquire",
         (at_most(CURATOR, 0.65), at_most(FLOOR, 1.10))),
    free("cycle_free", "free lock+unlock cycle, p50", "cycle", (at_most(CURATOR, 0.65),)),
    free("unlock_return", "return of unlock(), p50", "unlock", (at_most(OWN, 5),)),
    hand_off(8, False, CONTENDED),
    hand_off(64, False, CONTENDED),
    hand_off(8, True, SHARED),
    hand_off(64, True, SHARED),
    Measure("handoff_single", "release to granted, one waiter, p50", "us", "single",
            median_latency, {"hold": 0.003}, (at_most(CURATOR, 0.75),)),
    drain(100, quick_rounds=2),
    drain(1000, most_rounds={"kazoo": 2}, quick_rounds=1),
    drain(3000, (at_most(CURATOR, 0.15),), most_rounds={"kazoo": 1}, quick_rounds=1),
    Measure("independent_64", "64 independent locks on one session", "1/s", "independent", rate,
            {"contenders": 64, "shared": 1, "apart": 1}, (at_least(CURATOR, 1.2),),
            seconds=1.5, warm=0.4),
    Measure("reentrant", "nested lock+unlock (floor: recursive_mutex)", "ns", "nested",
            nanoseconds_of_pair, {}, (at_most(OWN, 40),), seconds=0.5, warm=0.2),
    hand_off(8, True, (at_least(CURATOR, 100),), key="local_8",
             title="8 threads of one process, max_local_handoffs", max_local_handoffs=64),
    free("kept", "cycle of a lock retained when idle, p50", "cycle",
         (at_most(CURATOR, 1 / 300),), keep_idle_for=60),
    Measure("waiters_10k", "10,000 waiters by callbacks, memory each", "KB", "waiters",
            kilobytes_each, {"waiters": 10000}, (at_most(OWN, 1.5),), seconds=0, warm=0,
            only=("zklock", "floor"), full_rounds=LONG, quick_rounds=1),
    *(hand_off(n, False, (), picture=True) for n in (2, 4, 16, 32)),
    drain(10, picture=True),
    drain(300, picture=True),
)
