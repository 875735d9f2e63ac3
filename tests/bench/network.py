# SPDX-License-Identifier: Apache-2.0
"""The way from the contestants to the servers: direct, or delayed by zklock_bench_delay."""
import argparse
import os
import re
import subprocess

from server import dies_with_us, end

UNITS = {"us": 1, "ms": 1000}


def duration(text):
    """Returns the microseconds of a duration such as 1ms or 500us."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(us|ms)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"not a duration such as 1ms or 500us: {text}")
    return round(float(found.group(1)) * UNITS[found.group(2)])


class Network:
    """A context manager. `hosts`: where the contestants connect, inside it."""

    def __init__(self, build, ports, rtt):
        """`rtt`: microseconds that are added to each round trip; None: no proxy."""
        self.program = os.path.join(build, "tests", "bench", "zklock_bench_delay")
        self.ports = ports
        self.rtt = rtt
        self.process = None

    def __enter__(self):
        if self.rtt is not None:
            command = [self.program, str(self.rtt // 2), *map(str, self.ports)]
            self.process = subprocess.Popen(dies_with_us(command), stdin=subprocess.DEVNULL,
                                            stdout=subprocess.PIPE, text=True)
            self.ports = self.process.stdout.readline().split()
            if not self.ports:
                raise RuntimeError("zklock_bench_delay does not start")
        return self

    def __exit__(self, *_):
        if self.process:
            end(self.process)

    @property
    def hosts(self):
        return ",".join(f"127.0.0.1:{port}" for port in self.ports)
