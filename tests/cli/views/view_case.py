# SPDX-License-Identifier: Apache-2.0
"""The base of the tests that run the views on a real server."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import serve_kit
from serve_kit import HERE, Servers, Tree

CURATOR = "_c_01234567-89ab-cdef-0123-456789abcdef-lock-"
KAZOO = "0123456789abcdef0123456789abcdef__lock__"
GUIDE = pathlib.Path(HERE).parents[2] / "zklock/guides/json.md"


def fields_of(schema):
    """Returns the fields that the guide lists for a schema."""
    row = next(line for line in GUIDE.read_text(encoding="utf-8").splitlines() if line.startswith(f"| {schema} "))
    return re.findall(r"`(\w+)`", row.split("|")[3])


class ViewCase(unittest.TestCase):
    program = None

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        cls.servers = Servers(cls.directory.name)
        cls.servers.__enter__()
        cls.tree = Tree(cls.servers.hosts)

    @classmethod
    def tearDownClass(cls):
        cls.tree.close()
        cls.servers.__exit__()
        cls.directory.cleanup()

    def tearDown(self):
        for child in self.tree.client.get_children("/"):
            if child != "zookeeper":
                self.tree.client.delete(f"/{child}", recursive=True)

    def command(self, *arguments):
        return [self.program, "-z", self.servers.hosts, *arguments]

    def run_view(self, *arguments, code=0):
        """Runs the command. Returns the lines of its standard output, or of its errors if it fails."""
        ended = subprocess.run(self.command(*arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        self.assertEqual(ended.returncode, code, ended.stdout + ended.stderr)
        return (ended.stdout or ended.stderr).splitlines()

    def run_doctor(self, *arguments):
        """Returns the lines of doctor. It warns of a server that is older than 3.9.4, and of long round trips."""
        ended = subprocess.run(self.command("doctor", *arguments), stdout=subprocess.PIPE, text=True, check=False, timeout=60)
        self.assertEqual(ended.returncode, 1 if re.search("^warn ", ended.stdout, re.M) else 0, ended.stdout)
        return ended.stdout.splitlines()

    def objects(self, schema, *arguments, code=0):
        lines = [json.loads(line) for line in self.run_view("--json", *arguments, code=code)]
        for line in lines:
            self.assertEqual(line.pop("schema"), schema)
            self.assertEqual(list(line), fields_of(schema))
        return lines


def main():
    ViewCase.program = sys.argv.pop(1)
    lacking = serve_kit.missing()
    if lacking:
        print(f"skipped: {lacking} is not installed")
        sys.exit(serve_kit.SKIPPED)
    unittest.main(verbosity=2)
