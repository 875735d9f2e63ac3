#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""page_choices_test.py PROGRAM [--pictures FOLDER]: what a viewer chooses on the page, in headless Chromium.

Exit status 77: a needed package is not installed.
"""
import page_test
from page_test import ESCAPE, ROW, PageCase


class LinkTest(PageCase):
    def names(self):
        return self.browser.run("return items.map(row => row.path)")

    def shows(self, *paths):
        self.browser.wait("return isSorted && JSON.stringify(items.map(row => row.path)) === arguments[0]",
                          str(list(paths)).replace("'", '"').replace(" ", ""))

    def hash(self):
        return self.browser.run("return decodeURIComponent(location.hash)")

    def test_link_has_the_view_and_back_returns(self):
        for path in ("/jobs/a", "/jobs/b", "/other"):
            self.tree.contender(path, held_for=10)
            self.appears(path)
        self.browser.keys("/jobs")
        self.shows("/jobs", "/jobs/a", "/jobs/b")
        self.browser.wait("return location.hash === '#search=jobs'")
        self.browser.run("search.blur()")
        self.browser.keys("o")
        self.browser.run(f"{ROW}.querySelector('.line').click()", "/jobs/b")
        self.assertEqual(self.hash(), "#search=jobs&sort=oldest&lock=/jobs/b")
        copied = self.browser.run("return location.href")
        self.browser.run("history.back()")
        self.browser.wait("return location.hash === '#search=jobs&sort=oldest' && opened.size === 0")
        self.browser.run("history.back()")
        self.browser.wait("return order.value === 'tree'")
        self.shows("/jobs", "/jobs/a", "/jobs/b")
        self.browser.run("history.forward()")
        self.browser.wait("return order.value === 'oldest'")
        self.browser.open("about:blank")
        self.browser.open(copied)
        self.appears("/jobs/b")
        self.browser.wait(f"return {ROW}.querySelector('.contenders')", "/jobs/b")
        self.assertEqual(self.browser.run("return [search.value, order.value]"), ["jobs", "oldest"])
        self.browser.run("search.focus()")
        self.browser.keys(ESCAPE)
        self.shows("/jobs/a", "/jobs/b", "/other")

    def test_link_opens_a_free_lock_with_its_past(self):
        node = self.tree.contender("/gone")
        self.appears("/gone")
        self.tree.delete(node)
        self.tree.client.delete("/gone")
        self.browser.wait(f"return !{ROW}", "/gone")
        self.browser.open(self.serve.url + "#lock=%2Fgone&lock=%2Fnever&sort=nonsense")
        self.browser.wait(f"return {ROW}?.querySelectorAll('.timeline .hold').length === 1", "/gone")
        self.browser.wait(f"return {ROW}?.querySelector('.timeline .hold') === null", "/never")
        self.assertEqual(self.browser.run("return order.value"), "tree")


if __name__ == "__main__":
    page_test.main()
