#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a class has more than 30 public members.

    tests/check_classes.py [ROOT]
    tests/check_classes.py --list [ROOT]    prints the ten largest classes

A member is a declaration in a public part of a class or struct: a function (each overload), a constructor, a constant,
a variable, a type. Not counted are destructors, declarations with "= default" or "= delete", friends, and members of
bases. EXEMPT has the reason for each class that may have more. The script first checks itself on planted classes.
"""
import pathlib
import re
import sys

LIMIT = 30
FOLDERS = ("include", "zklock")
EXEMPT = {
    # Public. Its calls are those of std::shared_timed_mutex, and each call of Mutex for both kinds of access.
    "SharedMutex",
    # Not installed. The faults and the queries of the simulation are members.
    "SimCoordinator", "SimEnsemble",
}
NOISE = re.compile(r"""//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'""",
                   re.DOTALL | re.MULTILINE)
HEAD = re.compile(r"(?<!enum )\b(class|struct)\s+(?:\[\[.*?\]\]\s*|ZKLOCK_\w+(?:\([^)]*\))?\s+)*([\w:]+(?:<[^{;]*>)?)"
                  r"(?:\s+final)?(?:\s*:(?!:)[^{;()]*(?:\([^{;]*\))?[^{;()]*)?\s*\{")
LABEL = re.compile(r"\s*(public|protected|private)\s*:(?!:)")
OPEN, CLOSE = "([{", ")]}"


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


def is_counted(member):
    return (member and not re.match(r"(?:template\s*<[^>]*>\s*)?friend\b|static_assert\b", member)
            and not re.search(r"=\s*(?:default|delete)$", member)
            and not re.match(r"(?:[\w\[\]]+\s+)*~", member))


def classes(text):
    """Yields the name and the number of public members of each class, also of nested ones."""
    for kind, name, body in bodies(text):
        access = "public" if kind == "struct" else "private"
        yield name, sum(each == "public" and bool(is_counted(member)) for each, member in members(body, access))


def check(root):
    found = [(count, name, str(path.relative_to(root))) for folder in FOLDERS
             for path in sorted((root / folder).rglob("*")) if path.suffix in (".h", ".cpp")
             for name, count in classes(path.read_text(encoding="utf-8"))]
    return sorted(found, key=lambda each: (-each[0], each[1:]))


def test():
    planted = """
    enum class Kind { a, b };
    template <class T> class Big final : public Base<T>, private Other {
      void hidden();
     public:
      Big(int a) : a_{a}, b_{1} { if (a) { run(); } }  // one; void comment();
      Big(const Big&) = delete;
      ~Big();
      friend bool operator==(const Big&, const Big&) = default;
      int value() const noexcept ZKLOCK_REQUIRES(mutex) { return v_; }
      template <class F> void each(F f = [] { return ";"; });
      struct Nested { int x = 1; int y{2}; };
      using Type = int;
      static constexpr int kMany{3};
     private:
      int a_, b_;
    };"""
    assert dict(classes(planted)) == {"Big": 6, "Nested": 2}, list(classes(planted))
    many = "class Many { public: " + "int f(int a); " * (LIMIT + 1) + "};"
    assert faults([(count, name, "many.h") for name, count in classes(many)]), "a class above the limit is not found"
    few = "class Few { public: " + "int f(int a); " * LIMIT + "private: int x; };"
    assert not faults([(count, name, "few.h") for name, count in classes(few)]), list(classes(few))


def faults(found):
    return [f"{path}: {name} has {count} public members, the limit is {LIMIT}" for count, name, path in found
            if count > LIMIT and name not in EXEMPT]


def main():
    arguments = sys.argv[1:]
    test()
    lists = arguments[:1] == ["--list"]
    root = pathlib.Path(arguments[-1] if len(arguments) > lists else pathlib.Path(__file__).parent.parent).resolve()
    found = check(root)
    if lists:
        print(*(f"{count:3} {name} ({path})" for count, name, path in found[:10]), sep="\n")
        return 0
    wrong = faults(found)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{len(found)} classes, {len(wrong)} with more than {LIMIT} public members")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main())
