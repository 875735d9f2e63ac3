#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Applies mutants, the deliberate bugs of this folder, to the sources.

    tests/mutants/mutate.py apply NAME... --root DIR   changes the sources below DIR
    tests/mutants/mutate.py check [NAME...]            fails if a mutant does not apply; changes nothing
                                                       without names: also if the table of README.md differs
    tests/mutants/mutate.py check --compile CXX        also fails if a mutant does not compile
    tests/mutants/mutate.py files NAME...              prints the files that the mutants change

A mutant is a text file, NAME.mutant. Its first paragraph describes it. Each further paragraph is an edit:

    in zklock/core/acquire_fsm_transitions.cpp, AcquireFsm::after_inspecting
    - data->attempt != attempt_.text() || in.inspected->ephemeral_owner != node_.create_session()
    + data->attempt != attempt_.text()

The edit replaces the text of the `-` lines by the text of the `+` lines. If there are none, it deletes the text.
It ignores white space, so a new layout of the source does not affect it. The text must occur exactly once: in the
file, or in the definition of the function if the edit names one.
"""
import argparse
import fnmatch
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import NamedTuple

FOLDER = pathlib.Path(__file__).resolve().parent
COMMENT_OR_LITERAL = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'""", re.DOTALL)


class Edit(NamedTuple):
    file: str
    function: str  # empty: the whole file
    old: str
    new: str


class DoesNotApply(Exception):
    """Says which mutant does not apply or compile, and why."""


def edits_of(name):
    """Returns the edits of a mutant."""
    text = (FOLDER / f"{name}.mutant").read_text(encoding="utf-8")
    description, *paragraphs = re.split(r"\n\s*\n", text.strip())
    if not description.startswith("Breaks: ") or not paragraphs:
        raise DoesNotApply(f"{name}: expected a paragraph 'Breaks: ...', then the edits")
    return [parse_edit(name, paragraph.splitlines()) for paragraph in paragraphs]


def parse_edit(name, lines):
    head = re.fullmatch(r"in (\S+?)(?:, (\S+))?", lines[0])
    old = [line[2:] for line in lines[1:] if line.startswith("- ")]
    new = [line[2:] for line in lines[1:] if line.startswith("+ ")]
    if not head or not old or len(lines) != 1 + len(old) + len(new):
        raise DoesNotApply(f"{name}: expected 'in FILE[, FUNCTION]', '- ' lines, '+ ' lines, found '{lines[0]}'")
    if "".join(old).split() == "".join(new).split():
        raise DoesNotApply(f"{name}: the edit of {head[1]} changes nothing")
    return Edit(head[1], head[2] or "", "\n".join(old), "\n".join(new))


def pattern(text):
    """Returns the regular expression that finds a text with any white space between its words and signs."""
    words = re.findall(r"\w+|[^\w\s]", text)
    # Between two adjacent words, \b\s*\b requires white space.
    return re.compile(r"\s*".join(rf"\b{word}\b" if re.match(r"\w", word) else re.escape(word) for word in words))


def definition_end(code, position):
    """Returns the end of the definition with parameters at the position; None if it is no definition."""
    depth, in_body = 0, False
    for sign in re.compile(r"[(){};]").finditer(code, position):
        if sign[0] in "({":
            in_body = in_body or (sign[0] == "{" and depth == 0)
            depth += 1
        elif sign[0] in ")}":
            depth -= 1
            if depth < 0:
                return None  # a call among the arguments of another, or at the end of a block
            # Member initializers with braces precede the body.
            if depth == 0 and in_body and not re.compile(r"\s*[,{]").match(code, sign.end()):
                return sign.end()
        elif depth == 0:
            return None  # a call or a declaration
    return None


def definitions(text, function):
    """Returns where the definitions of a function begin and end. There are several if it is overloaded."""
    code = COMMENT_OR_LITERAL.sub(lambda found: re.sub(r"\S", " ", found[0]), text)
    begins = [found.start() for found in re.finditer(pattern(function).pattern + r"\s*(?=\()", code)]
    ends = [definition_end(code, begin) for begin in begins]
    return [(begin, end) for begin, end in zip(begins, ends) if end is not None]


def changed(name, edit, text):
    """Returns the text of the file after the edit."""
    where = f"{edit.function} in {edit.file}" if edit.function else edit.file
    regions = definitions(text, edit.function) if edit.function else [(0, len(text))]
    if not regions:
        raise DoesNotApply(f"{name}: {edit.file} does not define {edit.function}")
    found = [match for match in pattern(edit.old).finditer(text)
             if any(begin <= match.start() and match.end() <= end for begin, end in regions)]
    if len(found) != 1:
        raise DoesNotApply(f"{name}: its text occurs {len(found)} times in {where}, not once: {edit.old}")
    return text[:found[0].start()] + edit.new + text[found[0].end():]


