"""functools.cached_property: what an object computes when it is first asked."""

from __future__ import annotations

import functools
from typing import Any

from suture import _core
from suture.compiler.core import Trace, Value
from suture.compiler.objects import Lazy
from suture.compiler.outside.tensor_free import reached_without_tensors


def fill(trace: Trace, raw: functools.cached_property[Any], obj: Value) -> None:
    """Let Python compute, now, what an object that exists outside is asked for the first time. The
    region then finds it as every later call will, and needs no variant for the first call. Only if
    that can meet no tensor, and nothing it may look at has been changed by the region."""
    value, name = getattr(obj, "value", None), raw.attrname
    if value is None or obj.source is None or name is None or not _is_certain(trace):
        return
    held = _dict_of(value)
    if held is None or name in held or not _is_unchanged(trace, raw.func, value):
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


def _is_certain(trace: Trace) -> bool:
    """Whether the program is sure to get here, with nothing drawn or told before."""
    effects = trace.effects
    waits = effects.globals or effects.calls or trace.numbers.draws or trace.checks
    waits = waits or trace.optional
    return not waits and len(trace.graph.levels.stack) == 1


def _is_unchanged(trace: Trace, function: object, value: Value) -> bool:
    """Whether all that the function can look at is no tensor, and as it was before the region."""
    seen = reached_without_tensors([Lazy(function, None), Lazy(value, None)])
    if seen is None:
        return False
    changed = [v for v in trace.effects.touched.values() if v.source is not None]
    reals = [getattr(v, "value", None) for v in changed]
    ids = {id(v) for v in seen}
    return all(real is not None and id(real) not in ids for real in reals)
