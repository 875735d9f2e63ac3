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

from kazoo_kit import (Exclusive, Params, Window, close, connect, join, now, result, start,
                       status_of_process)

TIMEOUT = 240


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


class Cold:
    """A free lock at a new path. The parent of the path exists."""

    def __init__(self, hosts, params):
        self.params = params
        self.client = connect(hosts, params)
        self.next = 0
        self.acquire_next()

    def acquire_next(self):
        lock = self.client.Lock(f"{self.params['path']}/{self.next}")
        self.next += 1
        begin = now()
        lock.acquire()
        took = now() - begin
        lock.release()
        return took

    def run(self):
        samples, cycles, seconds = [], 0, 0.0
        window = Window(self.params)
        begin = now()
        while not window.over(begin):
            took = self.acquire_next()
            cycles += 1
            if window.has(begin):
                samples.append(took)
                seconds = now() - window.begin
            begin = now()
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


class Queue:
    """A holder on its own session, and waiters on other sessions; Kazoo needs a thread for each."""

    def __init__(self, hosts, params, clients, waiters):
        path = params["path"]
        self.exclusive = Exclusive()
        self.client = connect(hosts, params)
        self.holder = self.client.Lock(path)
        self.holder.acquire()

        def wait(index):
            time.sleep(index * params.seconds("apart"))
            lock = clients[index % len(clients)].Lock(path)
            lock.acquire()
            self.exclusive.leave(self.exclusive.enter())
            lock.release()

        self.threads = start(waiters, wait)
        withdraw = now() + TIMEOUT
        while self.client.exists(path).numChildren != waiters + 1:
            if now() > withdraw:
                raise TimeoutError("the waiters do not queue")
            time.sleep(0.05)

    def drain(self):
        self.holder.release()
        join(self.threads)

    def close(self):
        close([self.client])


class Drain:
    """Many waiters that are granted in turn."""

    def __init__(self, hosts, params):
        self.waiters = params.number("waiters")
        self.clients = [connect(hosts, params) for _ in range(params.number("sessions"))]
        self.queue = Queue(hosts, params, self.clients, self.waiters)
        time.sleep(params.seconds("settle"))

    def run(self):
        begin = now()
        self.queue.drain()
        exclusive = self.queue.exclusive
        return result(self.waiters, exclusive.last - begin, exclusive.intervals, self.waiters,
                      exclusive.overlaps)

    def finish(self):
        self.queue.close()
        close(self.clients)


class Connected:
    """Sessions that hold a lock each, or no lock. The driver measures their cost."""

    def __init__(self, hosts, params):
        self.params = params
        self.sessions = params.number("sessions")
        self.memory, self.threads = status_of_process("VmRSS"), status_of_process("Threads")
        self.clients, self.locks = [], []
        for index in range(self.sessions):
            time.sleep(params.seconds("apart"))
            self.clients.append(connect(hosts, params))
            if params["kind"] == "holding":
                self.locks.append(self.clients[-1].Lock(f"{params['path']}/{index}"))
                self.locks[-1].acquire()
        self.begin(hosts)
        time.sleep(params.seconds("settle"))

    def begin(self, hosts):
        """Makes the sessions do what they rest in."""

    def run(self):
        time.sleep(self.params.seconds("seconds"))
        self.check()
        more = {"kilobytes": (status_of_process("VmRSS") - self.memory) / self.sessions,
                "threads": (status_of_process("Threads") - self.threads) / self.sessions}
        seconds = self.params.seconds("seconds")
        return {**result(self.sessions, seconds, [], self.sessions), **more}

    def check(self):
        """Raises an error if the sessions do not rest as they should."""

    def finish(self):
        for lock in self.locks:
            lock.release()
        close(self.clients)


class Waiting(Connected):
    """One waiter on each session, and a holder on one more."""

    def begin(self, hosts):
        self.queue = Queue(hosts, self.params, self.clients, self.sessions)

    def check(self):
        if self.queue.exclusive.grants:
            raise RuntimeError("a waiter was granted")

    def finish(self):
        self.queue.drain()
        self.queue.close()
        super().finish()


MEASURES = {"acquire": Free, "unlock": Free, "cycle": Free, "cold": Cold, "handoff": Crowd,
            "independent": Crowd, "single": Single, "drain": Drain, "waiting": Waiting,
            "holding": Connected, "idle": Connected}
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
