"""Why a variant did not fit, in the user's terms: `L['x'].size(0) == 4: was 4, is 7`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from suture.runtime.sources import Source

_FACT = re.compile(r"^([\w.]+(?:\(\d*\))?) was (.*), is (.*)$", re.S)
_VALUES = re.compile(r"^does not hold for \((.*?),?\)$")


def reason(guard: Any, found: str) -> str:
    """The guard that failed and what was found instead. `found` is what the core says of it."""
    if guard.kind == "tensor":
        fact = _FACT.match(found)
        if fact is not None:
            return _tensor(guard.source.path(), *fact.groups())
    if guard.kind in ("expr", "expr_py"):
        return f"{guard.text()}: {_numbers(guard, found)}"
    return f"{guard.text()}: {found}"


def _tensor(path: str, what: str, was: str, now: str) -> str:
    if what == "type":
        return f"type({path}) is {was}: was {was}, is {now}"
    return f"{path}.{what} == {was}: was {was}, is {now}"


def _numbers(guard: Any, found: str) -> str:
    """`is 7`, or `L['x'].size(0) is 7, L['y'].size(0) is 8` where more than one number counts."""
    values = _VALUES.match(found)
    if values is None:
        return found
    numbers = [v.strip() for v in values.group(1).split(",")]
    symbols = guard.arg[0]
    if len(numbers) != len(symbols):
        return found
    if len(numbers) == 1:
        return f"is {numbers[0]}"
    return ", ".join(f"{_number_text(*s)} is {n}" for s, n in zip(symbols, numbers))


def _number_text(source: Source, kind: str, dim: int) -> str:
    path = source.path()
    return path if kind in ("int", "float") else f"{path}.{kind}({dim})"


def most_frequent(reasons: Iterable[str]) -> str:
    """Of many reasons the newest of those whose guard failed most often; numbers do not count."""
    kept = list(reasons)
    counts = Counter(_kind(r) for r in kept)
    if not counts:
        return ""
    top = max(counts.values())
    return next(r for r in reversed(kept) if counts[_kind(r)] == top)


def _kind(text: str) -> str:
    return re.sub(r" (==|is|>=|<=|>|<|!=) .*", "", text.partition(": ")[0], flags=re.S)


def once_each(reasons: Iterable[str]) -> list[str]:
    """Reasons of several variants, newest first: each guard once, with how many fail it."""
    groups: dict[str, list[str]] = {}
    for one in reasons:
        groups.setdefault(_kind(one), []).append(one)
    return [
        same[0] + (f" (as do {len(same) - 1} older)" if len(same) > 1 else "")
        for same in groups.values()
    ]
