#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws zklock/guides/pictures/lease.svg from the constants of the proof, tests/model/smt/lease.smt2.

    draw_lease.py           writes the picture
    draw_lease.py --check   fails if the picture differs
"""
import pathlib
import re
import sys
from fractions import Fraction

HERE = pathlib.Path(__file__).resolve().parent
PROOF = HERE.parent.parent.parent / "tests/model/smt/lease.smt2"
LEFT, UNIT, HEIGHT = 130, 520, 250


def constants():
    text = PROOF.read_text(encoding="utf-8")
    found = re.findall(r"define-fun (\w+) \(\) Real \(/ (\d+) (\d+)\)", text)
    return {name: Fraction(int(top), int(bottom)) for name, top, bottom in found}


def x(time):
    return round(LEFT + float(time + Fraction(3, 10)) * UNIT, 1)


def words(time, row, text):
    return f'<text x="{x(time)}" y="{row}" text-anchor="middle">{text}</text>'


def bar(begin, end, row, kind, text):
    return (f'<rect class="{kind}" x="{x(begin)}" y="{row}" width="{round(x(end) - x(begin), 1)}" height="26"/>'
            + words((begin + end) / 2, row + 18, text))


def mark(time, top, bottom, text):
    return f'<path d="M{x(time)} {top}V{bottom}"/>' + words(time, bottom + 16, text)


def drawing():
    const = constants()
    lateness, clocks, reserve = const["J"], const["rate"], const["reserve"]
    report = -const["R"]
    lease = report + 1 - const["margin"]
    expiry = report - lateness + 1 - clocks
    if lease + reserve != expiry:
        raise SystemExit("the margin is not the lateness, the clocks and the reserve")
    sent = Fraction(0)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 780 {HEIGHT}" font-family="sans-serif" font-size="13">',
        "<style>text{fill:#222}path{stroke:#555;fill:none}.lease{fill:#a8d5a2}.session{fill:#a9c7ea}"
        ".reserve{fill:#f2c14e}.unsure{fill:#dfe9f5}</style>",
        f'<rect width="780" height="{HEIGHT}" fill="#fff"/>',
        '<text x="20" y="48">client</text><text x="20" y="118">leader</text>',
        bar(sent, lease, 30, "lease", f"the lease: {lease} T from the sending"),
        bar(lease, expiry, 30, "reserve", ""),
        bar(report - lateness, report, 100, "unsure", ""),
        bar(report, expiry, 100, "session", "the session cannot expire"),
        mark(sent, 20, 198, "t: an operation is sent"),
        mark(report - lateness, 90, 170, "the oldest possible report"),
        mark(lease, 20, 170, "lost"),
        mark(expiry, 20, 198, "earliest expiry"),
        words(Fraction(3, 10), 232, f"T = 1, R = {const['R']}, J = {lateness}, clocks {clocks}, "
              f"reserve {reserve}"),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def main(arguments):
    picture = HERE / "lease.svg"
    if arguments != ["--check"]:
        picture.write_text(drawing(), encoding="utf-8")
        return 0
    if picture.read_text(encoding="utf-8") == drawing():
        return 0
    print("zklock/guides/pictures/lease.svg differs from the constants: run draw_lease.py")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
