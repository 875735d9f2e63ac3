#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""page_history_test.py PROGRAM [--pictures FOLDER]: the past of the locks on the page, in headless Chromium.

Exit status 77: a needed package is not installed.
"""
import page_test
from page_test import ROW, PageCase
from view_case import CURATOR


class PageHistoryTest(PageCase):
    def open(self, path):
        self.browser.run(f"{ROW}.querySelector('.line').click()", path)

    def table(self, path):
        """Returns the texts of the table of the past, without the times."""
        return self.browser.run(f"return [...{ROW}.querySelectorAll('.timeline ~ table tr')].slice(1).map("
                                "line => [...line.cells].slice(3, 6).map(cell => cell.textContent))", path)

    def drawn(self, path, part):
        return self.browser.run(f"return {ROW}.querySelectorAll('.timeline .' + arguments[1]).length", path, part)

    def test_holds_of_an_open_lock_are_drawn(self):
        first = self.tree.contender("/jobs/report", note="first", held_for=120)
        self.appears("/jobs/report")
        self.open("/jobs/report")
        self.browser.wait(f"return {ROW}.querySelector('.timeline .hold')", "/jobs/report")
        self.tree.contender("/jobs/report", host="db9", pid=77, note="second")
        self.browser.wait(f"return {ROW}.querySelector('.count').textContent === '1'", "/jobs/report")
        self.tree.delete(first)
        expected = [["0", "db9 pid 77 (billing)", "second"], ["1", "db7 pid 812 (billing)", "first"]]
        self.browser.wait(f"return {ROW}.querySelectorAll('.timeline .hold').length === 2", "/jobs/report")
        self.assertEqual(self.table("/jobs/report"), expected)
        self.assertEqual(self.drawn("/jobs/report", "delay"), 0)
        self.browser.open(self.serve.url)  # the server remembers
        self.appears("/jobs/report")
        self.open("/jobs/report")
        self.browser.wait(f"return {ROW}.querySelectorAll('.timeline .hold').length === 2", "/jobs/report")
        self.picture("live_page_past.png")

    def test_free_lock_is_shown_on_request(self):
        node = self.tree.contender("/a")
        self.appears("/a")
        self.tree.delete(node)
        self.browser.wait(f"return !{ROW} && $('frees').textContent !== ''", "/a")
        self.browser.run("$('free').click()")
        self.browser.wait(f"return {ROW}?.querySelector('.holder').textContent.startsWith('free since ')", "/a")
        self.assertTrue(self.browser.run(f"return {ROW}.querySelector('.past .hold').getAttribute('d') !== ''", "/a"))
        self.open("/a")
        self.browser.wait(f"return {ROW}.querySelectorAll('.timeline .hold').length === 1", "/a")

    def test_lost_hold_is_marked_by_its_lock_delay_only(self):
        node = self.tree.contender("/a")
        self.tree.contender("/a", host="db9")
        self.appears("/a")
        self.tree.client.create("/a/delay-60000-4294967297-0000000077", b"")
        self.tree.delete(node)
        self.open("/a")
        self.browser.wait(f"return {ROW}.querySelectorAll('.timeline .delay').length === 1", "/a")
        self.assertEqual(self.table("/a")[0], ["1", "lock delay: a hold was lost", ""])

    def test_begin_that_was_seen_is_the_age(self):
        first = self.tree.plant("/java", CURATOR)
        self.appears("/java")
        self.tree.plant("/java", CURATOR)
        self.browser.wait(f"return {ROW}.querySelector('.count').textContent === '1'", "/java")
        self.browser.wait("return now() - locks.get('/java').queue[0].since_ms > 3000")
        self.tree.delete(first)
        self.browser.wait(f"return /^≈ [012] s$/.test({ROW}.querySelector('.since').textContent)", "/java")  # it has waited for 3 s
        self.browser.run("beat.history.gaps_ms = [[0, Infinity]]; showAges(rows.get('l/java'))")
        self.assertRegex(self.text("/java", "since"), "^≤ ")

    def test_unknown_time_is_not_free(self):
        self.tree.contender("/a")
        self.appears("/a")
        parts = self.browser.run("""
            beat = {...beat, as_of_ms: 900e3, now_ms: 1000e3, history: {...beat.history, since_ms: 100e3, gaps_ms: [[300e3, 400e3]]}};
            return unknownTimes(undefined, [[150e3, 200e3, 260e3], [500e3, null, null]]);""")
        self.assertEqual(parts, [[None, 100e3], [300e3, 400e3], [900e3, None], [200e3, 260e3]])
        text = self.browser.run("""
            $("span").value = "10m";
            return outline([[0, 100], [400e3, 700e3], [999e3, 2000e3]], {from: 400e3, to: 1000e3, x: ms => (ms - 400e3) / 600e3})""")
        self.assertEqual(text, "M0.0 0h500.0v1h-500.0zM998.3 0h6.0v1h-6.0z")


if __name__ == "__main__":
    page_test.main()
