"""The guards of a variant for people: one tree, by where the values are found.

2 guards, checked in 0.39 µs
├─ L['x']: Tensor float32[3] cpu, stride [1]    # model.py:7
├─ L['self'].scale == 2.0    # model.py:9
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from suture.messages.source import printable

_LONGEST = 200
_STEP = re.compile(r"\.[A-Za-z_]\w*|\[[^\[\]]*\]")
_ROOT = re.compile(r"[A-Za-z_][\w.]*(?:\[[^\[\]]*\])?")


def texts(guards: Any) -> tuple[str, ...]:
    """Each guard as one printable line."""
    return tuple(_short(printable(line_text(guard))) for guard in guards.entries)


def line_text(guard: Any) -> str:
    """A guard in words; a container that must stay the same one is not spelled out."""
    if guard.kind == "is" and isinstance(guard.arg, (dict, list, set)):
        return f"{guard.source.path()} is the same {type(guard.arg).__name__}"
    if guard.kind == "tensor":
        return f"{guard.source.path()}: {guard.arg}"
    return str(guard.text())


def locations(guards: Any) -> tuple[tuple[str, int], ...]:
    """For each guard the (file, line) that asked for it; ("", 0) where none did."""
    return tuple(guard.where or ("", 0) for guard in guards.entries)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def tree(guards: Sequence[str], lines: Sequence[tuple[str, int]], seconds: float = 0.0) -> str:
    """The guards as a tree. torch's global state, which every variant depends on, is one line."""
    state = [g for g in guards if g.startswith("torch state: ")]
    rest = [(g, at) for g, at in zip(guards, lines) if not g.startswith("torch state: ")]
    took = f", checked in {seconds * 1e6:.2f} µs" if seconds else ""
    out = [f"{len(guards)} guard{'s' * (len(guards) != 1)}{took}"]
    root: dict[str, Any] = {}
    for text, at in rest:
        _insert(root, steps(text), text, at)
    _draw(root, "", out)
    if state:
        shown = ", ".join(g.removeprefix("torch state: ").replace(" == ", "=") for g in state)
        out.append(f"└─ torch state: {shown}")
    return "\n".join(out)


def steps(text: str) -> list[str]:
    """The path that a guard speaks of, taken apart at its attributes and items."""
    body = re.sub(r"^(type|len|list|not hasattr)\(", "", text)
    start = body.find(" in ") + 4 if body.startswith("'") else 0  # 'key' not in path
    found = _ROOT.search(body, start)
    if found is None:
        return [text]
    path = [found.group()]
    at = found.end()
    while (step := _STEP.match(body, at)) is not None:
        path.append(step.group())
        at = step.end()
    return path


def _insert(node: dict[str, Any], path: list[str], text: str, at: tuple[str, int]) -> None:
    for step in path:
        node = node.setdefault(step, {})
    node.setdefault("", []).append((text, at))


def _draw(node: dict[str, Any], indent: str, out: list[str]) -> None:
    for step, below in node.items():
        if step == "":
            continue
        checks = [f"{text}{_at(file, line)}" for text, (file, line) in below.get("", [])]
        if len(checks) == 1 and len(below) == 1:
            out.append(f"{indent}├─ {checks[0]}")
            continue
        out.append(f"{indent}├─ {step}")
        out += [f"{indent}│  ├─ {check}" for check in checks]
        _draw(below, indent + "│  ", out)


def _at(file: str, line: int) -> str:
    return f"    # {file.rpartition('/')[2]}:{line}" if line else ""
