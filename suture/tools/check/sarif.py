"""Findings as SARIF 2.1.0, which editors and code hosts read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import quote

from suture.breaks.catalog import lookup
from suture.breaks.export import readable
from suture.messages.source import printable
from suture.messages.texts import address
from suture.tools.check.finding import Finding, Unreadable

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif(findings: Sequence[Finding], unreadable: Iterable[Unreadable] = ()) -> str:
    """The text of a SARIF file with one run."""
    numbers = sorted({one.number for one in findings})
    run = {
        "tool": {
            "driver": {
                "name": "suture",
                "version": _version(),
                "rules": [_rule(number) for number in numbers],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, numbers.index(one.number)) for one in findings],
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [_notification(one) for one in unreadable],
            }
        ],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(number: str) -> dict[str, Any]:
    entry = lookup(number)
    return {
        "id": number,
        "name": _name(entry.heading),
        "shortDescription": {"text": entry.heading},
        "fullDescription": {"text": readable(entry.explanation)},
        "helpUri": address(entry),
        "help": {"text": "\n".join([*map(readable, entry.hints), f"suture break {number}"])},
    }


def _name(heading: str) -> str:
    """A heading as one word, which SARIF wants for a name."""
    words = re.findall(r"[A-Za-z0-9]+", heading)
    return "".join(word[:1].upper() + word[1:] for word in words)


def _version() -> str:
    try:
        return metadata.version("suture")
    except metadata.PackageNotFoundError:
        return "0"


def _result(one: Finding, index: int) -> dict[str, Any]:
    region = {
        "startLine": one.line,
        "startColumn": one.column + 1,
        "endLine": one.end_line,
        "endColumn": one.end_column + 1,
    }
    location = {"artifactLocation": {"uri": _uri(one.file)}, "region": region}
    return {
        "ruleId": one.number,
        "ruleIndex": index,
        "level": one.level,
        "message": {"text": printable(f"{one.message}. {one.hint}")},
        "locations": [{"physicalLocation": location}],
    }


def _notification(one: Unreadable) -> dict[str, Any]:
    location = {"artifactLocation": {"uri": _uri(one.file)}}
    return {
        "level": "error",
        "message": {"text": printable(one.reason)},
        "locations": [{"physicalLocation": location}],
    }


def _uri(file: str) -> str:
    path = Path(file)
    if path.is_absolute():
        try:
            path = path.relative_to(Path.cwd())
        except ValueError:
            return path.as_uri()
    return quote(path.as_posix())
