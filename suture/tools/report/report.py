"""A report: what `model` holds, shown as text or HTML, saved, and read again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suture.events import Node, Where
from suture.tools.report.model import (
    SCHEMA,
    BreakRow,
    Guard,
    Interpretation,
    Phase,
    Recompilation,
    Record,
    Region,
)


class ReportError(ValueError):
    """A file that is no report, or a report of another version."""


@dataclass(slots=True)
class Report(Record):
    """A record that shows itself. What draws it (rich, jinja) is imported when it is shown."""

    def save(self, path: str | Path) -> Path:
        """Write the report to a file: .html for people, .json for `suture diff`."""
        from suture.tools.report.html import render

        target = Path(path)
        kinds = {".html": render, ".htm": render, ".json": Report.to_json}
        make = kinds.get(target.suffix.lower())
        if make is None:
            raise ValueError(f"a report is saved as .html or .json, not {target.name!r}")
        target.write_text(make(self), encoding="utf-8", errors="backslashreplace")
        return target

    def __str__(self) -> str:
        from suture.tools.report.text import plain

        return plain(self)

    def __rich__(self) -> Any:
        from suture.tools.report.text import renderable

        return renderable(self)

    def print(self) -> None:
        """Show the report on standard output, in colour where that is a terminal."""
        from rich.console import Console

        Console(soft_wrap=False).print(self.__rich__())

    def _repr_html_(self) -> str:
        from suture.tools.report.html import fragment

        return fragment(self)


def load(text: str, name: str = "the report") -> Report:
    """The report that `to_json` wrote. ReportError says what is wrong with any other text."""
    try:
        record = json.loads(text)
    except ValueError as error:
        raise ReportError(f"{name} is no JSON: {error}") from None
    if not isinstance(record, dict) or "schema" not in record or "regions" not in record:
        raise ReportError(f"{name} is no report of suture (report.save('x.json') writes one)")
    if record["schema"] != SCHEMA:
        raise ReportError(
            f"{name} has schema {record['schema']!r}; this suture reads schema {SCHEMA}"
        )
    try:
        return _from_record(record)
    except (KeyError, TypeError, AttributeError) as error:
        raise ReportError(f"{name} is damaged: {type(error).__name__}: {error}") from None


def _from_record(record: dict[str, Any]) -> Report:
    made = {key: value for key, value in record.items() if key not in ("schema", "summary")}
    made["regions"] = [_region(one) for one in record["regions"]]
    made["breaks"] = [
        BreakRow(
            **{**one, "where": Where(**one["where"]), "stack": [Where(**w) for w in one["stack"]]}
        )
        for one in record["breaks"]
    ]
    for key, kind in _KINDS:
        rows = record.get(key, ())  # a report of an earlier version may not have it
        made[key] = [kind(**{**one, "where": Where(**one["where"])}) for one in rows]
    made["phases"] = [Phase(**one) for one in record["phases"]]
    return Report(**made)


_KINDS = (
    ("recompilations", Recompilation),
    ("interpreted", Interpretation),
    ("left_to_python", Interpretation),
)


def _region(one: dict[str, Any]) -> Region:
    return Region(
        **{
            **one,
            "where": Where(**one["where"]),
            "lines": [(file, line) for file, line in one["lines"]],
            "graph_lines": [(file, line) for file, line in one["graph_lines"]],
            "nodes": [Node(**{**node, "inputs": tuple(node["inputs"])}) for node in one["nodes"]],
            "guards": [Guard(**guard) for guard in one["guards"]],
        }
    )
