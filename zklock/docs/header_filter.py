#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints a header in which each comment documents all declarations of its block.

    header_filter.py HEADER

In the headers, a comment applies to the declarations below it, up to the next comment or empty line. Doxygen takes it
for the first of them only, unless they are a group. A declaration with a comment of its own behind it is not affected.
"""
import re
import sys

COMMENT = re.compile(r"\s*///(?!<)")
# These end a block: they need no comment, and that of the constructor does not apply to them.
WITHOUT = re.compile(r".*= delete;|\s*~\w+\(")
# These begin a scope, so they are documented alone.
ALONE = re.compile(r"\s*(?:template\b.*>\s*)?(?:class|struct|enum|namespace|concept)\b|\s*#")


def depth(line):
    code = re.sub(r'"(?:\\.|[^"\\])*"|//.*', "", line)
    return sum(code.count(each) for each in "{([") - sum(code.count(each) for each in "})]")


def end_of_block(lines, begin):
    """Returns the end of the declarations that begin there."""
    open_brackets = 0
    for number in range(begin, len(lines)):
        line = lines[number]
        change = depth(line)
        if open_brackets == 0 and (not line.strip() or COMMENT.match(line) or change < 0 or
                                   (number > begin and WITHOUT.match(line)) or
                                   re.match(r"\s*(?:public|private|protected):", line)):
            return number
        open_brackets += change
    return len(lines)


def main(path):
    with open(path, encoding="utf-8") as header:
        lines = header.read().splitlines()
    number = 0
    while number < len(lines):
        if not COMMENT.match(lines[number]):
            print(lines[number])
            number += 1
            continue
        begin = number
        while COMMENT.match(lines[begin]):
            begin += 1
        indented = lines[number].startswith(" ")
        alone = ALONE.match(" ".join(lines[begin:begin + 2])) or not indented
        end = begin if alone else end_of_block(lines, begin)
        if alone:
            print(*lines[number:end], sep="\n")
        else:
            print("///@{", *lines[number:end], "///@}", sep="\n")
        number = end


if __name__ == "__main__":
    main(sys.argv[1])
