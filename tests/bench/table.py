# SPDX-License-Identifier: Apache-2.0
"""The printed table, and the result of each target."""
NAMES = ("zklock", "curator", "kazoo", "floor")


def short(value):
    """Formats a value; usual numbers take at most five characters."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if value >= 999_500:
        return f"{value / 1e6:.1f}M"
    if value >= 99_950:
        return f"{value / 1e3:.0f}k"
    if value >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio(value):
    if value is None:
        return "-"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def lines_of(rows, left=(0,)):
    """Yields the rows with aligned columns. The columns in `left` are left-aligned."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = [cell.ljust(width) if i in left else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        yield "  ".join(cells).rstrip()
        if number == 0:
            yield "  ".join("-" * width for width in widths)


def all_four(values):
    return " / ".join(short((values or {}).get(name)) for name in NAMES)


def table(results):
    """Returns the table. `results`: the JSON's, by measure."""
    rows = [["measure", "unit", *NAMES, "/curator", "/floor", "p99 of z / c / k / f",
             "requests an operation"]]
    for row in results.values():
        names = [row.get(name) if row.get(name) is not None else row["absent"].get(name, "-")
                 for name in NAMES]
        rows.append([row["title"], row["unit"], *map(short, names), ratio(row["ratio_to_curator"]),
                     ratio(row["ratio_to_floor"]), all_four(row.get("p99")),
                     all_four(row.get("requests"))])
    return "\n".join(lines_of(rows))


def cost_table(results):
    """Returns the CPU time that an operation takes, of the contestant and of the server."""
    rows = [["microseconds of CPU an operation", *NAMES, "/curator", "/floor",
             "of the server, z / c / k / f", "/curator", "/floor"]]
    for row in results.values():
        if any(row.get("cpu", {}).values()):
            rows.append([row["title"], *(short(row["cpu"].get(name)) for name in NAMES),
                         ratio(row["cpu_ratio_to_curator"]), ratio(row["cpu_ratio_to_floor"]),
                         all_four(row["server_cpu"]), ratio(row["server_cpu_ratio_to_curator"]),
                         ratio(row["server_cpu_ratio_to_floor"])])
    return "\n".join(lines_of(rows))


def verdict(found, holds):
    if found is None:
        return "not measured"
    return "holds" if holds else "MISSED"


def target_lines(results, measures, delayed):
    """Returns the result of each target. `delayed`: whether the network was."""
    rows = [["what must be reached", "", "found", ""]]
    for key, figure in (row for measure in measures for row in measure.rows()):
        if key not in results:
            continue
        for target in figure.targets:
            if target.delayed not in (None, delayed):
                continue
            found = results[key].get(target.of)
            unit = f" {figure.unit}" if target.of == "zklock" else ""
            rows.append([key, str(target) + unit, ratio(found),
                         verdict(found, found is not None and target.holds(found))])
    for key, text, found, bound in across_rows(results):
        if key in results:
            rows.append([key, text, ratio(found),
                         verdict(found, found is not None and found <= bound)])
    return "\n".join(lines_of(rows, left=(0, 1, 3)))


def across_rows(results):
    """Yields the targets that involve two rows."""
    def quotient(key, other_key, other):
        ours, theirs = results.get(key, {}).get("zklock"), results.get(other_key, {}).get(other)
        return ours / theirs if ours and theirs else None

    yield ("drain_3000", "<= 1.15 x its own drain_100",
           quotient("drain_3000", "drain_100", "zklock"), 1.15)
    for sessions in (300, 1000):
        yield (f"holding_{sessions}", f"<= 2 x Curator's idle_{sessions}",
               quotient(f"holding_{sessions}", f"idle_{sessions}", "curator"), 2)
