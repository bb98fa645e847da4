"""What the static look found: plain data."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any

from suture.breaks import Break
from suture.breaks.catalog import lookup
from suture.breaks.registry import Kind

_IGNORE = re.compile(r"#\s*suture:\s*ignore(?:\[([^\]]*)\])?")


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A location that will break. Lines count from 1, columns (characters) from 0."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    number: str
    type: str
    message: str
    hint: str
    function: str = ""
    level: str = "warning"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file that could not be looked at, and why."""

    file: str
    line: int
    reason: str


Location = tuple[int, int, int, int]


def make(
    number: str, file: str, location: Location, function: str, fields: dict[str, str]
) -> Finding:
    """A finding at `location` (line, column, end line, end column) with the registry's texts.

    `fields` fills what the entry's texts leave open; what it does not name is filled with "it".
    """
    entry = lookup(number)
    reason = Break(entry, **{name: fields.get(name, "it") for name in entry.fields})
    level = "note" if entry.kind is Kind.BY_REQUEST else "warning"
    line, column, end_line, end_column = location
    return Finding(
        file,
        line,
        column,
        end_line,
        end_column,
        number,
        entry.type,
        reason.message(),
        reason.hints()[0],
        function,
        level,
    )


def ignored(finding: Finding, lines: list[str]) -> bool:
    """Whether a comment on one of the finding's lines says to ignore its number, or all."""
    for line in lines[finding.line - 1 : finding.end_line]:
        found = _IGNORE.search(line)
        if found is not None:
            names = found.group(1)
            if names is None or finding.number in names.upper().replace(",", " ").split():
                return True
    return False
