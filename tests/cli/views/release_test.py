#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""release_test.py PROGRAM: permits and release on a real server.

Exit status 77: a needed package is not installed.
"""
import os
import pty
import subprocess

from serve_kit import dies_with_us, end, wait
from view_case import CURATOR, ViewCase, main


class ReleaseTest(ViewCase):
    def test_permits_are_shown_set_and_added(self):
        self.assertIn("no shared count", self.run_view("permits", "/p", code=65)[0])
        self.assertEqual(self.tree.client.exists("/p"), None)
        self.assertEqual(self.run_view("permits", "--create", "--set", "4", "/p"), ["4 permits, 0 held, 0 waiting"])
        self.assertEqual(self.run_view("permits", "--add", "-3", "/p"), ["1 permit, 0 held, 0 waiting"])
        self.tree.contender("/p", prefix="permits-1-")
        self.tree.contender("/p", prefix="permits-1-")
        permits, = self.objects("zklock.permits/1", "permits", "/p")
        self.assertEqual(permits, {"path": "/p", "count": 1, "held": 1, "waiting": 1})
        self.run_view("permits", "--create", "/typo", code=64)
        self.run_view("permits", "--set", "1", "--add", "1", "/p", code=64)
        self.run_view("permits", "--set", "-1", "/p", code=64)

    def test_permits_of_a_fixed_total_are_only_shown(self):
        for _ in range(3):
            self.tree.contender("/f", prefix="permits-2-of-4-")
        self.assertEqual(self.run_view("permits", "/f"), ["4 permits, 4 held, 1 waiting"])
        for change in (("--set", "5"), ("--add", "1"), ("--create", "--set", "5")):
            self.assertIn("cannot be changed here", self.run_view("permits", *change, "/f", code=65)[0])
        self.assertIsNone(self.tree.client.exists("/f/count"))

    def test_release_of_nothing_is_no_success(self):
        node = self.tree.contender("/r")
        self.assertEqual(self.run_view("release", "--node", "lock-0000000077", "/r", code=65),
                         ["zklock: release /r: no such contender"])
        self.run_view("release", "--node", "/other/lock-0000000000", "/r", code=64)
        self.assertIn("not released", self.run_view("release", "-w", "100ms", "--node", node, "/r", code=75)[-1])
        self.tree.contender("/p", prefix="permits-1-")  # there is no count, so it cannot hold
        self.assertEqual(self.run_view("release", "/p", code=75), ["zklock: release /p: not held; 1 waiting"])

        def outcome(*arguments, code):
            found, = self.objects("zklock.release/1", "release", *arguments, code=code)
            return found["outcome"]
        self.assertEqual(outcome("/p", code=75), "not_held")
        self.assertEqual(outcome("--node", "lock-0000000077", "/r", code=65), "no_such_contender")
        self.assertEqual(outcome("-w", "100ms", "/r", code=75), "not_released")

    def test_forced_release_hits_no_namesake(self):
        node = self.tree.contender("/r")
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(self.program, self.command("release", "--force", "-w", "100ms", "/r"))
        output = b""

        def asks():
            nonlocal output
            output += os.read(terminal, 4096)
            return b"(yes/no)" in output
        wait(asks)
        self.assertIn(b"/r: db7 pid 812 (billing), lock-0000000000: take the lock away?", output)
        self.tree.client.delete("/r", recursive=True)
        self.assertEqual(self.tree.contender("/r"), node)
        os.write(terminal, b"yes\n")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 65)
        os.close(terminal)

    def test_release_of_a_free_lock(self):
        self.assertEqual(self.run_view("release", "/free"), ["free"])
        self.assertEqual(self.objects("zklock.release/1", "release", "/free")[0]["outcome"], "free")

    def test_release_of_a_deaf_holder_times_out(self):
        self.tree.contender("/r")  # planted: it watches for no request
        self.assertIn("not released in 500 ms: held by db7 pid 812", self.run_view("release", "-w", "500ms", "/r", code=75)[-1])
        self.run_view("release", "--force", "/r", code=64)
        self.run_view("release", "--force", "--yes", "-w", "500ms", "/r", code=75)

    def hold(self, *options):
        """Starts a process that holds until it is ended."""
        process = subprocess.Popen(dies_with_us(self.command("hold", *options)), stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(end, process)
        self.addCleanup(process.stdout.close)
        self.assertIn("held", process.stdout.readline())
        return process

    def test_release_says_how_many_still_hold(self):
        readers = [self.hold("-s", "/r") for _ in range(3)]
        self.assertRegex(self.run_view("release", "--force", "--yes", "/r")[0],
                         r"^released after .*; 2 other holders still hold: --all releases all$")
        self.assertEqual(readers[0].wait(20), 79)
        found = self.objects("zklock.release/1", "release", "--force", "--all", "--yes", "/r")
        self.assertEqual([(each["outcome"], each["holding"]) for each in found], [("released", 0)] * 2)
        self.assertEqual([each.wait(20) for each in readers[1:]], [79, 79])
        self.hold("-k", "1/2", "/p")
        self.tree.contender("/p", prefix="permits-1-of-2-")  # planted: it watches for no request
        # The hold ends within the time, the planted one does not.
        last = self.run_view("release", "--force", "--all", "--yes", "-w", "10s", "/p", code=75)[-1]
        self.assertIn("not released in 10 s: held by db7", last)
        self.run_view("release", "--all", "--node", "lock-0000000000", "/r", code=64)

    def test_evict_is_for_other_libraries(self):
        node = self.tree.plant("/e", CURATOR).rpartition("/")[2]
        mine = self.tree.contender("/e").rpartition("/")[2]
        self.assertIn(f"--evict --node {node} deletes the znode", self.run_view("release", "/e", code=65)[-1])
        self.run_view("release", "--evict", "--yes", "/e", code=64)
        self.run_view("release", "--evict", "--node", mine, "--yes", "/e", code=64)
        self.run_view("release", "--evict", "--node", node, "/e", code=64)
        self.assertIn("released after", self.run_view("release", "--evict", "--node", node, "--yes", "/e")[0])
        self.assertEqual([n for n in self.tree.client.get_children("/e")], [mine])
        self.run_view("release", "--evict", "--after-force", "--node", mine, "--yes", "/e")
        self.assertEqual(self.tree.client.get_children("/e"), [])


if __name__ == "__main__":
    main()
