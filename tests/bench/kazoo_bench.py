# SPDX-License-Identifier: Apache-2.0
"""kazoo_bench.py HOSTS

Kazoo's Lock as a contestant. README.md describes the commands and the measures.
"""
import json
import os
import sys
import threading
import time
import traceback

import kazoo
from kazoo.client import KazooClient

PATIENCE = 240
MOST_KEPT = 1_000_000
now = time.perf_counter


class Params(dict):
    """The parameters of a measure: "name=value" words."""

    def __init__(self, line):
        super().__init__(word.split("=", 1) for word in line.split() if "=" in word)

    def number(self, name):
        return int(self[name])

    def seconds(self, name):
        return float(self[name])


def percentile(samples, fraction):
    """Returns a percentile in microseconds."""
    ordered = sorted(samples)
    return ordered[int(fraction * (len(ordered) - 1))] * 1e6 if ordered else 0


def result(ops, seconds, samples, cycles, overlaps=0):
    return {"ops": ops, "seconds": seconds, "p50": percentile(samples, 0.5),
            "p99": percentile(samples, 0.99), "cycles": cycles, "overlaps": overlaps}


class Window:
    """The counted time. It begins after a warm-up."""

    def __init__(self, params):
        self.begin = now() + params.seconds("warm")
        self.end = self.begin + params.seconds("seconds")

    def over(self, moment):
        return moment >= self.end

    def has(self, moment):
        return self.begin <= moment < self.end


class Exclusive:
    """The work under the lock. Counts an overlap if two threads do it together."""

    def __init__(self):
        self.guard = threading.Lock()
        self.overlaps = 0
        self.grants = 0
        self.first = None
        self.last = None
        self.intervals = []

    def enter(self, window=None):
        alone = self.guard.acquire(blocking=False)
        if not alone:
            self.overlaps += 1
            return False
        self.grants += 1
        moment = now()
        if window is None or window.has(moment):
            if self.first is None:
                self.first = moment
            elif len(self.intervals) < MOST_KEPT:
                self.intervals.append(moment - self.last)
            self.last = moment
        return True

    def leave(self, alone):
        if alone:
            self.guard.release()


def connect(hosts, params):
    client = KazooClient(hosts=hosts, timeout=params.seconds("timeout"))
    client.start(timeout=30)
    return client


