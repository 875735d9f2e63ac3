# SPDX-License-Identifier: Apache-2.0
"""kazoo_worker.py KIND HOSTS PATH GUARD

One Kazoo process that contends for PATH: see README.md.
"""
import fcntl
import os
import sys
import threading
import time

from kazoo.client import KazooClient

PATTERNS = ["lock-"]


class Commands:
    """"hold" keeps the next section until "go". The end of standard input ends the process."""

    def __init__(self):
        self.changed = threading.Condition()
        self.holds = False

    def read(self):
        for line in sys.stdin:
            with self.changed:
                self.holds = line.strip() == "hold"
                self.changed.notify_all()
        os._exit(0)

    def wait_until_go(self):
        with self.changed:
            self.changed.wait_for(lambda: not self.holds)


def say(word):
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


def enter(guard):
    """Takes a kernel lock on a file. It excludes holders that must not hold together."""
    if guard is None:
        return True
    try:
        fcntl.lockf(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def main():
    kind, hosts, path, guard_path = sys.argv[1:]
    guard = None if guard_path == "-" else open(guard_path, "r+b")
    client = KazooClient(hosts=hosts, timeout=4)
    client.start(timeout=60)
    commands = Commands()
    threading.Thread(target=commands.read, daemon=True).start()
    say("ready")

    def section():
        say("grant" if enter(guard) else "overlap")
        if commands.holds:
            say("held")
            commands.wait_until_go()
        time.sleep(0.0002)
        if guard:
            fcntl.lockf(guard, fcntl.LOCK_UN)

    if kind == "election":
        election = client.Election(path)
        while True:
            election.run(section)
    # A new object for each attempt: an object cannot be used again after its session is lost.
    locks = {"lock": lambda: client.Lock(path, extra_lock_patterns=PATTERNS),
             "lock-without-patterns": lambda: client.Lock(path),
             "read": lambda: client.ReadLock(path),
             "write": lambda: client.WriteLock(path),
             "semaphore": lambda: client.Semaphore(path)}
    while True:
        with locks[kind]():
            section()


if __name__ == "__main__":
    main()
