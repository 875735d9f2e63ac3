#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""page_test.py PROGRAM [--pictures FOLDER]: the page of `zklock serve` in headless Chromium.

Writes screenshots into the folder. Exit status 77: a needed package is not installed.
"""
import argparse
import os
import sys
import tempfile
import unittest
import urllib.parse

import serve_kit
import webdriver
from serve_kit import Serve, Servers, Tree, wait

ARGUMENTS = None
DOWN, UP, ENTER, ESCAPE = "\ue015", "\ue013", "\ue007", "\ue00c"
ROW = "document.querySelector(`#tree .row .name[title=\"${arguments[0]}\"]`)?.closest('.row')"
# Reports each breach of the policy, also before the page's own script runs.
WATCH_POLICY = "window.breaches = []; addEventListener('securitypolicyviolation', e => breaches.push(e.violatedDirective));"

# Counts the calls of the page's functions, and collects the rows that change.
COUNT_CALLS = """
    window.counts = {};
    for (const name of ["store", "showLock", "draw", "arrange", "makeRow"]) {
      const call = window[name];
      counts[name] = 0;
      window[name] = (...values) => { ++counts[name]; return call(...values); };
    }
    window.touched = new Set();
    new MutationObserver(list => {
      for (const {target} of list) touched.add((target.closest ? target : target.parentElement)?.closest(".row"));
    }).observe(tree, {subtree: true, childList: true, characterData: true, attributes: true});"""


def contrast(browser, selector):
    """Returns the contrast ratio of the text of an element to its background, by WCAG."""
    return browser.run("""
        const box = document.querySelector(arguments[0]);
        const light = color => {
          const [r, g, b] = color.match(/[\\d.]+/g).map(Number).map(
            c => c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
          return 0.2126 * r + 0.7152 * g + 0.0722 * b;
        };
        let back = box;
        while (getComputedStyle(back).backgroundColor === "rgba(0, 0, 0, 0)") back = back.parentElement;
        const [a, b] = [light(getComputedStyle(box).color), light(getComputedStyle(back).backgroundColor)];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);""", selector)


class PageCase(unittest.TestCase):
    """A page of a server whose znodes each test plants."""
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        cls.servers = Servers(cls.directory.name)
        cls.servers.__enter__()
        cls.tree = Tree(cls.servers.hosts)
        cls.serve = Serve(ARGUMENTS.program, cls.servers.hosts)
        cls.serve.__enter__()
        cls.browser = webdriver.Browser()
        cls.browser.__enter__()
        cls.browser.devtools("Page.addScriptToEvaluateOnNewDocument", source=WATCH_POLICY)

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.serve.__exit__()
        cls.tree.close()
        cls.servers.__exit__()
        cls.directory.cleanup()

    def setUp(self):
        self.browser.open(self.serve.url)

    def tearDown(self):
        self.assertEqual(self.browser.run("return window.breaches"), [])
        severe = [entry for entry in self.browser.log() if entry["level"] == "SEVERE"]
        self.assertEqual(severe, [])
        for child in self.tree.client.get_children("/"):
            if child != "zookeeper":
                self.tree.client.delete(f"/{child}", recursive=True)
        wait(lambda: not self.serve.locks())

    def text(self, path, cell):
        return self.browser.run(f"return {ROW}?.querySelector('.' + arguments[1])?.textContent", path, cell)

    def appears(self, path):
        self.browser.wait(f"return Boolean({ROW})", path)

    def picture(self, name):
        self.browser.screenshot(os.path.join(ARGUMENTS.pictures, name))


class PageTest(PageCase):
    def test_loads_from_its_server_only(self):
        self.tree.contender("/a")
        self.appears("/a")
        urls = self.browser.run("return performance.getEntries().map(e => e.name).filter(n => n.includes('://'))")
        self.assertTrue(all(url.startswith(self.serve.url) for url in urls), urls)

    def test_lock_appears_changes_and_disappears(self):
        first = self.tree.contender("/jobs/report", held_for=250, note="job 42")
        self.appears("/jobs/report")
        self.assertEqual(self.text("/jobs/report", "holder"), "db7 pid 812 (billing)")
        self.assertEqual(self.text("/jobs/report", "note"), "job 42")
        # A pass may have seen the znode before its hold marker.
        self.browser.wait(f"return /^4 m \\d+ s$/.test({ROW}.querySelector('.since').textContent)", "/jobs/report")
        self.tree.contender("/jobs/report", host="db9", pid=77)
        self.browser.wait(f"return {ROW}.querySelector('.count').textContent === '1'", "/jobs/report")
        bar = self.browser.run(f"return {ROW}.querySelector('.bar').getAttribute('aria-label')", "/jobs/report")
        self.assertRegex(bar, r"^1 waiting, the longest for \d+ s$")
        self.tree.delete(first)
        self.browser.wait(f"return {ROW}.querySelector('.holder').textContent.startsWith('db9 pid 77')", "/jobs/report")
        self.tree.client.delete("/jobs", recursive=True)
        self.browser.wait(f"return !{ROW}", "/jobs/report")

    def test_kinds_are_named(self):
        planted = {"/elected": ["lock-"], "/mutex": ["lock-"], "/read": ["__READ__", "__READ__", "__WRIT__"],
                   "/write": ["__WRIT__", "__READ__"], "/slots": ["permits-2-of-5-", "permits-1-of-5-", "permits-4-of-5-"],
                   "/gate": ["lock-", "weight-7-"]}
        for path, prefixes in planted.items():
            for prefix in prefixes:
                self.tree.contender(path, prefix=prefix, role="candidate" if path == "/elected" else "reader")
        kinds = {"/elected": "leader", "/mutex": "mutex", "/read": "2 readers", "/write": "writer", "/slots": "permits 3 of 5", "/gate": "priority"}
        for path, kind in kinds.items():
            self.browser.wait(f"return {ROW}?.querySelector('.kind').textContent === arguments[1]", path, kind)

        def kinds_of_contenders(path):
            self.browser.run(f"{ROW}.querySelector('.line').click()", path)
            self.browser.wait(f"return {ROW}.querySelector('.contenders')", path)
            return self.browser.run(f"return [...{ROW}.querySelectorAll('.contenders tr')].slice(1).map(line => line.cells[1].textContent)", path)
        self.assertEqual(kinds_of_contenders("/read"), ["reader", "reader", "writer"])
        self.assertEqual(kinds_of_contenders("/slots"), ["2 permits", "1 permit", "4 permits"])
        self.assertEqual(kinds_of_contenders("/gate"), ["mutex", "weight 7"])
        self.assertEqual(kinds_of_contenders("/elected"), ["leader"])

    def test_lock_delay_counts_down(self):
        self.tree.client.ensure_path("/d")
        self.tree.client.create("/d/delay-90000-4294967297-0000000077", b"")
        self.browser.wait(f"return {ROW}?.querySelector('.holder').textContent === 'lock delay of 1 m 30 s, while one waits'", "/d")
        self.browser.run(f"{ROW}.querySelector('.line').click()", "/d")
        self.browser.wait(f"return {ROW}.querySelector('.detail p')?.textContent === 'path /d; lock delay'", "/d")
        self.tree.contender("/d")
        self.browser.wait(f"return /^lock delay of 1 m 30 s: about 1 m 2\\d s left$/.test({ROW}.querySelector('.holder').textContent)", "/d")
        self.assertEqual(self.browser.run("return delayText(locks.get('/d'), now() + 90e3)"), "lock delay of 1 m 30 s: ends soon")

    def test_ages_grow(self):
        self.tree.contender("/a", held_for=10)
        self.appears("/a")
        before = self.text("/a", "since")
        self.browser.wait(f"return {ROW}.querySelector('.since').textContent !== arguments[1]", "/a", before)

    def test_hostile_texts_are_shown_as_text(self):
        note = "<img src=x onerror=window.hacked=1>"
        self.tree.contender("/evil<b>x", note=note, host="</script><script>window.hacked=1</script>\u202e")
        self.appears("/evil<b>x")
        self.assertEqual(self.text("/evil<b>x", "note"), note)
        self.assertNotIn("\u202e", self.text("/evil<b>x", "holder"))
        self.assertIsNone(self.browser.run("return window.hacked ?? null"))
        self.assertEqual(self.browser.run("return document.querySelectorAll('#tree img, #tree script, #tree b').length"), 0)

    def test_cycle_is_red_and_leads_to_its_partner(self):
        # The owners hold one lock each, and wait for the other.
        for held, wanted, owner in (("/a", "/b", "p-1"), ("/b", "/a", "p-2")):
            self.tree.contender(held, owner=owner, bound=1)
        for held, wanted, owner in (("/a", "/b", "p-1"), ("/b", "/a", "p-2")):
            self.tree.contender(wanted, owner=owner, bound=1)
        self.browser.wait(f"return {ROW}?.classList.contains('cycle')", "/a")
        self.assertEqual(self.browser.run(f"return {ROW}.querySelector('.partner').textContent", "/a"), "deadlock: /b")
        self.browser.run(f"{ROW}.querySelector('.partner').click()", "/a")
        self.assertTrue(self.browser.run(f"return document.activeElement === {ROW}", "/b"))
        self.picture("live_page_cycle.png")

    def test_possible_cycle_is_told_apart(self):
        for path, owner in (("/a", "p-1"), ("/b", "p-2"), ("/b", "p-1"), ("/a", "p-2")):
            self.tree.contender(path, owner=owner)
        self.browser.wait(f"return {ROW}?.classList.contains('possible')", "/a")
        self.assertFalse(self.browser.run(f"return {ROW}.classList.contains('cycle')", "/a"))
        self.browser.wait("return document.querySelector('#counts').textContent.includes('1 possible deadlock')")

    def test_detail_is_kept_if_nothing_in_it_changes(self):
        self.tree.contender("/a")
        self.tree.contender("/b")
        self.appears("/b")
        self.browser.run(f"{ROW}.querySelector('.line').click()", "/a")
        self.browser.wait(f"return {ROW}.querySelector('.detail')", "/a")
        self.browser.run(f"window.detail = {ROW}.querySelector('.detail'); changed.add('/a'); schedule(true)", "/a")
        self.tree.contender("/b")
        self.browser.wait(f"return {ROW}.querySelector('.count').textContent === '1'", "/b")
        self.assertTrue(self.browser.run(f"return {ROW}.querySelector('.detail') === window.detail", "/a"))
        self.tree.contender("/a", note="another")
        self.browser.wait(f"return {ROW}.querySelector('.detail').innerText.includes('another')", "/a")

    def test_durations_are_those_of_the_command(self):
        self.assertEqual(self.browser.run("return [240000, 250000, 3600000, 3900000, 172800000].map(duration)"),
                         ["4 m", "4 m 10 s", "1 h", "1 h 5 m", "2 d"])

    def test_search_and_orders(self):
        self.tree.contender("/jobs/new", held_for=10)
        self.tree.contender("/jobs/old", held_for=1000, note="nightly")
        self.tree.contender("/other", held_for=100)
        for path in ("/jobs/new", "/jobs/old", "/other"):
            self.appears(path)

        def names():
            return self.browser.run("return [...document.querySelectorAll('#tree .row .name')].map(n => n.textContent)")
        self.assertEqual(names(), ["jobs/", "new", "old", "other"])
        self.browser.keys("o")
        wait(lambda: names() == ["/jobs/old", "/other", "/jobs/new"])
        self.browser.keys("/nightly")
        wait(lambda: names() == ["/jobs/old"])
        self.browser.keys(ESCAPE + "t")
        wait(lambda: names() == ["jobs/", "new", "old", "other"])

    def test_search_ignores_the_case_of_ascii_letters_only(self):
        self.tree.contender("/a", note="\u00c4RGER")
        self.appears("/a")
        shown = "return search.value === arguments[0] && isSorted && !isScheduled && [items.length]"
        for words, rows in (("\u00c4rger", 1), ("\u00e4rger", 0), ("rGER", 1)):
            self.browser.run("search.value = arguments[0]; schedule(true)", words)
            self.assertEqual(self.browser.wait(shown, words), [rows], words)
            found = self.serve.find("search=" + urllib.parse.quote(words))
            self.assertEqual(found["matching"], rows, words)

    def test_keyboard_opens_details(self):
        self.tree.contender("/jobs/a", held_for=10)
        self.tree.contender("/jobs/a", note="second")
        self.tree.contender("/jobs/b")
        self.appears("/jobs/b")
        self.browser.keys(DOWN)
        self.browser.wait("return document.activeElement.classList.contains('row')")
        self.browser.keys(UP * 3 + DOWN + ENTER)
        table = self.browser.wait(f"return {ROW}.querySelector('.contenders')?.innerText", "/jobs/a")
        self.assertIn("second", table)
        self.assertEqual(self.browser.run(f"return {ROW}.getAttribute('aria-expanded')", "/jobs/a"), "true")
        self.browser.keys(ENTER + UP + "\ue012")  # left: closes the folder
        self.browser.wait(f"return !{ROW}", "/jobs/a")
        self.browser.keys("\ue014")
        self.appears("/jobs/a")

    def test_focus_stays_while_rows_move(self):
        for path in ("/a", "/b", "/m"):
            self.tree.contender(path)
            self.appears(path)
        self.browser.keys("q" + DOWN * 3)
        self.browser.wait(f"return document.activeElement === {ROW}", "/m")
        self.tree.contender("/m")
        self.browser.wait("return document.querySelector('#tree .row .name').title === '/m'")
        self.assertTrue(self.browser.run(f"return document.activeElement === {ROW}", "/m"))

    def test_light_dark_and_phone(self):
        for i in range(12):
            self.tree.contender(f"/jobs/nightly-{i}", held_for=7 ** (i % 6), note=f"job {i}")
            for _ in range(i % 5):
                self.tree.contender(f"/jobs/nightly-{i}", host=f"web{i}")
        self.tree.plant("/java/reindex", "_c_01234567-89ab-cdef-0123-456789abcdef-lock-")
        self.appears("/jobs/nightly-11")
        for scheme in ("light", "dark"):
            self.browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            for selector in (".row .holder", ".row .name", ".folder .name", "#counts", "#link", ".row .since"):
                self.assertGreaterEqual(contrast(self.browser, selector), 4.5, f"{scheme}: {selector}")
            self.picture(f"live_page_{scheme}.png")
        self.browser.devtools("Emulation.setDeviceMetricsOverride", width=320, height=844, deviceScaleFactor=2, mobile=True)
        try:
            self.browser.wait("return innerWidth === 320")
            width = self.browser.run("return document.documentElement.scrollWidth")
            self.picture("live_page_phone.png")
            self.assertLessEqual(width, 320)
            note = self.browser.run(f"return {ROW}.querySelector('.note').getBoundingClientRect().toJSON()", "/jobs/nightly-3")
            self.assertTrue(note["width"] > 40 and note["height"] > 10, note)
            height = self.browser.run(f"return {ROW}.querySelector('.line').offsetHeight", "/jobs/nightly-3")
            self.assertGreaterEqual(height, 44)
        finally:
            self.browser.devtools("Emulation.clearDeviceMetricsOverride")
            self.browser.devtools("Emulation.setEmulatedMedia", features=[])

    def test_positions_are_those_in_the_folder(self):
        for path in ("/a/x", "/a/y", "/b", "/c/d/z"):
            self.tree.contender(path)
            self.appears(path)
        positions = "return items.map(row => ['level', 'posinset', 'setsize'].map(name => Number(row.box.getAttribute(`aria-${name}`))))"
        self.assertEqual(self.browser.run(positions), [[1, 1, 3], [2, 1, 2], [2, 2, 2], [1, 2, 3], [1, 3, 3], [2, 1, 1], [3, 1, 1]])
        self.browser.keys("o")
        self.browser.wait("return isSorted && items.length === 4")
        self.assertEqual(self.browser.run(positions), [[1, i, 4] for i in range(1, 5)])

    def test_nothing_moves_and_forced_colours_show_the_marks(self):
        self.tree.contender("/a", held_for=7000)
        self.tree.contender("/a")
        self.appears("/a")
        self.browser.wait(f"return {ROW}.querySelector('.bar i')", "/a")
        self.browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "forced-colors", "value": "active"}])
        try:
            self.picture("live_page_forced.png")
            for part in (".bar i", ".dot"):
                back = self.browser.run(f"return getComputedStyle({ROW}.querySelector(arguments[1])).backgroundColor", "/a", part)
                canvas = self.browser.run("return getComputedStyle(document.body).backgroundColor")
                self.assertNotEqual(back, canvas, part)
            mark = self.browser.run(f"return getComputedStyle({ROW}.querySelector('.since'), '::before').content", "/a")
            self.assertEqual(mark, '"!! "')
        finally:
            self.browser.devtools("Emulation.setEmulatedMedia", features=[])
        self.assertEqual(self.browser.run("return document.getAnimations().length"), 0)

    def test_thousand_locks_are_smooth(self):
        """A change costs the work of one row, not of a thousand. So a frame has little to do."""
        for i in range(1000):
            self.tree.contender(f"/many/{i // 50}/lock-{i}", held_for=i)
        wait(lambda: len(self.serve.locks()) == 1000, timeout=60)
        self.browser.wait("return beat.locks === 1000 && document.querySelectorAll('#tree .row').length === 1021", timeout=60)
        self.browser.wait("return isSorted && !isScheduled && [...locks.values()].every(l => isFree(l) || l.holders[0].held_since_ms)")
        self.browser.run(COUNT_CALLS)
        paths = [f"/many/{i}/lock-{i * 50}" for i in range(20)]
        for waiting in range(1, 4):
            for path in paths:
                self.tree.contender(path, host=f"web{waiting}")
            for path in paths:
                self.browser.wait(f"return {ROW}.querySelector('.count').textContent === arguments[1]", path, str(waiting))
        counts = self.browser.run("return {...counts, rows: touched.size, visible: visible.size}")
        print("1,000 locks, 60 changes:", counts)
        self.assertEqual(counts["store"], 60)  # the locks that the server sent
        self.assertLessEqual(counts["showLock"], counts["store"])
        self.assertLessEqual(counts["draw"], counts["store"])
        self.assertEqual(counts["arrange"], 0)
        self.assertEqual(counts["makeRow"], 0)
        self.assertLessEqual(counts["visible"], 100)
        self.assertLessEqual(counts["rows"], 20 + counts["visible"])  # only visible ages grow


class OutageTest(unittest.TestCase):
    def test_serve_goes_away_and_comes_back(self):
        with tempfile.TemporaryDirectory() as directory, Servers(directory) as servers, webdriver.Browser() as browser:
            tree = Tree(servers.hosts)
            tree.contender("/a")
            with Serve(ARGUMENTS.program, servers.hosts) as serve:
                browser.open(serve.url)
                browser.wait("return locks.size === 1")
                port = serve.port
            browser.wait("return document.body.classList.contains('stale')", timeout=30)
            tree.contender("/b")
            again = Serve(ARGUMENTS.program, servers.hosts)
            again.command[again.command.index("127.0.0.1:0")] = f"127.0.0.1:{port}"
            with again:
                browser.wait("return locks.size === 2 && !document.body.classList.contains('stale')", timeout=30)
            for i in range(40):
                tree.client.ensure_path(f"/folder-{i}")
            slow = Serve(ARGUMENTS.program, servers.hosts, "--rate", "1")  # so its first pass takes long
            slow.command[slow.command.index("127.0.0.1:0")] = f"127.0.0.1:{port}"
            with slow:
                browser.wait("return beat.as_of_ms === null && beat.connected", timeout=30)
                browser.wait("return document.body.classList.contains('stale') && $('link').classList.contains('off')")
                self.assertEqual(browser.run("return locks.size"), 2)
            tree.close()


def main():
    global ARGUMENTS  # pylint: disable=global-statement
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--pictures")
    ARGUMENTS, rest = parser.parse_known_args()
    lacking = serve_kit.missing() or (None if webdriver.is_installed() else "Chromium or its driver")
    if lacking:
        print(f"skipped: {lacking} is not installed")
        sys.exit(serve_kit.SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        ARGUMENTS.pictures = ARGUMENTS.pictures or folder
        unittest.main(argv=[sys.argv[0], *rest], verbosity=2)


if __name__ == "__main__":
    main()
