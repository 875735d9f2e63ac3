#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Types the commands of the pages into a clean Debian 12, as a reader would, and fails if one fails.

    tests/first_minutes/type_commands.py [--root DIR] [--list] [PAGE...]

Without PAGE: README.md and the guides, except zklock/guides/tls.md, which tests/tls/guide_test.py types. Each page
has a root of its own: an overlay on a clean system, with a copy of the checkout in ~/zklock. All blocks of a page that
are marked `sh` are typed into one shell, in their order, by root.
A block that needs something has a comment directly above it, which the rendered page does not show:

    <!-- file: ~/NAME -->        the reader saves this block as that file
    <!-- setup: COMMANDS -->     typed before the block; see clean_root.sh for the functions that it may use
    <!-- until: COMMAND -->      the block does not end: it is ended when the command succeeds
    <!-- not typed: REASON -->   the block is omitted

debootstrap makes the clean system once, in --root (build/typed_root). The packages are downloaded once, and are
shared by the pages. Prints a line for each block: the time, the lines that it printed, and the packages that it
installed. Needs root and the network. Exits with 77 without root or debootstrap. --list only shows the blocks.
"""
import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# A comment, and the fenced block below it.
BLOCK = re.compile(r"(?:^<!-- (file|setup|until|not typed): (.*?) -->\n)?^```(\w+)\n(.*?)^```$", re.M | re.S)


def blocks(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        kind, value, language, code = found.groups()
        if kind == "file" or (kind != "not typed" and language == "sh"):
            line = text.count("\n", 0, found.start(4))
            yield f"{page}:{line}", kind, " ".join((value or "").split()), code


def script(page):
    """Returns the commands for clean_root.sh."""
    lines = []
    for place, kind, value, code in blocks(page):
        if kind == "file":
            lines.append(f"save {value} {shlex.quote(code)}")
            continue
        if kind == "setup":
            lines.append(f"type_block {shlex.quote(place + ' setup')} {shlex.quote(value)}")
        until = " " + shlex.quote(value) if kind == "until" else ""
        lines.append(f"type_block {shlex.quote(place)} {shlex.quote(code)}{until}")
    return "\n".join(lines) + "\n"


def make_clean_root(root):
    if (root / "made").exists():
        return
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    subprocess.run(["debootstrap", "--variant=minbase", "bookworm", root / "system"], check=True,
                   stdout=subprocess.DEVNULL)
    (root / "packages").mkdir()
    (root / "made").touch()


def type_page(page, root):
    """Returns whether all commands of the page succeeded."""
    with tempfile.TemporaryDirectory(prefix="zklock-typed.") as name:
        work = pathlib.Path(name)
        copy = work / "zklock"
        copy.mkdir()
        files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                               check=True, stdout=subprocess.PIPE).stdout
        packed = subprocess.run(["tar", "--null", "-T", "-", "-cf", "-"], cwd=ROOT, input=files, check=True,
                                stdout=subprocess.PIPE).stdout
        subprocess.run(["tar", "-C", copy, "-xf", "-"], input=packed, check=True)
        (work / "typed.sh").write_text(script(page), encoding="utf-8")
        # A namespace of mounts and processes: nothing outlives the test.
        return subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", HERE / "clean_root.sh",
                               root, work], check=False).returncode == 0


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--root", type=pathlib.Path, default=ROOT / "build" / "typed_root")
    arguments.add_argument("--list", action="store_true")
    arguments.add_argument("pages", nargs="*", metavar="PAGE")
    given = arguments.parse_args()
    pages = given.pages or ["README.md", *sorted(str(page.relative_to(ROOT)) for page in
                                                 (ROOT / "zklock" / "guides").glob("*.md") if page.stem != "tls")]
    pages = [page for page in pages if any(blocks(page))]
    if given.list:
        for page in pages:
            print(script(page))
        return 0
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        print("skipped: this test needs root and debootstrap")
        return 77
    make_clean_root(given.root.absolute())
    failed = [page for page in pages if not type_page(page, given.root.absolute())]
    for page in failed:
        print(f"a command of {page} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
