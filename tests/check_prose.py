#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a text or a test name breaks a mechanical rule of the language that CONTRIBUTING.md sets.

    tests/check_prose.py [FILE...]

Reads the comments of C++, Java, Promela, SMT, CMake, shell and Python files, and the pages. Of the C++ and Java files
it also reads the literals that contain a space, and the names of the tests. Without FILE it reads every file of the
project. Prints each finding.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_WORDS = 25
MOST_TRAILING_WORDS = 8
LONGEST_TEST_NAME = 50
COMMENT_MARKS = {".h": "//", ".cpp": "//", ".java": r"(?://|/?\*\*?)", ".pml": r"(?://|/?\*)", ".smt2": ";+",
                 ".cmake": "#", ".txt": "#", ".sh": "#", ".py": "#"}
WITH_LITERALS = (".h", ".cpp", ".java")
RULES = {
    "a person as the subject": r"(?:^|[.;:,(] )(?:who|whoever|whom|whose)\b|\b(?:nobody|somebody|whoever)\b",
    "a gender": r"\b(?:he|him|his|she|her)\b",
    "a fragment": r"^(?:What|Of|For its|For those|As those|All that|Whom|Whose|Whether it)\b|^The same\b|, the same\.$",
    "an old word": r"\b(?:hardly|many a|be there none|for want of|lest|mostly is|in vain|come to that|be had|at odds|"
                   r"lets? go|letting go|gone|pass(?:es|ed|ing)? on|hand(?:s|ed|ing)? over|st(?:ands?|ood) (?:before|"
                   r"behind)|(?:gives?|gave|given|takes?|took|taken) back|tells?|told|asks?|asked|asking|hears?|heard|"
                   r"news|newcomers?|patience|mute|doubtful)\b",
}
RULES = {name: re.compile(rule, re.IGNORECASE if name != "a fragment" else 0) for name, rule in RULES.items()}
LITERAL = re.compile(r'"((?:\\.|[^"\\])*)"')
# The code of a line, and the comment behind it, of a member or not.
CODE = re.compile(r"""((?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'|(?!//).)*)(?://(/<)?\s?(.*))?$""")
TEST_NAME = re.compile(r"\bTEST(?:_F|_P)?\(\s*\w+\s*,\s*(\w+)\s*\)")


def files():
    listing = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    listed = listing.stdout.splitlines()
    if listing.returncode != 0:  # a copy without the repository
        listed = [str(path.relative_to(ROOT)) for folder in ("include", "zklock", "examples", "tests")
                  for path in (ROOT / folder).rglob("*")]
    return [name for name in listed if pathlib.Path(name).suffix in (*COMMENT_MARKS, ".md") and (ROOT / name).is_file()]


def lines_of(name):
    return (ROOT / name).read_text(encoding="utf-8").splitlines()


def plain(text):
    """Returns the text without code and addresses."""
    return re.sub(r"`[^`]*`|\(?https?:\S+", "X", text)


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
    for number, line in enumerate(lines_of(name), 1):
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
            for sentence in re.split(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)\s+", plain(" ".join(words))):
                yield start, sentence
            words = []
        if text:
            start = number if not words else start
            words.append(text)


def short_texts(name):
    """Yields (line number, kind, text) of the table cells, the trailing comments and the literals."""
    suffix = pathlib.Path(name).suffix
    mark = COMMENT_MARKS.get(suffix, "")
    of_old_words = False
    for number, line in enumerate(lines_of(name), 1):
        row = re.match(r"\s*" + mark + r"[/!]?\s?(\|.*)\|\s*$", line)
        if row:
            cells = [cell.strip() for cell in plain(row.group(1)).split("|")[1:]]
            of_old_words = of_old_words or cells == ["not", "but"]
            yield from ((number, "table cell", cell) for cell in cells[of_old_words:])
        else:
            of_old_words = False
        if suffix in WITH_LITERALS and comment(line, mark) is None and not row:
            code, is_member, trailing = CODE.match(line).groups()
            yield from ((number, "literal", text) for text in LITERAL.findall(code) if " " in text.strip())
            if trailing:
                yield number, "member comment" if is_member else "trailing comment", plain(trailing)


def findings(name):
    for number, sentence in sentences(name):
        broken = next((rule for rule, pattern in RULES.items() if pattern.search(sentence)), None)
        if not broken and len(sentence.split()) > MOST_WORDS:
            broken = f"{len(sentence.split())} words in a sentence"
        if broken:
            yield number, broken, sentence
    for number, kind, text in short_texts(name):
        broken = next((rule for rule, pattern in RULES.items() if pattern.search(text)), None)
        if not broken and kind == "member comment" and len(text.split()) > MOST_TRAILING_WORDS:
            broken = f"{len(text.split())} words"
        if broken:
            yield number, f"{broken} in a {kind}", text
    text = "\n".join(lines_of(name))
    for test in TEST_NAME.finditer(text):
        if len(test[1]) > LONGEST_TEST_NAME:
            yield text.count("\n", 0, test.start()) + 1, f"a test name of {len(test[1])} characters", test[1]


def main(names):
    found = [f"{name}:{number}: {rule}: {text[:140]}" for name in names or files()
             for number, rule, text in findings(name)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
