#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""page_many_locks_test.py PROGRAM: the page of `zklock serve` with more locks than it receives, in headless Chromium.

Exit status 77: a needed package is not installed.
"""
import tempfile
import unittest

import page_test
import serve_kit
import webdriver
from page_test import ESCAPE, ROW
from serve_kit import Serve, Servers, Tree, wait


class ManyLocksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        cls.servers = Servers(cls.directory.name)
        cls.servers.__enter__()
        cls.tree = Tree(cls.servers.hosts)
        serve_kit.plant_more_than_streamed(cls.tree)
        cls.serve = Serve(page_test.ARGUMENTS.program, cls.servers.hosts, "--rate", "1000000", interval="1s")
        cls.serve.__enter__()
        wait(lambda: cls.serve.sums().get("waiters") == 5, timeout=60)
        cls.browser = webdriver.Browser()
        cls.browser.__enter__()
        cls.browser.open(cls.serve.url)

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.serve.__exit__()
        cls.tree.close()
        cls.servers.__exit__()
        cls.directory.cleanup()

    def setUp(self):
        # Chromium needs seconds of processor time to load as many rows. So the tests share a page, and each begins with the first view.
        self.browser.run("document.activeElement.blur(); closed.clear(); history.replaceState(null, '', '#'); readLink()")
        self.browser.wait("return isCut() && locks.size >= beat.shown && isSorted && !isScheduled && rows.size > 5000", timeout=60)

    def scope(self, text):
        """Waits until the page says what it shows."""
        self.browser.wait("return $('scope').textContent === arguments[0] && !$('scope').hidden", text, timeout=60)

    def paths(self):
        return self.browser.run("return items.filter(row => !row.isFolder).map(row => row.path)")

    def test_important_locks_are_shown_with_all_sums(self):
        self.scope("5,000 of 5,003 locks are shown, chosen by deadlocks, oldest holds and longest waits")
        paths = self.paths()
        self.assertEqual((len(paths), paths[-3:]), (5000, ["/zz/dead-a", "/zz/dead-b", "/zz/stuck"]))
        self.assertFalse(serve_kit.LEFT_OUT in paths)  # assertNotIn() would print all paths
        counts = self.browser.run("return [...document.querySelectorAll('#counts b')].map(b => Number(b.textContent.replace(',', '')))")
        sums = self.serve.sums()
        self.assertEqual(counts, [sums["locks"], sums["held_locks"], sums["waiters"], sums["cycles"]])
        self.assertEqual(sums["locks"], 5003)

    def test_search_finds_a_lock_that_is_left_out(self):
        self.browser.keys("/LOCK-4999 web1")
        self.scope("1 of 5,003 locks match")
        self.assertEqual(self.paths(), [serve_kit.LEFT_OUT])
        self.browser.run(f"{ROW}.querySelector('.line').click()", serve_kit.LEFT_OUT)
        unknown = f"return {ROW}.querySelector('.past .unknown').getAttribute('d')"
        self.assertTrue(self.browser.run(unknown, serve_kit.LEFT_OUT).startswith("M0.0 0h1000.0v1h-1000.0z"))  # the answer has no past
        self.assertIn("web1", self.browser.wait(f"return {ROW}.querySelector('.contenders')?.innerText", serve_kit.LEFT_OUT))
        self.browser.keys(ESCAPE)
        self.browser.wait("return !search.value && items.length > 5000")
        self.browser.keys("/no such")
        self.browser.wait("return !$('empty').hidden && $('empty').textContent === 'No lock of 5,003 matches.'")

    def test_left_out_lock_is_not_free(self):
        self.browser.keys("/LOCK-4999 web1")
        self.scope("1 of 5,003 locks match")
        self.browser.run(f"{ROW}.querySelector('.line').click()", serve_kit.LEFT_OUT)
        self.browser.wait(f"return {ROW}.querySelector('.timeline .hold')", serve_kit.LEFT_OUT)
        texts = self.browser.run("""
            const row = rows.get("l" + arguments[0]);
            Object.assign(lockAt(row.path), {delay: true, delay_ms: 60e3, waiting: 1});
            showLock(row);
            const {holder, past} = row.cells;
            return [holder.textContent, past.title, past.querySelector(".unknown").getAttribute("d")];""", serve_kit.LEFT_OUT)
        self.assertEqual(texts, ["lock delay of 1 m", "past not loaded", "M0.0 0h1000.0v1h-1000.0z"])
        self.browser.keys(ESCAPE)
        self.browser.wait(f"return {ROW}?.querySelector('.holder').textContent === 'not known'", serve_kit.LEFT_OUT)

    def test_view_by_host_is_bounded_and_says_what_it_lacks(self):
        self.browser.run("$('view').value = 'hosts'; onChoice(true)")
        self.browser.wait("return document.querySelectorAll('#hosts details').length === 3")
        self.browser.run("document.querySelector('#hosts summary').click()")
        self.browser.wait("return document.querySelectorAll('#hosts details[open] tr').length === 501", timeout=60)
        self.assertRegex(self.browser.run("return document.querySelector('#hosts p').textContent"), r"^and 4,\d+ more$")
        self.browser.run("$('host').value = 'db9'; onChoice(true)")
        self.browser.wait("return $('empty').textContent === 'No contender; not covered: 3 locks are left out.' && !$('empty').hidden")

    def test_search_says_what_it_leaves_out(self):
        self.browser.keys("/shop")
        self.scope("5,000 of 5,003 locks match: 500 are shown, the most important")
        self.assertEqual(len(self.paths()), 500)

    def test_orders_are_those_of_all_locks(self):
        self.browser.keys("o")
        self.scope("500 of 5,003 locks are shown, oldest holds first")
        self.assertEqual(self.paths()[0], "/zz/stuck")
        self.browser.keys("q")
        self.scope("500 of 5,003 locks are shown, longest queues first")
        self.assertEqual(self.paths()[:3], ["/zz/stuck", "/zz/dead-b", "/zz/dead-a"])
        self.browser.run(f"{ROW}.querySelector('.partner').click()", "/zz/dead-a")
        self.browser.wait(f"return order.value === 'tree' && document.activeElement === {ROW}", "/zz/dead-b")

    def test_refused_search_says_why(self):
        self.browser.run("search.value = 'x'.repeat(201); ask()")
        self.browser.wait("return $('notice').textContent === 'the search is too long: shorten it to 200 bytes'")
        self.browser.wait("return $('empty').textContent === 'No match among the 5,000 shown locks.'")
        self.browser.run("endSearch()")
        self.browser.wait("return $('notice').hidden")
        self.browser.log()  # has the refusal

    def test_answer_that_is_not_renewed_says_its_time(self):
        self.browser.keys("/lock-4999")
        self.scope("1 of 5,003 locks match")
        self.browser.run("window.passed = fetch; window.fetch = async () => { throw new Error(); }")
        time_of_answer = "$('scope').textContent === `1 of 5,003 locks match, as of ${clock(found.as_of_ms)}`"
        self.browser.wait(f"return problem && beat.as_of_ms > found.as_of_ms && {time_of_answer}", timeout=60)
        self.assertEqual(self.paths(), [serve_kit.LEFT_OUT])
        self.browser.run("window.fetch = passed")
        self.scope("1 of 5,003 locks match")

    def test_rows_are_made_in_many_frames(self):
        self.browser.run("""
            for (const row of [...rows.values()]) { row.box.remove(); dropRow(row); }
            window.made = [];
            window.replaced = [draw, makeRow];
            draw = () => { made.push(0); replaced[0](); };
            makeRow = key => { ++made[made.length - 1]; return replaced[1](key); };
            schedule(true);""")
        self.browser.wait("return isSorted && !isScheduled && rows.size > 5000", timeout=60)
        made = self.browser.run("[draw, makeRow] = replaced; return made")
        self.assertGreater(sum(made), 5000)
        self.assertLessEqual(max(made), 250)

    def test_answer_follows_the_passes(self):
        self.browser.keys("/lock-4999")
        self.scope("1 of 5,003 locks match")
        node = self.tree.contender(serve_kit.LEFT_OUT + "-b")
        self.scope("2 of 5,004 locks match")
        self.tree.delete(node)
        self.scope("1 of 5,003 locks match")


if __name__ == "__main__":
    page_test.main()
