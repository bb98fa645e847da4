"""compile(): from what a user hands in to something to call."""

from __future__ import annotations

import functools
import types
from typing import Any

import torch

from suture import _core, backends, rules
from suture.calls.tensors import configure_core
from suture.dispatch import Options, Stats, Unit
from suture.dispatch import stats as stats_
from suture.dispatch.unit import ALL
from suture.pipeline import compile_point

configure_core()


def _offer(code: Any, function: Any) -> Any:
    """A frame starts below compiled code: compile it too, if the rules would inline it."""
    unit = _core.current_context()
    if unit is None or not isinstance(function, types.FunctionType):
        return None
    if str(function.__module__).partition(".")[0] in _NEVER_OFFERED:
        return None
    if rules.lookup_frame(code, function.__globals__).kind is not rules.INLINE:
        return None
    if rules.lookup(function).kind is not rules.INLINE:
        return None
    return unit.entry(code)


# Code that is traced when a user's function calls it, but never compiled on its own.
_NEVER_OFFERED = frozenset({"torch", "suture"})
_core.set_frame_callback(_offer)


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
) -> Any:
    """Compile a function, a method, a callable object or an nn.Module."""
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
            options=options, name=name, disable=disable, recompile_limit=recompile_limit,
            isolate_recompiles=isolate_recompiles,
        )
    if disable:
        return model
    made = backends.configure(backend, mode=mode, options=options, dynamic=dynamic, name=name)
    settings = Options(made, fullgraph, dynamic, recompile_limit, name)
    if isinstance(model, torch.nn.Module):
        fn = compile_function(type(model).__call__, settings)
        return types.MethodType(fn, model)
    if isinstance(model, types.MethodType):
        return types.MethodType(compile_function(model.__func__, settings), model.__self__)
    return compile_function(model, settings)


def compile_function(fn: Any, settings: Options) -> Any:
    unit = Unit(settings, compile_point)
    return _core.Compiled(fn, unit.entry(fn.__code__), unit)


def reset() -> None:
    """Forget everything compiled, and start counting anew."""
    for unit in list(ALL):
        unit.clear()
    stats_.COLLECTOR.clear()
    rules.clear_cache()


def stats() -> Stats:
    """What happened since the last reset."""
    points = sum(1 for unit in ALL for p in unit.points.values() if p.data.variants)
    return stats_.stats(points)
