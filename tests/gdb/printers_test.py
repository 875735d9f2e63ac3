#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a core file of the program of main.cpp with gdb, and checks what zklock_gdb.py prints.

    tests/gdb/printers_test.py PROGRAM

PROGRAM has debug information. gdb stops it in stop_here(), and writes the core file. Skips (77) if gdb is missing, or
may not run a program.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

PRINTERS = pathlib.Path(__file__).resolve().parents[2] / "zklock/gdb/zklock_gdb.py"
HELD = r"state = held; lost if LeaseClock has passed \d+\.\d{3} s,"
OTHERS = "other_clients = not in this memory: see zklock ls"


def held(znode, counts):
    return rf"{HELD} owner = \w{{16}}-1, znode = {znode}, token = \d+\.0, permits = 1, counts = {counts}"


REPORT = held("/jobs/report/lock-0000000000", "lock 2, hold 1")
WAITING = (r"waiting = {state = waiting, owner = \w{16}-\d+, znode = /jobs/report/lock-0000000001, "
           "acquire_state = waiting}")
WORKERS = (rf"{HELD} owner = \w{{16}}-\d+ req-42, znode = /jobs/workers/permits-2-of-3-\d{{10}}, token = \d+\.0, "
           r"permits = 2, counts = hold 1")
CATALOG = held(r"/jobs/catalog/__READ__\d{10}", "shared_lock 1")
# expression -> the whole text that gdb prints for it
EXPECTED = {
    "locks.mutex": rf"{{path = /jobs/report, held = {{{REPORT}}}, {WAITING}, {OTHERS}}}",
    "locks.semaphore": rf"{{path = /jobs/workers, held = {{{WORKERS}}}, {OTHERS}}}",
    "locks.shared_mutex": rf"{{path = /jobs/catalog, held = {{{CATALOG}}}, {OTHERS}}}",
    "locks.suspended_mutex": r"{path = /jobs/suspended, held = {state = suspended; lost if LeaseClock has passed .*}",
    "locks.nested": rf"{{path = /jobs/report, {REPORT}}}",
    "locks.permits": rf"{{path = /jobs/workers, {WORKERS}}}",
    "locks.suspended": "{path = /jobs/suspended, state = suspended; lost if LeaseClock has passed .*, counts = hold 1}",
    "locks.lost": r"{path = /jobs/lost, state = lost \(lease_expired\), .*, counts = hold 1}",
    "locks.lost_mutex": r"{path = /jobs/lost, lost = {state = lost \(lease_expired\), .*}",
    "locks.empty": "{state = empty: not acquired, or released}",
    "locks.connected": r"{servers = e\d+\.fake-ensemble\.invalid:2181, session = 0x\w+, state = connected, "
                       rf"lock = {{path = /jobs/catalog, held = {{{CATALOG}}}, {OTHERS}}}, "
                       r"lock = {path = /jobs/report, .*}, lock = {path = /jobs/workers, .*}}",
    "*(zklock::Hold*)locks.overwritten": "cannot read: Cannot access memory at address 0x.*",
}


def gdb(*commands):
    run = subprocess.run(["gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set width 0",
                          *(part for command in commands for part in ("-ex", command))],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return run.stdout


def skip(reason):
    print(reason)
    sys.exit(77)


def main():
    try:
        if "has Python" not in gdb("python print('has Python')"):
            skip("this gdb has no Python")
    except FileNotFoundError:
        skip("gdb is not installed")
    with tempfile.TemporaryDirectory(prefix="zklock-gdb.") as folder:
        core = f"{folder}/core"
        # With one arena for all threads, the core file is a quarter as large.
        made = gdb(f"file {sys.argv[1]}", "set startup-with-shell off", "set environment MALLOC_ARENA_MAX 1",
                   "break stop_here", "run", f"generate-core-file {core}", "kill")
        if not pathlib.Path(core).exists():
            if "Could not trace the inferior process" in made:
                skip("gdb may not run a program here:\n" + made)
            sys.exit("gdb wrote no core file:\n" + made)
        prints = [f"printf \"\\n{expression} -> \"\noutput {expression}" for expression in EXPECTED]
        script = pathlib.Path(folder, "commands")
        script.write_text("\n".join(prints) + "\n")
        shown = gdb(f"file {sys.argv[1]}", f"source {PRINTERS}", f"core-file {core}", "frame function main",
                    f"source {script}", "printf \"\\n\"", "zklock-owners")
    failed = [f"{expression}: no match for\n  {wanted}" for expression, wanted in EXPECTED.items()
              if not re.search(rf"^{re.escape(expression)} -> {wanted}$", shown, re.MULTILINE)]
    owners = re.search(r"^thread 1: owner 1\nthread \d+: owner (\d+)$", shown, re.MULTILINE)
    if not owners or not re.search(rf"waiting = {{state = waiting, owner = \w+-{owners[1]},", shown):
        failed.append("zklock-owners does not show the thread that waits")
    if failed:
        sys.exit("\n".join([shown, *failed]))


if __name__ == "__main__":
    main()
