#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if an #include goes against the layers, if files include each other in a cycle, or if a
public header opens a namespace of the implementation.

  tests/check_includes.py [ROOT]

A unit is a header with its sources: zklock/engine/contender.h, contender.cpp, contender_hold.cpp.
The headers of TOGETHER are one unit: their classes call each other. RULES says for each folder
which folders its files may include. A unit includes what its header and its sources include;
these edges between units must form no cycle. Users see the names in a public header, so internal
names stand there only in namespace detail.
"""
import pathlib
import posixpath
import re
import sys

PUBLIC = "include/zklock"
PUBLIC_TESTING = "include/zklock/testing"
CORE = [PUBLIC, "zklock/core"]
PORT = [*CORE, "zklock/client/port"]
THREADS = [*PORT, "zklock/client/threads"]
QUIRKS = "zklock/client/zookeeper/quirks"
SESSION = [*THREADS, "zklock/engine/session"]
CALLBACK = [*SESSION, "zklock/engine/callback"]
ENGINE = [*CALLBACK, "zklock/engine"]
LOCKS = [*ENGINE, "zklock/recipes/locks"]
CLI_IO = [PUBLIC, "zklock/cli/core", "zklock/cli/io"]

# folder -> folders of this project that it may include
RULES = {
    PUBLIC: [PUBLIC],
    "zklock/core": CORE,
    "zklock/client/port": PORT,
    "zklock/client/threads": THREADS,
    "zklock/client/zookeeper": [*THREADS, "zklock/client/zookeeper", QUIRKS],
    QUIRKS: [*THREADS, QUIRKS],
    "zklock/engine/session": SESSION,
    "zklock/engine/callback": CALLBACK,
    "zklock/engine": ENGINE,
    "zklock/recipes": [*ENGINE, "zklock/recipes"],
    "zklock/recipes/locks": LOCKS,
    "zklock/recipes/observe": [*ENGINE, "zklock/recipes/observe"],
    "zklock/recipes/release_request": ENGINE,
    "zklock/recipes/composite": [*LOCKS, "zklock/recipes/composite"],
    "zklock/recipes/election": [*LOCKS, "zklock/recipes/election"],
    "zklock/recipes/transaction": [*ENGINE, "zklock/recipes/election",
                                   "zklock/recipes/transaction"],
    "zklock/cli/core": [PUBLIC, "zklock/cli/core"],
    "zklock/cli/io": CLI_IO,
    "zklock/cli": [*CLI_IO, "zklock/cli"],
    # The test kit. The library itself does not know it.
    PUBLIC_TESTING: [PUBLIC, PUBLIC_TESTING],
    "zklock/testing/simulation": [*PORT, "zklock/testing/simulation"],
    "zklock/testing/servers": [PUBLIC, PUBLIC_TESTING, "zklock/testing/servers"],
    "zklock/testing/fake": [*ENGINE, PUBLIC_TESTING, "zklock/testing/simulation",
                            "zklock/testing/fake"],
    "examples": [PUBLIC, PUBLIC_TESTING],
}
# The file that makes the ports; the texts of public types; the base of GoogleTest's matchers.
EXCEPTIONS = {
    ("zklock/recipes/client.cpp", "zklock/client/zookeeper/make_coordinator.h"),
    ("zklock/recipes/client.cpp", "zklock/client/zookeeper/check_client_options.h"),
    ("zklock/core/to_string.cpp", "ostream"),  # operator<< only
    ("include/zklock/prometheus.h", "prometheus/"),  # all headers of prometheus-cpp
    ("include/zklock/testing/matchers.h", "gtest/gtest-matchers.h"),
}


TOGETHER = {
    # A path lock and its parts, its calls and contenders, and the lock nodes with their parts.
    **{"zklock/engine/" + name: "zklock/engine/path_lock"
       for name in ("path_knowledge", "sequence_hint", "late_creates", "pending_acquire", "contender",
                    "loss_notification", "lock_node", "local_queue", "node_watches", "downgrade")},
    "zklock/engine/session/cleaner": "zklock/engine/session/engine_context",
    "zklock/engine/session/engine_lock": "zklock/engine/session/engine_context",
    "zklock/engine/session/lease_keeper": "zklock/engine/session/engine_context",
    "zklock/engine/session/running_callbacks": "zklock/engine/session/engine_context",
}

# Headers outside the project. Public headers have the standard library only.
ONLY_STANDARD = (PUBLIC, PUBLIC_TESTING, "zklock/core")
PURE = ("zklock/core", "zklock/cli/core")
ONLY_COMMAND = ("CLI/", "nlohmann/")
IMPURE = set("thread mutex shared_mutex condition_variable future semaphore latch barrier stop_token "
             "iostream istream ostream fstream sstream syncstream cstdio filesystem csignal".split())
# The namespaces of public headers. That of spdlog is opened to declare its logger.
NAMESPACES = {"zklock", "zklock::detail", "std", "spdlog"}
TESTING_NAMESPACES = {"zklock", "zklock::testing", "zklock::testing::detail"}
SUFFIX = re.compile(r"\.(h|cpp)$")


def folder_of(path):
    """The longest folder of RULES that contains the file."""
    return max((f for f in RULES if path.startswith(f + "/")), key=len, default=None)


def includes_of(text):
    """Yields (name, is_standard_form) of each #include that is not commented out."""
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>\n]+)>|"([^"\n]+)")', text, re.M):
        yield (match[1] or match[2]), match[1] is not None


