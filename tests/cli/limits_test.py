#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests `zklock run` with unusual outputs, and with few descriptors and threads.

    tests/cli/limits_test.py --zklock PROGRAM --request PROGRAM [NAME...]
"""
import itertools
import json
import os
import pathlib
import subprocess
import sys

from harness import expect, main, wait_for


def report_to_a_descriptor(case):
    ends = os.pipe()
    expect(case.run(["true"], ["--report", f"/dev/fd/{ends[1]}"], pass_fds=ends[1:])[0], 0)
    os.close(ends[1])
    with open(ends[0], encoding="utf-8") as reader:
        expect(json.load(reader)["exit"], 0)
    expect(case.run(["true"], ["--report", "/dev/fd/77"])[0], 65)


def script_without_interpreter_runs(case):
    """As under nice and timeout."""
    script = pathlib.Path(case.folder, "script")
    script.write_text("exit $1\n", encoding="ascii")
    script.chmod(0o755)
    expect(case.run([str(script), "7"])[0], 7)


def scarce_descriptors_are_one_line(case):
    for count in (4, 6, 9, 16):
        code, _, error = case.run(["true"], prefix=["prlimit", f"--nofile={count}"])
        expect((code, error), (71, "zklock: a command needs 24 file descriptors: Too many open files\n"))
    expect(case.run(["true"], prefix=["prlimit", "--nofile=28"])[0], 0)


def scarce_threads_end_the_run(case):
    """A user that may start few threads: the run works, or ends with 71 and no contender."""
    if os.geteuid() != 0:
        return  # the limit counts all threads of this user
    os.chmod(case.folder, 0o755)
    codes = set()

    users = itertools.count(65100)  # each command is of its own user: ended processes count until they are reaped

    def scarce(threads):
        user = next(users)
        return ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "prlimit", f"--nproc={threads}"]
    for threads in range(1, 14):
        listed = subprocess.run([*scarce(threads), case.programs["zklock"], "-z", case.hosts, "-T", "8s", "ls"],
                                check=False, capture_output=True, text=True)
        assert listed.returncode in (65, 71) and len(listed.stderr.splitlines()) == 1, (threads, listed)
        for verb, command in (("run", ["true"]), ("hold", [])):
            case.verb = verb
            process = case.start(command, ["-n"], prefix=scarce(threads))
            if verb == "hold" and process.stdout.readline():
                process.terminate()
            code, _, error = case.end_of(process)
            assert code in (0, 71), (threads, verb, code, error)
            codes.add(code)
            wait_for(lambda: not case.contenders(), "the session is closed")
    expect(codes, {0, 71})


TESTS = [value for name, value in list(globals().items())
         if callable(value) and getattr(value, "__module__", "") == "__main__"]

if __name__ == "__main__":
    sys.exit(main(TESTS))
