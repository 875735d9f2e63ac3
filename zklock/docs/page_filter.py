#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a page in the form that Doxygen needs: headings with ids, links that Doxygen resolves.

    page_filter.py PAGE

The pages are written for a forge, where a link names a file and the words of a heading. Doxygen 1.9.4 knows neither.
Links to files that are not part of the site become plain text.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
IN_SITE = re.compile(r"^(?:README|CHANGELOG|zklock/guides/.*|tests/bench/RESULTS)\.md$|^include/zklock/.*\.h$")


def page_id(name):
    return "page_" + re.sub(r"\W", "_", name.removesuffix(".md"))


def anchor(heading):
    return re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")


def section_id(name, words):
    return page_id(name) + "_" + words.replace("-", "_")


def link(page, match):
    text, target, section = match[1], match[2], match[3]
    if re.match(r"https?:|mailto:", target):
        return match[0]
    path = (ROOT / page).parent / target if target else ROOT / page
    name = str(path.resolve().relative_to(ROOT))
    if not IN_SITE.search(name):
        return text
    text = " ".join(text.split()).replace("`", "").replace('"', "'")
    if name.endswith(".h"):
        return f'@ref {pathlib.Path(name).name} "{text}"'
    return f'@ref {section_id(name, section) if section else page_id(name)} "{text}"'


def picture(page, match):
    """Returns the picture with its path from the top of the project: Doxygen looks for it there."""
    path = ((ROOT / page).parent / match[2]).resolve().relative_to(ROOT)
    return f"![{match[1]}]({path})"


def with_headings(page, text, begins):
    """Gives each heading an id. The first one of a page is its title."""
    def heading(match):
        nonlocal begins
        name = page_id(page) if begins else section_id(page, anchor(match[2]))
        begins = False
        return f"{match[1]} {match[2].replace('`', '')} {{#{name}}}"
    return re.sub(r"^(#+) (.*)$", heading, text, flags=re.M)


def for_doxygen(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    for number, part in enumerate(parts):
        if number % 2 == 0:  # no block of code
            part = with_headings(page, part, number == 0)
            part = re.sub(r"!\[([^\]]*)\]\(([^)]*)\)", lambda match: picture(page, match), part)
            part = re.sub(r"(?<!!)\[([^\]]*)\]\(([^)#]*)(?:#([^)]*))?\)", lambda match: link(page, match), part)
        parts[number] = part
    return "".join(parts)


if __name__ == "__main__":
    print(for_doxygen(str(pathlib.Path(sys.argv[1]).resolve().relative_to(ROOT))), end="")
