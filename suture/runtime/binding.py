"""A variant for any module of a kind, bound to one of them.

A variant whose module is an argument checks and reads every parameter at each call. A module that
comes in again gets a copy of the variant which holds its parameters, and whose guards require just
this module, so that the core checks its state by what changes when it changes. Nothing is traced
or compiled for that.
"""

from __future__ import annotations

import functools
import types
import weakref
from typing import Any

from suture._core import Point
from suture.runtime.guards import Guards, finish
from suture.runtime.parameters import PARAMETERS
from suture.runtime.points import try_remove

MOST = 32  # modules that one variant is bound to; more of them share the variant itself


def follow(point: Point, variant: Any) -> None:
    """Bind the variant to modules that come in again, if it reads the parameters of any."""
    reader = variant.parameters
    if reader is None:
        return
    ref = weakref.ref(point)
    own = weakref.ref(variant)

    def bind(modules: tuple[Any, ...], tensors: tuple[Any, ...]) -> None:
        at, general = ref(), own()
        if at is not None and general is not None and len(general.bound) < MOST:
            _bind(at, general, modules, tensors)

    reader.bind = bind


def _bind(point: Point, variant: Any, modules: tuple[Any, ...], tensors: tuple[Any, ...]) -> None:
    reader = variant.parameters
    program = finish(_narrowed(variant.guards, reader, modules, tensors))
    function = copy_function(variant.function, _read_already)
    graph = function.__globals__["graph"]
    function.__globals__["graph"] = functools.partial(graph, *tensors)
    variant.bound.append(function)
    point.add(function, program, variant.general)
    ref, own = weakref.ref(point), weakref.ref(variant)

    def forget() -> None:
        at, general = ref(), own()
        if at is not None and general is not None and try_remove(general.bound, function):
            try_remove(at, function)

    if variant not in point.data.variants:  # another thread has dropped it meanwhile
        try_remove(point, function)
        return
    for module in modules:
        weakref.finalize(module, forget).atexit = False


def _narrowed(guards: Guards, reader: Any, modules: Any, tensors: Any) -> Guards:
    """The guards of a variant, and that the modules and their tensors are these."""
    made = Guards()
    for owner, module in zip(reader.owners, modules):
        made.add(owner, "weak", module)
    for guard in guards.entries:
        arg = guard.arg() if guard.kind == "weak" else guard.arg
        made.add(guard.source, guard.kind, arg)
    for source, tensor in zip(reader.sources, tensors):
        made.add(source, "is", tensor)
    return made


def _read_already(*modules: Any) -> tuple[()]:
    """Stands for the reader of parameters in a bound copy, whose graph has them."""
    return ()


def copy_function(function: Any, reader: Any) -> Any:
    """The same variant with another reader of parameters."""
    namespace = {**function.__globals__, PARAMETERS: reader}
    return types.FunctionType(function.__code__, namespace, function.__name__)
