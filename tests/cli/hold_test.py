#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests `zklock hold` on a real server, as a user sees it.

    tests/cli/hold_test.py --zklock PROGRAM --request PROGRAM [NAME...]
"""
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys

from harness import expect, expect_match, main, send_and_await, stop
from proxy import SilentProxy

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "zklock/guides/json.md"


def _start_held(case, options=(), **others):
    """Starts a hold, and waits until it holds. Returns the process and its first line."""
    process = case.start([], options, **others)
    line = process.stdout.readline()
    if not line:
        raise AssertionError(case.end_of(process)[2])
    return process, line


def _request(case, what):
    done = subprocess.run([case.programs["request"], case.hosts, case.path, what], check=False)
    expect(done.returncode, 0)


def _notifications(process, notify):
    notify.settimeout(20)
    ready = notify.recv(4096).decode().split("\n")
    process.terminate()
    return ready, notify.recv(4096).decode()


def line_names_token_and_znode(case):
    process, line = _start_held(case)
    expect_match(rf"^held {case.path} \d+\.0 \S*lock-\d{{10}}\n$", line)
    process.terminate()
    expect(case.end_of(process), (0, "", ""))


def each_signal_releases_and_exits_0(case):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        process, _ = _start_held(case)
        expect(case.run([], ["-n"])[0], 75)
        process.send_signal(number)
        expect(case.end_of(process), (0, "", ""), number)
    process, _ = _start_held(case)
    send_and_await(process.pid, signal.SIGUSR1)
    expect(case.run([], ["-n"])[0], 75)
    process.terminate()
    expect(case.end_of(process), (0, "", ""))


def busy_exits_75_and_names_the_holder(case):
    holder, _ = _start_held(case, ["--note", "job 42"])
    code, out, error = case.run([], ["-n"])
    expect((code, out), (75, ""))
    expect_match(rf'hold {case.path}: not acquired: held by \S+ pid {holder.pid} \(zklock hold, "job 42"\)', error)
    code, _, error = case.run([], ["-w", "500ms"])
    expect(code, 75)
    expect_match("not acquired in 500 ms: held by", error)


def signal_while_waiting_leaves_the_queue(case):
    holder, _ = _start_held(case)
    held = case.contenders()
    waiter = case.start([])
    case.await_contenders(2)
    waiter.terminate()
    expect(case.end_of(waiter), (143, "", ""))
    expect(case.contenders(), held)
    holder.terminate()
    expect(case.end_of(holder)[0], 0)
    next_one, _ = _start_held(case, ["-w", "60s"])
    next_one.terminate()
    expect(case.end_of(next_one)[0], 0)


def waiter_follows_the_holder(case):
    holder, _ = _start_held(case)
    waiter = case.start([])
    case.await_contenders(2)
    holder.terminate()
    expect_match("^held ", waiter.stdout.readline())
    waiter.terminate()
    expect(case.end_of(waiter)[0], 0)


def ready_descriptor_gets_a_line(case):
    holder, _ = _start_held(case)
    read_end, write_end = os.pipe()
    waiter = case.start([], ["--ready-fd", str(write_end)], pass_fds=[write_end])
    os.close(write_end)
    os.set_blocking(read_end, False)
    case.await_contenders(2)
    send_and_await(waiter.pid, signal.SIGUSR1)  # it waits for its turn
    try:
        raise AssertionError(f"before the grant: {os.read(read_end, 100)}")
    except BlockingIOError:
        pass
    os.set_blocking(read_end, True)
    holder.terminate()
    with os.fdopen(read_end) as ready:
        expect(ready.read(), "ready\n")  # up to the end of the pipe
    expect(waiter.poll(), None)
    waiter.terminate()
    expect(case.end_of(waiter)[0], 0)


def ready_descriptor_is_checked_first(case):
    case.hosts = "127.0.0.1:1"
    code, _, error = case.run([], ["--ready-fd", "77"])
    expect(code, 64)
    expect_match(r"hold \S+: descriptor 77 is not open for writing", error)
    expect(case.run([], ["--ready-fd", "1"])[0], 64)
    expect(case.run([], ["--ready-fd", "x"])[0], 64)
    with open("/dev/null", encoding="ascii") as unwritable:
        expect(case.run([], ["--ready-fd", str(unwritable.fileno())], pass_fds=[unwritable.fileno()])[0], 64)


def service_manager_is_notified(case):
    path = os.path.join(case.folder, "notify")
    for name in (path, f"@zklock-hold-test-{os.getpid()}"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind("\0" + name[1:] if name.startswith("@") else name)
            process, _ = _start_held(case, env={**os.environ, "NOTIFY_SOCKET": name})
            ready, stopping = _notifications(process, notify)
            expect(ready, ["READY=1", f"STATUS=holds {case.path}", f"MAINPID={process.pid}"])
            expect(stopping, "STOPPING=1")
            expect(case.end_of(process), (0, "", ""))


def session_gone_exit_79(case):
    """The line and the end come before another contender holds, and without a reply of the server."""
    read_end, write_end = os.pipe()
    with SilentProxy(case.hosts) as proxy, os.fdopen(read_end) as lines:
        hosts, case.hosts = case.hosts, proxy.hosts
        both = ["sh", "-c", '"$@" 2>&1; echo "code $?"', "sh"]
        case.start([], timeout="8s", prefix=both, stdout=write_end)
        expect_match("^held ", lines.readline())
        # Without the line of the library's log, which comes at any time, or not if the command ends first.
        said = (line for line in lines if not line.startswith(f"zklock: lock {case.path}: lost"))
        case.hosts = hosts
        case.start([], stdout=write_end)
        os.close(write_end)
        case.await_contenders(2)
        proxy.silence()
        expect_match(rf"^zklock: hold {case.path}: the lock was lost \([^)]+\), held for [^,]+, token \d+\.0$", next(said))
        expect(next(said), "code 79\n")
        expect_match("^held ", next(said))


def stopped_hold_exits_79(case):
    process, _ = _start_held(case)
    stop(process.pid)
    other, _ = _start_held(case, ["-w", "60s"])
    process.send_signal(signal.SIGCONT)
    code, _, error = case.end_of(process)
    expect(code, 79)
    expect_match("the lock was lost", error)
    other.terminate()
    expect(case.end_of(other)[0], 0)


def forced_release_exit_79(case):
    process, _ = _start_held(case)
    _request(case, "force")
    code, _, error = case.end_of(process)
    expect(code, 79)
    expect_match(r"the lock was lost \(forced release\)", error)


def release_request_is_a_line(case):
    process, _ = _start_held(case)
    request = subprocess.Popen([case.programs["request"], case.hosts, case.path, "request"])
    expect_match("a release is requested", process.stderr.readline())
    expect(process.poll(), None)
    process.terminate()
    expect(case.end_of(process)[0], 0)
    expect(request.wait(20), 0)


def max_hold_exit_79(case):
    process, _ = _start_held(case, ["--max-hold", "1500ms"])
    code, _, error = case.end_of(process)
    expect(code, 79)
    held_for = re.search(r"the lock was lost \(--max-hold\), held for ([\d.]+) s, token ", error)
    assert held_for and float(held_for[1]) >= 1.4, error
    expect(case.run([], ["--max-hold", "0s"])[0], 64)


def shared_holders_and_permits(case):
    shared = [_start_held(case, ["-s"])[0] for _ in range(2)]
    expect(case.run([], ["-n"])[0], 75)
    for process in shared:
        process.terminate()
        expect(case.end_of(process)[0], 0)
    case.path += "-permits"
    _start_held(case, ["-k", "1/2"])
    _start_held(case, ["-k", "1/2"])
    expect(case.run([], ["-n", "-k", "1/2"])[0], 75)
    expect(case.run([], ["-s", "-k", "1/2"])[0], 64)


def json_line_has_the_fields_of_the_guide(case):
    row = next(line for line in GUIDE.read_text(encoding="utf-8").splitlines() if line.startswith("| zklock.hold/1 "))
    process, line = _start_held(case, ["--json", "--note", "job 42", "--lock-delay", "1s"])
    fields = json.loads(line)
    expect(["schema", *re.findall(r"`(\w+)`", row.split("|")[3])], list(fields))
    expect((fields["schema"], fields["path"], fields["kind"], fields["note"]),
           ("zklock.hold/1", case.path, "mutex", "job 42"))
    process.terminate()
    expect(case.end_of(process)[0], 0)


def hold_within_its_run_is_refused(case):
    inner = " ".join(f"'{each}'" for each in case.arguments([]))
    case.verb = "run"
    code, _, error = case.run(["sh", "-c", inner])
    expect(code, 65)
    expect_match("hold /hold_within_its_run_is_refused: this command runs under the lock already", error)


def missing_chroot_is_created_on_request(case):
    case.hosts += "/made/by-hold"
    code, _, error = case.run([], ["-w", "5s"])
    expect(code, 65, error)
    expect_match(r"the chroot /made/by-hold of \S+ does not exist; create it, or use --create-chroot", error)
    process, _ = _start_held(case, ["--create-chroot"])
    process.terminate()
    expect(case.end_of(process), (0, "", ""))


def arguments_and_servers(case):
    expect(case.run(["true"])[0], 64)  # it starts no program
    expect(case.run([], ["-n", "-w", "1s"])[0], 64)
    expect(case.run([], ["-w", "1"])[0], 64)
    shown = subprocess.run([case.programs["zklock"], "hold", "--help"], capture_output=True, text=True, check=False)
    expect(shown.returncode, 0)
    expect_match("Use `zklock run` if you can", shown.stdout)
    case.hosts = "127.0.0.1:1"
    code, _, error = case.run([], ["-w", "1s"])
    expect(code, 69, error)
    assert "within 15 s" not in error, error  # the time for a connection without -w


TESTS = [value for name, value in list(globals().items())
         if callable(value) and getattr(value, "__module__", "") == "__main__" and not name.startswith("_")]

if __name__ == "__main__":
    sys.exit(main(TESTS, verb="hold"))
