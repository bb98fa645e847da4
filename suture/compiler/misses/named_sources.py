"""Sources that the configuration names, `L['x'], L['layers'].*, L['y']:0`: by their text or by a
regular expression, and with a number behind a colon for a single size of a tensor."""

from __future__ import annotations

import re


def named(entries: str, path: str) -> bool:
    """Whether one of the entries names the source at `path`, with all its sizes."""
    return any(_matches(entry, path) for entry in _split(entries))


def named_sizes(entries: str, path: str, rank: int) -> set[int]:
    """Which of the `rank` sizes of the tensor at `path` the entries name."""
    if not entries:
        return set()
    if named(entries, path):
        return set(range(rank))
    single = (entry.rpartition(":") for entry in _split(entries) if ":" in entry)
    found = {int(dim) for name, _, dim in single if dim.isdigit() and _matches(name, path)}
    return found & set(range(rank))


def _split(entries: str) -> list[str]:
    return [entry for entry in map(str.strip, entries.split(",")) if entry] if entries else []


def _matches(entry: str, path: str) -> bool:
    """A source's own text counts first, whatever it would mean as a pattern."""
    try:
        return entry == path or re.fullmatch(entry, path) is not None
    except re.error:
        return False
