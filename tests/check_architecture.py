#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a page names code, a file or a test that does not exist.

    tests/check_architecture.py

In every page, each relative link with its anchor, and each path in backticks or in a shell block, must exist. The table
of interfaces in ARCHITECTURE.md must have each class of engine and client with pure virtual functions, except PORTS. In
PAGES_WITH_NAMES, each name in backticks that looks like code must occur in the tree: `SomeType`, `function()`,
`some_test`. The member of `Type::member` must occur in the file that defines the type, or in a source beside it. In a
sequence diagram, a call must occur in the files of one of the two participants. In every source, a page that is named
must exist, and so must its section: page.md, "Section".
"""
import fnmatch
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES_WITH_NAMES = re.compile(r"(?:README|CONTRIBUTING|zklock/.*|tests/(?:chaos|differential|mutants)/README|.*/RESULTS)\.md")
# Up to a section "Sharing a path", the first column of the tables in these pages has the names of other libraries.
PAGES_OF_OTHERS = re.compile(r"zklock/guides/from_\w+\.md")
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# A path has a folder or a known suffix, and no placeholder.
SUFFIX = r"\.(?:h|cpp|md|sh|py|pml|smt2|txt|supp|java|mutant)"
PATH = re.compile(r"^[\w.*-]+(?:/[\w.*/-]+|(?<!\.)%s)$" % SUFFIX)
FILE = re.compile(r"\w%s$" % SUFFIX)
PLACEHOLDER = re.compile(r"\b(?:NAME|TARGET)\b")
DEFINITION = r"\b(?:class|struct|enum)(?: class)?(?: \[\[\w+\]\]| ZKLOCK_\w+(?:\([^)]*\))?)* %s\b[^;{}()]*\{"
NO_CODE = (".md", ".svg", ".mutant", ".tar.xz", "exported_symbols.txt", "check_architecture.py")
# The interfaces to the outside, and base classes whose derived classes are beside them. All other classes with pure
# virtual functions are in the table of interfaces.
PORTS = {"Coordinator", "Scheduler", "Dispatcher", "TestSeam", "Call"}
# Paths that are not in the tree. Examples of how names are written, and words of diagrams.
NOT_HERE = ("build/", "./build/", "/", "your_service.cpp", "./your_service", "K/N", "K/shared")
NO_NAMES = ("kCamelCase", "snake_case", "Condition_Result", "sequenceDiagram", "Note", "observerMasterPort",
            "your_service", "DBUILD_SHARED_LIBS",
            # Names of certificates, ZooKeeper, stunnel, systemd and the C client.
            "serverAuth", "clientAuth", "sslQuorum", "certReload", "verifyChain", "LimitNOFILE",
            # of Boost.Asio, Kubernetes, systemd and PostgreSQL
            "use_future", "use_awaitable", "terminationGracePeriodSeconds", "concurrencyPolicy", "Forbid", "maxUnavailable",
            "KillMode", "WatchdogSec", "LoadCredential", "defaultMode", "fsGroup", "dataLogDir", "purgeInterval",
            # of POSIX
            "pthread_cancel", "pthread_exit")


def tracked():
    listing = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    names = listing.stdout.splitlines()
    if listing.returncode != 0:  # a copy without the repository
        names = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file()]
    return [name for name in names if (ROOT / name).is_file()]


class Tree:
    def __init__(self, names):
        self.names = names
        self.texts = {}
        self.words = set()
        for name in names:
            self.words.update(WORD.findall(name))
            if name.endswith(NO_CODE):
                continue
            self.texts[name] = (ROOT / name).read_text(encoding="utf-8", errors="replace")
            self.words.update(WORD.findall(self.texts[name]))
        self.homes_found = {}

    def has_path(self, path, page):
        path = PLACEHOLDER.sub("*", path.removeprefix("./").rstrip("/"))
        beside = str((pathlib.Path(page).parent / path))
        return any(fnmatch.fnmatch(name, pattern) for name in self.names
                   for pattern in (path, path + "/*", "*/" + path, "*/" + path + "/*", beside))

    def homes(self, type_name):
        """Returns the files that define the type, and the sources beside them: contender.h, contender_hold.cpp."""
        if type_name not in self.homes_found:
            pattern = re.compile(DEFINITION % type_name)
            stems = {name.rsplit(".", 1)[0] for name, text in self.texts.items()
                     if type_name in text and pattern.search(text)}
            self.homes_found[type_name] = [name for name in self.texts if any(name.startswith(s) for s in stems)]
        return self.homes_found[type_name]

    def has_member(self, types, member):
        return any(re.search(r"\b%s\b" % member, self.texts[name]) for each in types for name in self.homes(each))


def faults_of_names(code, tree):
    """Yields what is wrong with the names in one piece of code."""
    for scope, member in re.findall(r"\b([A-Z]\w*)::(~?\w+)", code):
        if not tree.has_member([scope], member.lstrip("~")):
            yield f"{scope}::{member}"
    for word in WORD.findall(re.sub(r"[\w./*-]*[<>*$^][\w./*-]*", " ", code)):
        looks_like_code = "_" in word.strip("_") or re.search(r"[a-z][A-Z]|^[A-Z][a-z]", word) or word + "(" in code
        if looks_like_code and word not in tree.words and word not in NO_NAMES:
            yield word


def faults_of_paths(code, page, tree):
    for word in code.split():
        word = word.strip("\"',;()")
        if PATH.match(word) and not word.startswith(NOT_HERE) and not tree.has_path(word, page):
            yield word


def faults_of_diagram(lines, tree):
    participants = dict(re.findall(r"participant (\w+) as (\w+)\s*$", "\n".join(lines), re.M))
    for line in lines:
        message = re.match(r"\s*(\w+)-+>>(\w+):(.*)", line)
        text = message[3] if message else line
        yield from faults_of_names(text, tree)
        types = [participants[side] for side in message.groups()[:2] if side in participants] if message else []
        types = [each for each in types if tree.homes(each)]
        for call in re.findall(r"(?<![\w:~])([a-z_]\w*)\(\)", text):
            if types and call in tree.words and not tree.has_member(types, call):
                yield f"{call}() of {' or '.join(types)}"


def without_blocks(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


def anchor(heading):
    return re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")


def anchors(path):
    text = without_blocks(path.read_text(encoding="utf-8")) if path.is_file() else ""
    return [anchor(heading) for heading in re.findall(r"^#+ (.*)$", text, re.M)]


def faults_of_page(page, tree):
    with_names = PAGES_WITH_NAMES.fullmatch(page)
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S)
    plain = without_blocks(text)
    for link, section in re.findall(r"\]\((?!http|mailto)([^)#\s]*)(?:#([^)\s]+))?\)", plain):
        target = (ROOT / page).parent / link if link else ROOT / page
        if not target.exists() or (section and section not in anchors(target)):
            yield f"the link {link}#{section}"
    if PAGES_OF_OTHERS.fullmatch(page):
        of_others, _, ours = plain.partition("## Sharing a path")
        plain = re.sub(r"^\|[^|\n]*", "", of_others, flags=re.M) + ours
    if with_names:  # files that are named without backticks
        words = re.findall(r"[\w./*-]+", re.sub(r"\]\([^)]*\)|`[^`\n]*`", " ", plain))
        yield from faults_of_paths(" ".join(word for word in words if FILE.search(word)), page, tree)
    for code in re.findall(r"`([^`\n]+)`", plain):
        yield from faults_of_paths(code, page, tree)
        if with_names:
            yield from faults_of_names(code, tree)
    for language, block in blocks:
        if language == "sh":
            yield from faults_of_paths(block, page, tree)
        if language == "mermaid" and with_names:
            yield from faults_of_diagram(block.splitlines(), tree)


def faults_of_source(name, tree):
    """Yields the pages, and their sections, that a source names and that do not exist."""
    for page, section in re.findall(r'(?<![\w./-])(\w[\w./-]*\.md)\b(?:, "([^"\n]+)")?', tree.texts[name]):
        beside = (ROOT / name).parent / page
        named = beside if beside.is_file() else ROOT / page
        if not named.is_file():
            yield page
        elif section and anchor(section) not in anchors(named):
            yield f'{page}, "{section}"'


def interfaces(header):
    """Returns the classes of a header that have pure virtual functions: Outer::Inner."""
    code = re.sub(r"//.*", "", header)
    scopes, found = [], set()
    for token in re.finditer(r"\b(?:class|struct) ([\w:]+)(?: final)?(?: :[^;{]*)?\s*\{|[{}]|\bvirtual\b[^;{]*= 0;", code):
        if token[0].startswith("virtual"):
            found.add("::".join(scope for scope in scopes if scope))
        elif token[0] == "}":
            scopes.pop()
        else:
            scopes.append(token[1])
    return found


def faults_of_interfaces(page, tree):
    """Yields the interfaces that only the table of the page has, and those that it lacks."""
    text = (ROOT / page).read_text(encoding="utf-8")
    rows = re.search(r"^\| interface \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.M)[1]
    named = {name for row in rows.splitlines() for name in re.findall(r"`([\w:]+)`", row.split("|")[1])}
    known = {name for header, code in tree.texts.items() if re.match(r"zklock/(?:engine|client)/.*\.h", header)
             for name in interfaces(code)} - PORTS
    yield from (f"{page}: no class has the pure virtual functions of {name}" for name in sorted(named - known))
    yield from (f"{page}: the table lacks the interface {name}" for name in sorted(known - named))


def main():
    tree = Tree(tracked())
    pages = [name for name in tree.names if name.endswith(".md")]
    found = [f"{page}: not in the tree: {fault}" for page in pages
             for fault in dict.fromkeys(faults_of_page(page, tree))]
    found += [f"{name}: not in the tree: {fault}" for name in tree.texts for fault in faults_of_source(name, tree)]
    found += faults_of_interfaces("zklock/ARCHITECTURE.md", tree)
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(pages)} pages, {len(found)} names that do not exist")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
