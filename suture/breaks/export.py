"""The registry in the forms that other tools read."""

from __future__ import annotations

import json
import string

from suture.breaks.catalog import entries, family_of
from suture.breaks.registry import BreakType


def export_dynamo() -> dict[str, list[dict[str, object]]]:
    """All entries as TorchDynamo's registry file has them: a list of one record per number.

    Placeholders stay as they are, as they do in that file.
    """
    return {entry.number: [_dynamo_record(entry)] for entry in entries()}


def export_plain() -> list[dict[str, object]]:
    """All entries with everything that is known of them, in the order of the numbers."""
    return [
        {
            "number": entry.number,
            "type": entry.type,
            "title": entry.heading,
            "family": family_of(entry),
            "status": entry.status.value,
            "kind": entry.kind.value if entry.kind else None,
            "fields": list(entry.fields),
            "message": entry.message,
            "context": entry.context,
            "explanation": entry.explanation,
            "hints": list(entry.hints),
            "note": entry.note,
            "leaves": entry.leaves.value,
        }
        for entry in entries()
    ]


def as_json(data: object) -> str:
    """`data` as the text of a file: stable, readable, ending in a newline."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def readable(template: str) -> str:
    """A text of an entry for a reader who has no occurrence of it: fields as `<name>`."""
    parts = []
    for text, field, _, _ in string.Formatter().parse(template):
        parts.append(text)
        if field is not None:
            parts.append(f"<{field}>")
    return "".join(parts)


def _dynamo_record(entry: BreakType) -> dict[str, object]:
    context = "\n".join(filter(None, (entry.message, entry.context)))
    return {
        "Gb_type": entry.type,
        "Context": context,
        "Explanation": entry.explanation,
        "Hints": list(entry.hints),
    }
