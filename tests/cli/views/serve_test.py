#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""serve_test.py PROGRAM: `zklock serve` on a real server. Exit status 77: a needed package is not installed."""
import gzip
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request
import zlib

import serve_kit
from serve_kit import Serve, Servers, SlowLink, Tree, wait
from view_case import fields_of

PROGRAM = None
CURATOR = "_c_01234567-89ab-cdef-0123-456789abcdef-lock-"
KAZOO = "0123456789abcdef0123456789abcdef__lock__"


class Events:
    """The event stream of a serve process, read by hand."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.socket.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.lines = self.socket.makefile("r", encoding="utf-8")
        while self.lines.readline() != "\n":
            pass

    def event(self):
        """Returns the name and the data of the next event."""
        name = None
        while True:
            line = self.lines.readline()
            if not line:
                raise AssertionError("the stream has ended")
            if line.startswith("event: "):
                name = line[7:].strip()
            elif line.startswith("data: "):
                return name, json.loads(line[6:])

    def next(self, name):
        """Returns the data of the next event of this name."""
        while True:
            found, data = self.event()
            if found == name:
                return data

    def close(self):
        self.lines.close()
        self.socket.close()


class ServeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        cls.servers = Servers(cls.directory.name)
        cls.servers.__enter__()
        cls.tree = Tree(cls.servers.hosts)
        cls.serve = Serve(PROGRAM, cls.servers.hosts)
        cls.serve.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.serve.__exit__()
        cls.tree.close()
        cls.servers.__exit__()
        cls.directory.cleanup()

    def tearDown(self):
        for child in self.tree.client.get_children("/"):
            if child != "zookeeper":
                self.tree.client.delete(f"/{child}", recursive=True)
        wait(lambda: not self.serve.locks())

    def test_lock_has_holder_queue_and_note(self):
        before = time.time()
        self.tree.contender("/jobs/report", held_for=250, note="job 42")
        self.tree.contender("/jobs/report", host="db9", pid=77)
        lock = wait(lambda: self.serve.locks().get("/jobs/report", {}).get("waiting") and self.serve.locks()["/jobs/report"])
        self.assertEqual(lock["holders"][0]["note"], "job 42")
        self.assertEqual(lock["holders"][0]["host"], "db7")
        held_since = lock["holders"][0]["held_since_ms"] / 1000 + 250
        self.assertTrue(before - 0.001 <= held_since <= time.time(), held_since - before)
        self.assertEqual([waiting["pid"] for waiting in lock["queue"]], [77])

    def test_libraries_are_told_apart(self):
        self.tree.plant("/java", CURATOR)
        self.tree.plant("/python", KAZOO)
        locks = wait(lambda: len(self.serve.locks()) == 2 and self.serve.locks())
        self.assertEqual(locks["/java"]["holders"][0]["library"], "curator")
        self.assertEqual(locks["/python"]["holders"][0]["library"], "kazoo")
        self.assertIsNone(locks["/python"]["holders"][0]["host"])

    def test_past_has_holds_and_lock_delays(self):
        self.assertEqual(self.serve.get("/api/history")[::2], (400, "the query must have one field: path\n"))
        for path in ("jobs", "/zookeeper/config"):
            self.assertEqual(self.serve.get(f"/api/history?path={path}")[::2], (404, "not below the root of this page\n"))
        node = self.tree.contender("/jobs/a b", note="first", held_for=0)
        wait(lambda: self.serve.locks().get("/jobs/a b", {}).get("holding"))
        self.tree.contender("/jobs/a b", note="second")
        wait(lambda: self.serve.locks()["/jobs/a b"]["waiting"] == 1)
        self.tree.client.create("/jobs/a b/delay-60000-4294967297-0000000077", b"")
        self.tree.delete(node)
        past = wait(lambda: len(self.serve.past("/jobs/a b")["spans"]) == 2 and self.serve.past("/jobs/a b"))
        self.assertEqual(list(past), ["schema", *fields_of("zklock.history/1")])
        hold, delay = past["spans"]
        self.assertEqual((hold["kind"], hold["most_waiting"], hold["holder"]["note"]), ("hold", 1, "first"))
        self.assertTrue(hold["begin_exact"] and hold["begin_ms"] < hold["seen_ms"] < hold["ended_ms"], hold)
        self.assertEqual((delay["kind"], delay["holder"], delay["ended_ms"]), ("lock_delay", None, None))

    def test_events_have_the_difference_only(self):
        before = time.time()
        self.tree.contender("/a")
        wait(lambda: "/a" in self.serve.locks())
        events = Events(self.serve.port)
        try:
            self.assertEqual([lock["path"] for lock in events.next("change")["locks"]], ["/a"])
            node = self.tree.contender("/b")
            self.assertEqual([lock["path"] for lock in events.next("change")["locks"]], ["/b"])
            self.tree.delete(node)
            self.assertEqual([(lock["path"], lock["holding"]) for lock in events.next("change")["locks"]], [("/b", 0)])
            beat = events.next("beat")
            self.assertTrue(beat["connected"])
            self.assertTrue(before * 1000 <= beat["as_of_ms"] <= beat["now_ms"], beat)
        finally:
            events.close()

    def test_hostile_texts_are_ascii(self):
        self.tree.contender("/x", note="</script><img src=x onerror=alert(1)>\u202e\u001b[2J", host='"\\')
        wait(lambda: "/x" in self.serve.locks())
        for path in ("/api/locks", "/metrics"):
            _, _, body = self.serve.get(path)
            self.assertTrue(all(" " <= c <= "~" or c == "\n" for c in body), path)

    def test_metrics_and_health(self):
        before = time.time()
        self.tree.contender("/m", held_for=100)
        self.tree.contender("/m")
        wait(lambda: self.serve.locks().get("/m", {}).get("waiting") == 1)
        status, headers, body = self.serve.get("/metrics")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        values = dict(line.rsplit(" ", 1) for line in body.splitlines() if not line.startswith("#"))
        self.assertEqual(values['zklock_observed_holds{path="/m"}'], "1")
        self.assertEqual(values['zklock_observed_waiters{path="/m"}'], "1")
        age = float(values['zklock_observed_oldest_hold_seconds{path="/m"}'])
        self.assertTrue(100 <= age <= time.time() - before + 101, age)
        self.assertEqual(values["zklock_observed_connected"], "1")
        self.assertEqual(self.serve.get("/healthz")[::2], (200, "ok\n"))

    def test_shared_holders_are_counted(self):
        for _ in range(3):
            self.tree.contender("/s", prefix="__READ__")
        self.tree.contender("/s", prefix="__WRIT__")
        wait(lambda: "/s" in self.serve.locks() and self.serve.locks()["/s"]["holding"] == 3)
        self.assertIn('zklock_observed_holds{path="/s"} 3\n', self.serve.get("/metrics")[2])

    def test_unreadable_contender_has_no_age(self):
        self.tree.plant("/u", "lock-", is_secret=True)
        self.tree.plant("/u", "lock-", is_secret=True)
        lock = wait(lambda: self.serve.locks().get("/u"))
        self.assertIsNone(lock["holders"][0]["since_ms"])
        body = self.serve.get("/metrics")[2]
        self.assertIn('oldest_hold_seconds{path="/u"} 0\n', body)
        self.assertIn('oldest_wait_seconds{path="/u"} 0\n', body)

    def test_slow_link_is_only_slow(self):
        self.tree.contender("/slow/a")
        with SlowLink(self.servers.hosts, 1.5) as link, Serve(PROGRAM, link.hosts) as serve:
            wait(lambda: "/slow/a" in serve.locks(), timeout=60)

    def test_page_runs_only_its_own_script_and_style(self):
        status, headers, body = self.serve.get("/")
        self.assertEqual(status, 200)
        policy = headers["Content-Security-Policy"].split("; ")
        for rule in ("default-src 'none'", "script-src 'self'", "style-src 'self'"):
            self.assertIn(rule, policy)
        self.assertNotIn("unsafe", " ".join(policy))
        self.assertEqual(re.findall("<(?:script|link rel=.stylesheet)[^>]*>", body),
                         ['<link rel="stylesheet" href="page.css">', '<script src="page.js">'])
        for path, kind in (("/page.js", "text/javascript"), ("/page.css", "text/css")):
            status, headers, body = self.serve.get(path)
            self.assertEqual((status, headers["Content-Type"]), (200, f"{kind}; charset=utf-8"))
            self.assertNotRegex(body, r"(?m)^@.*@$")  # each part is inserted

    def test_viewers_send_nothing_to_zookeeper(self):
        self.tree.contender("/v")
        wait(lambda: "/v" in self.serve.locks())

        def requests_of_ten_passes():
            before = self.servers.counters()["received"]
            for _ in range(10):
                as_of = self.serve.as_of()
                wait(lambda as_of=as_of: self.serve.as_of() != as_of)
            return self.servers.counters()["received"] - before
        alone = requests_of_ten_passes()
        streams = [Events(self.serve.port) for _ in range(20)]
        for stream in streams:
            stream.next("change")
        crowded = requests_of_ten_passes()
        for stream in streams:
            stream.close()
        self.assertLess(crowded, 2 * alone + 20)

    def test_many_connections_leave_no_descriptor(self):
        def descriptors():
            return len(os.listdir(f"/proc/{self.serve.process.pid}/fd"))
        before = descriptors()
        clients = [socket.create_connection(("127.0.0.1", self.serve.port)) for _ in range(500)]
        for client in clients:
            client.sendall(b"GET / HTTP/1.1\r\n")
        self.assertEqual(self.serve.get("/healthz")[0], 200)
        # The newest are still open, so the answer did not wait until they had been silent for too long.
        self.assertEqual(select.select(clients[-1:], [], [], 0)[0], [])
        self.assertLess(descriptors(), before + 140)
        for client in clients:
            client.close()
        wait(lambda: descriptors() <= before + 1)

    def test_parallel_requests_are_all_answered(self):
        self.tree.contender("/p")
        statuses = []

        def work():
            for _ in range(50):
                statuses.append(self.serve.get("/api/locks")[0])
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(statuses, [200] * 400)

    def test_password_is_nowhere(self):
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as digest:
            digest.write("orders:s3cr3t-word\n")
            digest.flush()
            command = Serve(PROGRAM, self.servers.hosts)
            command.command[1:1] = ["--digest-file", digest.name]
            with command as serve:
                wait(lambda: serve.get("/healthz")[0] == 200)
                for path in ("/", "/api/locks", "/metrics", "/healthz"):
                    self.assertNotIn("s3cr3t", serve.get(path)[2])
                with open(f"/proc/{serve.process.pid}/cmdline", encoding="utf-8") as line:
                    self.assertNotIn("s3cr3t", line.read())

    def test_signal_ends_with_0(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with Serve(PROGRAM, self.servers.hosts) as serve:
                events = Events(serve.port)
                serve.process.send_signal(number)
                self.assertEqual(serve.process.wait(10), 0)
                events.close()

    def test_wrong_arguments(self):
        def code(*arguments):
            command = [PROGRAM, "-z", self.servers.hosts, "serve", *arguments]
            return subprocess.run(command, stderr=subprocess.PIPE, check=False, timeout=20).returncode
        self.assertEqual(code("--listen", "everywhere", "/"), 64)
        self.assertEqual(code("--interval", "1", "/"), 64)
        self.assertEqual(code("--interval", "1ms", "/"), 64)
        self.assertEqual(code("--history", "-1", "/"), 64)
        self.assertEqual(code("--allow-host", "locks.example.org:443", "/"), 64)
        self.assertEqual(code("--allow-host", "*", "/"), 64)
        self.assertEqual(code("not/a/path"), 65)
        self.assertEqual(code("--listen", f"127.0.0.1:{self.serve.port}", "/"), 71)


class ManyLocksTest(unittest.TestCase):
    """More locks than the page receives."""
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        cls.servers = Servers(cls.directory.name)
        cls.servers.__enter__()
        cls.tree = Tree(cls.servers.hosts)
        serve_kit.plant_more_than_streamed(cls.tree)
        cls.serve = Serve(PROGRAM, cls.servers.hosts, "--rate", "1000000")
        cls.serve.__enter__()
        wait(lambda: cls.serve.sums().get("waiters") == 5, timeout=60)

    @classmethod
    def tearDownClass(cls):
        cls.serve.__exit__()
        cls.tree.close()
        cls.servers.__exit__()
        cls.directory.cleanup()

    def test_stream_has_the_important_locks_and_all_sums(self):
        events = Events(self.serve.port)
        try:
            paths = set()
            name, beat = events.event()
            while name != "beat":
                paths.update(lock["path"] for lock in beat.get("locks", []))
                name, beat = events.event()
        finally:
            events.close()
        self.assertEqual(len(paths), serve_kit.STREAMED)
        self.assertEqual(paths & {"/zz/dead-a", "/zz/dead-b", "/zz/stuck"}, {"/zz/dead-a", "/zz/dead-b", "/zz/stuck"})
        self.assertFalse(serve_kit.LEFT_OUT in paths)  # assertNotIn() would print all paths
        sums = self.serve.sums()
        self.assertEqual((beat["shown"], beat["locks"]), (serve_kit.STREAMED, sums["locks"]))
        self.assertEqual((beat["held"], beat["waiting"]), (sums["held_locks"], sums["waiters"]))
        self.assertEqual((beat["deadlocks"], beat["possible_deadlocks"]), (1, 0))
        self.assertEqual((sums["locks"], sums["held_locks"], sums["holds"], sums["cycles"]), (5003, 5003, 5003, 1))

    def test_stream_is_small_if_the_client_accepts_gzip(self):
        with socket.create_connection(("127.0.0.1", self.serve.port), timeout=60) as stream:
            stream.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n")
            packed, text, unpack = b"", b"", zlib.decompressobj(wbits=31)
            while b"\r\n\r\n" not in packed:
                packed += stream.recv(65536)
            packed = packed.partition(b"\r\n\r\n")[2]
            size, text = len(packed), unpack.decompress(packed)
            while b"event: beat" not in text:
                packed = stream.recv(65536)
                size, text = size + len(packed), text + unpack.decompress(packed)
        self.assertEqual(text.count(b'"path":'), serve_kit.STREAMED)
        print(f"stream of {serve_kit.STREAMED} locks: {len(text)} bytes, packed {size}")
        self.assertLess(size, 1_000_000)

    def packed(self, target):
        request = urllib.request.Request(self.serve.url[:-1] + target, headers={"Accept-Encoding": "gzip"})
        with urllib.request.urlopen(request, timeout=60) as reply:
            self.assertEqual(reply.headers["Content-Encoding"], "gzip")
            return reply.read()

    def test_locks_are_packed_if_the_client_accepts_gzip(self):
        query = "/api/locks?search=many"
        packed = self.packed(query)
        answers = [json.loads(text) for text in (gzip.decompress(packed), self.serve.get(query)[2])]
        self.assertEqual(*[answer["locks"] for answer in answers])
        self.assertLess(len(packed), 100_000)
        packed = self.packed("/api/locks")
        document = json.loads(gzip.decompress(packed))
        self.assertEqual((list(document), len(document["locks"])), (["schema", *fields_of("zklock.locks/1")], 5003))
        self.assertLess(len(packed), 500_000)

    def test_search_finds_a_lock_that_is_left_out(self):
        answer = self.serve.find("search=LOCK-4999%20web1")
        self.assertEqual((answer["schema"], answer["all"], answer["matching"], answer["shown"]), ("zklock.found/1", 5003, 1, 1))
        self.assertEqual([lock["path"] for lock in answer["locks"]], [serve_kit.LEFT_OUT])
        self.assertEqual(answer["locks"], [self.serve.locks()[serve_kit.LEFT_OUT]])
        self.assertEqual(list(answer), ["schema", *fields_of("zklock.found/1")])
        self.assertEqual(self.serve.find("search=no+such")["locks"], [])

    def test_search_is_bounded_and_counts_all(self):
        answer = self.serve.find("search=shop")
        self.assertEqual((answer["matching"], answer["shown"], len(answer["locks"])), (5000, 500, 500))
        self.assertEqual(self.serve.find("search=")["matching"], 5003)

    def test_orders_are_those_of_all_locks(self):
        self.assertEqual(self.serve.find("sort=held")["locks"][0]["path"], "/zz/stuck")
        waiting = [lock["path"] for lock in self.serve.find("sort=waiting")["locks"][:3]]
        self.assertEqual(waiting, ["/zz/stuck", "/zz/dead-b", "/zz/dead-a"])

    def test_bad_query_is_refused_with_a_sentence(self):
        for query, text in (("search=%zz", "a % must be followed by two hexadecimal digits; write %25 for a percent sign"),
                            ("search=a%0Ab", "remove the control character from the query"),
                            ("search=" + "x" * 201, "the search is too long: shorten it to 200 bytes"),
                            ("sort=oldest", "sort must be path, held or waiting"),
                            ("search=a&search=b", "the query has a field twice"),
                            ("q=a", "the query has a field that is neither search nor sort")):
            status, headers, body = self.serve.get(f"/api/locks?{query}")
            self.assertEqual((status, body), (400, text + "\n"))
            self.assertTrue(headers["Content-Type"].startswith("text/plain"))
        self.assertEqual(self.serve.get("/api/locks?search=" + "x" * 1024)[0], 414)


class OutageTest(unittest.TestCase):
    def test_server_goes_away_and_comes_back(self):
        with tempfile.TemporaryDirectory() as directory, Servers(directory) as servers:
            with Serve(PROGRAM, servers.hosts, interval="2s") as serve:
                wait(lambda: serve.get("/healthz")[0] == 200)
                tree = Tree(servers.hosts)
                tree.contender("/a", note="nightly")
                wait(lambda: serve.past("/a")["spans"])
                # A pass that lasts over the outage leaves no gap. So the server goes between two passes.
                before = serve.past("/a")["as_of_ms"]
                wait(lambda: serve.past("/a")["as_of_ms"] > before)
                member = servers.members[0]
                member.process.kill()
                member.process.wait()
                wait(lambda: serve.get("/healthz")[0] == 503)
                down = time.time() * 1000
                self.assertIn("zklock_observed_connected 0", serve.get("/metrics")[2])
                # A gap is three times the interval and the duration of a pass.
                wait(lambda: time.time() * 1000 > serve.past("/a")["as_of_ms"] + 8_000)
                member.start(servers.tick_ms, servers.heap, "", 1)
                wait(lambda: serve.get("/healthz")[0] == 200, timeout=60)
                past = wait(lambda: any(begin <= down <= end for begin, end in serve.past("/a")["gaps_ms"]) and serve.past("/a"))
                self.assertEqual([span["holder"]["note"] for span in past["spans"]], ["nightly"])
                self.assertIsNone(past["spans"][0]["ended_ms"])  # its token is the one before the outage
                self.assertLess(past["spans"][0]["begin_ms"], down)
                tree.close()


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    lacking = serve_kit.missing()
    if lacking:
        print(f"skipped: {lacking} is not installed")
        sys.exit(serve_kit.SKIPPED)
    unittest.main(verbosity=2)
