#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the SQL of zklock/guides/fencing_in_postgresql.md, and of examples/service/ledger.h, on a temporary PostgreSQL.

    tests/guides/postgresql_test.py

Each statement is prepared as it stands on the page. Then late holders write, also while others begin or write. Exits with
77 if PostgreSQL is not installed. As root, it runs the server as the user postgres.
"""
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from pages import ROOT, blocks  # noqa: E402

LOCK = "'/locks/report'"
OLD, NEW = "71, 0", "73, 0"
LIMIT = 20  # seconds


def programs():
    """Returns the folder of initdb and pg_ctl, which Debian does not put into PATH."""
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    for folder in [*reversed(folders), *os.environ["PATH"].split(":")]:
        if os.path.exists(folder + "/initdb"):
            return folder
    return None


class Server:
    def __init__(self, folder, directory):
        self.folder, self.directory = folder, directory
        self.as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []

    def run(self, program, *arguments):
        subprocess.run([*self.as_user, f"{self.folder}/{program}", *arguments], check=True, cwd="/",
                       stdout=subprocess.DEVNULL)

    def __enter__(self):
        if self.as_user:
            shutil.chown(self.directory, "postgres")
        self.run("initdb", "-D", f"{self.directory}/data", "-A", "trust", "-U", "test", "--no-sync")
        # No address, only a socket in the directory: nothing else can connect.
        self.run("pg_ctl", "-D", f"{self.directory}/data", "-w", "-l", f"{self.directory}/log", "-o",
                 f"-c listen_addresses='' -k {self.directory} -F", "start")
        return self

    def __exit__(self, *_):
        self.run("pg_ctl", "-D", f"{self.directory}/data", "-w", "-m", "immediate", "stop")


class Session:
    """A connection: a psql that reads statements from a pipe."""

    def __init__(self, server, statements):
        self.psql = subprocess.Popen(["psql", "-h", server.directory, "-U", "test", "-d", "postgres", "-X", "-A", "-t",
                                      "-v", "ON_ERROR_STOP=1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, text=True)
        for name, statement in statements.items():
            self.do(f"PREPARE {name} AS {statement}")
        self.pid = self.do("SELECT pg_backend_pid()")[0]

    def send(self, statement):
        self.psql.stdin.write(statement.rstrip(";\n") + ";\n\\echo end\n")
        self.psql.stdin.flush()

    def receive(self):
        lines = []
        for line in self.psql.stdout:
            if line == "end\n":
                return lines
            lines.append(line.rstrip("\n"))
        raise SystemExit("psql ended: " + " ".join(lines))

    def do(self, statement):
        self.send(statement)
        return self.receive()

    def close(self):
        self.psql.stdin.close()
        self.psql.wait(LIMIT)


def expect(seen, wanted, text):
    if seen != wanted:
        raise SystemExit(f"failed: {text}: {seen}, not {wanted}")
    print("ok:", text)


def wait_until_blocked(observer, session, text):
    query = f"SELECT count(*) FROM pg_stat_activity WHERE pid = {session.pid} AND wait_event_type = 'Lock'"
    end = time.monotonic() + LIMIT
    while observer.do(query) != ["1"]:
        if time.monotonic() > end:
            raise SystemExit("failed: not blocked: " + text)
        time.sleep(0.01)
    print("ok:", text)


def guide():
    """Returns the blocks of the guide by the words of their first line."""
    page = ROOT / "zklock/guides/fencing_in_postgresql.md"
    return {re.match(r"-- (.*)", text)[1]: text.split("\n", 1)[1] for _, text in blocks(page, "sql")}


def service():
    """Returns the tables, begin() and post() in the comment of the example."""
    text = (ROOT / "examples/service/ledger.h").read_text(encoding="utf-8")
    comment = "".join(re.sub(r"^// ?", "", line) + "\n" for line in re.findall(r"^//.*$", text, re.M))
    statements = [re.sub(r"--.*", "", each) for each in re.findall(r"^  ((?:CREATE|INSERT|UPDATE)[^;]*);", comment, re.M)]
    tables = [each for each in statements if "$1" not in each]
    begin, post = [each for each in statements if "$1" in each]
    return ";".join(tables), {"begin": begin, "post": post}


def one_row(server, sql):
    setup = Session(server, {})
    setup.do(sql["table of reports"])
    statements = {"report": sql["write a report"]}
    first, second = Session(server, statements), Session(server, statements)
    expect(first.do(f"EXECUTE report('r', 'first', {OLD})"), ["INSERT 0 1"], "a report is written")
    expect(second.do(f"EXECUTE report('r', 'second', {NEW})"), ["INSERT 0 1"], "a later holder writes it again")
    expect(first.do(f"EXECUTE report('r', 'late', {OLD})"), ["INSERT 0 0"], "the late write changes no row")
    second.do("BEGIN")
    second.do("EXECUTE report('r', 'third', 73, 1)")
    first.send("EXECUTE report('r', 'late', 73, 0)")
    wait_until_blocked(setup, first, "a late write waits for a writer")
    second.do("COMMIT")
    expect(first.receive(), ["INSERT 0 0"], "it is checked again after the wait; the second part of the token counts")
    expect(setup.do("SELECT body FROM report"), ["third"], "the report is that of the last holder")
    for each in (setup, first, second):
        each.close()


def late_holders(server, statements, begin, post, balance):
    """begin and post are calls of the prepared statements, with {} for the token. balance is a query."""
    observer = Session(server, {})
    old, new = Session(server, statements), Session(server, statements)
    accepted, refused = ["UPDATE 1"], ["UPDATE 0"]

    def began(session, token):
        return session.do(begin.format(token))[0].endswith(" 1")

    expect(began(old, OLD), True, "a holder begins")
    expect(old.do(post.format(OLD)), accepted, "its write is accepted")
    old.do("BEGIN")
    old.do(post.format(OLD))
    new.send(begin.format(NEW))
    wait_until_blocked(observer, new, "a later holder waits for a write that has passed the check")
    old.do("COMMIT")
    expect(new.receive()[0].endswith(" 1"), True, "then it begins")
    expect(new.do(balance), ["20"], "and sees that write")
    expect(old.do(post.format(OLD)), refused, "a late write is refused, also in a row not yet written")
    expect(began(old, OLD), False, "an earlier holder cannot begin again")
    new.do("BEGIN")
    new.do(begin.format("75, 0"))
    old.send(post.format(NEW))
    wait_until_blocked(observer, old, "a write waits for a holder that begins")
    new.do("COMMIT")
    expect(old.receive(), refused, "and is refused then")
    expect(new.do(post.format("75, 0")), accepted, "the last holder writes")
    expect(new.do(balance), ["30"], "the balance has the accepted writes only")
    for each in (observer, old, new):
        each.close()


def many_rows(server, sql):
    setup = Session(server, {})
    setup.do(sql["tables of accounts"])
    setup.do("INSERT INTO account VALUES ('a', 0)")
    statements = {"begin_hold": sql["begin a hold"], "post": sql["post an amount"],
                  "check_token": sql["check in a transaction"], "reset": sql["reset the token"]}
    late_holders(server, statements, f"EXECUTE begin_hold({LOCK}, {{}})", f"EXECUTE post(10, 'a', {LOCK}, {{}})",
                 "SELECT balance FROM account")
    session = Session(server, statements)
    expect(session.do(f"EXECUTE check_token({LOCK}, 75, 0)"), ["1"], "the check of a transaction returns a row")
    expect(session.do(f"EXECUTE check_token({LOCK}, 74, 9)"), [], "and none for an earlier holder")
    session.do(f"EXECUTE reset({LOCK})")
    expect(session.do(f"EXECUTE post(1, 'a', {LOCK}, 1, 0)"), ["UPDATE 1"], "after a reset, low tokens are accepted")
    setup.do("DROP TABLE account")
    for each in (setup, session):
        each.close()


def example(server):
    tables, statements = service()
    setup = Session(server, {})
    setup.do(tables)
    setup.do("INSERT INTO account VALUES ('a', 0)")
    late_holders(server, {"begin_hold": statements["begin"], "post": statements["post"]}, "EXECUTE begin_hold({})",
                 "EXECUTE post(10, 'a', {})", "SELECT balance FROM account")
    setup.close()


def main():
    folder = programs()
    if not folder or not shutil.which("psql"):
        print("PostgreSQL is not installed")
        return 77
    directory = tempfile.mkdtemp(prefix="zklock-postgresql-")
    try:
        with Server(folder, directory) as server:
            sql = guide()
            one_row(server, sql)
            many_rows(server, sql)
            example(server)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
