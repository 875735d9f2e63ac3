#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a comment or a page breaks a mechanical rule of the language that CONTRIBUTING.md sets.

    tests/check_prose.py [FILE...]

Reads the comments of C++, CMake, shell and Python files and the paragraphs of Markdown files. Without FILE it reads
every file of the project. Prints each finding.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_WORDS = 25
MOST_TRAILING_WORDS = 8
COMMENT_MARKS = {".h": "//", ".cpp": "//", ".cmake": "#", ".txt": "#", ".sh": "#", ".py": "#"}
RULES = {
    "a person as the subject": r"(?:^|[.;:,(] )(?:who|whoever|whom|whose)\b|\b(?:nobody|somebody|whoever)\b",
    "a gender": r"\b(?:he|him|his|she|her)\b",
    "a fragment": r"^(?:What|Of|For its|For those|As those|All that|Whom|Whose|Whether it)\b|^The same\b|, the same\.$",
    "an old word": r"\b(?:hardly|many a|be there none|for want of|lest|mostly is|lets? go|(?:is|has) gone|be had|"
                   r"pass(?:es)? on|at odds|in vain|come to that|st(?:ands|ood) before)\b",
}
RULES = {name: re.compile(rule, re.IGNORECASE if name != "a fragment" else 0) for name, rule in RULES.items()}


def files():
    listing = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    listed = listing.stdout.splitlines()
    if listing.returncode != 0:  # a copy without the repository
        listed = [str(path.relative_to(ROOT)) for folder in ("include", "zklock", "examples", "tests")
                  for path in (ROOT / folder).rglob("*")]
    return [name for name in listed if pathlib.Path(name).suffix in (*COMMENT_MARKS, ".md") and (ROOT / name).is_file()]


def comment(line, mark):
    """Returns the text of a line that is a comment only, else None."""
    found = re.match(r"\s*" + mark + r"[/!]?\s?(.*)$", line)
    if not found or re.match(r"\s*(?:\||@|!|SPDX|-{3}|={3}|NOLINT|clang-format|shellcheck)", found.group(1)):
        return None
    return found.group(1).strip()


def lines_of_prose(name):
    """Yields (line number, text, begins a paragraph); text is empty between two paragraphs."""
    mark = COMMENT_MARKS.get(pathlib.Path(name).suffix)
    in_code = False
    for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1):
        if mark:
            text = comment(line, mark) or ""
        elif line.lstrip().startswith("```"):
            in_code, text = not in_code, ""
        else:
            text = "" if in_code or re.match(r"\s*[|#<!]", line) else line.strip()
        item = re.match(r"(?:[-*]|\d+\.)\s+", text)
        yield number, text[item.end():] if item else text, bool(item)


def sentences(name):
    start, words = 0, []
    for number, text, begins in [*lines_of_prose(name), (0, "", True)]:
        if (begins or not text) and words:
            plain = re.sub(r"`[^`]*`|\(?https?:\S+", "X", " ".join(words))
            for sentence in re.split(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+", plain):
                yield start, sentence
            words = []
        if text:
            start = number if not words else start
            words.append(text)


def findings(name):
    for number, sentence in sentences(name):
        broken = next((rule for rule, pattern in RULES.items() if pattern.search(sentence)), None)
        if not broken and len(sentence.split()) > MOST_WORDS:
            broken = f"{len(sentence.split())} words in a sentence"
        if broken:
            yield number, broken, sentence
    if pathlib.Path(name).suffix not in (".h", ".cpp"):
        return
    for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1):
        trailing = line.partition("///<")[2]
        if len(trailing.split()) > MOST_TRAILING_WORDS:
            yield number, f"{len(trailing.split())} words behind a member", trailing.strip()
        elif trailing and any(rule.search(trailing.strip()) for rule in RULES.values()):
            yield number, "the wording behind a member", trailing.strip()


def main(names):
    found = [f"{name}:{number}: {rule}: {text[:140]}" for name in names or files()
             for number, rule, text in findings(name)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
