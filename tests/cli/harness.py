# SPDX-License-Identifier: Apache-2.0
"""Runs tests of the command zklock: functions that get a Case. Several run at the same time."""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "bench"))
import server  # noqa: E402

SKIPPED = 77
LOOP = "while :; do sleep 0.05; done"


def boottime():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def wait_for(condition, what, seconds=60):
    """Returns the first true result of the condition. Fails after that many seconds: they only end a hang."""
    until = boottime() + seconds
    while boottime() < until:
        result = condition()
        if result:
            return result
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what}")


def is_running(pid):
    """Returns whether the process exists and is no zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children_of(pid):
    """Returns the children of all threads of the process, with their names."""
    found = {}
    for file in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        for child in file.read_text(encoding="ascii").split():
            found[int(child)] = pathlib.Path(f"/proc/{child}/comm").read_text(encoding="utf-8").strip()
    return found


def guardian_of(pid):
    names = wait_for(lambda: [child for child, name in children_of(pid).items() if name == "lock-guardian"],
                     "a guardian")
    return names[0]


def is_stopped(pid):
    """Returns whether a signal has stopped the process."""
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
        return stat.read().rpartition(")")[2].split()[0] in "Tt"


def stop(pid):
    """Stops the process, and waits until it is stopped."""
    os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: is_stopped(pid), "the process is stopped")


def signals_in(pid, field):
    """Returns the signals in a field of the process's status, such as SigIgn."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    mask = int(re.search(rf"(?m)^{field}:\s+(\w+)", status)[1], 16)
    return {number for number in range(1, 65) if mask >> number - 1 & 1}


def ignored_signals(pid):
    return signals_in(pid, "SigIgn")


def send_and_await(pid, number):
    """Sends a signal that the process blocks, and waits until the process has read it."""
    os.kill(pid, number)
    wait_for(lambda: number not in signals_in(pid, "ShdPnd"), "the process reads the signal")


