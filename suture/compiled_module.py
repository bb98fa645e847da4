"""A compiled nn.Module: the same module for the user, with another way of being called.

The compiled object shares the original's `__dict__`, so parameters, buffers, hooks, attributes
and `training` are one and the same; its class is a subclass made for it that differs in
`__call__` and `forward` only and says it is the original class. What libraries look for on a module
that torch.compile made (`_orig_mod`, `dynamo_ctx`) is there too.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from typing import Any

import torch


def compile_module(module: torch.nn.Module, call: Callable[..., Any], again: Any) -> Any:
    """The compiled counterpart of `module`. `call` takes the module and its arguments; `again`
    compiles another module, or a function, the same way."""
    cls = type(module)
    if isinstance(getattr(cls, "_suture_original", None), torch.nn.Module):
        module, cls = cls._suture_original, cls._suture_class
    body = {
        "__call__": types.MethodType(call, module),
        "forward": _Forward(module, again),
        "_orig_mod": property(lambda self: module),
        "_torchdynamo_orig_callable": property(lambda self: module.forward),
        "dynamo_ctx": property(lambda self: again),
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


class _Forward:
    """`forward` of a compiled module: compiled when it is first asked for. As in eager mode it is
    called without the module's hooks. One that is set belongs to the module, as it always did."""

    def __init__(self, module: torch.nn.Module, again: Any) -> None:
        self._module = module
        self._again = again
        self._made: tuple[Any, Any] = (None, None)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        forward = self._module.forward
        known, made = self._made
        if known != forward:
            made = self._again(forward)
            self._made = (forward, made)
        return made

    def __set__(self, instance: Any, value: Any) -> None:
        self._module.__dict__["forward"] = value

    def __delete__(self, instance: Any) -> None:
        try:
            del self._module.__dict__["forward"]
        except KeyError:
            raise AttributeError("forward") from None


def compiled_of(obj: Any) -> Any:
    """The compiled function behind a compiled module or method, or the object itself."""
    found = getattr(type(obj), "_suture_compiled", None)
    if found is not None:
        return found
    return obj.__func__ if isinstance(obj, types.MethodType) else obj
