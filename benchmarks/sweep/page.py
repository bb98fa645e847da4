"""The sweep's HTML page and its summary."""

from __future__ import annotations

import contextlib
import importlib.metadata
import pathlib
import platform
from typing import Any

import jinja2

Rows = dict[tuple[str, str, str], dict[str, Any]]


def write(file: pathlib.Path, rows: Rows) -> None:
    """A page with one table per mode; rows where suture does worse are marked."""
    here = pathlib.Path(__file__).parent
    loader = jinja2.FileSystemLoader(here)
    template = jinja2.Environment(loader=loader, autoescape=True).get_template("page.html.j2")
    tables = [(mode, [_line(rows, mode, n) for n in _names(rows, mode)]) for mode in _modes(rows)]
    file.write_text(template.render(tables=tables, summary=summary(rows), versions=_versions()))


def _versions() -> str:
    """What was measured with what."""
    names = ("suture", "torch", "transformers", "diffusers")
    found = [f"Python {platform.python_version()}"]
    for name in names:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found.append(f"{name} {importlib.metadata.version(name)}")
    return ", ".join(found)


def _modes(rows: Rows) -> list[str]:
    return list(dict.fromkeys(mode for _, mode, _ in rows))


def _names(rows: Rows, mode: str) -> list[str]:
    return list(dict.fromkeys(name for name, m, _ in rows if m == mode))


def _line(rows: Rows, mode: str, name: str) -> dict[str, Any]:
    ours, theirs = rows.get((name, mode, "suture"), {}), rows.get((name, mode, "dynamo"), {})
    return {
        "name": name,
        "ours": ours,
        "theirs": theirs,
        "worse": worse(ours, theirs),
        "notes": [*_notes("", ours), *_notes("torch.compile: ", theirs)],
    }


def _notes(who: str, row: dict[str, Any]) -> list[str]:
    """What a reader may want to know of a row besides its numbers."""
    found = [row[key] for key in ("error",) if row.get(key)]
    found += row.get("wrong", [])[:1]
    if row.get("unstable") and row.get("wrong"):
        found.append(f"eager differs from itself: {row['unstable']}")
    found += row.get("reasons", []) + row.get("interpreted", [])
    return [who + text for text in found]


def worse(ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    """In what the row falls short: of eager, or of torch.compile."""
    if ours.get("status") != "ok":
        return [str(ours.get("status", "not run"))]
    found = []
    if ours["given_up"]:
        found.append("a frame was interpreted")
    if theirs.get("status") in ("ok", "wrong"):
        if ours["graphs"] > theirs["graphs"]:
            found.append("more graphs")
        if ours["captured"] < theirs["captured"] - 1e-4:
            found.append("less captured")
    return found


def short_of_eager(rows: Rows) -> list[str]:
    """The models that suture did not run as eager does, or only by leaving frames to Python."""
    return [
        f"{name} ({mode})"
        for (name, mode, frontend), row in rows.items()
        if frontend == "suture" and (row["status"] != "ok" or row["given_up"])
    ]


def summary(rows: Rows) -> list[str]:
    """One line of totals per mode."""
    out = []
    for mode in _modes(rows):
        lines = [_line(rows, mode, name) for name in _names(rows, mode)]
        ran = [line for line in lines if line["ours"].get("status") == "ok"]
        both = [line for line in ran if "graphs" in line["theirs"]]
        broken = [line for line in both if line["theirs"]["graphs"] > 1 or line["theirs"]["breaks"]]
        fewer = sum(line["ours"]["graphs"] < line["theirs"]["graphs"] for line in broken)
        captured = sum(line["ours"]["captured"] for line in ran) / max(1, len(ran))
        spent = [sum(line[k]["first_call_s"] for line in both) for k in ("ours", "theirs")]
        ratio = f"{spent[0] / spent[1]:.2f}" if spent[1] else "-"
        out.append(
            f"{mode}: {len(ran)} of {len(lines)} equal to eager,"
            f" {sum(bool(line['ours']['given_up']) for line in ran)} given up,"
            f" {sum(line['ours']['graphs'] == 1 for line in ran)} in one graph;"
            f" captured {captured:.4f}; fewer graphs on {fewer} of the {len(broken)} that"
            f" torch.compile breaks; worse on {sum(bool(line['worse']) for line in lines)};"
            f" first calls {ratio} of torch.compile's"
        )
    return out
