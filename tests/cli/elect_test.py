#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests `zklock elect` on a real server, as a user sees it.

    tests/cli/elect_test.py --zklock PROGRAM --request PROGRAM [NAME...]
"""
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys

from proxy import CuttingProxy
from harness import (LOOP, boottime, expect, expect_match, guardian_of, is_running, main, send_and_await, server, stop,
                     wait_for)

STUBBORN = "trap '' TERM"
POLITE = "trap 'exit 0' TERM"


def _request(case, what):
    return subprocess.run([case.programs["request"], case.hosts, case.path, what], capture_output=True, text=True,
                          check=False)


def _port_of(process):
    """Returns the port of the health checks, which the first line names."""
    return int(re.search(r"health checks at http://127\.0\.0\.1:(\d+)/livez and /readyz", process.stderr.readline())[1])


def _probe(port, path, host="127.0.0.1"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path, headers={"Host": host})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def _counting_script(case, ends):
    """Returns a file, and a script that adds a line to it at each start. Each of the first `ends` starts exits with 3.

    A later one waits for TERM, and adds its line when it is ready for that.
    """
    file = pathlib.Path(case.folder, "starts")
    return file, (f"touch {file}; [ $(wc -l <{file}) -ge {ends} ] && trap 'exit 9' TERM && echo x >>{file} && "
                  f"{LOOP}; echo x >>{file}; exit 3")


def _await_starts(file, count):
    wait_for(lambda: file.exists() and file.read_text(encoding="ascii") == count * "x\n", f"{count} starts")


def one_of_two_leads_and_the_second_follows(case):
    log = pathlib.Path(case.folder, "log")
    first, _ = case.start_ready(traps=f"trap 'echo first ends >>{log}; exit 0' TERM")
    second = case.start(["sh", "-c", f"{POLITE}; echo second leads >>{log}; {LOOP}"])
    case.await_contenders(2)
    first.terminate()
    expect(case.end_of(first)[0], 0)
    wait_for(lambda: "second leads" in log.read_text(encoding="ascii"), "the second leads")
    expect(log.read_text(encoding="ascii"), "first ends\nsecond leads\n")
    second.terminate()
    expect(case.end_of(second)[0], 0)


def killed_leader_is_followed_after_its_command(case):
    first, child = case.start_ready(traps=STUBBORN)
    successor = case.start_successor(child)
    first.kill()
    expect(case.end_of(successor), (0, "dead\n", ""))


def session_gone_command_dead_exit_79(case):
    with server.Servers(None, tick_ms=400, heap="128m") as own:
        case.hosts = own.hosts
        report = os.path.join(case.folder, "report")
        process, child = case.start_ready(options=["--report", report], traps=STUBBORN)
        own.members[0].process.send_signal(signal.SIGSTOP)
        code, _, error = case.end_of(process)
        assert not is_running(child)
        own.members[0].process.send_signal(signal.SIGCONT)
        expect(code, 79)
        expect_match("^zklock: elect /session_gone_command_dead_exit_79: the lock is about to be lost", error)
        with open(report, encoding="utf-8") as file:
            facts = json.load(file)
        expect((facts["exit"], facts["kind"], facts["end_reason"]), (79, "election", "lease"))
        assert int(facts["swept_at"]) < int(facts["bound"]), facts


def stopped_leader_is_followed_and_exits_79(case):
    process, child = case.start_ready(traps=STUBBORN)
    successor = case.start_successor(child)
    stop(process.pid)
    expect(case.end_of(successor), (0, "dead\n", ""))
    process.send_signal(signal.SIGCONT)
    code, _, error = case.end_of(process)
    expect(code, 79)
    expect_match("the lock was lost", error)


def codes_and_streams_are_those_of_the_command(case):
    expect(case.run(["sh", "-c", "exit 7"])[0], 7)
    expect(case.run(["sh", "-c", "kill -SEGV $$"])[0], 128 + signal.SIGSEGV)
    expect(case.run(["cat"], text_in="a\n")[:2], (0, "a\n"))
    out = case.run(["sh", "-c", 'echo "$ZKLOCK_PATH $ZKLOCK_TOKEN $ZKLOCK_NODE $1"', "sh", "--repeat"])[1]
    expect_match(rf"^{case.path} \d+\.0 {case.path}/\S*lock-\d+ --repeat\n$", out)


def forced_release_waits_for_the_command(case):
    process, child = case.start_ready(traps="trap 'sleep 0.3; exit 0' TERM")
    expect(_request(case, "force").returncode, 0)
    assert not is_running(child), "the leadership ended before the command"
    code, _, error = case.end_of(process)
    expect(code, 79)
    expect_match("forced release", error)


def release_request_signals_the_command(case):
    process, _ = case.start_ready(traps="trap 'exit 6' TERM")
    expect(_request(case, "request").returncode, 0)
    code, _, error = case.end_of(process)
    expect(code, 6)
    expect_match("a release is requested", error)


def repeat_stands_again_with_pauses(case):
    file, script = _counting_script(case, 2)
    begun = boottime()
    process = case.start(["sh", "-c", script], ["--repeat"])
    _await_starts(file, 3)
    assert boottime() - begun > 3, "the pauses are one and two seconds"
    process.terminate()
    code, _, error = case.end_of(process)
    expect(code, 9)
    expect_match(r"ended with code 3; stands for election again in 1\.?0? s\n", error)
    expect_match(r"ended with code 3; stands for election again in 2\.?0? s\n", error)
    expect(len(error.splitlines()), 2, error)


def repeat_lets_the_other_lead_between(case):
    names = pathlib.Path(case.folder, "names")
    both = [case.start(["sh", "-c", f"echo {name} >>{names}; sleep 0.3"], ["--repeat"]) for name in "ab"]

    def has_alternated():
        found = names.read_text(encoding="ascii").split() if names.exists() else []
        return len(found) >= 4 and {"a", "b"} <= set(found[:3])

    wait_for(has_alternated, "both lead")
    for process in both:
        process.terminate()
        assert case.end_of(process)[0] in (143, 0)


def repeat_stands_again_after_a_loss(case):
    file, script = _counting_script(case, 0)
    process = case.start(["sh", "-c", script], ["--repeat"])
    _await_starts(file, 1)
    expect(_request(case, "force").returncode, 0)
    _await_starts(file, 2)
    process.terminate()
    code, _, error = case.end_of(process)
    expect(code, 9)
    expect_match("forced release", error)
    expect_match("ended with code 79; stands for election again in 1", error)


def repeat_after_the_session_is_gone(case):
    with server.Servers(None, tick_ms=400, heap="128m") as own:
        case.hosts = own.hosts
        file, script = _counting_script(case, 0)
        process = case.start(["sh", "-c", script], ["--repeat"])
        _await_starts(file, 1)
        own.members[0].process.send_signal(signal.SIGSTOP)
        wait_for(lambda: "ended with code 79" in process.stderr.readline(), "the loss")
        own.members[0].process.send_signal(signal.SIGCONT)
        _await_starts(file, 2)
        process.terminate()
        expect(case.end_of(process)[0], 9)


def repeat_ends_with_the_guardian(case):
    process, child = case.start_ready(options=["--repeat"], traps=STUBBORN)
    os.kill(guardian_of(process.pid), signal.SIGKILL)
    expect(case.end_of(process)[0], 137)
    assert not is_running(child)


def hangup_after_term_ends_the_repeat(case):
    term, hangup = (pathlib.Path(case.folder, name) for name in ("term", "hangup"))
    ends = f"touch {term}; while [ ! -e {hangup} ]; do sleep 0.05; done; exit 0"
    process, _ = case.start_ready(options=["--repeat"], traps=f"trap 'touch {hangup}' HUP; trap '{ends}' TERM")
    process.terminate()
    wait_for(term.exists, "the command receives TERM")
    process.send_signal(signal.SIGHUP)
    expect(case.end_of(process)[0], 0)


def hangup_without_a_command_is_ignored(case):
    leader, _ = case.start_ready(traps=POLITE)
    # In a session of its own it has no terminal.
    standby = case.start(["false"], ["--repeat"], start_new_session=True)
    case.await_contenders(2)
    send_and_await(standby.pid, signal.SIGHUP)
    leader.terminate()
    expect(case.end_of(leader)[0], 0)
    for _ in range(2):  # in the pause
        expect_match("ended with code 1; stands for election again", standby.stderr.readline())
        standby.send_signal(signal.SIGHUP)
    standby.terminate()
    expect(case.end_of(standby)[0], 143)


def terminated_standby_and_pause_exit_143(case):
    first, _ = case.start_ready(traps=POLITE)
    standby = case.start(["true"], ["--repeat"])
    case.await_contenders(2)
    standby.terminate()
    expect(case.end_of(standby)[0], 143)
    first.terminate()
    expect(case.end_of(first)[0], 0)
    file, script = _counting_script(case, 2)
    pausing = case.start(["sh", "-c", script], ["--repeat"])
    expect_match("ended with code 3; stands for election again", pausing.stderr.readline())
    pausing.terminate()
    expect(case.end_of(pausing)[0], 143)
    expect(file.read_text(encoding="ascii"), "x\n")  # the command did not run again after the pause
    expect(case.run(["true"])[0], 0)


def health_checks_tell_leader_and_standby(case):
    leader, _ = case.start_ready(options=["--health", "127.0.0.1:0"], traps=POLITE)
    port = _port_of(leader)
    wait_for(lambda: _probe(port, "/readyz") == (200, "ok\n"), "the leader is ready")
    expect(_probe(port, "/livez"), (200, "ok\n"))
    expect(_probe(port, "/livez", "billing.example.svc:8080"), (200, "ok\n"))
    expect(_probe(port, "/")[0], 404)
    standby = case.start(["sh", "-c", LOOP], ["--health", "127.0.0.1:0"])
    other = _port_of(standby)
    wait_for(lambda: "led by" in _probe(other, "/readyz")[1], "the standby knows the leader")
    status, text = _probe(other, "/readyz")
    expect(status, 503)
    expect_match(rf"^standby: led by \S+ pid {leader.pid} \(zklock elect, \"sh\"\)", text)
    expect(_probe(other, "/livez"), (200, "ok\n"))
    leader.terminate()
    expect(case.end_of(leader)[0], 0)
    wait_for(lambda: _probe(other, "/readyz") == (200, "ok\n"), "the standby leads")
    standby.send_signal(signal.SIGKILL)


def health_checks_without_a_server(case):
    case.hosts = "127.0.0.1:1"
    process = case.start(["true"], ["--health", "127.0.0.1:0"])
    port = _port_of(process)
    expect(_probe(port, "/livez"), (200, "ok\n"))
    expect(_probe(port, "/readyz"), (503, "standby: no connection to ZooKeeper\n"))
    process.terminate()
    expect(case.end_of(process)[0], 143)


def lost_leader_is_not_ready(case):
    with server.Servers(None, tick_ms=400, heap="128m") as own:
        case.hosts = own.hosts
        process, _ = case.start_ready(options=["--health", "127.0.0.1:0", "--repeat"], traps=STUBBORN)
        port = _port_of(process)
        wait_for(lambda: _probe(port, "/readyz")[0] == 200, "the leader is ready")
        own.members[0].process.send_signal(signal.SIGSTOP)
        wait_for(lambda: _probe(port, "/readyz")[0] == 503, "it is not ready")
        expect(_probe(port, "/livez"), (200, "ok\n"))
        own.members[0].process.send_signal(signal.SIGCONT)
        wait_for(lambda: _probe(port, "/readyz")[0] == 200, "it leads again")


def proclaimed_value_is_received(case):
    process, _ = case.start_ready(options=["--proclaim", "db7:8080"], traps=POLITE)
    wait_for(lambda: _request(case, "value").stdout == "db7:8080", "the value")
    process.terminate()
    expect(case.end_of(process)[0], 0)
    expect(_request(case, "value").stdout, "")


def lost_proclamation_is_repeated(case):
    with CuttingProxy(case.hosts, b"db7:8080") as proxy:
        hosts, case.hosts = case.hosts, proxy.hosts
        process, _ = case.start_ready(options=["--proclaim", "db7:8080"], traps=POLITE)
        case.hosts = hosts
        wait_for(lambda: _request(case, "value").stdout == "db7:8080", "the value")
        assert proxy.has_cut, "the first request was lost"
        process.terminate()
        expect(case.end_of(process)[0], 0)


def report_of_a_leadership_is_kept(case):
    report = pathlib.Path(case.folder, "report")
    process, _ = case.start_ready(options=["--repeat", "--report", str(report)], traps=STUBBORN)
    case.start(["sh", "-c", LOOP])
    case.await_contenders(2)
    own, other = case.contenders()
    expect(_request(case, "force").returncode, 0)
    wait_for(report.exists, "the report of the leadership")
    begun = json.loads(report.read_text(encoding="utf-8"))
    expect((begun["node"], begun["exit"]), (own, 79))
    # After its pause, it stands for election again, and does not lead.
    wait_for(lambda: len(case.contenders()) == 2 and own not in case.contenders(), "it stands again")
    expect(list(case.contenders())[0], other)
    process.terminate()
    expect(case.end_of(process)[0], 143)
    expect(json.loads(report.read_text(encoding="utf-8")), begun)


def note_is_shown(case):
    case.start_ready(options=["--note", "shard 7"], traps=POLITE)
    shown = subprocess.run([case.programs["zklock"], "-z", case.hosts, "--json", "ls", case.path], capture_output=True,
                           text=True, check=False)
    holder, = json.loads(shown.stdout)["holders"]
    expect((holder["note"], holder["application"]), ("shard 7", "zklock elect"))


def wrong_arguments_are_refused(case):
    for options, command, expected in (([], [], 64), (["-n"], ["true"], 64), (["--health", "8080"], ["true"], 64),
                                       ([], ["frobnicate"], 127), ([], ["/etc/passwd"], 126),
                                       (["--report", "/none/report"], ["true"], 65),
                                       (["--term", "NONE"], ["true"], 64)):
        expect(case.run(command, options)[0], expected, options)
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        code, _, error = case.run(["true"], ["--health", f"127.0.0.1:{occupied.getsockname()[1]}"])
        expect(code, 71)
        expect_match(r"elect \S+: http://127\.0\.0\.1:\d+/: Address already in use", error)
    shown = subprocess.run([case.programs["zklock"], "elect", "--help"], capture_output=True, text=True, check=False)
    expect(shown.returncode, 0)
    for option in ("--proclaim", "--health", "--repeat", "--grace", "--term", "--note", "--report"):
        assert option in shown.stdout, option


def election_within_its_leadership_is_refused(case):
    inner = " ".join(f"'{each}'" for each in case.arguments(["true"]))
    code, _, error = case.run(["sh", "-c", inner])
    expect(code, 65)
    expect_match("this command runs under the lock already", error)


TESTS = [value for name, value in list(globals().items())
         if callable(value) and getattr(value, "__module__", "") == "__main__" and not name.startswith("_")]

if __name__ == "__main__":
    sys.exit(main(TESTS, verb="elect"))
