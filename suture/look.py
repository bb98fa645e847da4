"""Looking at what was compiled: variants as source, guards as a tree."""

from __future__ import annotations

from typing import Any

from suture import _core
from suture.compiled_module import compiled_of
from suture.dispatch import PointData, Unit
from suture.errors import UserError
from suture.hook import where


def unit_of(fn: Any) -> Unit:
    """The unit of a compiled function, method or module."""
    compiled = compiled_of(fn)
    if not isinstance(compiled, _core.Compiled) or not isinstance(compiled.context, Unit):
        raise UserError(
            f"{fn!r} is not compiled: pass what suture.compile returned, not what it was given"
        )
    return compiled.context


def code(fn: Any) -> str:
    """The variants of a compiled function as readable source, point by point."""
    parts = []
    for _, data in _points(unit_of(fn)):
        function, file, line = where(data.chain)
        for variant in data.variants:
            head = f"# {file}:{line} in {function}, variant {variant.number}"
            if variant.caller is not None:
                head += f"\n# the graph is called {variant.caller.describe()}"
            parts.append(f"{head}\n{variant.source}")
    return "\n".join(parts) if parts else "# nothing has been compiled yet: call it first\n"


def guards(fn: Any) -> str:
    """The guards of a compiled function as a tree, each with the user's line that made it."""
    out: list[str] = []
    for _, data in _points(unit_of(fn)):
        function, file, line = where(data.chain)
        for variant in data.variants:
            out.append(f"{function} ({file}:{line}), variant {variant.number}")
            out += _tree(variant.guards.entries)
    return "\n".join(out) + "\n" if out else "nothing has been compiled yet: call it first\n"


def recompile_reasons(fn: Any) -> list[str]:
    """Why a compiled function was compiled again, first to last: the guard that failed."""
    return [reason for _, data in _points(unit_of(fn)) for reason in data.reasons]


def _points(unit: Unit) -> list[tuple[Any, PointData]]:
    return [(p, p.data) for p in list(unit.points.values()) if p.data.variants or p.data.reasons]


def _tree(entries: list[Any]) -> list[str]:
    """Guards by the place they look at, indented below the place it hangs from."""
    by_path: dict[str, list[Any]] = {}
    for guard in entries:
        path = guard.source.path() if guard.source is not None else "torch"
        by_path.setdefault(path, []).append(guard)
    out = []
    for path, group in by_path.items():
        source = group[0].source
        depth = 0
        while source is not None and source.base is not None:
            depth, source = depth + 1, source.base
        out.append(f"{'  ' * (depth + 1)}{path}")
        for guard in group:
            line = (
                f"  # {guard.where[0].rpartition('/')[2]}:{guard.where[1]}" if guard.where else ""
            )
            out.append(f"{'  ' * (depth + 2)}{guard.text()}{line}")
    return out
