"""What changed between two reports: breaks, graphs, guards, recompilations.

Things are the same if they are on the same text of the same function, whatever line that is now:
an edit above them is no change.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from rich.text import Text

from suture.tools.report.model import BreakRow, Record


@dataclass(slots=True)
class Diff:
    """`gone`, `new`: one text each, for breaks, guards, recompilations, interpreted frames.
    `numbers`: (what, before, after) for the sums that differ."""

    gone: dict[str, list[str]] = field(default_factory=dict)
    new: dict[str, list[str]] = field(default_factory=dict)
    numbers: list[tuple[str, Any, Any]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.gone or self.new or self.numbers)

    def worse(self) -> bool:
        """Whether something appeared that a report would rather not have."""
        return any(self.new.get(kind) for kind in ("breaks", "recompilations", "interpreted"))

    def as_dict(self) -> dict[str, Any]:
        numbers = {name: {"before": old, "after": new} for name, old, new in self.numbers}
        return {"gone": self.gone, "new": self.new, "numbers": numbers, "worse": self.worse()}

    def __rich__(self) -> Text:
        if not self:
            return Text("no difference")
        text = Text()
        for name, old, new in self.numbers:
            text.append(f"  {name}: {old} -> {new}\n")
        for sign, style, table in (("-", "green", self.gone), ("+", "red", self.new)):
            for kind, rows in table.items():
                for row in rows:
                    text.append(f"{sign} {kind}: {row}\n", style=style if kind != "guards" else "")
        text.rstrip()
        return text


def diff(before: Record, after: Record) -> Diff:
    """What is gone and what is new in `after`."""
    out = Diff()
    earlier, later = counted(before), counted(after)
    tables = {kind: (earlier[kind], later[kind]) for kind in earlier}
    tables["guards"] = _common(_guards(before), _guards(after))
    for kind, (old, new) in tables.items():
        if gone := list((old - new).elements()):
            out.gone[kind] = gone
        if fresh := list((new - old).elements()):
            out.new[kind] = fresh
    for name in ("graphs", "ops"):
        one, other = getattr(before, name), getattr(after, name)
        if one != other:
            out.numbers.append((name, one, other))
    shares = [f"{report.captured_fraction():.0%}" for report in (before, after)]
    if shares[0] != shares[1]:
        out.numbers.append(("captured", shares[0], shares[1]))
    return out


def counted(report: Record) -> dict[str, Counter[str]]:
    """How often each break, recompilation and interpreted frame came, by what a person would call
    the same one."""
    return {
        "breaks": _breaks(report),
        "recompilations": _reasons(report),
        "interpreted": _interpreted(report),
    }


def key(row: BreakRow) -> str:
    """A break by what a person would call the same break."""
    source = f": {row.source}" if row.source else ""
    return f"{row.number} {row.type} in {row.where.function}{source}"


def steady(text: str) -> str:
    """A text without what differs from one run of a program to the next: addresses, clocks and
    other long numbers, and the order in which a set is printed."""
    text = _SET.sub(lambda found: "{" + ", ".join(sorted(found.group(1).split(", "))) + "}", text)
    return _LONG.sub("#", _ADDRESS.sub("", text))


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_LONG = re.compile(r"\b\d{9,}(?:\.\d+)?\b|\b\d+\.\d{6,}(?:e-?\d+)?\b|\b0x[0-9a-f]{6,}\b")
_SET = re.compile(r"\{([^{}:]*)\}")


def _breaks(report: Record) -> Counter[str]:
    return Counter(key(row) for row in report.breaks)


def _reasons(report: Record) -> Counter[str]:
    return Counter(
        f"{row.where.function}: {steady(reason)}"
        for row in report.recompilations
        for reason in row.reasons
    )


def _interpreted(report: Record) -> Counter[str]:
    return Counter(
        f"{row.where.function}: {row.reason.partition(':')[0]}" for row in report.interpreted
    )


def _guards(report: Record) -> Counter[str]:
    """Guards, once per function; torch's state is in every region."""
    found: Counter[str] = Counter()
    for region in report.regions:
        for guard in region.guards:
            if guard.text.startswith("torch state: "):
                continue
            found[f"{region.where.function}: {steady(guard.text)}"] = 1
    return found


def _common(old: Counter[str], new: Counter[str]) -> tuple[Counter[str], Counter[str]]:
    """Only guards of functions that both have: those of a new function say nothing."""
    both = _functions(old) & _functions(new)
    return (
        Counter({text: 1 for text in old if text.partition(":")[0] in both}),
        Counter({text: 1 for text in new if text.partition(":")[0] in both}),
    )


def _functions(guards: Counter[str]) -> set[str]:
    return {text.partition(":")[0] for text in guards}
