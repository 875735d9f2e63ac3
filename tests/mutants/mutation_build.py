# SPDX-License-Identifier: Apache-2.0
"""Draws a sample of mutants, and makes the build of auto.py, which has all of them.

A mutated function begins with a copy of its body for each mutant, which runs if the mutant is active: see
mutant_switch.h. So the sample is compiled once. The build is a copy of the sources in build/mutants_auto.
"""
import fnmatch
import functools
import hashlib
import json
import os
import pathlib
import random
import re
import shlex
import subprocess

import mutation_operators
from mutation_operators import Mutant

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "build" / "mutants_auto"
WORK = SOURCE / "build" / "dev"
FOLDERS = ("zklock/core/", "zklock/engine/")
HEADERS_AS = "zklock/core/queue_rule.cpp"  # headers are read with the arguments of this source
TARGETS = ("zklock_core_test", "zklock_unit_test", "zklock_model_test", "simulate")
ERROR = re.compile(r"(?:^|\n)([^\s:][^:\n]*):(\d+):\d+: (?:fatal )?error: ([^\n]*)")


def git(*arguments):
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def write_if_changed(path, content):
    if not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def synchronize(texts):
    """Copies the sources of the tree, except the given texts of files, and removes files that the tree lacks."""
    names = [name for name in git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
             if name and (ROOT / name).is_file()]
    for name in names:
        write_if_changed(SOURCE / name, texts.get(name) or (ROOT / name).read_bytes())
        if os.access(ROOT / name, os.X_OK):
            (SOURCE / name).chmod(0o755)
    for path in SOURCE.rglob("*"):
        name = path.relative_to(SOURCE)
        if path.is_file() and name.parts[0] != "build" and str(name) not in set(names):
            path.unlink()


