#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails if a file has more than 400 lines, or a function of the library more than 60.

    tests/check_lengths.py [ROOT]
    tests/check_lengths.py --list [ROOT]    prints the ten longest files and functions

The lines of a function are those from its name to the end of its body. The script first checks itself on planted code.
"""
import pathlib
import re
import sys

from check_classes import code_of, end_of_block

FILE_LIMIT, FUNCTION_LIMIT = 400, 60
FILES = ("include", "zklock", "tests", "examples")
FUNCTIONS = ("include", "zklock")
SUFFIXES = (".h", ".cpp", ".py", ".sh")
# The name and the parameters of a function, or of a lambda at the scope of a file. Its body or its initializers follow.
HEAD = re.compile(r"\n[ \t]*(?:[^\s;{}()#=,][^;{}()#]*[\s:~*&<>])?(operator *(?:\(\)|[^\s\w(]+)|[~\w]+)\s*\(")
KEYWORDS = {"if", "for", "while", "switch", "catch", "return", "requires", "noexcept", "decltype", "sizeof"}


def functions(text):
    """Yields the name and the number of lines of each function. Skips what is inside of a function."""
    text = code_of(text)
    at = 0
    while head := HEAD.search(text, at):
        at = end = end_of_block(text, head.end() - 1)
        if head[1] in KEYWORDS:
            continue
        while sign := re.compile(r"[({;}=]").search(text, end):
            if sign[0] in ";}=":
                break  # a declaration
            end = end_of_block(text, sign.start())
            # Member initializers with braces precede the body.
            if sign[0] == "{" and not re.match(r"\s*[,{]", text[end:]):
                yield head[1], text.count("\n", head.start(1), end) + 1
                at = end
                break


def check(root):
    """Returns the files and the functions, as pairs of a number of lines and a name: the longest first."""
    files, found = [], []
    for folder in FILES:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in SUFFIXES or not path.is_file():
                continue
            name, text = str(path.relative_to(root)), path.read_text(encoding="utf-8")
            files.append((text.count("\n"), name))
            if folder in FUNCTIONS and path.suffix in (".h", ".cpp"):
                found += [(lines, f"{name}: {function}()") for function, lines in functions(text)]
    return sorted(files, reverse=True), sorted(found, reverse=True)


def faults(files, found):
    return [f"{name} has {lines} lines, the limit is {limit}"
            for all_of_a_kind, limit in ((files, FILE_LIMIT), (found, FUNCTION_LIMIT))
            for lines, name in all_of_a_kind if lines > limit]


def test():
    planted = """
namespace a {
int declared(int x);
class Big : public Base<int> {
 public:
  Big(int a)
      : a_{a}, b_(1) {
    if (a) { run(); }
  }
  int one() const noexcept { return f({1}); }
  bool operator()(int) const {
    while (true) { return [] { return 1; }(); }
  }
  std::function<void(int)> member_ = {};
};
template <class T>
std::vector<T> Big<T>::many(const char* text = "}",
                            int b = 1) const noexcept(true) {

  return {};  // }
}
}"""
    assert list(functions(planted)) == [("Big", 4), ("one", 1), ("operator()", 3), ("many", 5)], list(functions(planted))
    for more, wrong in ((0, 0), (1, 1)):
        text = "\nvoid f() {" + "\n  g();" * (FUNCTION_LIMIT - 2 + more) + "\n}"
        assert len(faults([], [(lines, name) for name, lines in functions(text)])) == wrong, text
    assert faults([(FILE_LIMIT + 1, "long.h")], []) and not faults([(FILE_LIMIT, "short.h")], [])


def main():
    arguments = sys.argv[1:]
    test()
    lists = arguments[:1] == ["--list"]
    root = pathlib.Path(arguments[-1] if len(arguments) > lists else pathlib.Path(__file__).parent.parent).resolve()
    files, found = check(root)
    if lists:
        print(*(f"{lines:4} {name}" for lines, name in files[:10] + found[:10]), sep="\n")
        return 0
    wrong = faults(files, found)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    print(f"{len(files)} files, {len(found)} functions, {len(wrong)} too long")
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main())
