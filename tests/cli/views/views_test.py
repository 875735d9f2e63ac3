#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""views_test.py PROGRAM: ls, watch, top, permits, release, check and doctor on a real server.

Exit status 77: a needed package is not installed.
"""
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import serve_kit
from serve_kit import HERE, Servers, Tree, dies_with_us, wait

PROGRAM = None
CURATOR = "_c_01234567-89ab-cdef-0123-456789abcdef-lock-"
KAZOO = "0123456789abcdef0123456789abcdef__lock__"
GUIDE = pathlib.Path(HERE).parents[2] / "zklock/guides/viewing_locks.md"


def fields_of(schema):
    """Returns the fields that the guide lists for a schema."""
    row = next(line for line in GUIDE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| {schema} "))
    return re.findall(r"`(\w+)`", row.split("|")[3])


class ViewTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        cls.servers = Servers(cls.directory.name)
        cls.servers.__enter__()
        cls.tree = Tree(cls.servers.hosts)

    @classmethod
    def tearDownClass(cls):
        cls.tree.close()
        cls.servers.__exit__()
        cls.directory.cleanup()

    def tearDown(self):
        for child in self.tree.client.get_children("/"):
            if child != "zookeeper":
                self.tree.client.delete(f"/{child}", recursive=True)

    def command(self, *arguments):
        return [PROGRAM, "-z", self.servers.hosts, *arguments]

    def run_view(self, *arguments, code=0):
        """Runs the command. Returns the lines of its standard output, or of its errors if it fails."""
        ended = subprocess.run(self.command(*arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        self.assertEqual(ended.returncode, code, ended.stdout + ended.stderr)
        return (ended.stdout or ended.stderr).splitlines()

    def objects(self, schema, *arguments, code=0):
        lines = [json.loads(line) for line in self.run_view("--json", *arguments, code=code)]
        for line in lines:
            self.assertEqual(line.pop("schema"), schema)
            self.assertEqual(list(line), fields_of(schema))
        return lines

    # ---- ls

    def test_ls_of_a_lock_lists_its_contenders(self):
        self.tree.contender("/jobs/report", held_for=250, note="job 42")
        self.tree.contender("/jobs/report", host="db9", pid=77)
        lines = self.run_view("ls", "/jobs/report")
        self.assertRegex(lines[0], r"^#  STATE  CONTENDER +SINCE +ZNODE +TOKEN +NOTE$")
        self.assertRegex(lines[1], r"^0  holds  db7 pid 812 \(billing\) +4 m 1\d s +lock-\d{10}  \d+\.0 +job 42$")
        self.assertRegex(lines[2], r"^1  waits  db9 pid 77 \(billing\) ")

    def test_ls_of_a_folder_lists_its_locks(self):
        self.tree.contender("/jobs/a", held_for=20)
        self.tree.contender("/jobs/deep/b")
        self.tree.plant("/jobs/java", CURATOR)
        self.assertEqual([line.split()[0] for line in self.run_view("ls", "/jobs")], ["LOCK", "/jobs/a", "/jobs/java"])
        self.assertEqual([line.split()[0] for line in self.run_view("ls", "-R", "/")],
                         ["LOCK", "/jobs/a", "/jobs/deep/b", "/jobs/java"])
        self.assertRegex(self.run_view("ls", "/jobs")[2], r"^/jobs/java  Curator, session 0x[0-9a-f]+ +<= ")
        self.assertEqual(len(self.run_view("ls", "-R", "--host", "db7", "/")), 3)
        self.assertEqual(len(self.run_view("ls", "-R", "--held-over", "15s", "/")), 2)

    def test_ls_of_nothing_is_65(self):
        self.assertEqual(self.run_view("ls", "/none", code=65), ["zklock: ls /none: no lock here, and none below"])
        self.run_view("ls", "no/path", code=65)
        self.run_view("ls", code=64)
        self.run_view("ls", "--held-over", "15", "/", code=64)

    def test_ls_json_has_the_fields_of_the_guide(self):
        self.tree.contender("/a", held_for=20)
        self.tree.plant("/a", CURATOR)
        lock, = self.objects("zklock.lock/1", "ls", "/a")
        self.assertEqual((lock["holding"], lock["waiting"]), (1, 1))
        text = GUIDE.read_text(encoding="utf-8")
        for field in lock["holders"][0]:
            self.assertIn(f"`{field}`", text)

    def test_hostile_texts_do_not_reach_the_terminal(self):
        self.tree.contender("/x\u202ey", note="a\u001b[2J\u0085b", host="\u200bh")
        for line in self.run_view("ls", "-R", "/") + self.run_view("check", "/"):
            self.assertTrue(all(" " <= c <= "~" for c in line), repr(line))

    def test_ten_thousand_contenders_are_cut(self):
        for _ in range(40):
            transaction = self.tree.client.transaction()
            for _ in range(250):
                self.tree.client.ensure_path("/many")
                transaction.create("/many/lock-", b"zklock 1\nhost=h\npid=1\n", ephemeral=True, sequence=True)
            transaction.commit()
        lines = self.run_view("ls", "/many")
        self.assertEqual(len(lines), 103)
        self.assertEqual(lines[-1], "and 9899 more wait")

    # ---- watch

    def test_watch_prints_changes_and_ends_by_a_signal(self):
        watch = subprocess.Popen(dies_with_us(self.command("watch", "/w")), stdout=subprocess.PIPE, text=True)
        first = watch.stdout.readline()
        if first.endswith("  connected\n"):  # not printed if the session was faster than the listener
            first = watch.stdout.readline()
        self.assertRegex(first, r"^\d\d:\d\d:\d\d  free$")
        node = self.tree.contender("/w")
        self.assertRegex(watch.stdout.readline(), r"  held by db7 pid 812 \(billing\); 0 waiting$")
        self.tree.delete(node)
        self.assertRegex(watch.stdout.readline(), r"  free$")
        watch.send_signal(signal.SIGTERM)
        self.assertEqual(watch.wait(10), 0)
        watch.stdout.close()

    def test_watch_json_has_the_fields_of_the_guide(self):
        self.tree.contender("/w")
        watch = subprocess.Popen(dies_with_us(self.command("--json", "watch", "/w")), stdout=subprocess.PIPE, text=True)
        line = {"kind": "connected"}
        while line["kind"] == "connected":
            line = json.loads(watch.stdout.readline())
            self.assertEqual(line.pop("schema"), "zklock.change/1")
            self.assertEqual(list(line), fields_of("zklock.change/1"))
        watch.stdout.close()
        self.assertEqual(line["kind"], "state")
        self.assertEqual(line["lock"]["holders"][0]["host"], "db7")
        self.tree.contender("/w")  # its reader is closed
        self.assertEqual(watch.wait(20), 0)

    # ---- top

    def test_top_without_a_terminal_prints_once(self):
        self.tree.contender("/a", held_for=20)
        self.tree.contender("/b", held_for=200)
        self.assertEqual([line.split()[0] for line in self.run_view("top", "/")], ["LOCK", "/b", "/a"])
        self.assertEqual([lock["path"] for lock in self.objects("zklock.lock/1", "top", "--sort", "path", "/")], ["/a", "/b"])

    def test_top_shows_a_screen_and_restores_the_terminal(self):
        self.tree.contender("/jobs/report", held_for=250, note="job 42")
        self.tree.contender("/jobs/report", host="db9", pid=77)
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ["TERM"] = "xterm"
            os.execv(PROGRAM, self.command("top", "/"))
        output = b""

        def reads(text):
            nonlocal output
            if select.select([terminal], [], [], 0.1)[0]:
                try:
                    output += os.read(terminal, 65536)
                except OSError:
                    return True
            return text in output
        wait(lambda: reads(b"/jobs/report"))
        self.assertIn(b"\x1b[?1049h", output)
        output = b""
        os.write(terminal, b"\r")
        wait(lambda: reads(b"db9 pid 77"))
        os.write(terminal, b"q")
        wait(lambda: reads(b"\x1b[?1049l"))
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        os.close(terminal)

    # ---- permits, release

    def test_permits_are_shown_set_and_added(self):
        self.assertIn("no shared count", self.run_view("permits", "/p", code=65)[0])
        self.assertEqual(self.tree.client.exists("/p"), None)
        self.assertEqual(self.run_view("permits", "--create", "--set", "4", "/p"), ["4 permits, 0 held, 0 waiting"])
        self.assertEqual(self.run_view("permits", "--add", "-3", "/p"), ["1 permits, 0 held, 0 waiting"])
        self.tree.contender("/p", prefix="permits-1-")
        self.tree.contender("/p", prefix="permits-1-")
        permits, = self.objects("zklock.permits/1", "permits", "/p")
        self.assertEqual(permits, {"path": "/p", "count": 1, "held": 1, "waiting": 1})
        self.run_view("permits", "--set", "1", "--add", "1", "/p", code=64)
        self.run_view("permits", "--set", "-1", "/p", code=64)

    def test_release_of_a_free_lock(self):
        self.assertEqual(self.run_view("release", "/free"), ["free"])
        self.assertEqual(self.objects("zklock.release/1", "release", "/free")[0]["outcome"], "free")

    def test_release_of_a_deaf_holder_times_out(self):
        self.tree.contender("/r")  # planted: it watches for no request
        self.assertIn("not released in 500 ms: held by db7 pid 812", self.run_view("release", "-w", "500ms", "/r", code=75)[-1])
        self.run_view("release", "--force", "/r", code=64)
        self.run_view("release", "--force", "--yes", "-w", "500ms", "/r", code=75)

    def test_evict_is_for_other_libraries(self):
        node = self.tree.plant("/e", CURATOR).rpartition("/")[2]
        mine = self.tree.contender("/e").rpartition("/")[2]
        self.assertIn("--evict deletes its znode", self.run_view("release", "/e", code=65)[-1])
        self.run_view("release", "--evict", "--yes", "/e", code=64)
        self.run_view("release", "--evict", "--node", mine, "--yes", "/e", code=64)
        self.run_view("release", "--evict", "--node", node, "/e", code=64)
        self.assertIn("released after", self.run_view("release", "--evict", "--node", node, "--yes", "/e")[0])
        self.assertEqual([n for n in self.tree.client.get_children("/e")], [mine])
        self.run_view("release", "--evict", "--after-force", "--node", mine, "--yes", "/e")
        self.assertEqual(self.tree.client.get_children("/e"), [])

    # ---- check, doctor

    def test_check_of_sound_locks_is_0(self):
        self.tree.contender("/a")
        self.assertEqual(self.run_view("check", "/"), ["ok    1 locks checked"])
        self.assertEqual(self.objects("zklock.finding/1", "check", "/"), [])

    def test_check_finds_a_deadlock(self):
        for path, owner in (("/a", "p-1"), ("/b", "p-2"), ("/b", "p-1"), ("/a", "p-2")):
            self.tree.contender(path, owner=owner, bound=1)
        found, = self.objects("zklock.finding/1", "check", "/", code=2)
        self.assertEqual((found["kind"], sorted(found["locks"])), ("certain_cycle", ["/a", "/b"]))
        self.assertRegex(self.run_view("check", "/", code=2)[0], r"^fail  /[ab]: deadlock: db7 pid 812 \(billing\) waits at ")

    def test_check_warns_of_libraries_and_children(self):
        self.tree.contender("/a")
        self.tree.plant("/a", KAZOO)
        self.tree.client.create("/a/notes", b"")
        kinds = {each["kind"] for each in self.objects("zklock.finding/1", "check", "/", code=1)}
        self.assertEqual(kinds, {"mixed_libraries", "other_children"})
        self.assertEqual(self.objects("zklock.finding/1", "check", "--held-over", "1d", "/", code=1)[0]["level"], "warn")

    def test_doctor_names_server_session_and_holder(self):
        self.tree.contender("/d", held_for=20)
        text = "\n".join(self.run_view("doctor", "/d", code=1))  # Debian's server is older than 3.9.4
        for part in ("standalone, ZooKeeper 3.", "quorum: one leader, 1 of 1", "session: the servers grant a timeout",
                     "round trip: at most", "path: /d: held by db7 pid 812 (billing), 0 waiting"):
            self.assertIn(part, text)
        self.objects("zklock.doctor/1", "doctor", code=1)

    def test_doctor_tries_a_free_lock(self):
        self.assertIn("ok    try: acquired and released", self.run_view("doctor", "--try", "/free", code=1))
        self.tree.contender("/held")
        self.assertIn("ok    try: another contender holds", self.run_view("doctor", "--try", "/held", code=1))
        self.run_view("doctor", "--try", code=64)

    def test_no_server_is_69(self):
        begin = time.monotonic()
        for arguments in (("ls", "/"), ("check", "/"), ("permits", "/a"), ("release", "/a")):
            ended = subprocess.run([PROGRAM, "-z", "127.0.0.1:1", *arguments], stderr=subprocess.PIPE, text=True, check=False, timeout=60)
            self.assertEqual(ended.returncode, 69, ended.stderr)
            self.assertEqual(len(ended.stderr.splitlines()), 1, ended.stderr)
        self.assertLess(time.monotonic() - begin, 60)
        ended = subprocess.run([PROGRAM, "-z", "127.0.0.1:1", "doctor"], stdout=subprocess.PIPE, text=True, check=False, timeout=60)
        self.assertEqual(ended.returncode, 2)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    lacking = serve_kit.missing()
    if lacking:
        print(f"skipped: {lacking} is not installed")
        sys.exit(serve_kit.SKIPPED)
    unittest.main(verbosity=2)