def fault(path, name, angled, files):
    """Why this file must not have this include; None if it may."""
    here = folder_of(path)
    if angled:
        if name.startswith("zookeeper/") and here not in ("zklock/client/zookeeper", QUIRKS):
            return "only zklock/client/zookeeper includes the ZooKeeper C client"
        if (path, name) in EXCEPTIONS:
            return None
        if here in ONLY_STANDARD and not re.fullmatch(r"[a-z_]+", name):
            if not ((here == "zklock/core" and name.startswith("boost/container/"))
                    or (path, name.split("/")[0] + "/") in EXCEPTIONS):
                return "the standard library only"
        if here in PURE and name in IMPURE:
            return "core has no threads, input or output"
        if name.startswith(ONLY_COMMAND) and not here.startswith("zklock/cli"):
            return "only the command zklock includes this"
        return None
    beside = posixpath.normpath(path.rsplit("/", 1)[0] + "/" + name)
    if here == "examples" and beside in files:
        return None
    target = next((f for f in ("include/" + name, name) if f in files), None)
    if target is None:
        return "no such file"
    there = folder_of(target)
    if there not in RULES[here] and (path, target) not in EXCEPTIONS:
        return f"{here} may include {', '.join(RULES[here])}"
    return None


def namespaces_of(text):
    """Yields the full name of each namespace that the text opens."""
    text = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', "", text, flags=re.S)
    enclosing = []  # for each open brace: the name of its namespace, or nothing
    for match in re.finditer(r"\bnamespace\b\s*([\w:]*)\s*\{|[{}]", text):
        if match[0] == "}":
            enclosing = enclosing[:-1]
        else:
            enclosing.append(match[1])
            if match[0] != "{":
                yield "::".join(filter(None, enclosing)) if match[1] else "(unnamed)"


def unit_of(path, units):
    """The unit of a file: its header, also a public one; for a source without a header, the header
    with the longest name that begins its name; else the source itself."""
    stem = SUFFIX.sub("", path)
    if stem not in units and PUBLIC + stem[stem.rfind("/"):] not in units:
        stem = max((u for u in units if stem.startswith(u + "_")), key=len, default=stem)
    return TOGETHER.get(stem, stem)


