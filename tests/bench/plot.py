# SPDX-License-Identifier: Apache-2.0
"""Draws two pictures of RESULTS.md, of one network: lines over logarithmic axes, as SVG."""
import math
import os

COLOURS = {"zklock": "#0b5fa5", "curator": "#c4461f", "kazoo": "#6a7f10", "floor": "#777777"}
TITLES = {"zklock": "zklock", "curator": "Curator", "kazoo": "Kazoo", "floor": "raw C client"}
WIDTH, HEIGHT = 720, 430
LEFT, RIGHT, TOP, BOTTOM = 76, 116, 62, 58


class Axis:
    """A logarithmic axis. It begins and ends at a whole step of 1, 2 or 5."""

    def __init__(self, values, low, high):
        self.low, self.high = low, high
        self.first = math.log10(max(v for v in self.steps(values) if v <= min(values)))
        self.last = math.log10(min(v for v in self.steps(values) if v >= max(values)))
        if self.first == self.last:
            self.last += 1

    @staticmethod
    def steps(values):
        lowest, highest = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
        return [digit * 10.0 ** power
                for power in range(lowest, highest + 1) for digit in (1, 2, 5)]

    def at(self, value):
        part = (math.log10(value) - self.first) / (self.last - self.first)
        return self.low + part * (self.high - self.low)

    def ticks(self, values):
        inside = [v for v in self.steps(values)
                  if self.first - 1e-9 <= math.log10(v) <= self.last + 1e-9]
        return inside if len(inside) <= 9 else [v for v in inside if f"{v:e}"[0] == "1"]


def number(value):
    if value >= 1e6:
        return f"{value / 1e6:g}M"
    return f"{value / 1e3:g}k" if value >= 1e4 else f"{value:g}"


def text(x, y, content, anchor="middle", size=13, colour="#222222", more=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
            f'fill="{colour}"{more}>{content}</text>')


def spread(labels, gap=16):
    """Moves labels at the ends of lines apart if they would overlap."""
    placed = []
    for y, name in sorted(labels):
        placed.append((max(y, placed[-1][0] + gap) if placed else y, name))
    return placed


def picture(title, below, x_title, y_title, series, at_x):
    """Returns the SVG. `series`: {name: [(x, y), ...]}."""
    xs = [x for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points]
    horizontal, vertical = Axis(xs, LEFT, WIDTH - RIGHT), Axis(ys, HEIGHT - BOTTOM, TOP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
           f'width="{WIDTH}" height="{HEIGHT}" font-family="DejaVu Sans, Verdana, sans-serif">',
           '<!-- SPDX-License-Identifier: Apache-2.0 -->',
           f'<title>{title}</title>',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
           text(LEFT, 24, title, "start", 16, more=' font-weight="bold"'),
           text(LEFT, 43, below, "start", 12, "#555555")]
    for y in vertical.ticks(ys):
        level = vertical.at(y)
        out.append(f'<path d="M{LEFT} {level:.1f}H{WIDTH - RIGHT}" stroke="#dddddd"/>')
        out.append(text(LEFT - 8, level + 4, number(y), "end"))
    for x in at_x:
        out.append(f'<path d="M{horizontal.at(x):.1f} {HEIGHT - BOTTOM}v5" stroke="#222222"/>')
        out.append(text(horizontal.at(x), HEIGHT - BOTTOM + 21, number(x)))
    out.append(f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" '
               'stroke="#222222"/>')
    out.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, x_title))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    out.append(text(18, middle, y_title, more=f' transform="rotate(-90 18 {middle})"'))
    for name, points in series.items():
        dashes = ' stroke-dasharray="5 4"' if name == "floor" else ""
        path = "L".join(f"{horizontal.at(x):.1f} {vertical.at(y):.1f}" for x, y in points)
        out.append(f'<path d="M{path}" fill="none" stroke="{COLOURS[name]}" stroke-width="2.2"'
                   f'{dashes}/>')
        out.extend(f'<circle cx="{horizontal.at(x):.1f}" cy="{vertical.at(y):.1f}" r="3.4" '
                   f'fill="{COLOURS[name]}"/>' for x, y in points)
    ends = [(vertical.at(points[-1][1]), name) for name, points in series.items()]
    for y, name in spread(ends):
        x = horizontal.at(series[name][-1][0])
        out.append(text(x + 10, y + 4, TITLES[name], "start", 13, COLOURS[name],
                        ' stroke="#ffffff" stroke-width="4" paint-order="stroke"'))
    return "\n".join(out + ["</svg>", ""])


def series_of(results, prefix):
    """Returns {name: [(number in the key, value)]} of the rows whose keys are prefix and number."""
    series, at = {}, []
    for key, row in results.items():
        if not key.startswith(prefix) or not key[len(prefix):].isdigit():
            continue
        at.append(int(key[len(prefix):]))
        for name in COLOURS:
            if isinstance(row.get(name), (int, float)) and row[name] > 0:
                series.setdefault(name, []).append((at[-1], row[name]))
    return {name: sorted(points) for name, points in series.items()}, sorted(at)


def network_of(about):
    """Returns the network in words, and the suffix of its pictures' names."""
    words, suffix = "one server on loopback", ""
    if about["servers"] > 1:
        words, suffix = f"{about['servers']} servers on loopback", f"_{about['servers']}_servers"
    added = about["added_round_trip_us"] / 1000
    if added:
        words, suffix = f"{words}, {added:g} ms added to each round trip", f"{suffix}_{added:g}ms"
    return words, suffix


def draw(results, about, directory):
    """Draws the pictures for which there are rows, and returns their names."""
    os.makedirs(directory, exist_ok=True)
    network, suffix = network_of(about)
    where = (f"{network}; ZooKeeper {about['zookeeper']}, {about['processors']} processors, "
             f"{about['date'][:10]}")
    written = []
    for prefix, file, title, x_title, y_title in (
            ("drain_", "drain", "What a hand-off costs, by the length of the queue",
             "waiters in the queue", "microseconds a hand-off"),
            ("handoff_", "handoff", "Hand-offs per second, by the number of contenders",
             "contenders, each on a session of its own", "hand-offs per second")):
        series, at = series_of(results, prefix)
        if not series:
            continue
        path = os.path.join(directory, f"{file}{suffix}.svg")
        with open(path, "w", encoding="utf-8") as out:
            out.write(picture(title, where, x_title, y_title, series, at))
        written.append(path)
    return written
