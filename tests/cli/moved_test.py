#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that a hold survives when the name of the server gets another address. It needs a mount namespace.

    tests/cli/moved_test.py --zklock PROGRAM --request PROGRAM [NAME...]
"""
import os
import pathlib
import subprocess
import sys
import tempfile

from harness import SKIPPED, expect, expect_match, main, wait_for
from proxy import Proxy

INSIDE = "ZKLOCK_TEST_INSIDE_MOUNTS"
NAME = "server.zklock-test.invalid"


def name_has(address):
    pathlib.Path("/etc/hosts").write_text(f"{address} {NAME}\n", encoding="ascii")


def hold_survives_another_address(case):
    with Proxy(case.hosts) as old, Proxy(case.hosts, "127.0.0.2", old.port) as new:
        name_has("127.0.0.1")
        command = [case.programs["zklock"], "-z", f"{NAME}:{old.port}", "-T", "8s", "hold", case.path]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        case.started.append(process)
        expect_match("^held ", process.stdout.readline())
        expect((bool(old.sockets), bool(new.sockets)), (True, False))
        name_has("127.0.0.2")
        old.close()
        wait_for(lambda: new.sockets, "a connection to the new address")
        # The hold is still the one of the same session: another contender does not get the lock for
        # longer than the session timeout.
        expect(case.run([], ["-w", "9s"])[0], 75)
        process.terminate()
        expect(case.end_of(process)[0], 0)


def enter_namespace():
    """Runs this script again with a file of its own as /etc/hosts. Exits with 77 if the system refuses."""
    if os.environ.get(INSIDE):
        return
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    with tempfile.NamedTemporaryFile("w", prefix="zklock-hosts.") as hosts:
        script = [*unshare, "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts.name]
        if subprocess.run([*script, "true"], check=False).returncode != 0:
            print("the system refuses mounts")
            sys.exit(SKIPPED)
        environment = {**os.environ, INSIDE: "1"}
        sys.exit(subprocess.run([*script, sys.executable, *sys.argv], env=environment, check=False).returncode)


if __name__ == "__main__":
    enter_namespace()
    sys.exit(main([hold_survives_another_address], verb="hold"))
