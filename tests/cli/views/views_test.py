#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""views_test.py PROGRAM: ls, watch, top, check and doctor on a real server.

Exit status 77: a needed package is not installed.
"""
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time

from serve_kit import dies_with_us, wait
from view_case import CURATOR, GUIDE, KAZOO, ViewCase, fields_of, main


def play_shell(command, report):
    """Runs a job in the foreground, and writes its states. SIGUSR1 continues the job. Does not return."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpgrp())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execv(command[0], command)

    def foreground(*_):
        os.tcsetpgrp(0, job)
        os.killpg(job, signal.SIGCONT)
    signal.signal(signal.SIGUSR1, foreground)
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            os.write(report, str(os.waitstatus_to_exitcode(status)).encode())
            os._exit(0)
        os.tcsetpgrp(0, os.getpgrp())
        os.write(report, b"s")


def unread_bytes(pipe):
    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def is_in_write(pid):
    """Returns whether a thread of the process is in a system call on the standard output."""
    calls = [file.read_text(encoding="ascii").split() for file in pathlib.Path(f"/proc/{pid}/task").glob("*/syscall")]
    return any(call[1:2] == ["0x1"] for call in calls)  # its first argument


class ViewTest(ViewCase):
    # ---- ls

    def test_ls_of_a_lock_lists_its_contenders(self):
        self.tree.contender("/jobs/report", held_for=250, note="job 42")
        self.tree.contender("/jobs/report", host="db9", pid=77)
        lines = self.run_view("ls", "/jobs/report")
        self.assertRegex(lines[0], r"^#  STATE  KIND   CONTENDER +FOR +ZNODE +TOKEN +NOTE$")
        self.assertRegex(lines[1], r"^0  holds  mutex  db7 pid 812 \(billing\) +4 m [1-5]\d s +lock-\d{10}  \d+\.0 +job 42$")
        self.assertRegex(lines[2], r"^1  waits  mutex  db9 pid 77 \(billing\) ")
        self.tree.contender("/jobs/elected", role="candidate")
        self.assertRegex(self.run_view("ls", "/jobs/elected")[1], r"^0  leads  candidate  db7 pid 812 \(billing\) ")

    def test_ls_of_a_folder_lists_its_locks(self):
        self.tree.contender("/jobs/a", held_for=2000)
        self.tree.contender("/jobs/deep/b")
        self.tree.plant("/jobs/java", CURATOR)
        for arguments in ((), ("/",), ("/jobs",), ("-R", "/")):
            self.assertEqual([line.split()[0] for line in self.run_view("ls", *arguments)],
                             ["LOCK", "/jobs/a", "/jobs/deep/b", "/jobs/java"])
        self.assertEqual([line.split()[0] for line in self.run_view("ls", "--sort", "waiting")],
                         ["LOCK", "/jobs/a", "/jobs/deep/b", "/jobs/java"])
        self.assertRegex(self.run_view("ls", "/jobs")[3], r"^/jobs/java    mutex  Curator, session 0x[0-9a-f]+ +<= ")
        self.tree.contender("/jobs/a/below")
        self.assertEqual([line.split()[0] for line in self.run_view("ls", "-R", "/jobs/a")], ["LOCK", "/jobs/a", "/jobs/a/below"])
        self.tree.client.delete("/jobs/a/below", recursive=True)
        self.assertEqual(len(self.run_view("ls", "-R", "--host", "db7", "/")), 3)
        self.assertEqual(len(self.run_view("ls", "-R", "--held-over", "30m", "/")), 2)

    def test_misspelling_is_named(self):
        self.assertEqual(self.run_view("lss", code=64),
                         ['zklock: there is no command "lss", did you mean ls? `zklock --help` lists the commands'])
        self.assertEqual(self.run_view("frobnicate", "--help", code=64),
                         ['zklock: there is no command "frobnicate"; `zklock --help` lists the commands'])
        self.assertRegex(self.run_view("ls", "--recursve", code=64)[0], r"--recursve; see `zklock ls --help`$")
        self.assertRegex(self.run_view(code=64)[0], r"; see `zklock --help`$")

    def test_ls_of_nothing_is_65(self):
        self.assertEqual(self.run_view("ls", "/none", code=65), ["zklock: ls /none: no lock here, and none below"])
        self.run_view("ls", "no/path", code=65)
        self.assertEqual(self.run_view("ls", code=65), ["zklock: ls /: no lock here, and none below"])
        self.tree.contender("/deep" + "/x" * 17)
        self.assertEqual(self.run_view("ls", "/deep", code=65), [
            "zklock: ls /deep: 1 path not read: 0 without READ permission, 1 too deep",
            "zklock: ls /deep: no lock here, and none in the levels below that were read"])
        self.run_view("ls", "--held-over", "15", "/", code=64)

    def test_filters_apply_to_one_lock(self):
        self.tree.contender("/a", held_for=20)
        for options in (("--host", "db8"), ("--held-over", "1h")):
            self.assertEqual(len(self.run_view("ls", *options, "/a")), 1)
            self.assertEqual(self.run_view("--json", "ls", *options, "/a"), [])

    def test_paths_that_are_not_read_are_counted(self):
        self.tree.contender("/a/b")
        self.tree.client.create("/a/secret", b"", acl=self.tree.secret)
        for view in (("ls", "-R"), ("top",)):
            ended = subprocess.run(self.command(*view, "/a"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, check=False, timeout=60)
            self.assertEqual(ended.returncode, 0)
            self.assertIn("1 path not read: 1 without READ permission, 0 too deep", ended.stderr)
            self.assertIn("/a/b", ended.stdout)

    def test_lock_delay_is_shown(self):
        self.tree.client.ensure_path("/late")
        self.tree.client.create("/late/delay-4000-7-0000000003", b"")
        self.assertEqual(self.run_view("ls", "/late")[-1], "lock delay of 4 s after a lost hold, from when a contender waits")
        self.assertRegex(self.run_view("ls", "/")[1], r"^/late  -     \(lock delay of 4 s\) +0$")
        self.assertIn("ok    path: /late: lock delay of 4 s, 0 waiting", self.run_doctor("/late"))
        self.assertEqual(self.run_view("release", "/late", code=75), ["zklock: release /late: lock delay of 4 s; 0 waiting"])
        self.assertEqual(self.run_view("run", "-n", "/late", "true", code=75),
                         ["zklock: run /late: not acquired: lock delay of 4 s; none waits"])
        watch = subprocess.Popen(dies_with_us(self.command("watch", "/late")), stdout=subprocess.PIPE, text=True)
        while (line := watch.stdout.readline()).endswith("  connected\n"):
            pass
        self.assertRegex(line, r"  lock delay of 4 s; 0 waiting$")
        watch.send_signal(signal.SIGTERM)
        self.assertEqual(watch.wait(10), 0)
        watch.stdout.close()
        lock, = self.objects("zklock.lock/1", "ls", "/late")
        self.assertEqual((lock["delay"], lock["delay_ms"]), (True, 4000))

    def test_unreadable_contender_has_no_age(self):
        node = self.tree.plant("/a", "lock-", is_secret=True).rpartition("/")[2]
        self.assertRegex(self.run_view("ls", "/a")[1], rf"^0  holds  .*  \?  +{node} ")
        self.assertIn("READ permission", self.run_view("release", "/a", code=77)[0])
        self.run_view("release", "--evict", "--yes", "--node", node, "/a", code=77)

    def test_full_output_is_74(self):
        self.tree.contender("/a")
        for view in (("ls", "/a"), ("check", "/"), ("watch", "/a")):
            with open("/dev/full", "wb") as full:
                ended = subprocess.run(self.command(*view), stdin=subprocess.DEVNULL, stdout=full,
                                       stderr=subprocess.PIPE, text=True, check=False, timeout=60)
            self.assertEqual(ended.returncode, 74, ended.stderr)
            self.assertIn("standard output: No space left", ended.stderr)
        ended = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *self.command("ls", "/a")], stderr=subprocess.PIPE,
                               text=True, check=False, timeout=60)
        self.assertEqual((ended.returncode, ended.stderr), (74, "zklock: ls /a: standard output: Bad file descriptor\n"))
        for arguments in (["--help"], ["--version"]):
            with open("/dev/full", "wb") as full:
                self.assertEqual(subprocess.run([self.program, *arguments], stdout=full, check=False, timeout=60,
                                                stderr=subprocess.DEVNULL).returncode, 74)

    def test_root_that_does_not_exist_is_65(self):
        for view in (("check", "/typo"), ("top", "/typo")):
            self.assertIn("the path does not exist", self.run_view(*view, code=65)[0])

    def test_unreadable_root_is_77(self):
        self.tree.client.create("/secret", b"", acl=self.tree.secret)
        for view in ("ls", "top", "check", "watch", "permits", "release"):
            self.run_view(view, "/secret", code=77)

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

    def test_watch_with_a_full_pipe_ends_by_a_signal(self):
        watch = subprocess.Popen(dies_with_us(self.command("--json", "watch", "/w")), stdout=subprocess.PIPE)
        fcntl.fcntl(watch.stdout, 1031, 4096)  # F_SETPIPE_SZ
        wait(lambda: select.select([watch.stdout], [], [], 0)[0])
        is_full = False
        while not is_full:  # each contender is a line, or waits in one that does not fit
            before = unread_bytes(watch.stdout)
            self.tree.contender("/w")
            wait(lambda before=before: unread_bytes(watch.stdout) > before or is_in_write(watch.pid))
            is_full = is_in_write(watch.pid) and unread_bytes(watch.stdout) == before
        watch.send_signal(signal.SIGTERM)
        self.assertEqual(watch.wait(20), 0)
        watch.stdout.close()

    # ---- top

    def test_top_without_a_terminal_prints_once(self):
        self.tree.contender("/a", held_for=20)
        self.tree.contender("/b", held_for=200)
        self.assertEqual([line.split()[0] for line in self.run_view("top", "/")], ["LOCK", "/b", "/a"])
        self.assertEqual([lock["path"] for lock in self.objects("zklock.lock/1", "top", "--sort", "path", "/")], ["/a", "/b"])

    def test_top_without_a_terminal_has_the_rate_of_ls(self):
        self.tree.contenders_at([f"/many/{i}" for i in range(1000)])

        def seconds():
            begin = time.monotonic()
            self.assertEqual(len(self.run_view("top", "/")), 1001)
            return time.monotonic() - begin
        self.assertTrue(any(seconds() < 3.7 for _ in range(10)))  # a screen's rate takes at least 3.8

    def test_top_shows_a_screen_and_restores_the_terminal(self):
        self.tree.contender("/jobs/report", held_for=250, note="job 42")
        self.tree.contender("/jobs/report", host="db9", pid=77)
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ["TERM"] = "xterm"
            os.execv(self.program, self.command("top", "/"))
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

    def test_top_can_be_stopped_and_continued(self):
        self.tree.contender("/jobs/report")
        states, report = os.pipe()
        shell, terminal = pty.fork()
        if shell == 0:
            play_shell(self.command("top", "/"), report)
        os.close(report)
        output = b""

        def reads(text):
            nonlocal output
            if select.select([terminal], [], [], 0.1)[0]:
                output += os.read(terminal, 65536)
            return text in output
        wait(lambda: reads(b"/jobs/report"))
        output = b""
        os.write(terminal, b"\x1a")
        self.assertEqual(os.read(states, 1), b"s")
        wait(lambda: reads(b"\x1b[?1049l"))
        output = b""
        os.kill(shell, signal.SIGUSR1)  # as the command fg
        wait(lambda: reads(b"\x1b[?1049h") and reads(b"/jobs/report"))
        os.write(terminal, b"q")
        self.assertEqual(os.read(states, 1), b"0")
        os.waitpid(shell, 0)
        os.close(terminal)

    # ---- check, doctor

    def test_check_of_sound_locks_is_0(self):
        self.tree.contender("/a")
        self.assertEqual(self.run_view("check", "/"), ["ok    1 lock checked"])
        found, = self.objects("zklock.finding/1", "check", "/")
        self.assertEqual((found["level"], found["kind"], found["text"]), ("ok", "checked", "1 lock checked"))

    def test_check_finds_a_deadlock(self):
        for path, owner in (("/a", "p-1"), ("/b", "p-2"), ("/b", "p-1"), ("/a", "p-2")):
            self.tree.contender(path, owner=owner, bound=1)
        found, = self.objects("zklock.finding/1", "check", "/", code=2)
        self.assertEqual((found["kind"], sorted(found["locks"])), ("certain_cycle", ["/a", "/b"]))
        self.assertEqual([(each["path"], each["holds"], each["pid"]) for each in found["participants"]],
                         [(path, holds, 812) for path in found["locks"] for holds in (False, True)])
        self.assertRegex(self.run_view("check", "/", code=2)[0], r"^fail  /[ab]: deadlock: db7 pid 812 \(billing\) waits at ")

    def test_check_warns_of_libraries_and_children(self):
        self.tree.contender("/a")
        self.tree.plant("/a", KAZOO)
        self.tree.client.create("/a/notes", b"")
        kinds = {each["kind"] for each in self.objects("zklock.finding/1", "check", "/", code=1)}
        self.assertEqual(kinds, {"mixed_libraries", "other_children"})
        self.assertEqual(self.objects("zklock.finding/1", "check", "--held-over", "1d", "/", code=1)[0]["level"], "warning")

    def test_doctor_names_server_session_and_holder(self):
        self.tree.contender("/d", held_for=20)
        text = "\n".join(self.run_doctor("/d"))
        for part in ("standalone, ZooKeeper 3.", "quorum: one leader, 1 of 1", "session: the servers grant a timeout",
                     "round trip: longest", "path: /d: held by db7 pid 812 (billing), 0 waiting"):
            self.assertIn(part, text)
        self.objects("zklock.doctor/1", "doctor", "--fail-on", "failure")

    def test_doctor_says_that_the_chroot_is_missing(self):
        def doctor(chroot, *options):
            command = [self.program, "-z", self.servers.hosts + chroot, *options, "doctor", "--fail-on", "failure"]
            ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=60)
            return ended.returncode, "".join(re.findall(r".* chroot: .*", ended.stdout))
        self.assertEqual(doctor("/none"), (2, "fail  chroot: /none does not exist; create it, or use --create-chroot"))
        self.assertEqual(doctor("/none", "--create-chroot"), (0, "note  chroot: /none does not exist; the first lock creates it"))
        self.tree.client.ensure_path("/some")
        self.assertEqual(doctor("/some"), (0, "ok    chroot: /some exists"))
        self.assertEqual(doctor(""), (0, ""))  # a warning, if any
        command = [self.program, "-z", self.servers.hosts + "/none", "check", "/"]
        ended = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        self.assertEqual((ended.returncode, ended.stderr), (65, "zklock: check /: the chroot of HOSTS does not exist\n"))

    def test_doctor_says_what_run_says_of_proc(self):
        unshare = ["unshare", "--pid", "--fork", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
        if subprocess.run([*unshare, "true"], check=False).returncode != 0:
            self.skipTest("the system refuses namespaces")
        ended = subprocess.run([*unshare, *self.command("doctor")], stdout=subprocess.PIPE, text=True, check=False, timeout=60)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("fail  host: /proc does not show the children of this process", ended.stdout)

    def test_doctor_counts_one_server_with_two_names_once(self):
        port = self.servers.hosts.rpartition(":")[2]
        ended = subprocess.run([self.program, "-z", f"127.0.0.1:{port},localhost:{port}", "doctor"], stdout=subprocess.PIPE,
                               text=True, check=False, timeout=60)
        self.assertIn("quorum: one leader", ended.stdout)

    def test_doctor_sends_no_plain_text_to_tls(self):
        folder = pathlib.Path(self.directory.name)
        for name in ("ca", "certificate", "key"):
            (folder / name).write_text("no certificate\n", encoding="utf-8")
            (folder / name).chmod(0o600)
        (folder / "conf").write_text("".join(f"tls-{name} = {folder / name}\n" for name in ("ca", "certificate", "key")),
                                     encoding="utf-8")
        ended = subprocess.run(self.command("--config", str(folder / "conf"), "doctor"), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        self.assertIn("note  server: not checked, as srvr has no TLS\n", ended.stdout)
        self.assertNotIn("quorum", ended.stdout)

    def test_doctor_tries_a_free_lock(self):
        self.assertIn("ok    try: acquired and released", self.run_doctor("--try", "/free"))
        self.tree.contender("/held")
        self.assertIn("ok    try: another contender holds", self.run_doctor("--try", "/held"))
        self.run_view("doctor", "--try", code=64)

    def test_no_server_is_69(self):
        for arguments in (("ls", "/"), ("check", "/"), ("permits", "/a"), ("release", "/a"), ("watch", "/a"), ("top", "/")):
            ended = subprocess.run([self.program, "-z", "127.0.0.1:1", *arguments], stderr=subprocess.PIPE, text=True, check=False, timeout=60)
            self.assertEqual(ended.returncode, 69, ended.stderr)
            self.assertEqual(len(ended.stderr.splitlines()), 1, ended.stderr)
        ended = subprocess.run([self.program, "-z", "127.0.0.1:1", "doctor"], stdout=subprocess.PIPE, text=True, check=False, timeout=60)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("fail  session: no server answered", ended.stdout)


if __name__ == "__main__":
    main()