def run(command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    return done.returncode, done.stdout


def require(command):
    status, output = run(command)
    if status != 0:
        raise SystemExit(f"{shlex.join(map(str, command))} failed:\n{output[-4000:]}")


def configure():
    if not (WORK / "build.ninja").is_file():
        synchronize({})
    flags = f"-include {SOURCE}/tests/mutants/mutant_switch.h -Xclang -fno-validate-pch"
    require(["cmake", "--preset", "dev", "-S", str(SOURCE),
             f"-DCMAKE_PROJECT_zklock_INCLUDE={SOURCE}/tests/mutants/auto.cmake",
             f"-DCMAKE_CXX_FLAGS={flags}", "-DCMAKE_CXX_FLAGS_DEBUG=-O1", "-DZKLOCK_TEST_OPTIONS=-O0",
             "-DZKLOCK_WERROR=OFF", "-DZKLOCK_BUILD_CLI=OFF"])


@functools.cache
def restore():
    """Removes the mutants of the last run, and compiles the precompiled headers, with which single files are read."""
    synchronize({})
    require(["ninja", "-C", str(WORK), "zklock_precompiled_standard_build", "zklock_precompiled_engine_build",
             "-j1"])


def compile_arguments():
    """Returns the arguments of the compiler for each source."""
    arguments = {}
    for each in json.loads((WORK / "compile_commands.json").read_text(encoding="utf-8")):
        words = shlex.split(each["command"])
        if each["file"].endswith(".c"):
            continue
        compiler = next(i for i, word in enumerate(words) if re.search(r"clang\+\+(-\d+)?$", word))
        kept, skips = [], False
        for word in words[compiler + 1:]:
            if not skips and word not in ("-c", "-o", "-MD", "-MT", "-MF"):
                kept.append(word)
            skips = word in ("-c", "-o", "-MT", "-MF")
        arguments[each["file"]] = kept
    return arguments


def files():
    return sorted(name for name in git("ls-files", *FOLDERS).splitlines() if name.endswith((".cpp", ".h")))


@functools.cache
def digest_of_tree():
    digest = hashlib.sha256()
    headers = git("ls-files", "include", "zklock/client").splitlines()
    for name in [*files(), *headers, "tests/mutants/mutation_operators.py"]:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


class Store:
    """What an earlier run found out about these sources, in a file."""

    def __init__(self, name):
        self.path, self.found = SOURCE / "build" / name, {}
        if self.path.is_file():
            stored = json.loads(self.path.read_text(encoding="utf-8"))
            if stored["tree"] == digest_of_tree():
                self.found = stored["found"]

    def add(self, key, value):
        self.found[key] = value
        self.path.write_text(json.dumps({"tree": digest_of_tree(), "found": self.found}), encoding="utf-8")
        return value


def candidates(arguments):
    """Returns all mutants of the tree."""
    store = Store("candidates.json")
    if "mutants" in store.found:
        return [Mutant(*each) for each in store.found["mutants"]]
    restore()
    found = []
    for name in files():
        source = name if name.endswith(".cpp") else HEADERS_AS
        if str(SOURCE / source) in arguments:
            found += mutation_operators.find(name, SOURCE, arguments[str(SOURCE / source)])
    return store.add("mutants", found)


def shuffled(mutants, seed, pattern):
    """Returns the numbered mutants of the files that match, in the order of the seed."""
    order = [each for each in mutants if fnmatch.fnmatch(each.file, pattern)]
    random.Random(seed).shuffle(order)
    return dict(enumerate(order, 1))


def combine(file, numbered):
    """Returns the text of a file with these mutants, and the lines of each: first, last, end of the function."""
    text = (ROOT / file).read_bytes()
    parts, lines, line, done = [], {}, 1, 0
    for number, each in sorted(numbered.items(), key=lambda pair: (pair[1].body_begin, pair[0])):
        before = text[done:each.body_begin]
        mutated = (text[each.body_begin:each.begin] + each.new.encode() + text[each.end:each.body_end])
        block = f"\nif (::zklock_mutants::is_active({number})) {{".encode() + mutated + f"\n{each.tail}\n}}\n".encode()
        line += before.count(b"\n")
        last = line + block.count(b"\n")
        lines[number] = (line + 1, last - 1, last + text[each.body_begin:each.body_end].count(b"\n"))
        line, done = last, each.body_begin
        parts += [before, block]
    return b"".join([*parts, text[done:]]), lines


def culprits(output, lines_by_file):
    """Returns the mutants to whose lines the errors of a compiler belong, with the errors.

    If there are none, these are the mutants of the functions that have the errors. An example is a function whose
    return type is deduced from a lambda: each copy of its body has another type.
    """
    found, in_function = {}, {}
    for path, line, error in ERROR.findall(output):
        for file, lines in lines_by_file.items():
            if path.endswith(file):
                for number, (first, last, end) in lines.items():
                    if first <= int(line) <= last:
                        found.setdefault(number, error.replace(f"{SOURCE}/", ""))
                    elif first <= int(line) <= end:
                        in_function.setdefault(number, error.replace(f"{SOURCE}/", ""))
    return found or in_function


class Sample:
    """The first mutants of an order that compile."""

    def __init__(self, order, size, rejected, arguments):
        self.order, self.size, self.rejected, self.arguments = order, size, dict(rejected), arguments
        self.store = Store("errors.json")
        self.checked = {}  # the mutants of each file that were found to compile

    def numbers(self):
        return [number for number in self.order if number not in self.rejected][:self.size]

    def by_file(self):
        groups = {}
        for number in self.numbers():
            groups.setdefault(self.order[number].file, {})[number] = self.order[number]
        return groups

    def check(self, file, numbered):
        """Compiles a file with these mutants. Rejects those that do not compile."""
        while numbered and self.checked.get(file) != set(numbered):
            text, lines = combine(file, numbered)
            key = hashlib.sha256(text).hexdigest()
            wrong = self.store.found[key] if key in self.store.found else self.store.add(
                key, self.errors(file, text, lines))
            if not wrong:
                self.checked[file] = set(numbered)
            self.rejected |= {int(number): error for number, error in wrong.items()}
            numbered = {number: each for number, each in numbered.items() if number not in self.rejected}

    def errors(self, file, text, lines):
        """Compiles the text of a file. Returns the mutants that do not compile, with the errors."""
        restore()
        is_header = file.endswith(".h")
        arguments = self.arguments[str(SOURCE / (HEADERS_AS if is_header else file))]
        command = ["clang++", *arguments, "-fsyntax-only", "-ferror-limit=0", "-fno-caret-diagnostics",
                   *(("-x", "c++", "-") if is_header else (SOURCE / file,))]
        (SOURCE / file).write_bytes(text)
        status, output = run(command, input=f'#include "{file}"\n' if is_header else None, cwd=WORK)
        (SOURCE / file).write_bytes((ROOT / file).read_bytes())
        wrong = culprits(output, {file: lines})
        if status != 0 and not wrong:
            raise SystemExit(f"{file} does not compile with its mutants:\n{output[-4000:]}")
        return wrong

    def settle(self):
        """Checks files until enough mutants compile."""
        while pending := {file: numbered for file, numbered in self.by_file().items()
                          if self.checked.get(file) != set(numbered)}:
            for file, numbered in sorted(pending.items()):
                self.check(file, numbered)

    def build(self, jobs):
        """Builds the programs with the sample. A template may show only now that a mutant does not compile."""
        while True:
            self.settle()
            combined = {file: combine(file, numbered) for file, numbered in self.by_file().items()}
            synchronize({file: text for file, (text, _) in combined.items()})
            status, output = run(["ninja", "-C", str(WORK), f"-j{jobs}", "-k0", *TARGETS])
            if status == 0:
                return
            wrong = culprits(output, {file: lines for file, (_, lines) in combined.items()})
            if not wrong:
                raise SystemExit(f"the build failed:\n{output[-4000:]}")
            self.rejected |= wrong
