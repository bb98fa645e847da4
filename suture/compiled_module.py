"""A compiled nn.Module: the same module for the user, with another way of being called.

The compiled object shares the original's `__dict__`, so parameters, buffers, hooks, attributes
and `training` are one and the same; its class is a subclass made for it that differs in
`__call__` only and says it is the original class.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from typing import Any

import torch


def compile_module(module: torch.nn.Module, call: Callable[..., Any], again: Any) -> Any:
    """The compiled counterpart of `module`. `call` takes the module and its arguments; `again`
    compiles another module the same way."""
    cls = type(module)
    if isinstance(getattr(cls, "_suture_original", None), torch.nn.Module):
        module, cls = cls._suture_original, cls._suture_class
    body = {
        "__call__": types.MethodType(call, module),
        "__class__": property(lambda self: cls),
        "__reduce_ex__": lambda self, protocol: module.__reduce_ex__(protocol),
        "__deepcopy__": lambda self, memo: again(copy.deepcopy(module, memo)),
        "__copy__": lambda self: again(copy.copy(module)),
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        "_suture_original": module,
        "_suture_class": cls,
        "_suture_compiled": call,
    }
    made_class = types.new_class(cls.__name__, (cls,), {}, lambda namespace: namespace.update(body))
    made = object.__new__(made_class)  # type: ignore[var-annotated]
    object.__setattr__(made, "__dict__", module.__dict__)
    return made


def compiled_of(obj: Any) -> Any:
    """The compiled function behind a compiled module or method, or the object itself."""
    found = getattr(type(obj), "_suture_compiled", None)
    if found is not None:
        return found
    return obj.__func__ if isinstance(obj, types.MethodType) else obj
