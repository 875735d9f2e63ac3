#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""page_history_test.py PROGRAM [--pictures FOLDER]: the past of the locks on the page, in headless Chromium.

Exit status 77: a needed package is not installed.
"""
import page_test
from page_test import ROW, PageCase
from view_case import CURATOR


# The server remembers: a hold that was not seen lately, more holds than are drawn, and one that lasts.
STUB_PAST = """
    const start = now(), at = minutes => start - minutes * 60e3, holder = {...locks.get("/a").holders[0]};
    const hold = (begin, seen, ended) => ({kind: "hold", begin_ms: at(begin), begin_exact: false, seen_ms: at(seen), ended_ms: ended, most_waiting: 0, holder});
    const spans = [hold(10, 5, null), ...Array.from({length: 14}, () => hold(9, 6, at(6))), hold(4, 3, at(3)), hold(2, 0, null)];
    const answer = {as_of_ms: at(0), since_ms: at(50), gaps_ms: [], spans};
    window.fetch = async () => ({ok: true, text: async () => JSON.stringify(answer), json: async () => answer});"""


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

    def test_absent_lock_is_free_only_if_the_pass_has_read_its_path(self):
        self.browser.wait("return beat?.as_of_ms")
        self.browser.run("opened.add('/never'); schedule(true)")
        self.browser.wait(f"return {ROW}?.querySelector('.holder').textContent === 'free'", "/never")
        texts = self.browser.run("""
            const row = rows.get("l/never"), all = beat;
            return [["/never", {}], ["/jobs", {}], ["/", {as_of_ms: null}], ["/", {unreadable: 1}], ["/", {locks: 7, shown: 6}]].map(([above, change]) => {
              root = above;
              beat = {...all, ...change};
              showLock(row);
              return row.cells.holder.textContent + "; " + row.detail.querySelector("p").textContent;
            });""")
        self.assertEqual(texts, ["free; path /never; free"] + ["not known; path /never; not known"] * 4)

    def test_free_lock_is_shown_on_request(self):
        node = self.tree.contender("/freed")
        self.appears("/freed")
        self.tree.delete(node)
        self.browser.wait(f"return !{ROW} && locks.has('/freed') && isFree(locks.get('/freed')) && $('frees').textContent !== ''", "/freed")
        self.browser.run("$('free').click()")
        self.browser.wait(f"return {ROW}?.querySelector('.holder').textContent.startsWith('free, last seen held at ')", "/freed")
        self.assertTrue(self.browser.run(f"return {ROW}.querySelector('.past .hold').getAttribute('d').startsWith('M')", "/freed"))
        self.assertRegex(self.browser.run(f"return {ROW}.querySelector('.past').getAttribute('aria-label')", "/freed"), "^1 hold seen in 1 hour$")
        self.open("/freed")
        self.browser.wait(f"return {ROW}.querySelectorAll('.timeline .hold').length === 1", "/freed")

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
        # In one script: the next pass of the server replaces these values.
        since = self.browser.run("beat.history.gaps_ms = [[0, Infinity]]; const row = rows.get('l/java'); showAges(row); return row.cells.since.textContent")
        self.assertRegex(since, "^≤ ")

    def test_end_that_no_pass_saw(self):
        self.tree.contender("/a", held_for=10)
        self.appears("/a")
        self.browser.run(STUB_PAST)
        self.open("/a")
        rows = self.browser.wait(f"return {ROW}.querySelector('.timeline') && [...{ROW}.querySelectorAll('.timeline ~ table tr')].slice(1)"
                                 ".map(line => [line.cells[1].textContent.replace(/.*,/, ''), line.cells[2].textContent])", "/a")
        self.assertEqual(rows[0][0], "now")
        self.assertEqual(rows[-1][0], " may last")
        self.assertRegex(rows[-1][1], "^≥ 5 m to 10 m")
        lasts, may_last = self.browser.run("const parts = [...document.querySelectorAll('.timeline .hold')]; "
                                           "return [parts.at(-1), parts[0]].map(part => parseFloat(part.style.left) + parseFloat(part.style.width))")
        self.assertGreater(lasts - may_last, 5)  # percent of an hour
        self.assertEqual(self.text("/a", "more"), "3 holds are in the table only")
        least = "beat = {...beat, interval_ms: 2000, pass_ms: 8000}; const row = rows.get('l/a'); row.past.answer = null; drawPast(row); "
        self.assertIn("Holds of less than 30 s may be missing", self.browser.run(least + "return row.past.textContent"))
        known = "beat = {...beat, history: {...beat.history, gaps_ms: []}}; showPastBar(rows.get('l/a').cells.past, {past: [[now() - 300e3, now() - 200e3, null, 0]]}); "
        self.assertEqual(self.browser.run(known + "return rows.get('l/a').cells.past.querySelector('.unknown').getAttribute('d').split('M').length"), 4)

    def test_hold_that_begins_in_a_gap_may_be_older(self):
        self.browser.wait("return beat?.history")
        marks = self.browser.run("const at = now() + 1e6; return [at, at + 1, at + 2].map(begin_ms => "
                                 "earlier({begin_exact: false, begin_ms}, {since_ms: 0, gaps_ms: [[at, at + 1]]}))")
        self.assertEqual(marks, ["", "≥ ", ""])

    def test_last_time_is_that_of_the_last_hold(self):
        self.assertEqual(self.browser.run("return freeText({past: [[5e3, 90e3, 95e3, 0], [10e3, 20e3, 25e3, 0], [91e3, 92e3, 93e3, 1]]})"),
                         "free, last seen held at " + self.browser.run("return when(90e3)"))

    def test_failed_request_keeps_the_timeline(self):
        self.tree.contender("/asked")
        self.appears("/asked")
        self.open("/asked")
        self.browser.wait(f"return {ROW}.querySelector('.timeline .hold')", "/asked")
        self.browser.run("window.passed = fetch; window.fetch = async () => ({ok: false, text: async () => 'no pass has ended'})")
        self.tree.contender("/asked")
        self.browser.wait(f"return {ROW}.querySelector('.detail').textContent.includes('The past is not renewed: no pass has ended')", "/asked")
        self.assertEqual(self.drawn("/asked", "hold"), 1)
        self.browser.run("window.fetch = passed; showPast(rows.get('l/asked'))")
        self.browser.wait(f"return {ROW}.querySelector('.timeline') && !{ROW}.querySelector('.problem')", "/asked")
        self.browser.run("toggle(rows.get('l/asked'), true); showPast(rows.get('l/asked'))")  # it is open
        self.assertEqual(self.drawn("/asked", "hold"), 1)

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