def cycles(graph):
    """The strongly connected components with more than one unit (Tarjan's algorithm)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            component = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def check(files):
    """The faults in `files`, a dict from path to text: a list of sentences."""
    faults = []
    units = {SUFFIX.sub("", f) for f in files if f.endswith(".h")}
    graph = {}
    for path, text in sorted(files.items()):
        unit = unit_of(path, units)
        edges = graph.setdefault(unit, set())
        for name, angled in includes_of(text):
            why = fault(path, name, angled, files)
            if why:
                faults.append(f"{path} includes {name}: {why}")
            elif not angled and name in files:
                edges.add(unit_of(name, units))
        if path.startswith(PUBLIC):
            allowed = TESTING_NAMESPACES if folder_of(path) == PUBLIC_TESTING else NAMESPACES
            faults += [f"{path} opens namespace {name}: a public header may open "
                       + ", ".join(sorted(allowed))
                       for name in namespaces_of(text) if name not in allowed]
        edges.discard(unit)
    for unit in {u for edges in graph.values() for u in edges}:
        graph.setdefault(unit, set())
    for cycle in cycles(graph):
        faults.append(f"{len(cycle)} units include each other: {', '.join(cycle)}")
    return faults


def read(root):
    paths = [p for top in ("include", "zklock", "examples") for p in (root / top).rglob("*")]
    return {str(p.relative_to(root)): p.read_text(encoding="utf-8")
            for p in paths if SUFFIX.search(p.name) and folder_of(str(p.relative_to(root)))}


def check_itself():
    """Each broken tree must have a fault, and the sound one none."""
    def tree(*more):
        return {"include/zklock/a.h": "#include <vector>\n", "zklock/core/b.h": '#include "zklock/a.h"\n',
                "zklock/engine/c.h": '#include "zklock/core/b.h"\n// #include "zklock/none.h"\n',
                "zklock/engine/c_more.cpp": '#include "zklock/engine/c.h"\n', **dict(more)}
    assert check(tree()) == [], check(tree())
    for path, include in (
            ("include/zklock/x.h", '"zklock/core/b.h"'), ("include/zklock/x.h", "<boost/any.hpp>"),
            ("include/zklock/x.h", "<prometheus/collectable.h>"),
            ("include/zklock/x.h", "<unistd.h>"), ("zklock/core/x.h", "<mutex>"),
            ("zklock/core/x.cpp", '"zklock/engine/c.h"'), ("zklock/client/port/x.h", '"zklock/engine/c.h"'),
            ("zklock/engine/x.cpp", "<zookeeper/zookeeper.h>"), ("zklock/engine/x.cpp", '"zklock/missing.h"'),
            ("zklock/cli/core/x.h", "<thread>"), ("zklock/cli/x.cpp", '"zklock/core/b.h"'),
            ("zklock/engine/x.cpp", "<CLI/CLI.hpp>"), ("zklock/cli/core/x.h", '"zklock/cli/io/y.h"'),
            ("examples/x.cpp", '"zklock/core/b.h"'), ("zklock/engine/x.h", '"zklock/testing/x.h"'),
            ("include/zklock/x.h", '"zklock/testing/x.h"'), ("include/zklock/testing/x.h", "<gtest/gtest.h>"),
            ("zklock/core/b.cpp", '"zklock/core/b_user.h"\n#include "zklock/core/b.h"')):
        extra = [("zklock/core/b_user.h", '#include "zklock/core/b.h"\n'), ("include/zklock/testing/x.h", "")]
        assert check(tree(*extra, (path, f"#include {include}\n"))), f"{path} with {include} passes"
    sound = "namespace zklock { namespace detail { class A; } int f() { return 1; } }\nnamespace std {}\n"
    assert check(tree(("include/zklock/x.h", sound))) == []
    for opened in ("zklock { namespace core {", "zklock::testing {", "boost {", "zklock { namespace {"):
        text = f"namespace {opened} class A;" + "}" * opened.count("{")
        assert check(tree(("include/zklock/x.h", text))), f"{text} passes"
    assert check(tree(("include/zklock/testing/x.h", "namespace zklock::testing {}"))) == []


def main():
    check_itself()
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    files = read(root)
    if len(files) < 10:
        sys.exit(f"no sources below {root}")
    faults = check(files)
    for sentence in faults:
        print(sentence)
    print(f"{len(files)} files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
