"""Looking at what was compiled: variants as source, guards, reasons for compiling again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suture import _core
from suture.compiled_module import compiled_of
from suture.errors import UserError
from suture.runtime import where
from suture.runtime.points import PointData
from suture.runtime.unit import Unit

if TYPE_CHECKING:
    from suture.messages.guard_report import GuardReport


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


def guards(fn: Any, match: str | None = None) -> GuardReport:
    """The guards of a compiled function as text: what can differ between calls, with the line of
    the program that asked for it, then how many guards hold on to what stays.

        print(suture.guards(model))
        print(suture.guards(model, match=r"self\\.layers"))

    With `match`, a regular expression, all guards are shown in whose text it is found. The
    result is a `str` with `entries`: the guards as objects, for programs.
    """
    from suture.messages.guard_report import report  # comes with the compiler

    return report([data for _, data in _points(unit_of(fn)) if data.variants], match)


def recompile_reasons(fn: Any) -> list[str]:
    """Why a compiled function was compiled again, first to last: the guard that failed."""
    return [reason for _, data in _points(unit_of(fn)) for reason in data.reasons]


def _points(unit: Unit) -> list[tuple[Any, PointData]]:
    return [(p, p.data) for p in list(unit.points.values()) if p.data.variants or p.data.reasons]
