# SPDX-License-Identifier: Apache-2.0
"""The measuring tools, the clients and the threads of kazoo_bench.py."""
import os
import threading
import time
import traceback

from kazoo.client import KazooClient

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


def status_of_process(key):
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(key + ":"))


def close(clients):
    for client in clients:
        client.stop()
        client.close()
