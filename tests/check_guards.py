#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a class has a mutex, and a member that may change without that mutex.

    tests/check_guards.py [ROOT]

Clang checks the members that have ZKLOCK_GUARDED_BY. This script finds those that should have it. A member needs no
mutex if it is constant, a reference, an atomic or a mutex, or if its type has a mutex of its own (OWN_MUTEX). CONFINED
has the reason for every other exception. The script first checks itself on planted classes.
"""
import pathlib
import re
import sys

FOLDERS = ("include", "zklock")
NOISE = re.compile(r"""//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'""",
                   re.DOTALL | re.MULTILINE)
HEAD = re.compile(r"(?<!enum )\b(class|struct)\s+(?:\[\[.*?\]\]\s*|ZKLOCK_\w+(?:\([^)]*\))?\s+)*([\w:]+(?:<[^{;]*>)?)"
                  r"(?:\s+final)?(?:\s*:(?!:)[^{;()]*(?:\([^{;]*\))?[^{;()]*)?\s*\{")
LABEL = re.compile(r"\s*(public|protected|private)\s*:(?!:)")
OPEN, CLOSE = "([{", ")]}"
MUTEX = re.compile(r"(?:mutable\s+)?(?:client::)?Mutex\s+\w+$")
NO_FIELD = re.compile(r"(?:using|friend|struct|class|enum|static|template|typedef|explicit|virtual|ZKLOCK_HIDDEN)\b")
SAFE = re.compile(r"(?:mutable\s+)?(?:const\b|std::atomic\b|std::vector<std::atomic\b|(?:client::|Interruptible)?Condition\b"
                  r"|(?:boost::|std::)condition_variable)")
# Types whose members lock a mutex of their own, or use none.
OWN_MUTEX = {"BlockingCall", "DriverQueue", "Listeners", "OwnedThread", "TimerThread",
             "std::stop_source"}
BEFORE_THREADS = "set before another thread can use the object"
IN_SECTION = "used in a Section of FakeWorld"
CONFINED = {
    "CallbackThreads::Pool.options_": BEFORE_THREADS,
    "FakeTimers.simulated_": IN_SECTION,
    "FakeTimers.stopped_": IN_SECTION,
    "SerialListener.call_": "used only by the thread that makes the call; see running_on_",
    "ZkCoordinator.durations_": "atomics",
    "ZkCoordinator.observer_": BEFORE_THREADS,
}


def end_of_block(text, begin):
    """Returns the position after the bracket that closes the one at `begin`."""
    depth = 0
    for at in range(begin, len(text)):
        depth += (text[at] in OPEN) - (text[at] in CLOSE)
        if depth == 0:
            return at + 1
    raise ValueError("a bracket is not closed")


def members(body, access):
    """Yields the access and the text of each member. `body`: without its brackets."""
    begin = at = 0
    while at < len(body):
        label = LABEL.match(body, at) if not body[begin:at].strip() else None
        if label:
            access = label[1]
            begin = at = label.end()
        elif body[at] == ";":
            yield access, body[begin:at].strip()
            begin = at = at + 1
        elif body[at] in OPEN:
            is_block = body[at] == "{"
            at = end_of_block(body, at)
            # A function ends with its body. After other blocks, the declaration goes on.
            if is_block and not re.match(r"\s*[;,{]", body[at:]):
                yield access, body[begin:at].strip()
                begin = at
        else:
            at += 1


def code_of(text):
    """Returns the text with spaces for comments and directives, an empty literal for each literal, and the same lines."""
    return NOISE.sub(lambda found: '""' if found[0][0] in "\"'R" else re.sub(r"[^\n]", " ", found[0]), text)


def bodies(text):
    """Yields the word class or struct, the name and the body of each class, also of nested ones."""
    text = code_of(text)
    for head in HEAD.finditer(text):
        yield head[1], head[2], text[head.end():end_of_block(text, head.end() - 1) - 1]


def without_arguments(text):
    """Returns the text without template arguments."""
    while True:
        shorter = re.sub(r"<[^<>]*>", "", text)
        if shorter == text:
            return text
        text = shorter


def unguarded(text):
    """Yields class and name of each member that lacks a guard, also of those in CONFINED."""
    for _, name, body in bodies(text):
        declared = [" ".join(member.split()) for _, member in members(body, "private")]
        if not any(MUTEX.match(member) for member in declared):
            continue
        for member in declared:
            bare = re.sub(r"\s*(?:\{.*\}|=.*)$", "", without_arguments(member)).strip()
            words = bare.split()
            if len(words) < 2 or "(" in bare or NO_FIELD.match(member) or SAFE.match(member) or MUTEX.match(member):
                continue
            if "&" in bare or words[-2] == "const" or words[-2].removeprefix("client::") in OWN_MUTEX:
                continue
            yield name, words[-1]


def check(root):
    found = [(path.relative_to(root), f"{name}.{member}")
             for folder in FOLDERS for path in sorted((root / folder).rglob("*")) if path.suffix in (".h", ".cpp")
             for name, member in unguarded(path.read_text(encoding="utf-8"))]
    unused = CONFINED.keys() - {member for _, member in found}
    return ([f"{path}: {member} has no guard" for path, member in found if member not in CONFINED]
            + [f"CONFINED names {member}, which needs no reason" for member in sorted(unused)])


def test():
    planted = """
    class Guarded {
      void run(std::function<void()> task) { int x; }
      client::Mutex mutex_;
      int good_ ZKLOCK_GUARDED_BY(mutex_) = 0;
      const int constant_;
      Other* const pointer_;
      Other& other_;
      std::atomic<int> count_{0};
      std::function<void()> bad_;
      std::map<int, std::string> worse_ = {};
      int worst_{0};
    };
    class NoMutex { int free_; };"""
    assert list(unguarded(planted)) == [("Guarded", "bad_"), ("Guarded", "worse_"), ("Guarded", "worst_")], \
        list(unguarded(planted))


def main():
    test()
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    wrong = check(root)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{len(wrong)} faults")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