class Case:
    """The surroundings of one test: a server, a path of its own, and a folder."""

    def __init__(self, name, programs, hosts, verb="run"):
        self.name = name
        self.programs = programs
        self.hosts = hosts
        self.path = "/" + name
        self.verb = verb
        self.folder = tempfile.mkdtemp(prefix="zklock-cli.")
        self.started = []

    def arguments(self, command, options=(), timeout="8s"):
        own = ["-T", timeout, self.verb, *options, self.path]
        return [self.programs["zklock"], "-z", self.hosts, *own, *command]

    def start(self, command, options=(), timeout="8s", prefix=(), **others):
        """`prefix`: a command that starts zklock."""
        others.setdefault("stdin", subprocess.DEVNULL)
        others.setdefault("stdout", subprocess.PIPE)
        arguments = [*prefix, *self.arguments(command, options, timeout)]
        process = subprocess.Popen(server.dies_with_us(arguments), stderr=subprocess.PIPE, text=True, **others)
        self.started.append(process)
        return process

    def start_ready(self, script=LOOP, options=(), timeout="8s", traps=":", **others):
        """Starts a shell script, and waits until it has set `traps`. Returns the process and the pid of the shell."""
        file = pathlib.Path(self.folder, f"pid{len(self.started)}")
        script = f"{traps}; echo $$ >{file}.tmp; mv {file}.tmp {file}; {script}"
        process = self.start(["sh", "-c", script], options, timeout, **others)
        wait_for(file.exists, "the command runs")
        return process, int(file.read_text(encoding="ascii"))

    def start_successor(self, child, options=(), traps=":", **others):
        """Starts a contender, and waits until it is in the queue. Its command prints whether `child` is alive."""
        queued = len(self.contenders())
        script = f"{traps}; [ -d /proc/{child} ] && echo alive || echo dead"
        process = self.start(["sh", "-c", script], options, **others)
        self.await_contenders(queued + 1)
        return process

    def dump(self):
        """Returns what the server says of its sessions and their znodes."""
        host, port = self.hosts.rsplit(":", 1)
        return server.Server(None, int(port), host).request("dump")

    def contenders(self):
        """Returns the sessions of the contenders by the paths of their znodes, in the order of the queue."""
        found, session = {}, None
        for line in map(str.strip, self.dump().splitlines()):
            if header := re.match(r"(0x\w+):$", line):
                session = header[1]
            elif re.match(rf"{re.escape(self.path)}/[^/]*\block-\d{{10}}$", line):
                found[line] = session
        return dict(sorted(found.items()))

    def await_contenders(self, count):
        wait_for(lambda: len(self.contenders()) == count, f"{count} contenders")

    def run(self, command, options=(), timeout="8s", text_in=None, **others):
        """Runs to the end. Returns the exit code, the output and the error output."""
        others.setdefault("stdin", subprocess.PIPE if text_in is not None else subprocess.DEVNULL)
        process = self.start(command, options, timeout, **others)
        return self.end_of(process, text_in=text_in)

    def secret(self, mode):
        """Returns the variables that name a digest file with that mode."""
        file = pathlib.Path(self.folder, "digest")
        file.write_text("user:password\n", encoding="utf-8")
        file.chmod(mode)
        return {**os.environ, "ZKLOCK_DIGEST_FILE": str(file)}

    def end_of(self, process, seconds=90, text_in=None):
        try:
            out, error = process.communicate(text_in, timeout=seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the run does not end within {seconds} s") from None
        return process.returncode, out, error

    def close(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def stop_for_a_second(case, stop_it, resume):
    """Stops a run while another one waits. Returns how long, and whether the other one still waited at the end."""
    other = case.start(["true"])
    case.await_contenders(2)
    begun = time.monotonic()
    stop_it()
    time.sleep(1)
    waits = other.poll() is None
    resume()
    return time.monotonic() - begun, waits


def expect_of_short_stop(attempt, expected):
    """`attempt` stops a run and resumes it. Returns how long it was stopped, and what followed. Repeats it until the
    stop was so short that most of a lease of 5.3 s was left."""
    for _ in range(5):
        seconds, found = attempt()
        if seconds < 2.5:
            expect(found, expected)
            return
    raise AssertionError("no stop was short")


def expect(actual, expected, text=""):
    assert actual == expected, f"expected {expected!r}, found {actual!r} {text}"


def expect_match(pattern, text):
    assert re.search(pattern, text), f"expected {pattern!r}, found {text!r}"


def main(tests, lanes=6, tick_ms=400, verb="run"):
    """Runs those of the tests that the command line names; default: all. Their cases start `zklock VERB`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--zklock", required=True)
    parser.add_argument("--request", required=True)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    if not server.is_installed():
        print("no ZooKeeper server")
        return SKIPPED
    programs = {"zklock": os.path.abspath(args.zklock), "request": os.path.abspath(args.request)}
    for name in list(os.environ):
        if name.startswith("ZKLOCK_"):
            del os.environ[name]
    for number in (signal.SIGINT, signal.SIGQUIT):  # a shell that runs this in the background ignores them
        signal.signal(number, signal.SIG_DFL)
    chosen = [test for test in tests if not args.names or test.__name__ in args.names]

    def run(test):
        case = Case(test.__name__, programs, servers.hosts, verb)
        try:
            test(case)
            return None
        except Exception:  # pylint: disable=broad-except
            return traceback.format_exc()
        finally:
            case.close()

    failures = 0
    with server.Servers(None, tick_ms=tick_ms, heap="128m") as servers:
        with concurrent.futures.ThreadPoolExecutor(lanes) as pool:
            for test, failure in zip(chosen, pool.map(run, chosen)):
                print("FAILED" if failure else "passed", test.__name__, flush=True)
                if failure:
                    failures += 1
                    print(failure, flush=True)
    print(f"{len(chosen)} tests, {failures} failed")
    return 1 if failures or not chosen else 0
