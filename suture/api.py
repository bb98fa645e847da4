"""compile(): from what a user hands in to something to call."""

from __future__ import annotations

import functools
import types
from typing import Any

import torch

from suture import _core, backends
from suture.calls.tensors import configure_core
from suture.dispatch import Unit
from suture.dispatch.unit import ALL, Options
from suture.hook import entry_chain
from suture.pipeline import compile_point

configure_core()


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
    ALL.add(unit)
    point = unit.point(entry_chain(fn.__code__))
    return _core.Compiled(fn, point, unit)
