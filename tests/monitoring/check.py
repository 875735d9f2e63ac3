#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the files of zklock/monitoring, their tests, and the guide to the metrics.

    tests/monitoring/check.py names    each metric, label and label value exists, and is used by its type
    tests/monitoring/check.py rules    promtool accepts the metrics and all expressions, and the alerts fire as tested

The golden files of the tests have the metrics. Exit status 77: promtool is not installed. `names` first checks itself
on planted faults.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GOLDEN = ("tests/unit/metrics_text.golden", "tests/cli/views/observed_metrics.golden")
ALERTS, DASHBOARD = "zklock/monitoring/alerts.yml", "zklock/monitoring/dashboard.json"
TESTS, GUIDE = "tests/monitoring/alerts_test.yml", "zklock/guides/metrics.md"
RUNBOOK = "zklock/guides/alerts.md"
NAME = re.compile(r"\bzklock_[a-z_]+\b")
PANELS = 12
# Prometheus adds the first two. A program may add `client`.
TARGET_LABELS = {"job", "instance", "client"}
# The golden files have all values of these labels.
COMPLETE_LABELS = {"outcome", "end", "reason", "kind"}


class Family:
    def __init__(self, kind):
        self.kind = kind
        self.values = {}  # of each label

    def labels(self):
        return TARGET_LABELS | set(self.values)


def families(text):
    """Returns the metrics of a page in the text format, by name."""
    found = {}
    for line in text.splitlines():
        if kind := re.match(r"# TYPE (\w+) (\w+)$", line):
            name, found[kind[1]] = kind[1], Family(kind[2])
        elif not line.startswith("#"):
            for label, value in re.findall(r'(\w+)="([^"]*)"', line):
                found[name].values.setdefault(label, set()).add(value)
    return found


def family_of(series, known):
    """Returns the metric that has a series of this name; None without one."""
    of_histogram = re.fullmatch(r"(\w+)_(?:bucket|sum|count)", series)
    family = known.get(of_histogram[1]) if of_histogram else known.get(series)
    return family if family and (family.kind == "histogram") == bool(of_histogram) else None


def faults_of_selectors(text, known):
    """Yields what is wrong with the series in a text, and with the labels in the braces behind them."""
    for series, braces in re.findall(r"\b(zklock_[a-z_]+)\b(?:\{([^}]*)\})?", text):
        family = family_of(series, known)
        if not family:
            yield f"no series {series}"
            continue
        for label, values in re.findall(r'(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"', braces):
            if label not in family.labels():
                yield f"{series} has no label {label}"
            elif label in COMPLETE_LABELS:
                yield from (f"{label} is never {value}" for value in values.split("|")
                            if value not in family.values[label])


def labels_of_result(expression, known):
    """Returns the labels that the result can have."""
    if groups := re.findall(r"\bby \(([^)]*)\)", expression):
        return set().union(*(group.replace(" ", "").split(",") for group in groups))
    return set().union(*(family.labels() for series in NAME.findall(expression)
                         if (family := family_of(series, known))))


def faults_of_expression(expression, known):
    yield from faults_of_selectors(expression, known)
    if not NAME.search(expression):
        yield "no metric"
    used = set().union(*(family.labels() for series in NAME.findall(expression)
                         if (family := family_of(series, known))))
    for group in re.findall(r"\b(?:by|on) \(([^)]*)\)", expression):
        yield from (f"no label {label} in {group}" for label in group.replace(" ", "").split(",")
                    if label not in used)
    counted = re.findall(r"(?:rate|increase)\((zklock_[a-z_]+)", expression)
    for series in NAME.findall(expression):
        family = family_of(series, known)
        if family and (family.kind == "gauge") == (series in counted):
            yield f"{series} is a {family.kind}"


def alerts(text):
    """Yields name, expression and text of each alert."""
    for rule in re.split(r"^ *- alert: ", text, flags=re.M)[1:]:
        expression = re.search(r"^( *)expr: (?:\|\n((?:\1 +.*\n)+)|(.*)\n)", rule, re.M)
        yield rule.split("\n")[0], (expression[2] or expression[3]).strip(), rule


def faults_of_alerts(text, tests, known):
    healthy = tests.split("- name: ")[1]
    for name, expression, rule in alerts(text):
        possible = labels_of_result(expression, known)
        wrong = [*faults_of_expression(expression, known),
                 *(f"no label {label} in the result" for label in re.findall(r"\$labels\.(\w+)", rule)
                   if label not in possible),
                 *(f"no {part}" for part in ("severity: (?:warning|critical)", "summary: ", "description: ",
                                            f"runbook: '{RUNBOOK}, \"{name}\"'")
                   if not re.search(part, rule)),
                 *(f"{series} is not in the test 'healthy'" for series in NAME.findall(expression)
                   if series not in healthy)]
        if f'alertname="{name}", alertstate="firing"' not in tests:
            wrong.append("no test in which it fires")
        yield from (f"{name}: {fault}" for fault in wrong)


def expressions(dashboard):
    return [(panel["title"], target["expr"]) for panel in dashboard["panels"] for target in panel["targets"]]


