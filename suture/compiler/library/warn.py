"""warnings.warn: deferred to the end of the region, and given as from the line of the call.

Python shows a warning once per line, in a registry that the module of that line holds; so the
frames that were traced say where it comes from. A warning that would raise is left to Python, and
a guard lets the variant run only as long as it would not.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

from suture.breaks import Break
from suture.compiler import abstract
from suture.compiler.calls import unmodelled
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Cell, Class, Constant, List, Tuple
from suture.rules import lookup
from suture.runtime import is_variant


class DeferredWarning:
    """One warning, with its location. Called, it is given."""

    __name__ = "warn"

    def __init__(self, text: str, category: type[Warning], location: Any) -> None:
        self.text = text
        self.category = category
        self.location = location

    def __call__(self) -> None:
        file, line, space = self._where()
        registry = space.setdefault("__warningregistry__", {})
        module = str(space.get("__name__") or "<string>")
        warnings.warn_explicit(self.text, self.category, file, line, module, registry)

    def _where(self) -> tuple[str, int, dict[str, Any]]:
        """File, line and globals of the location; a number of callers of the region, if outside."""
        if not isinstance(self.location, int):
            known: tuple[str, int, dict[str, Any]] = self.location
            return known
        frame, up = sys._getframe(1), self.location
        while frame.f_back is not None and (up > 1 or _is_ours(frame)):
            up -= not _is_ours(frame)
            frame = frame.f_back
        return frame.f_code.co_filename, frame.f_lineno, frame.f_globals

    def raises(self) -> bool:
        """Whether the filters make it an exception."""
        _, line, space = self._where()
        name = str(space.get("__name__") or "<string>")
        for action, message, category, module, number in warnings.filters:
            if (
                _matches(message, self.text)
                and issubclass(self.category, category)
                and _matches(module, name)
                and number in (0, line)
            ):
                return action == "error"
        return bool(warnings.defaultaction == "error")  # type: ignore[attr-defined]


def _matches(pattern: Any, text: str) -> bool:
    """Whether a filter's pattern means the text. Those that Python starts with are plain texts."""
    if pattern is None:
        return True
    return bool(pattern == text if type(pattern) is str else pattern.match(text))


@handles("warn")
def _warn(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    given = dict(zip(("message", "category", "stacklevel", "source"), args)) | dict(kwargs)
    if _is_ignored_here(trace, given):
        return Constant(None)
    deferred = _deferred(trace, given)
    if deferred is None or deferred.raises() or _is_recorded_here(trace):
        raise unmodelled.reason(target, lookup(target), args)
    trace.guards.add(None, "torch_state", (deferred.raises, False, "warnings that raise"))
    trace.effects.call(deferred, [], {})
    return Constant(None)


def _category(given: dict[str, Any]) -> type[Warning] | None:
    """The class of the warning, where it is known and one."""
    category = given.get("category", Constant(None))
    if category.is_constant() and category.constant() is None:
        return UserWarning
    kind = category.value if isinstance(category, Class) else None
    return kind if kind is not None and issubclass(kind, Warning) else None


def _is_ignored_here(trace: Trace, given: dict[str, Any]) -> bool:
    """Whether the filter that is asked first is one of the region's own, as simplefilter makes it
    in a block of catch_warnings, and ignores the warning whatever it says. Nothing is left of such
    a warning: it is not even noted as seen."""
    message, kind = given.get("message"), _category(given)
    set_here, filters = trace.effects.load_global(vars(warnings), "filters")
    if not set_here or not isinstance(filters, List) or not filters.items or set(given) - _KNOWN:
        return False
    first = abstract.realize(trace, filters.items[0])
    parts = first.unpacked(trace) if isinstance(first, Tuple) else []
    if kind is None or len(parts) != 5 or message is None or message.python_type() is not str:
        return False
    action, text, category, module, line = parts
    wanted = zip((action, text, module, line), ("ignore", None, None, 0))
    plain = all(part.is_constant() and part.constant() == value for part, value in wanted)
    return plain and isinstance(category, Class) and issubclass(kind, category.value)


def _deferred(trace: Trace, given: dict[str, Any]) -> DeferredWarning | None:
    """The warning, if its text, kind and location are known."""
    kind = _category(given)
    level = given.get("stacklevel", Constant(1))
    if kind is None or set(given) - _KNOWN:
        return None
    try:
        text, depth = (
            abstract.constant_value(trace, given["message"]),
            max(abstract.integer(trace, level), 1),
        )
    except Break:
        return None
    if type(text) is not str:
        return None
    if depth > len(trace.frames):
        return DeferredWarning(text, kind, depth - len(trace.frames))
    frame = trace.frames[-depth]
    line = frame.code.line(frame.ip if depth == 1 else frame.ip - 1)
    return DeferredWarning(text, kind, (frame.code.code.co_filename, line or 0, frame.fn.globals))


def _is_recorded_here(trace: Trace) -> bool:
    """Whether the region has changed what becomes of warnings, or the program records them in a
    list that one of its variables holds: then they cannot wait for the region's end."""
    table = vars(warnings)
    if sys.modules.get("warnings") is not warnings:  # C goes by another copy of the module
        return True
    if any((id(table), name) in trace.effects.globals for name in _KEEPERS):
        return True
    if any(call[0] is _FILTERS_MUTATED for call in trace.effects.calls):
        return True
    kept = getattr(getattr(warnings, "_showwarnmsg_impl", None), "__self__", None)
    if not isinstance(kept, list):
        return False
    held = [v for f in trace.frames for v in (*f.locals, *f.stack)]
    held += [v.contents for v in held if isinstance(v, Cell)]
    return any(getattr(v, "value", None) is kept for v in held) or id(kept) in trace.outside.known


def _is_ours(frame: Any) -> bool:
    """Whether a frame on the stack is suture's own, or a variant."""
    name = frame.f_globals.get("__name__") or ""
    return is_variant(frame.f_code) or name.startswith("suture.")


_KEEPERS = ("_showwarnmsg_impl", "showwarning", "filters")
_FILTERS_MUTATED = getattr(warnings, "_filters_mutated", None)
_KNOWN = {"message", "category", "stacklevel"}