def mutated(name, root, texts=None):
    """Returns the new text of each file that the mutant changes, after those of texts."""
    texts = dict(texts or {})
    for edit in edits_of(name):
        if not (root / edit.file).is_file():
            raise DoesNotApply(f"{name}: there is no file {edit.file}")
        before = texts.get(edit.file) or (root / edit.file).read_text(encoding="utf-8")
        texts[edit.file] = changed(name, edit, before)
    return texts


def compile_mutants(names, root, compiler):
    """Compiles the mutants, as many at once as apply together. Returns the faults."""
    faults = []
    while names:
        together, later, texts = [], [], {}
        for name in names:
            try:
                texts = mutated(name, root, texts)
                together.append(name)
            except DoesNotApply:  # another one changes the same lines
                later.append(name)
        try:
            compile_texts(" or ".join(together), texts, root, compiler)
        except DoesNotApply as error:
            alone = [fault for name in together for fault in compile_mutants([name], root, compiler)
                     ] if len(together) > 1 else []
            faults += alone or [str(error)]
        names = later
    return faults


def compile_texts(name, texts, root, compiler):
    """Compiles these files, without output. Those of a layer are compiled at once: most of the work is for headers.

    So a mutant that lacks an include, or repeats a name of another source, may have the wrong verdict. run.sh shows it.
    """
    with tempfile.TemporaryDirectory() as folder:
        changed_root = pathlib.Path(folder)
        layers = {}
        for file, text in texts.items():
            (changed_root / file).parent.mkdir(parents=True, exist_ok=True)
            (changed_root / file).write_text(text, encoding="utf-8")
            layers.setdefault(pathlib.Path(file).parts[:2], []).append(file)
        folders = [option for tree in (changed_root, root) for option in (f"-I{tree}", f"-I{tree}/include")]
        for files in layers.values():
            run = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-w", *folders,
                                  "-DZKLOCK_STATIC", "-DBOOST_BEAST_USE_STD_STRING_VIEW", "-x", "c++", "-"],
                                 input="".join(f"#include <{file}>\n" for file in files),
                                 capture_output=True, text=True, check=False)
            if run.returncode != 0:
                error = next((line for line in run.stderr.splitlines() if "error" in line), run.stderr)
                raise DoesNotApply(f"{name}: {' or '.join(files)} does not compile: {error}")


def table_faults(known):
    """Returns how the table of README.md differs from the mutants: their names, and the tests that detect them."""
    rows = re.findall(r"^\| (`.*?) \| (.*) \|$", (FOLDER / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    detected_by = [(name, where) for names, where in rows for name in re.findall(r"`(\w+)`", names)]
    in_table = [name for name, _ in detected_by]
    faults = [f"{name}: README.md has {in_table.count(name)} rows for it, not one"
              for name in sorted({*known, *in_table}) if in_table.count(name) != 1]
    faults += [f"{name}: README.md has a row for it, but there is no such mutant" for name in in_table
               if name not in known]
    for name, where in detected_by:
        if name not in known:
            continue
        test = where.split("`")[1] if where.startswith("`") else "the simulator"
        mutant = (FOLDER / f"{name}.mutant").read_text(encoding="utf-8")
        named = re.search(r"^Caught by: \S+ (\S+)$", mutant, re.MULTILINE)
        expected = named[1] if named else "the simulator"
        if not fnmatch.fnmatchcase(test, expected):
            faults.append(f"{name}: README.md names {test}, the mutant {expected}")
    return faults


def main():
    known = sorted(path.stem for path in FOLDER.glob("*.mutant"))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("apply", "check", "files"))
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--root", type=pathlib.Path, help="default of check: the tree that has this script")
    parser.add_argument("--compile", metavar="CXX", help="with check: the compiler")
    args = parser.parse_args()
    if (unknown := set(args.names) - set(known)) or (args.command != "check" and not args.names):
        parser.error(f"expected names of mutants, found {', '.join(unknown) or 'none'}")
    if args.command == "apply" and not args.root:
        parser.error("apply needs --root")
    whole = args.command == "check" and not args.names
    differences = table_faults(known) if whole else []
    for difference in differences:
        print(difference, file=sys.stderr)
    failed = 0
    applying = []
    for name in args.names or known:
        try:
            if args.command == "files":
                print(*dict.fromkeys(edit.file for edit in edits_of(name)), sep="\n")
                continue
            root = args.root or FOLDER.parents[1]
            texts = mutated(name, root)
            applying.append(name)
            for file, text in texts.items():
                if args.command == "apply":
                    (args.root / file).write_text(text, encoding="utf-8")
        except DoesNotApply as error:
            print(error, file=sys.stderr)
            failed += 1
    for fault in compile_mutants(applying, args.root or FOLDER.parents[1], args.compile) if args.compile else ():
        print(fault, file=sys.stderr)
        failed += 1
    if args.command == "check":
        print(f"{len(args.names or known) - failed} mutants apply, {failed} do not")
    return 1 if failed or differences else 0


if __name__ == "__main__":
    sys.exit(main())
