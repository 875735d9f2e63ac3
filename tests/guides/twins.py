#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes each twin to a file that a test includes. A twin is the C++ block of a section in zklock/guides/from_*.md.

    tests/guides/twins.py DIRECTORY

The twin below "### Lock and Unlock" in zklock/guides/from_etcd.md becomes DIRECTORY/from_etcd/lock_and_unlock.inc.
Fails if a twin is included by no test in tests/guides.
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
from pages import ROOT, TWIN_PAGES, blocks  # noqa: E402


def twins(page):
    """Yields the name, the line number and the text of each twin."""
    lines = page.read_text(encoding="utf-8").split("\n")
    for line, text in blocks(page, "cpp"):
        heading = next(each for each in reversed(lines[:line]) if each.startswith("### "))
        yield re.sub(r"\W+", "_", heading[4:].lower()), line, text


def write(file, text):
    """Leaves an unchanged file as it is, so that nothing is compiled again."""
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


def main(directory):
    included = "".join(test.read_text(encoding="utf-8") for test in (ROOT / "tests/guides").glob("*.cpp"))
    missing = []
    for page in TWIN_PAGES:
        (directory / page.stem).mkdir(parents=True, exist_ok=True)
        for name, line, text in twins(page):
            file = f"{page.stem}/{name}.inc"
            write(directory / file, f'#line {line} "{page.relative_to(ROOT)}"\n{text}')
            if f'#include "{file}"' not in included:
                missing.append(f"{page.relative_to(ROOT)}:{line}: no test includes {file}")
    print(*missing, sep="\n", end="\n" if missing else "")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
