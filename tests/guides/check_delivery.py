#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks docker/ and the workflow of a forge as far as possible without an engine and a forge.

    tests/guides/check_delivery.py

- Each file is YAML. Each script that the workflow or a Dockerfile runs is in the tree, and executable.
- The workflow runs the phases of tests/run.sh --all, which .ci/run calls.
- The services of compose.yaml name each other, and each has a health check.

Exits with 77 without python3-yaml.
"""
import os
import re
import sys

sys.dont_write_bytecode = True
from pages import ROOT  # noqa: E402

WORKFLOW = ROOT / ".github/workflows/ci.yml"
SCRIPT = re.compile(r"(?<![\w/])((?:tests|examples|zklock)/[\w/]+\.sh)")


def faults_of_scripts():
    files = [WORKFLOW, *(ROOT / "docker").glob("Dockerfile*")]
    for file in files:
        for script in SCRIPT.findall(file.read_text(encoding="utf-8")):
            if not os.access(ROOT / script, os.X_OK):
                yield f"{file.name}: no script {script}"


def faults_of_workflow(workflow):
    if not workflow["jobs"]:
        yield "the workflow has no job"
    for name, job in workflow["jobs"].items():
        commands = [step["run"] for step in job["steps"] if "run" in step]
        if not any(SCRIPT.search(command) for command in commands):
            yield f"the job {name} calls no script of the tree"
    runs = re.search(r"^all_phases=\((.*)\)$", (ROOT / "tests/run.sh").read_text(encoding="utf-8"), re.MULTILINE)
    phases = workflow["jobs"]["tests"]["strategy"]["matrix"]["phase"]
    if runs[1].split() != phases:
        yield f"tests/run.sh --all runs the phases {runs[1]}, and the workflow {' '.join(phases)}"
    if "tests/run.sh --all" not in (ROOT / ".ci/run").read_text(encoding="utf-8"):
        yield ".ci/run does not call tests/run.sh --all, whose phases the workflow runs"
    for run in workflow["jobs"]["long"]["strategy"]["matrix"]["run"]:
        if not os.access(ROOT / run.split()[0], os.X_OK):
            yield f"the job long: no script {run.split()[0]}"


def faults_of_compose(compose):
    services = compose["services"]
    servers = [name for name in services if name.startswith("zookeeper")]
    for name, service in services.items():
        if "healthcheck" not in service:
            yield f"{name} has no health check"
        if any(not port.startswith("127.0.0.1:") for port in service["ports"]):
            yield f"{name} is published on all interfaces"
    if services["page"]["environment"]["ZKLOCK_HOSTS"] != ",".join(f"{name}:2181" for name in servers):
        yield "the page does not use all servers"
    if sorted(services["page"]["depends_on"]) != sorted(servers):
        yield "the page does not wait for all servers"
    if not (ROOT / services["page"]["build"]["dockerfile"]).is_file():
        yield "the Dockerfile of the page does not exist"


def main():
    try:
        import yaml
    except ImportError:
        print("no python3-yaml")
        return 77
    with open(WORKFLOW, encoding="utf-8") as workflow, open(ROOT / "docker/compose.yaml", encoding="utf-8") as compose:
        found = [*faults_of_scripts(), *faults_of_workflow(yaml.safe_load(workflow)),
                 *faults_of_compose(yaml.safe_load(compose))]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