def faults_of_dashboard(text, known):
    dashboard = json.loads(text)
    panels, variables = dashboard["panels"], dashboard["templating"]["list"]
    if len(panels) != PANELS:
        yield f"{len(panels)} panels, not {PANELS}"
    for what in ("id", "title", "gridPos"):
        if len({str(panel[what]) for panel in panels}) != len(panels):
            yield f"panels with an equal {what}"
    for panel in panels:
        if not panel["fieldConfig"]["defaults"].get("unit") or not panel.get("description"):
            yield f"{panel['title']}: no unit or no description"
        for target in panel["targets"]:
            shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            if shown - labels_of_result(target["expr"], known):
                yield f"{panel['title']}: the legend {target['legendFormat']}"
    for title, expression in expressions(dashboard):
        yield from (f"{title}: {fault}" for fault in faults_of_expression(expression, known))
    for variable in variables:
        yield from (f"${variable['name']}: {fault}" for fault in faults_of_selectors(variable["query"], known))
    defined = {variable["name"] for variable in variables} | {"__rate_interval", "__all"}
    yield from (f"no variable {name}" for name in sorted(set(re.findall(r"\$\{?(\w+)", text)) - defined))


def faults_of_guide(text, known):
    named = set(NAME.findall(text))
    yield from (f"the guide lacks {name}" for name in known if name not in named)
    yield from (f"the guide has {name}" for name in sorted(named - set(known)))


def faults(texts):
    """Returns the faults of the files, which are in a dict from name to text."""
    known = {name: family for golden in GOLDEN for name, family in families(texts[golden]).items()}
    return [*faults_of_alerts(texts[ALERTS], texts[TESTS], known),
            *faults_of_selectors(re.sub(r"#.*|ALERTS\{.*", "", texts[TESTS]), known),
            *faults_of_dashboard(texts[DASHBOARD], known),
            *faults_of_guide(texts[GUIDE], known)]


def check_itself(texts):
    """Each planted fault must be found."""
    for file, old, new in (
            (GOLDEN[0], "zklock_losses_total", "zklock_lost_total"), (GOLDEN[0], 'reason="max_hold"', 'reason="limit"'),
            (GOLDEN[0], "zklock_leader gauge", "zklock_leader counter"), (GOLDEN[0], 'lock="', 'label="'),
            (GOLDEN[1], "zklock_observed_cycles", "zklock_observed_circles"), (GOLDEN[1], 'path="', 'node="'),
            (ALERTS, "increase(zklock_deadlocks_total[10m])", "zklock_deadlocks_total"),
            (ALERTS, "zklock_connected == 0", "increase(zklock_connected[5m]) == 0"),
            (ALERTS, "max by (job, lock)", "max by (job, locks)"), (ALERTS, "$labels.path", "$labels.lock"),
            (ALERTS, "sum by (job, instance, lock, reason)", "sum by (job, instance, lock)"),
            (ALERTS, ', "ZklockNoLeader"', ', "ZklockTwoLeaders"'),
            (ALERTS, "severity: critical", "severity: page"), (ALERTS, "- alert: ZklockNodeBytes", "- alert: ZklockBytes"),
            (TESTS, 'path="/a"', 'lock="/a"'), (TESTS, 'alertname="ZklockNodeBytes"', 'alertname="ZklockBytes"'),
            (TESTS, "zklock_refused_deletes", "zklock_pending_deletes"),
            (DASHBOARD, "_duration_seconds_bucket", "_duration_seconds"), (DASHBOARD, '"id": 2', '"id": 1'),
            (DASHBOARD, "by (le, op)", "by (le)"), (DASHBOARD, "$lock", "$look"), (DASHBOARD, '"unit"', '"units"'),
            (DASHBOARD, "outcome!=", "result!="), (DASHBOARD, "zklock_waiters", "zklock_waiting"),
            (GUIDE, "zklock_sessions_total", "zklock_session_total")):
        assert old in texts[file], f"{old} is not in {file}"
        assert faults({**texts, file: texts[file].replace(old, new)}), f"{new} in {file} passes"


def check_names():
    texts = {file: (ROOT / file).read_text(encoding="utf-8") for file in (*GOLDEN, ALERTS, DASHBOARD, TESTS, GUIDE)}
    found = faults(texts)
    if not found:
        check_itself(texts)
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(found)} faults")
    return 1 if found else 0


def check_rules():
    promtool = shutil.which("promtool")
    if not promtool:
        print("no promtool: tests/support/install_packages.sh monitoring installs it")
        return 77
    for golden in GOLDEN:
        subprocess.run([promtool, "check", "metrics"], input=(ROOT / golden).read_bytes(), check=True)
    rules = []
    for number, (_, expression) in enumerate(expressions(json.loads((ROOT / DASHBOARD).read_text(encoding="utf-8")))):
        expression = expression.replace("$__rate_interval", "5m").replace("$job", ".*").replace("$lock", ".*")
        rules.append({"record": f"expression_{number}", "expr": expression})
    with tempfile.TemporaryDirectory() as folder:
        of_dashboard = pathlib.Path(folder) / "dashboard.yml"  # JSON is YAML
        of_dashboard.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}), encoding="utf-8")
        subprocess.run([promtool, "check", "rules", ROOT / ALERTS, of_dashboard], check=True)
    return subprocess.run([promtool, "test", "rules", ROOT / TESTS], check=False).returncode


def main():
    checks = {"names": check_names, "rules": check_rules}
    if sys.argv[1:] not in (["names"], ["rules"]):
        sys.exit(__doc__)
    return checks[sys.argv[1]]()


if __name__ == "__main__":
    sys.exit(main())
