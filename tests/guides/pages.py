# SPDX-License-Identifier: Apache-2.0
"""Reads the blocks of code in the pages for users."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "zklock/guides").glob("*.md"))]
# Their C++ blocks are twins of code for other libraries. twins.py extracts them, and zklock_guides_test runs them.
TWIN_PAGES = [page for page in PAGES if page.stem.startswith("from_")]


def blocks(page, language):
    """Yields (line number, text) of each block of that language."""
    text = page.read_text(encoding="utf-8")
    for block in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.M | re.S):
        yield text.count("\n", 0, block.start(1)) + 1, block[1]
