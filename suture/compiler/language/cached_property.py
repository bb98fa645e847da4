"""functools.cached_property: what an object computes when it is first asked."""

from __future__ import annotations

import functools
from typing import Any

from suture import _core
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.objects import Lazy
from suture.compiler.outside.tensor_free import is_tensor_free


def fill(trace: Trace, raw: functools.cached_property[Any], obj: Value) -> None:
    """Let Python compute, now, what an object that exists outside is asked for the first time. The
    region then finds it as every later call will, and needs no variant for the first call. Only if
    that can meet no tensor, and the region has changed nothing yet that it might look at."""
    value, name = getattr(obj, "value", None), raw.attrname
    if value is None or obj.source is None or name is None or not _is_first(trace):
        return
    held, parts = _dict_of(value), [Lazy(raw.func, None), Lazy(value, None)]
    if held is None or name in held or not is_tensor_free(parts, arrays=False):
        return
    before = _core.set_hook_active(False)
    try:
        raw.__get__(value, type(value))
    except Exception:
        return  # it is traced, and raises where the program does
    finally:
        _core.set_hook_active(before)


def _dict_of(value: object) -> dict[str, Any] | None:
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return found if type(found) is dict else None


def _is_first(trace: Trace) -> bool:
    """Whether the program is sure to get here, and finds all as it was before the region: nothing
    was changed, drawn or told. Code can look at what it does not name, so any change counts."""
    effects, graph = trace.effects, trace.graph
    waits = effects.calls or trace.numbers.draws or trace.checks or trace.optional
    changed = abstract.has_visible_effects(trace) or graph.writes()
    return not waits and not changed and len(graph.levels.stack) == 1
