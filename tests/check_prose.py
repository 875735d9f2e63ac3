#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a comment or a page breaks a mechanical rule of the language that CONTRIBUTING.md sets.

    tests/check_prose.py [--all] [FILE...]

Reads the comments of C++, CMake, shell and Python files and the paragraphs of Markdown files. Without FILE it reads
every file of the project. tests/prose_budget.txt has the number of findings that each folder may still have; the
check fails if a folder has more. --all prints every finding.
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUDGET = ROOT / "tests/prose_budget.txt"
MOST_WORDS = 30
MOST_TRAILING_WORDS = 10
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
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
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
            for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z`])", plain):
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


def folder(name):
    return "/".join(pathlib.Path(name).parent.parts[:2]) or "."


def main(arguments):
    everything = "--all" in arguments
    chosen = [argument for argument in arguments if argument != "--all"]
    found = collections.defaultdict(list)
    for name in chosen or files():
        for number, rule, text in findings(name):
            found[folder(name)].append(f"{name}:{number}: {rule}: {text[:140]}")
    if everything or chosen:
        print(*sum(found.values(), []), sep="\n")
        return 1 if found else 0
    budget = {}
    for line in BUDGET.read_text(encoding="utf-8").splitlines() if BUDGET.exists() else []:
        if line and not line.startswith("#"):
            budget[line.split()[0]] = int(line.split()[1])
    failed = 0
    for place in sorted({*found, *budget}):
        has, may = len(found[place]), budget.get(place, 0)
        if has < may:
            print(f"{place}: {has} findings; lower the {may} in {BUDGET.name}")
        elif has > may:
            failed = 1
            print(f"{place}: {has} findings, but {BUDGET.name} allows {may}; a part of them:", *found[place][:20], sep="\n")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
