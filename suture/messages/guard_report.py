"""`suture.guards(fn)`: what can differ between calls first, what is pinned by count.

A model has thousands of guards, nearly all of them on things that stay: its layers and parameters,
the functions it calls, torch's state. The few on arguments and numbers are what makes a call
compile again, and those are shown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from suture.compiler.guards.names import called_module, point_location, slot_words, spoken
from suture.messages.guards import line_text
from suture.messages.source import printable
from suture.messages.texts import shorten

_LONGEST = 160
_MOST = 40  # lines of what can differ, for each variant
_VALUES = frozenset({"equals", "int", "float", "bool", "truth", "len", "keys", "tensor", "type"})


@dataclass(frozen=True, slots=True)
class GuardEntry:
    """One guard: what it says in the program's words, its kind, where it was asked for.

    `name` is the source it looks at ("" for torch's state); `pinned` is true where it looks at what
    stays the same from call to call unless the program replaces it: code, layers, parameters,
    torch's state. `variant` is the number of its variant, `function` that variant's function.
    """

    function: str
    variant: int
    name: str
    kind: str
    text: str
    pinned: bool
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        at = f"    # {self.file.rpartition('/')[2]}:{self.line}" if self.line else ""
        text = self.text if len(self.text) <= _LONGEST else self.text[: _LONGEST - 3] + "..."
        return text + at


class GuardReport(str):
    """The guards of a compiled function as text; `entries` has them as objects."""

    entries: tuple[GuardEntry, ...]

    def __new__(cls, text: str, entries: Sequence[GuardEntry]) -> GuardReport:
        made = super().__new__(cls, text)
        made.entries = tuple(entries)
        return made


def report(points: Sequence[Any], match: str | None = None) -> GuardReport:
    """The guards of these points' variants. `match` is a regular expression: only the guards whose
    text it is found in, all of them."""
    wanted = None if match is None else re.compile(match)
    blocks: list[str] = []
    found: list[GuardEntry] = []
    for data in points:
        for variant in data.variants:
            entries = _entries(data, variant)
            if wanted is not None:
                entries = [one for one in entries if wanted.search(one.text)]
            found += entries
            if entries or wanted is None:
                blocks.append("\n".join(_block(data, variant, entries, wanted is not None)))
    if blocks:
        return GuardReport("\n".join(blocks) + "\n", found)
    nothing = "nothing has been compiled yet: call it first\n"
    return GuardReport(nothing if wanted is None else f"no guard matches {match!r}\n", found)


def _entries(data: Any, variant: Any) -> list[GuardEntry]:
    slots = slot_words(data.chain)
    owner = _owner(variant.guards.entries)
    module = called_module(data.chain, owner)
    function = point_location(data.chain, owner).function
    out = []
    held = {id(g.source) for g in variant.guards.entries if g.kind in ("is", "weak")}
    for guard in variant.guards.entries:
        pinned = _pinned(guard) or (guard.kind == "type" and id(guard.source) in held)
        name = "" if guard.source is None else spoken(guard.source.path(), slots, module)
        text = printable(spoken(line_text(guard), slots, module))
        file, line = guard.where or ("", 0)
        out.append(GuardEntry(function, variant.number, name, guard.kind, text, pinned, file, line))
    return out


def _owner(entries: Sequence[Any]) -> type | None:
    """The class of self, where a guard tests it."""
    for guard in entries:
        source = guard.source
        if guard.kind == "type" and source.kind == "slot" and source.name == "self":
            kind: type = guard.arg
            return kind
    return None


def _pinned(guard: Any) -> bool:
    """Whether a guard looks at what stays from call to call."""
    if guard.kind in ("expr", "expr_py"):
        return False
    if guard.source is None or guard.kind not in _VALUES:
        return True
    kinds, at = [], guard.source
    while at is not None:
        if at.kind in ("default", "kwdefault"):
            return True  # of a parameter: part of the function
        kinds.append(at.kind)
        at = at.base
    root = guard.source.root()
    if root.kind == "const":
        return guard.kind != "equals" or _is_library(root.name)
    if "dict" in kinds or "mro_attr" in kinds:  # below an object: its numbers count, its form stays
        return guard.kind != "equals" or guard.arg is None
    return False


def _is_library(name: str) -> bool:
    return name.partition(".")[0] in ("torch", "builtins") or name[:1].isupper()


def _block(data: Any, variant: Any, entries: list[GuardEntry], everything: bool) -> list[str]:
    at = point_location(data.chain, _owner(variant.guards.entries))
    count = f"{len(entries)} guard{'s' * (len(entries) != 1)}"
    head = f"{at.function} ({shorten(at.file)}:{at.line}), variant {variant.number}: "
    if everything:
        return [f"{head}{count} match" + "es" * (len(entries) == 1), *(f"  {e}" for e in entries)]
    out = [f"{head}{count}"]
    free = [one for one in entries if not one.pinned]
    known = {one.name for one in free if one.kind != "type"}
    free = [one for one in free if one.kind != "type" or one.name not in known]
    if free:
        out.append("  can differ between calls")
        out += [f"    {one}" for one in free[:_MOST]]
        if len(free) > _MOST:
            out.append(f"    and {len(free) - _MOST} more")
    pinned = Counter(_group(one) for one in entries if one.pinned)
    if pinned:
        shown = ", ".join(f"{name} {count}" for name, count in pinned.most_common(8))
        rest = sum(pinned.values()) - sum(count for _, count in pinned.most_common(8))
        out.append(
            f"  pinned: {sum(pinned.values())} ({shown}{f', others {rest}' if rest else ''})"
        )
        name = next((one for one, _ in pinned.most_common() if one.isidentifier()), "torch")
        out.append(
            f'  guards(fn, match="{name}") shows those that name {name}; match="" all of them'
        )
    return out


def _group(one: GuardEntry) -> str:
    """What a guard that is pinned belongs to: the first part of the source's name."""
    if not one.name:
        return "torch's state" if one.kind == "torch_state" else "distinct objects"
    found = re.match(r"[\w ]+|<[^>]*>", re.sub(r"^type\(", "", one.name))
    return found.group() if found else one.name
