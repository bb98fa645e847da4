"""Models: what a call does, for the callables that are neither traced nor nodes of the graph.

There is one decorator and one table. What `handles` is given says what the model is found by, and
what it takes:

    len, any callable       this very object                         trace, args, kwargs
    a code object           every function with this code            trace, function, args, kwargs
    "graph_break", a name   every callable that a rule gives it to   trace, callable, args, kwargs
    "Tensor.backward"       this method of tensors                   trace, tensor, args, kwargs

args and kwargs are abstract values, and so is the result. Files with models are found
(`compiler/rooms.py`). Methods of Python's own types are with the type (`objects/methods.py`).
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any, TypeVar

from suture.compiler.core import Value
from suture.torch_private.replaced import is_replaced

Handler = Callable[..., Value]
H = TypeVar("H", bound=Handler)

# By id, or by name; the object is kept so that its id stays its own.
_MODELS: dict[int | str, tuple[object, Handler]] = {}


def handles(*targets: Any) -> Callable[[H], H]:
    """Register the decorated function as the model of these callables, codes or names."""

    def register(fn: H) -> H:
        for target in targets:
            if str(getattr(target, "__module__", None)).startswith("torch") and is_replaced(target):
                continue
            key = target if isinstance(target, str) else id(target)
            if key in _MODELS:
                raise KeyError(f"{target!r} has a model already: {_MODELS[key][1].__qualname__}")
            _check_parameters(target, fn)
            _MODELS[key] = (target, fn)
        return fn

    return register


def _check_parameters(target: object, fn: Handler) -> None:
    """A model that takes other things than its target says would fail at the first call only."""
    if not isinstance(fn, types.FunctionType):
        return
    given = fn.__code__.co_argcount - len(fn.__defaults__ or ())
    wanted = 4 if isinstance(target, (str, types.CodeType)) else 3
    if given != wanted:
        raise TypeError(f"the model of {target!r} takes {wanted} arguments, not {given}")


def model_of(target: object) -> Handler | None:
    """The model of this very callable, or of the functions with this code; None if it has none."""
    found = _MODELS.get(id(target))
    return found[1] if found is not None else None


def model_named(name: str) -> Handler | None:
    """The model that a rule's verdict names, or None."""
    found = _MODELS.get(name)
    return found[1] if found is not None else None


def names() -> list[str]:
    """The names that have a model."""
    return [key for key in _MODELS if isinstance(key, str)]
