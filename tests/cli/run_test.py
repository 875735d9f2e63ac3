#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests `zklock run` on a real server, as a user sees it.

    tests/cli/run_test.py --zklock PROGRAM --request PROGRAM [NAME...]
"""
import json
import os
import pathlib
import signal
import subprocess
import sys

from harness import (LOOP, expect, expect_match, expect_of_short_stop, guardian_of, ignored_signals,
                     is_running, main, server, stop, stop_for_a_second)


def child_codes(case):
    for code in (0, 1, 2, 64, 75, 79, 126, 255):
        expect(case.run(["sh", "-c", f"exit {code}"])[0], code)


def child_signal(case):
    expect(case.run(["sh", "-c", "kill -SEGV $$"])[0], 128 + signal.SIGSEGV)


def stdin_reaches_child(case):
    expect(case.run(["cat"], text_in="a\nb\n")[:2], (0, "a\nb\n"))


def child_options_untouched(case):
    script = 'for each in "$@"; do printf "%s|" "$each"; done'
    out = case.run(["sh", "-c", script, "sh", "-n", "-w", "5s", "--json", "--", "--help"])[1]
    expect(out, "-n|-w|5s|--json|--|--help|")
    expect(case.run(["--", "echo", "-n", "a"])[1], "a")


def no_shell_without_c(case):
    code, _, error = case.run(["echo hi"])
    expect(code, 127)
    expect_match("no such command: echo hi", error)
    expect(case.run([], ["-c", "echo hi; exit 4"])[:2], (4, "hi\n"))


def not_found_is_127_without_server(case):
    case.hosts = "127.0.0.1:1"
    expect(case.run(["frobnicate"])[0], 127)
    code, _, error = case.run(["/etc/passwd"])
    expect(code, 126)
    expect_match("not executable: /etc/passwd", error)


def missing_interpreter_is_127(case):
    script = os.path.join(case.folder, "job")
    with open(script, "w", encoding="ascii") as file:
        file.write("#!/no/such/interpreter\n")
    os.chmod(script, 0o755)
    code, _, error = case.run([script])
    expect(code, 127)
    expect_match("the command was not started: .*: No such file or directory", error)


def usage_errors(case):
    expect(case.run([])[0], 64)
    expect(case.run(["true"], ["--frobnicate"])[0], 64)
    expect(case.run(["true"], ["-w", "30"])[0], 64)
    expect(case.run(["true"], ["-s", "-k", "1/2"])[0], 64)
    code, _, error = case.run(["-n", "true"])
    expect(code, 64)
    expect_match('"-n" follows the path', error)
    case.path = "relative"
    code, _, error = case.run(["true"])
    expect(code, 65)
    expect_match("^zklock: run relative: the path does not begin with a slash|^zklock: run relative: ", error)


def help_and_version(case):
    for arguments in (["--help"], ["run", "--help"], ["run", "-w", "bad", "--help"], ["--version"], ["--help-all"]):
        done = subprocess.run([case.programs["zklock"], *arguments], capture_output=True, text=True, check=False)
        expect(done.returncode, 0)
        expect(done.stderr, "")
        assert done.stdout
    done = subprocess.run([case.programs["zklock"], "run", "/x", "true"], capture_output=True, text=True, check=False)
    expect(done.returncode, 64)
    expect_match("no servers: use -z HOSTS", done.stderr)


def no_server_is_69(case):
    case.hosts = "127.0.0.1:1"
    code, _, error = case.run(["true"], ["-w", "1s"])
    expect(code, 69)
    expect_match("no server answered within 2 s: 127.0.0.1:1 refused the connection; check the hosts and the servers",
                 error)


def busy_names_the_holder(case):
    case.start_ready()
    code, _, error = case.run(["true"], ["-n"])
    expect(code, 75)
    expect_match(r"^zklock: run /busy_names_the_holder: not acquired: held by \S+ pid \d+ \(zklock run", error)
    code, _, error = case.run(["true"], ["-w", "500ms", "-E", "3"])
    expect(code, 3)
    expect_match("not acquired in 500 ms: held by", error)
    expect(len(error.splitlines()), 1, error)


def term_reaches_child(case):
    process, _ = case.start_ready(traps="trap 'exit 9' TERM")
    process.terminate()
    expect(case.end_of(process)[0], 9)


def other_signals_reach_child(case):
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
        process, _ = case.start_ready(traps=f"trap 'exit 9' {int(number)}")
        process.send_signal(number)
        expect(case.end_of(process)[0], 9, number)


def ignored_hangup_stays_ignored(case):
    ignores = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)}
    holder, child = case.start_ready(traps="trap 'exit 4' TERM", **ignores)
    for pid in (holder.pid, child):
        assert signal.SIGHUP in ignored_signals(pid), pid
    waiter = case.start(["sh", "-c", "exit 5"], **ignores)
    case.await_contenders(2)
    for process in (holder, waiter):
        process.send_signal(signal.SIGHUP)
    holder.terminate()
    expect(case.end_of(holder)[0], 4)
    expect(case.end_of(waiter)[0], 5)


def term_while_waiting_leaves_queue(case):
    holder, _ = case.start_ready(traps="trap 'exit 0' TERM")
    held = case.contenders()
    waiter = case.start(["true"])
    case.await_contenders(2)
    waiter.terminate()
    expect(case.end_of(waiter)[0], 143)
    expect(case.contenders(), held)
    holder.terminate()
    expect(case.end_of(holder)[0], 0)
    expect(case.run(["true"], ["-w", "60s"])[0], 0)


def one_at_a_time(case):
    file = pathlib.Path(case.folder, "busy")
    script = f"mkdir {file} || exit 99; sleep 0.1; rmdir {file}"
    for process in [case.start(["sh", "-c", script]) for _ in range(6)]:
        expect(case.end_of(process)[0], 0)


def kill_nine_child_dies(case):
    process, child = case.start_ready(traps="trap '' TERM")
    session, = case.contenders().values()
    successor = case.start_successor(child)
    process.kill()
    process.wait()
    expect(case.end_of(successor), (0, "dead\n", ""))
    assert session not in case.dump(), "the lock was free before the session ended"


def stopped_child_dies_exit_79(case):
    process, child = case.start_ready(traps="trap '' TERM")
    successor = case.start_successor(child)
    stop(process.pid)
    expect(case.end_of(successor), (0, "dead\n", ""))
    process.send_signal(signal.SIGCONT)
    code, _, error = case.end_of(process)
    expect(code, 79)
    expect_match("the lock was lost", error)


def short_stop_changes_nothing(case):
    def attempt():
        process, _ = case.start_ready(timeout="8s", traps="trap 'exit 5' TERM")
        seconds, waits = stop_for_a_second(case, lambda: stop(process.pid), lambda: process.send_signal(signal.SIGCONT))
        process.terminate()
        return seconds, (waits, case.end_of(process)[::2])
    expect_of_short_stop(attempt, (True, (5, "")))


def guardian_killed_exit_137(case):
    process, child = case.start_ready("setsid sleep 1000 & " + LOOP)
    os.kill(guardian_of(process.pid), signal.SIGKILL)
    code, _, error = case.end_of(process)
    expect(code, 137)
    expect_match("zklock's process lock-guardian was killed, and the command with it", error)
    assert not is_running(child)
    expect(case.contenders(), {})


def session_gone_child_dead_exit_79(case):
    with server.Servers(None, tick_ms=400, heap="128m") as own:
        case.hosts = own.hosts
        report = os.path.join(case.folder, "report")
        process, child = case.start_ready(options=["--report", report], traps="trap '' TERM")
        own.members[0].process.send_signal(signal.SIGSTOP)
        code, _, error = case.end_of(process)
        assert not is_running(child)
        own.members[0].process.send_signal(signal.SIGCONT)
        expect(code, 79)
        expect_match("the lock is about to be lost", error)
        expect_match("before another contender could hold", error)
        with open(report, encoding="utf-8") as file:
            facts = json.load(file)
        expect(facts["exit"], 79)
        assert int(facts["swept_at"]) < int(facts["bound"]), facts


def stopped_guardian_and_silent_server(case):
    with server.Servers(None, tick_ms=400, heap="128m") as own:
        case.hosts = own.hosts
        report = os.path.join(case.folder, "report")
        process, child = case.start_ready(options=["--report", report], traps="trap '' TERM")
        guardian = guardian_of(process.pid)
        stop(guardian)
        own.members[0].process.send_signal(signal.SIGSTOP)
        expect(case.end_of(process)[0], 79)
        assert not is_running(child)
        own.members[0].process.send_signal(signal.SIGCONT)
        assert not is_running(guardian)
        with open(report, encoding="utf-8") as file:
            facts = json.load(file)
        assert int(facts["kill_at"]) < int(facts["bound"]), facts


def max_hold_ends_child(case):
    code, _, error = case.run(["sleep", "1000"], ["--max-hold", "2s"])
    expect(code, 79)
    expect_match("--max-hold|about to be lost", error)
    code, _, error = case.run(["true"], ["--max-hold", "500ms"], timeout="8s")
    expect(code, 65)
    expect_match("--max-hold must be at least 1334 ms with a session timeout of 8 s", error)


def forced_release_ends_child(case):
    trapped = pathlib.Path(case.folder, "trapped")
    process, child = case.start_ready(traps=f"trap 'sleep 0.3; echo >{trapped}; exit 0' TERM")
    forced = subprocess.run([case.programs["request"], case.hosts, case.path, "force"], check=False)
    expect(forced.returncode, 0)
    assert not is_running(child), "the lock was released before the child had ended"
    code, _, error = case.end_of(process)
    expect(code, 79)
    expect_match(r"the lock was lost \(forced release\)", error)
    assert trapped.exists(), "the child had no grace"


def release_request_signals_child(case):
    process, _ = case.start_ready(traps="trap 'exit 6' TERM")
    requested = subprocess.run([case.programs["request"], case.hosts, case.path, "request"], check=False)
    expect(requested.returncode, 0)
    code, _, error = case.end_of(process)
    expect(code, 6)
    expect_match("a release is requested", error)


def leftovers_are_ended(case):
    code, _, error = case.run(["sh", "-c", "trap '' TERM; setsid sleep 1000 & (setsid sleep 1000 &) ; exit 5"])
    expect(code, 5)
    expect_match(r"\d process(es)? of the command still ran when it ended, and w", error)


def nested_run_is_refused(case):
    inner = " ".join(f"'{each}'" for each in case.arguments(["true"]))
    code, _, error = case.run([], ["-c", inner])
    expect(code, 65)
    expect_match("this command runs under the lock already", error)
    case.path += "/other"
    other = " ".join(f"'{each}'" for each in case.arguments(["echo", "in"]))
    case.path = case.path.removesuffix("/other") + "/outer"
    expect(case.run([], ["-c", other])[:2], (0, "in\n"))


def environment_of_child(case):
    out = case.run([], ["-c", 'echo "$ZKLOCK_PATH $ZKLOCK_TOKEN $ZKLOCK_NODE"'])[1]
    expect_match(rf"^{case.path} \d+\.0 {case.path}/\S*lock-\d+\n$", out)


def report_has_its_fields(case):
    report = os.path.join(case.folder, "report")
    expect(case.run(["sh", "-c", "exit 7"], ["--report", report, "--note", "job 42"])[0], 7)
    with open(report, encoding="utf-8") as file:
        facts = json.load(file)
    expect(facts["schema"], "zklock.run/1")
    expect((facts["exit"], facts["ended"], facts["note"], facts["kind"]), (7, {"exit": 7}, "job 42", "mutex"))
    expect(case.run(["true"], ["--report", "/none/report"])[0], 65)


def shared_holders_run_together(case):
    first, _ = case.start_ready(options=["-s"], traps="trap 'exit 0' TERM")
    expect(case.run(["true"], ["-s", "-n"])[0], 0)
    expect(case.run(["true"], ["-n"])[0], 75)
    first.terminate()
    expect(case.end_of(first)[0], 0)


def permits_are_counted(case):
    case.start_ready(options=["-k", "1/2"])
    second, _ = case.start_ready(options=["-k", "1/2"], traps="trap 'exit 0' TERM")
    expect(case.run(["true"], ["-n", "-k", "1/2"])[0], 75)
    expect(case.run(["true"], ["-n", "-k", "1/3"])[0], 65)
    second.terminate()
    expect(case.end_of(second)[0], 0)
    expect(case.run(["true"], ["-w", "60s", "-k", "1/2"])[0], 0)
    case.path += "-shared"
    expect(case.run(["true"], ["-k", "1/shared"])[0], 0)


def weight_and_lock_delay(case):
    expect(case.run(["true"], ["--weight", "7"])[0], 0)
    expect(case.run(["true"], ["--weight", "11"])[0], 64)
    case.path += "-delay"
    expect(case.run(["true"], ["--lock-delay", "1s"])[0], 0)


def secrets_are_checked(case):
    code, _, error = case.run(["true"], env=case.secret(0o644))
    expect(code, 78)
    expect_match("others can read it; chmod 600 it", error)


def secrets_of_root_are_checked(case):
    """Another user reads a file of root by its group."""
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    with_secret = case.secret(0o444)
    os.chmod(case.folder, 0o755)
    try:
        os.chown(with_secret["ZKLOCK_DIGEST_FILE"], 0, 65534)
        subprocess.run([*nobody, case.programs["zklock"], "--version"], stdout=subprocess.DEVNULL, check=True)
        subprocess.run([*nobody, "test", "-x", case.folder], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print("omitted: this system does not let the test run zklock as nobody:", error)
        return
    code, _, error = case.run(["true"], prefix=nobody, env=with_secret)
    expect(code, 78)
    expect_match("others can read it; chmod 440 it", error)
    os.chmod(with_secret["ZKLOCK_DIGEST_FILE"], 0o440)
    expect(case.run(["true"], prefix=nobody, env=with_secret)[0], 0)


def closed_error_output_ends_nothing(case):
    process, _ = case.start_ready(traps="trap 'exit 3' TERM")
    process.stderr.close()
    process.stderr = None
    # zklock writes a line about the request before it signals the command.
    requested = subprocess.run([case.programs["request"], case.hosts, case.path, "request"], check=False)
    expect(requested.returncode, 0)
    expect(case.end_of(process)[0], 3)


def proc_of_another_namespace_is_refused(case):
    unshare = ["unshare", "--pid", "--fork", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    if subprocess.run([*unshare, "true"], check=False).returncode != 0:
        return  # the system refuses namespaces
    code, _, error = case.run(["true"], prefix=unshare)
    expect(code, 71)
    expect_match("/proc does not show the children of this process", error)


def inherited_children_live_on(case):
    file = pathlib.Path(case.folder, "sleeper")
    script = f'sleep 1000 >/dev/null 2>&1 & echo $! >{file}; exec "$@"'
    process, child = case.start_ready(prefix=["sh", "-c", script, "sh"])
    sleeper = int(file.read_text(encoding="ascii"))
    os.kill(guardian_of(process.pid), signal.SIGKILL)
    expect(case.end_of(process)[0], 137)
    assert not is_running(child)
    assert is_running(sleeper), "zklock killed a process that it has not started"
    os.kill(sleeper, signal.SIGKILL)


def empty_values(case):
    report = os.path.join(case.folder, "report")
    expect(case.run(["true"], ["--note=", "--report", report])[0], 0)
    with open(report, encoding="utf-8") as file:
        expect(json.load(file)["note"], "")
    code, _, error = case.run(["true"], ["-w", ""])
    expect(code, 64)
    expect_match("the value is empty", error)


def long_environment_is_named(case):
    code, _, error = case.run(["true"], env={**os.environ, "ZKLOCK_HELD": "x" * 70_000})
    expect(code, 126)
    expect_match("the command was not started: .*: Argument list too long", error)


def grace_needs_its_timeout(case):
    code, _, error = case.run(["true"], ["--grace", "2s"], timeout="4s")
    expect(code, 65)
    expect_match("--grace 2 s needs a session timeout of 8 s, but the servers grant 4 s", error)
    code, _, error = case.run(["true"], ["--grace", "200ms"], timeout="800ms")
    expect(code, 65)
    expect_match("a session timeout of 800 ms is too short for a grace of 200 ms", error)


TESTS = [value for name, value in list(globals().items())
         if callable(value) and getattr(value, "__module__", "") == "__main__"]

if __name__ == "__main__":
    sys.exit(main(TESTS))
