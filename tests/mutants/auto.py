#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures which share of random faults in zklock/core and zklock/engine the fast tests detect.

    tests/mutants/auto.py [--sample N] [--seed S] [--file GLOB] [--jobs N] [--simulator-seeds N]
    tests/mutants/auto.py --list [--seed S] [--file GLOB]      prints all mutants in the order of the seed
    tests/mutants/auto.py --resume FILE                        continues an interrupted run
    tests/mutants/auto.py --again FILE                         repeats the survivors of a run with other tests

Each mutant is a small change of the syntax: see mutation_operators.py. The script builds all mutants of a sample at
once, and runs for each mutant the tests of unit and model that reach its function, without the walks, and a short
simulator. It prints each mutant, and the score at the end: killed / (killed + survived). The results are also in a
file of JSON lines, build/mutants_auto/build/results-SEED.jsonl. Mutants that equivalent.txt lists are not run.
Requires the packages of the group `tests` in tests/support/install_packages.sh.
"""
import argparse
import json
import os
import pathlib
import re
import sys
import time

import mutation_build
from mutation_build import ROOT, SOURCE, WORK, git
from mutation_run import Programs

EQUIVALENT = pathlib.Path(__file__).resolve().parent / "equivalent.txt"
VERDICTS = ("killed", "survived", "equivalent", "does not compile")


def equivalents():
    """Returns the reason for each key of equivalent.txt. A line with a key precedes the indented reason."""
    reasons, key = {}, None
    for line in EQUIVALENT.read_text(encoding="utf-8").splitlines():
        if line.startswith("    ") and key:
            reasons[key] = f"{reasons[key]} {line.strip()}".strip()
        elif line and not line.startswith("#"):
            key = line
            reasons[key] = ""
    return reasons


def commit():
    """Returns the commit, with a + if the code of the library differs from it."""
    changed = git("status", "--porcelain", "--", "zklock", "include")
    return git("rev-parse", "--short=10", "HEAD").strip() + ("+" if changed else "")


class Results:
    """The file of JSON lines: the settings, then a line for each mutant."""

    def __init__(self, path, settings):
        self.path, self.settings, self.rows = path, settings, {}

    @staticmethod
    def read(path):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        results = Results(path, lines[0])
        results.rows = {row["number"]: row for row in lines[1:]}
        return results

    def begin(self):
        self.path.write_text(json.dumps(self.settings) + "\n", encoding="utf-8")

    def take_over(self, rows):
        self.rows |= {row["number"]: row for row in rows}
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in self.rows.values())

    def add(self, number, mutant, verdict, by, seconds):
        row = {"number": number, "file": mutant.file, "line": mutant.line, "key": mutant.key(), "verdict": verdict,
               "by": by, "seconds": round(seconds, 1)}
        self.rows[number] = row
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        show(number, mutant, verdict, by)


def show(number, mutant, verdict="", by=""):
    print(f"{number} {mutant.file}:{mutant.line}, {mutant.function}, {mutant.operator}\n"
          f"    {mutant.original}\n -> {mutant.mutated}", flush=True)
    if verdict:
        print(f"    {verdict}{': ' + by if by else ''}", flush=True)


def print_score(rows):
    print(f"\n{'':28}" + "".join(f"{verdict:>18}" for verdict in VERDICTS) + f"{'score':>10}")
    folders = sorted({row["file"].rsplit("/", 1)[0] for row in rows})
    operators = sorted({row["key"].split(" | ")[2].split(" #")[0] for row in rows})
    groups = [(folder, lambda row, f=folder: row["file"].rsplit("/", 1)[0] == f) for folder in folders]
    groups += [(name, lambda row, n=name: row["key"].split(" | ")[2].split(" #")[0] == n) for name in operators]
    for name, is_member in [*groups, ("all", lambda row: True)]:
        counts = [sum(row["verdict"] == verdict for row in rows if is_member(row)) for verdict in VERDICTS]
        tried = counts[0] + counts[1]
        score = f"{100 * counts[0] / tried:.1f} %" if tried else "-"
        print(f"{name:28}" + "".join(f"{count:18}" for count in counts) + f"{score:>10}")


def run_mutants(sample, results, programs):
    reasons = equivalents()
    for number in sample.numbers():
        if number in results.rows:
            continue
        mutant, begun = sample.order[number], time.monotonic()
        if mutant.key() in reasons:
            results.add(number, mutant, "equivalent", reasons[mutant.key()], 0)
            continue
        by = programs.killer(number, mutant.file)
        if by:
            results.add(number, mutant, "killed", by, time.monotonic() - begun)
        else:
            tests = len(programs.reached.get(number, ()))
            results.add(number, mutant, "survived", f"{tests} tests reach it", time.monotonic() - begun)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=100, metavar="N", help="mutants that compile, default 100")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--file", default="*", metavar="GLOB", help="only mutants of these files")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="compile jobs, default 1")
    parser.add_argument("--simulator-seeds", type=int, default=200, metavar="N", help="default 200")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--resume", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--again", type=pathlib.Path, metavar="FILE")
    return parser.parse_args()


def chosen(args, order):
    """Returns the results file to fill, and the numbers of the mutants if they are given."""
    settings = {name: getattr(args, name) for name in ("sample", "seed", "file", "simulator_seeds")}
    settings["commit"] = commit()
    if args.resume:
        results = Results.read(args.resume)
        if results.settings != settings:
            raise SystemExit(f"{args.resume} is of another run: {results.settings}")
        return results
    suffix = "again" if args.again else "results"
    results = Results(SOURCE / "build" / f"{suffix}-{args.seed}.jsonl", settings)
    results.begin()
    return results


def main():
    args = arguments()
    if args.resume or args.again:
        stored = Results.read(args.resume or args.again)
        for name in ("sample", "seed", "file", "simulator_seeds"):
            setattr(args, name, stored.settings[name])
    os.nice(5)
    SOURCE.mkdir(parents=True, exist_ok=True)
    mutation_build.configure()
    compiler_arguments = mutation_build.compile_arguments()
    order = mutation_build.shuffled(mutation_build.candidates(compiler_arguments), args.seed, args.file)
    if args.list:
        for number, mutant in order.items():
            show(number, mutant)
        return 0
    results = chosen(args, order)
    if args.again:
        results.take_over(row for row in stored.rows.values() if row["verdict"] != "survived")
    rejected = {number: row["by"] for number, row in results.rows.items() if row["verdict"] == "does not compile"}
    sample = mutation_build.Sample(order, args.sample, rejected, compiler_arguments)
    sample.build(args.jobs)
    for number, error in sorted(sample.rejected.items()):
        if number not in results.rows:
            results.add(number, order[number], "does not compile", error, 0)
    programs = Programs(WORK, args.simulator_seeds)
    programs.measure()
    programs.remember((row["file"], row["by"]) for row in results.rows.values() if row["verdict"] == "killed")
    run_mutants(sample, results, programs)
    print_score(results.rows.values())
    return 0


if __name__ == "__main__":
    sys.exit(main())
