# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of the build of auto.py, and finds the first test that a mutant fails."""
import os
import re
import resource
import selectors
import signal
import subprocess
import time

TESTS = {"zklock_core_test": "tests/unit/zklock_core_test", "zklock_unit_test": "tests/unit/zklock_unit_test",
         "zklock_model_test": "tests/model/zklock_model_test"}
SIMULATOR = "tests/model/simulator/simulate"
MOST_MEMORY = 6 << 30
SECONDS_WITHOUT_OUTPUT = 20  # a test that takes this long, and twenty times its usual time, has failed
BATCHES = (0.02, 0.3)  # tests up to these durations, in seconds, run first
RUN, ENDED = re.compile(r"^\[ RUN      \] (\S+)"), re.compile(r"^\[  (?:     OK|FAILED ) \] ([^\s,]+).* \((\d+) ms\)")
FAILED = re.compile(r"^\[  FAILED  \] ([^\s,]+)")


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Process:
    """A program that runs, and whose output is read until it ends or prints nothing for too long."""

    def __init__(self, command, environment):
        self.is_late = False
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=limit_memory,
                                        env={**os.environ, **environment})

    def lines(self, most_seconds):
        """Yields each line. Kills the program, and sets is_late, if it prints nothing for most_seconds."""
        selector, rest = selectors.DefaultSelector(), b""
        selector.register(self.process.stdout, selectors.EVENT_READ)
        while True:
            if not selector.select(most_seconds):
                self.is_late = True
                break
            read = os.read(self.process.stdout.fileno(), 1 << 16)
            if not read:
                break
            *whole, rest = (rest + read).split(b"\n")
            yield from (line.decode(errors="replace") for line in whole)
        yield rest.decode(errors="replace")

    def end(self, at_once=False):
        """Awaits the end of the program unless it is late, and kills its children. Returns its exit status."""
        if not self.is_late and not at_once:
            try:
                self.process.wait(SECONDS_WITHOUT_OUTPUT)
            except subprocess.TimeoutExpired:
                self.is_late = True
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.stdout.close()
        return self.process.wait()


class Programs:
    """The test programs and the simulator, which have all mutants of the sample."""

    def __init__(self, work, simulator_seeds):
        self.work, self.simulator_seeds = work, simulator_seeds
        self.seconds = {}  # of each test: (program, name)
        self.reached = {}  # the tests that reach the function of each mutant; "simulate" is one of them
        self.killers = {}  # the last tests that failed, for each file

    def measure(self):
        """Runs all tests without a mutant, and notes what they reach."""
        for program in TESTS:
            patient = 60.0  # no duration is known yet
            self.note(program, self.run_tests(program, "*", {"ZKLOCK_MUTANTS_REACHED": "1"}, patient))
        process = Process(self.simulator(), {"ZKLOCK_MUTANTS_REACHED": "1"})
        for line in process.lines(SECONDS_WITHOUT_OUTPUT * 10):
            if line.startswith("REACHED "):
                for number in line.split(":", 1)[1].split():
                    self.reached.setdefault(int(number), set()).add("simulate")
        if process.end() != 0:
            raise SystemExit("the simulator finds a fault without a mutant")

    def note(self, program, output):
        lines, failed = output
        if failed:
            raise SystemExit(f"{program} fails without a mutant: {failed}")
        for line in lines:
            if ended := ENDED.match(line):
                self.seconds[program, ended[1]] = int(ended[2]) / 1000
            elif line.startswith("REACHED "):
                test, numbers = line[len("REACHED "):].rsplit(":", 1)
                for number in numbers.split():
                    self.reached.setdefault(int(number), set()).add((program, test))

    def run_tests(self, program, pattern, environment, usual=0.0):
        """Returns the lines of the tests, and the first one that fails, if any."""
        flags = self.work / "mutant_flags"
        flags.write_text(f"--gtest_filter={pattern}\n--gtest_fail_fast\n--gtest_print_time=1\n", encoding="utf-8")
        process = Process([self.work / TESTS[program], f"--gtest_flagfile={flags}"], environment)
        lines, current, failed = [], "", ""
        is_mutant = "ZKLOCK_MUTANT" in environment
        for line in process.lines(SECONDS_WITHOUT_OUTPUT + 20 * usual):
            lines.append(line)
            if started := RUN.match(line):
                current = started[1]
            elif not failed and (found := FAILED.match(line)):
                failed = found[1]
                if is_mutant:
                    break
        status = process.end(at_once=bool(failed and is_mutant))
        if process.is_late and not failed:
            failed = f"{current} (time limit)"
        elif status != 0 and not failed:
            failed = f"{current} (exit status {status})"
        return lines, failed

    def simulator(self):
        return [self.work / SIMULATOR, "--seeds", str(self.simulator_seeds), "--threads", "1"]

    def simulator_finds(self, environment):
        process, found = Process(self.simulator(), environment), ""
        for line in process.lines(SECONDS_WITHOUT_OUTPUT * 10):
            if line.startswith("seed "):
                found = line[:100]
                break
        status = process.end(at_once=bool(found))
        if process.is_late and not found:
            return "time limit"
        return found or (f"exit status {status}" if status != 0 else "")

    def remember(self, pairs):
        """Takes over the tests that killed mutants in an earlier run: pairs of a file and the test."""
        for file, by in pairs:
            program, test = by.split(", ", 1)
            if program in TESTS:
                self.add_killer(file, (program, test.split(" ")[0]))

    def add_killer(self, file, test):
        known = self.killers.setdefault(file, [])
        if test in known:
            known.remove(test)
        known.insert(0, test)

    def batches(self, number, file):
        """Yields the tests that reach the mutant, as (program, tests): the fast ones first."""
        tests = sorted(self.reached.get(number, set()) - {"simulate"})
        recent = [test for test in self.killers.get(file, []) if test in tests][:3]
        first = [{*recent}] if recent else []
        limits = (0.0, *BATCHES, float("inf"))
        groups = first + [{test for test in tests if low <= self.seconds.get(test, 0) < high and test not in recent}
                          for low, high in zip(limits, limits[1:])]
        for group in groups:
            for program in TESTS:
                if names := sorted(name for owner, name in group if owner == program):
                    yield program, names

    def killer(self, number, file):
        """Returns the first test that fails with the mutant, or an empty string."""
        environment = {"ZKLOCK_MUTANT": str(number)}
        simulated = False
        for program, names in self.batches(number, file):
            usual = max(self.seconds.get((program, name), 0) for name in names)
            if usual >= BATCHES[1] and not simulated:
                simulated = True
                if found := self.simulated(number, environment):
                    return found
            _, failed = self.run_tests(program, ":".join(names), environment, usual)
            if failed:
                self.add_killer(file, (program, failed.split(" ")[0]))
                return f"{program}, {failed}"
        return "" if simulated else self.simulated(number, environment)

    def simulated(self, number, environment):
        if "simulate" not in self.reached.get(number, set()):
            return ""
        found = self.simulator_finds(environment)
        return f"simulate, {found}" if found else ""
