#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what the guides show beside C++: texts of errors, systemd units, manifests, the picture of the lease.

    tests/guides/check_texts.py

- Each part of a text in zklock/guides/errors.md, "Errors by text", occurs in a literal of the library.
- systemd-analyze accepts the units in zklock/guides/systemd.md, if it is there. The programs need not exist.
- The manifests in zklock/guides/kubernetes.md are YAML, if python3-yaml is there. Labels and ports agree.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from pages import ROOT, blocks  # noqa: E402

LITERALS = re.compile(r'"((?:\\.|[^"\\\n])*)"(?:\s*"((?:\\.|[^"\\\n])*)")*')


def literals():
    """Returns the literals of the library, one a line; adjacent ones are joined."""
    found = []
    for path in sorted((ROOT / "zklock").rglob("*.cpp")) + sorted((ROOT / "zklock").rglob("*.h")):
        text = path.read_text(encoding="utf-8")
        for each in LITERALS.finditer(text):
            found.append("".join(re.findall(r'"((?:\\.|[^"\\\n])*)"', each[0])))
    return "\n".join(found)


def faults_of_errors():
    page = (ROOT / "zklock/guides/errors.md").read_text(encoding="utf-8")
    section = page.split("## Errors by text", 1)[1].split("\n## ", 1)[0]
    known = literals()
    cells = re.findall(r"^\| (`.*?`) \|", section, re.M)
    if len(cells) < 20:
        yield "the section lists too few texts"
    for text in re.findall(r"`([^`]*)`", "\n".join(cells)):
        for part in filter(None, (part.strip() for part in text.split("..."))):
            pieces = [part] if part in known else re.split(r"[;,] ?", part)
            yield from (f"no literal has: {piece}" for piece in pieces if piece not in known)


def faults_of_units():
    if not shutil.which("systemd-analyze"):
        return
    with tempfile.TemporaryDirectory() as directory:
        units = []
        for _, text in blocks(ROOT / "zklock/guides/systemd.md", "ini"):
            name = pathlib.Path(re.match(r"# (\S+)", text)[1])
            if not name.is_relative_to("/etc/systemd/system"):
                continue
            # The programs are not installed here.
            text = re.sub(r"^ExecStart=/usr/bin/\S+", "ExecStart=/bin/true", text, flags=re.M)
            path = pathlib.Path(directory) / name.relative_to("/etc/systemd/system")
            path.parent.mkdir(exist_ok=True)
            path.write_text(re.sub(r"^User=.*\n", "", text, flags=re.M), encoding="utf-8")
            if name.suffix != ".conf":  # a drop-in, which is read with its unit
                units.append(str(path))
        if len(units) < 5:
            yield "the guide has too few units"
        run = subprocess.run(["systemd-analyze", "--man=no", "verify", *units], capture_output=True, text=True, check=False)
        # Complaints about units of the machine are not about the guide.
        lines = [line for line in run.stderr.splitlines() if directory in line or line.startswith(
            tuple(pathlib.Path(unit).name for unit in units))]
        yield from lines


def faults_of_manifests():
    try:
        import yaml
    except ImportError:
        return
    documents = [each for _, text in blocks(ROOT / "zklock/guides/kubernetes.md", "yaml") for each in yaml.safe_load_all(text)]
    by_kind = {each["kind"]: each for each in documents}
    deployment, service = by_kind["Deployment"]["spec"], by_kind["Service"]["spec"]
    labels = deployment["template"]["metadata"]["labels"]
    if deployment["selector"]["matchLabels"] != labels or service["selector"] != labels:
        yield "the labels of the Deployment and the Service differ"
    container = deployment["template"]["spec"]["containers"][0]
    ports = {port["name"] for port in container["ports"]}
    used = {container[probe]["httpGet"]["port"] for probe in ("livenessProbe", "readinessProbe")}
    used |= {port["targetPort"] for port in service["ports"]}
    if not used <= ports:
        yield f"ports that no container has: {used - ports}"
    by_kind["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["command"].index("zklock")


def main():
    found = [*faults_of_errors(), *faults_of_units(), *faults_of_manifests()]
    print(*found, sep="\n", end="\n" if found else "")
    picture = subprocess.run([ROOT / "zklock/guides/pictures/draw_lease.py", "--check"], check=False)
    return 1 if found else picture.returncode


if __name__ == "__main__":
    sys.exit(main())
