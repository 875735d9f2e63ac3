#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the completions of bash and zsh, and the man pages, with the help of zklock.

  completion_test.py ZKLOCK [DIRECTORY_OF_MAN_PAGES]

The tests of zsh and of the man pages are skipped if zsh or man is not installed.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "zklock" / "cli"
ZKLOCK = ""
MAN_PAGES = ""


def help_of(*command):
    return subprocess.run([ZKLOCK, *command, "--help"], check=True, capture_output=True, text=True,
                          timeout=30).stdout


def options_in(text):
    return sorted(name for names in re.findall(r"^  (-\S+)", text, re.M) for name in names.split(","))


def commands():
    return re.findall(r"^  ([a-z]+) ", help_of().split("Subcommands:")[1], re.M)


class BashTest(unittest.TestCase):
    def complete(self, *words):
        """Returns the completions of the last word."""
        script = """
          source "$1"; shift
          COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
          _zklock 2> >(grep -v 'not currently executing completion' >&2)
          printf '%s\\n' "${COMPREPLY[@]}"
        """
        done = subprocess.run(
            ["bash", "-c", script, "bash", SOURCE / "completion" / "zklock.bash", ZKLOCK, *words],
            check=True, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stderr, "")
        return sorted(done.stdout.split())

    def test_first_word_is_a_command(self):
        self.assertEqual(self.complete(""), sorted(commands()))
        self.assertEqual(self.complete("-T", "30s", "per"), ["permits"])
        self.assertEqual(self.complete("--json", "do"), ["doctor"])

    def test_options_are_those_of_the_help(self):
        self.assertEqual(self.complete("-"), options_in(help_of()))
        for command in commands():
            self.assertEqual(self.complete(command, "-"), options_in(help_of(command)), command)
        self.assertEqual(self.complete("release", "--rep"), [])
        self.assertEqual(self.complete("run", "-w", "5s", "--rep"), ["--report"])

    def test_value_is_no_command_and_no_path(self):
        self.assertEqual(self.complete("-z", "run", "el"), ["elect"])
        self.assertEqual(self.complete("run", "-w", "5s", "--wei"), ["--weight"])
        self.assertEqual(self.complete("run", "-k", "1/2", "--weight", "5", "--rep"), ["--report"])
        self.assertEqual(self.complete("serve", "--rate", "5", "--lis"), ["--listen"])
        self.assertNotIn("elect", self.complete("--hosts", "el"))

    def test_program_follows_the_path(self):
        for words in (["/a"], ["-w", "5s", "/a"], ["/a", "--"], ["-s", "/a"]):
            self.assertIn("bash", self.complete("run", *words, "bas"), words)
        self.assertEqual(self.complete("ls", "/a", "bas"), [])


@unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
class ZshTest(unittest.TestCase):
    def complete(self, line):
        """Returns the completions that zsh lists after `line`."""
        # The widget on ^X prints the words that the completion adds, instead of a list.
        script = r"""
          zmodload zsh/zpty
          read_to() {
            local part= all=
            while [[ $all != *"$1"* ]] && zpty -r shell part; do all+=$part; done
            print -r -- $all
          }
          zpty shell zsh -f -i
          zpty -w shell "PS1= ; fpath=($1 \$fpath); PATH=$2:\$PATH; autoload -U compinit; compinit -u -D"
          zpty -w shell 'list() {
            compadd() {
              local -a found
              if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
                builtin compadd -A found "$@"
                print -rl -- "word:"${^found}
              fi
              builtin compadd "$@"
            }
            _main_complete
            print -r -- end"-of-list"
          }'
          zpty -w shell 'zle -C list list-choices list; bindkey "^X" list; print rea"dy"'
          read_to ready >/dev/null
          zpty -n -w shell "$3"$'\x18'
          read_to end-of-list
          zpty -d shell
        """
        done = subprocess.run(
            ["zsh", "-f", "-c", script, "zsh", SOURCE / "completion", os.path.dirname(ZKLOCK), line],
            check=True, capture_output=True, text=True, timeout=60)
        return sorted(set(re.findall(r"word:(\S+)", done.stdout)))

    def test_first_word_is_a_command(self):
        self.assertEqual(self.complete("zklock "), sorted(commands()))

    def test_options_are_those_of_the_help(self):
        self.assertEqual(self.complete("zklock -"), options_in(help_of()))
        for command in ("run", "release", "serve"):
            self.assertEqual(self.complete(f"zklock {command} -"), options_in(help_of(command)))

    def test_program_follows_the_path(self):
        for words in ("/a", "-w 5s /a --", "--shared /a"):
            self.assertIn("basename", self.complete(f"zklock run {words} basena"), words)


class ManTest(unittest.TestCase):
    def text_of(self, page):
        path = pathlib.Path(MAN_PAGES) / f"{page}.1"
        done = subprocess.run(["man", "--warnings=w", "--local-file", path], check=True, capture_output=True,
                              text=True, timeout=60, env={**os.environ, "MANWIDTH": "200", "LC_ALL": "C.UTF-8"})
        self.assertEqual(done.stderr, "")
        return re.sub(r".\x08", "", done.stdout)

    def setUp(self):
        if not os.path.isdir(MAN_PAGES) or not shutil.which("man"):
            self.skipTest("no man pages, or no man")

    def test_pages_have_the_options_of_the_help(self):
        for page, text in [("zklock", help_of())] + [(f"zklock-{each}", help_of(each)) for each in commands()]:
            shown = self.text_of(page)
            found = [name for names in re.findall(r"^ +(-\S+(?:, -\S+)?)(?: [A-Z0-9].*)?$", shown, re.M)
                     for name in names.split(", ")]
            self.assertEqual(sorted(found), options_in(text), page)

    def test_first_page_names_the_others(self):
        shown = self.text_of("zklock")
        for command in commands():
            self.assertIn(f"zklock-{command}(1)", shown)


if __name__ == "__main__":
    ZKLOCK = os.path.abspath(sys.argv[1])
    MAN_PAGES = sys.argv[2] if len(sys.argv) > 2 else ""
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
