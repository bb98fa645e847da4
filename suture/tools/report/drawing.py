"""SVG of graphs, timelines and bars. Every text in it is escaped; colours come from the page."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markupsafe import Markup, escape

from suture.events import Node
from suture.tools.report.model import Phase

_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 148, 38, 16, 30, 8
MOST_NODES = 250
_TABLES = re.compile("_dict_(?:parameters|buffers|modules)(?=_)")


def graph(nodes: Sequence[Node], title: str) -> Markup:
    """A graph from top to bottom; a large one is drawn up to a limit, and says so."""
    shown = list(nodes[:MOST_NODES])
    ranks = _ranks(shown)
    coordinates = _coordinates(shown, ranks)
    right = max((x for x, _ in coordinates.values()), default=0) + _WIDTH + _MARGIN
    bottom = max((y for _, y in coordinates.values()), default=0) + _HEIGHT + _MARGIN
    parts = [
        f'<svg class="graph" role="img" width="{right}" height="{bottom}"'
        f' viewBox="0 0 {right} {bottom}"><title>{escape(title)}</title>'
    ]
    parts += [_edge(coordinates[one], coordinates[node.name]) for node in shown
              for one in node.inputs if one in coordinates]  # fmt: skip
    parts += [_box(node, *coordinates[node.name]) for node in shown]
    parts.append("</svg>")
    if len(nodes) > len(shown):
        parts.append(f'<p class="dim">{len(nodes) - len(shown)} more values are not drawn.</p>')
    return Markup("".join(parts))


def _ranks(nodes: Sequence[Node]) -> dict[str, int]:
    """How far down each value is: below everything it is made from; inputs just above use."""
    ranks: dict[str, int] = {}
    for node in nodes:
        above = [ranks[one] for one in node.inputs if one in ranks]
        ranks[node.name] = max(above) + 1 if above else 0
    first_use: dict[str, int] = {}
    for node in nodes:
        for one in node.inputs:
            first_use[one] = min(first_use.get(one, ranks[node.name]), ranks[node.name])
    for node in nodes:
        if not node.inputs and node.name in first_use:
            ranks[node.name] = first_use[node.name] - 1
    return ranks


def _coordinates(nodes: Sequence[Node], ranks: dict[str, int]) -> dict[str, tuple[float, float]]:
    rows: dict[int, list[Node]] = {}
    for node in nodes:
        rows.setdefault(ranks[node.name], []).append(node)
    centre: dict[str, float] = {}
    coordinates: dict[str, tuple[float, float]] = {}
    widest = max((len(row) for row in rows.values()), default=1)
    for rank in sorted(rows):
        row = rows[rank]
        middle = {
            node.name: _mean([centre[one] for one in node.inputs if one in centre]) for node in row
        }
        row.sort(key=lambda node: middle[node.name])
        left = (widest - len(row)) * (_WIDTH + _GAP_X) / 2
        for i, node in enumerate(row):
            x = _MARGIN + left + i * (_WIDTH + _GAP_X)
            centre[node.name] = x
            coordinates[node.name] = (x, _MARGIN + rank * (_HEIGHT + _GAP_Y))
    return coordinates


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _edge(start: tuple[float, float], end: tuple[float, float]) -> str:
    x0, y0 = start[0] + _WIDTH / 2, start[1] + _HEIGHT
    x1, y1 = end[0] + _WIDTH / 2, end[1]
    bend = (y1 - y0) / 2
    return (
        f'<path class="edge" d="M{x0:.0f} {y0:.0f}C{x0:.0f} {y0 + bend:.0f}'
        f' {x1:.0f} {y1 - bend:.0f} {x1:.0f} {y1:.0f}"/>'
    )


def _box(node: Node, x: float, y: float) -> str:
    kind = node.target if node.target in ("input", "output") else "op"
    line = f" line {node.line}" if node.line else ""
    label = _fit(node.target, 20) if kind != "input" else _fit_tail(_short(node.name), 20)
    return (
        f'<g class="node {kind}"><title>{escape(node.name)}: {escape(node.value)}{line}</title>'
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{_WIDTH}" height="{_HEIGHT}" rx="5"/>'
        f'<text x="{x + _WIDTH / 2:.0f}" y="{y + 16:.0f}">{escape(label)}</text>'
        f'<text class="small" x="{x + _WIDTH / 2:.0f}" y="{y + 30:.0f}">'
        f"{escape(_fit(node.value, 26))}</text></g>"
    )


def _short(name: str) -> str:
    """The name of an input without the tables in which modules keep what they hold."""
    return _TABLES.sub("", name).removeprefix("l_")


def _fit(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1] + "…"


def _fit_tail(text: str, size: int) -> str:
    return text if len(text) <= size else "…" + text[-size + 1 :]


def timeline(phases: Sequence[Phase], names: Sequence[str]) -> Markup:
    """Phases of compiling against time, one row per kind of phase."""
    if not phases:
        return Markup("")
    start = min(phase.start for phase in phases)
    end = max(phase.start + phase.seconds for phase in phases)
    span = max(end - start, 1e-9)
    left, width, row = 76, 900, 26
    height = row * len(names) + 24
    parts = [
        f'<svg class="timeline" role="img" viewBox="0 0 {left + width + 8} {height}">'
        "<title>phases of compiling</title>"
    ]
    for i, name in enumerate(names):
        y = i * row
        parts.append(f'<text class="label" x="0" y="{y + 17}">{escape(name)}</text>')
        parts.append(
            f'<line class="rule" x1="{left}" x2="{left + width}" y1="{y + 24}" y2="{y + 24}"/>'
        )
        for phase in phases:
            if phase.name == name:
                x = left + (phase.start - start) / span * width
                wide = max(phase.seconds / span * width, 1.5)
                parts.append(
                    f'<rect class="p{i % 6}" x="{x:.1f}" y="{y + 5}" width="{wide:.1f}" height="16"'
                    f' rx="2"><title>{escape(phase.point)} {escape(name)}'
                    f" {phase.seconds * 1e3:.2f} ms</title></rect>"
                )
    y = height - 6
    parts.append(f'<text class="small start" x="{left}" y="{y}">0</text>')
    parts.append(
        f'<text class="small end" x="{left + width}" y="{y}">{span * 1e3:.1f} ms</text></svg>'
    )
    return Markup("".join(parts))


def share_bar(parts: Sequence[tuple[str, float]], label: str) -> Markup:
    """One bar cut by shares: where the time goes."""
    total = sum(seconds for _, seconds in parts)
    if total <= 0:
        return Markup("")
    out = [f'<div class="bar" role="img" aria-label="{escape(label)}">']
    for i, (name, seconds) in enumerate(parts):
        share = seconds / total * 100
        if share >= 0.1:
            out.append(
                f'<span class="s{i % 6}" style="flex-grow:{share:.2f}"'
                f' title="{escape(name)} {share:.0f}%"></span>'
            )
    out.append("</div>")
    return Markup("".join(out))