def start(count, task):
    """Runs task(index) on so many threads. An error ends the process."""

    def guarded(index):
        try:
            task(index)
        except Exception:
            traceback.print_exc()
            os._exit(1)

    threads = [threading.Thread(target=guarded, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    return threads


def join(threads):
    for thread in threads:
        thread.join()


def close(clients):
    for client in clients:
        client.stop()
        client.close()


class Free:
    """A free lock without other contenders. A release is confirmed when it returns."""

    def __init__(self, hosts, params):
        self.params = params
        self.client = connect(hosts, params)
        self.lock = self.client.Lock(params["path"])
        self.lock.acquire()
        self.lock.release()

    def run(self):
        samples, cycles, seconds = [], 0, 0.0
        kind = self.params["kind"]
        window = Window(self.params)
        moment = now()
        while not window.over(moment):
            begin = now()
            self.lock.acquire()
            locked = now()
            self.lock.release()
            moment = now()
            cycles += 1
            if not window.has(begin):
                continue
            took = {"acquire": locked - begin, "unlock": moment - locked, "cycle": moment - begin}
            samples.append(took[kind])
            seconds = moment - window.begin
        return result(len(samples), seconds, samples, cycles)

    def finish(self):
        close([self.client])


class Crowd:
    """Threads that lock and unlock in a loop: one lock for all, or one for each."""

    def __init__(self, hosts, params):
        self.params = params
        self.apart = params.number("apart") != 0
        self.clients, self.locks = [], []
        for i in range(params.number("contenders")):
            if i == 0 or not params.number("shared"):
                self.clients.append(connect(hosts, params))
            path = params["path"] + (f"/{i}" if self.apart else "")
            lock = self.clients[-1].Lock(path)
            lock.acquire()
            lock.release()
            self.locks.append(lock)

    def run(self):
        return self.independent() if self.apart else self.hand_off()

    def hand_off(self):
        window, exclusive = Window(self.params), Exclusive()

        def contend(index):
            lock = self.locks[index]
            while not window.over(now()):
                lock.acquire()
                alone = exclusive.enter(window)
                if now() < window.begin:
                    time.sleep(1e-4)  # during the warm-up, to detect an overlap
                exclusive.leave(alone)
                lock.release()

        join(start(len(self.locks), contend))
        counted = exclusive.intervals
        seconds = exclusive.last - exclusive.first if counted else 0
        return result(len(counted), seconds, counted, exclusive.grants, exclusive.overlaps)

    def independent(self):
        window = Window(self.params)
        samples = [[] for _ in self.locks]
        cycles = [0] * len(self.locks)

        def cycle(index):
            lock = self.locks[index]
            moment = now()
            while not window.over(moment):
                begin = moment
                lock.acquire()
                lock.release()
                moment = now()
                cycles[index] += 1
                if window.has(begin):
                    samples[index].append(moment - begin)

        join(start(len(self.locks), cycle))
        counted = [sample for each in samples for sample in each]
        return result(len(counted), window.end - window.begin, counted, sum(cycles))

    def finish(self):
        close(self.clients)


class Single:
    """One thread waits; the other releases some milliseconds later."""

    def __init__(self, hosts, params):
        self.params = params
        self.clients = [connect(hosts, params), connect(hosts, params)]
        self.holder, self.waiter = (client.Lock(params["path"]) for client in self.clients)
        self.one_hand_off()

    def one_hand_off(self):
        granted = []

        def wait(_):
            self.waiter.acquire()
            granted.append(now())
            self.waiter.release()

        self.holder.acquire()
        waiting = start(1, wait)
        time.sleep(self.params.seconds("hold"))
        released = now()
        self.holder.release()
        join(waiting)
        return granted[0] - released

    def run(self):
        samples, cycles, overlaps, seconds = [], 0, 0, 0.0
        window = Window(self.params)
        while not window.over(begin := now()):
            took = self.one_hand_off()
            cycles += 2
            overlaps += took <= 0
            if window.has(begin):
                samples.append(took)
                seconds = now() - window.begin
        return result(len(samples), seconds, samples, cycles, overlaps)

    def finish(self):
        close(self.clients)


class Drain:
    """Many waiters on some sessions; Kazoo needs a thread for each."""

    def __init__(self, hosts, params):
        path = params["path"]
        self.waiters = params.number("waiters")
        self.exclusive = Exclusive()
        sessions = params.number("sessions")
        self.clients = [connect(hosts, params) for _ in range(sessions + 1)]
        self.holder = self.clients[-1].Lock(path)
        self.holder.acquire()

        def wait(index):
            lock = self.clients[index % sessions].Lock(path)
            lock.acquire()
            self.exclusive.leave(self.exclusive.enter())
            lock.release()

        self.threads = start(self.waiters, wait)
        withdraw = now() + PATIENCE
        while self.clients[-1].exists(path).numChildren != self.waiters + 1:
            if now() > withdraw:
                raise TimeoutError("the waiters do not queue")
            time.sleep(0.05)
        time.sleep(params.seconds("settle"))

    def run(self):
        begin = now()
        self.holder.release()
        join(self.threads)
        exclusive = self.exclusive
        return result(self.waiters, exclusive.last - begin, exclusive.intervals, self.waiters,
                      exclusive.overlaps)

    def finish(self):
        close(self.clients)


MEASURES = {"acquire": Free, "unlock": Free, "cycle": Free, "handoff": Crowd, "independent": Crowd,
            "single": Single, "drain": Drain}
ABSENT = {"nested": "not reentrant", "waiters": "a thread each"}


class Worker:
    def __init__(self, hosts):
        self.hosts = hosts
        self.measure = None

    def answer(self, line):
        command = line.split(" ", 1)[0]
        if command == "hello":
            return {"version": f"{kazoo.__version__} on Python {sys.version.split()[0]}"}
        if command == "prepare":
            params = Params(line)
            if params["kind"] in ABSENT:
                return {"absent": ABSENT[params["kind"]]}
            self.measure = MEASURES[params["kind"]](self.hosts, params)
            return {}
        if command == "run":
            return self.measure.run()
        if command == "finish":
            if self.measure:
                self.measure.finish()
            self.measure = None
            return {}
        return {"error": f"what is {line}?"}


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: kazoo_bench.py HOSTS")
    threading.stack_size(256 * 1024)
    worker = Worker(sys.argv[1])
    for line in sys.stdin:
        try:
            answer = worker.answer(line.strip())
        except Exception as error:
            traceback.print_exc()
            answer = {"error": repr(error)}
        print(json.dumps(answer), flush=True)
    os._exit(0)  # does not wait for blocked threads


if __name__ == "__main__":
    main()
