"""copy.copy and copy.deepcopy over the types that programs keep around tensors.

The originals are Python too, but go through `__reduce_ex__`, which is in C. Objects that copy
themselves (`__copy__`, `__deepcopy__`: tensors and modules among them) are asked; plain objects
are made anew and get their attributes; what has a reduction of its own is handed to it. A deep copy
that breaks somewhere inside is left to Python as a whole: its rest would know each object that it
met by a number, and none of them by its form.
"""

from __future__ import annotations

import copy
import copyreg
import types
import weakref
from collections.abc import Callable
from typing import Any

from suture.rules.substitutes import substitute

_ATOMIC = (
    type(None), int, float, bool, complex, str, bytes, type, range, property,
    type(Ellipsis), type(NotImplemented), types.FunctionType, types.BuiltinFunctionType,
    types.CodeType, weakref.ref,
)  # fmt: skip
_MISSING = object()


@substitute(copy.copy)
def shallow(x: Any) -> Any:
    cls = type(x)
    if cls in _ATOMIC or cls in (tuple, frozenset, slice):
        return x
    if cls in (list, dict, set, bytearray):
        return x.copy()
    if issubclass(cls, type):
        return x
    method = getattr(cls, "__copy__", None)
    if method is not None:
        return method(x)
    return _anew(x, None)


@substitute(copy.deepcopy, whole=True)
def deep(x: Any, memo: dict[int, Any] | None = None, _nil: Any = _MISSING) -> Any:
    """`memo` maps the id of each object that was met to its copy, and keeps the objects alive."""
    cls = type(x)
    if cls in _ATOMIC:
        return x
    if memo is None:
        memo = {}
    key = id(x)
    known = memo.get(key, _MISSING)
    if known is not _MISSING:
        return known
    made = _deep_new(x, cls, memo)
    if made is not x:
        memo[key] = made
        memo.setdefault(id(memo), []).append(x)
    return made


def _deep_new(x: Any, cls: type, memo: dict[int, Any]) -> Any:
    special = _CONTAINERS.get(cls)
    if special is not None:
        return special(x, memo)
    if issubclass(cls, type):
        return x
    method = getattr(x, "__deepcopy__", None)
    if method is not None:
        return method(memo)
    return _anew(x, memo)


def _deep_list(x: list[Any], memo: dict[int, Any]) -> list[Any]:
    made: list[Any] = []
    memo[id(x)] = made
    for item in x:
        made.append(deep(item, memo))
    return made


def _deep_dict(x: dict[Any, Any], memo: dict[int, Any]) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    memo[id(x)] = made
    for key, value in x.items():
        made[deep(key, memo)] = deep(value, memo)
    return made


def _deep_tuple(x: tuple[Any, ...], memo: dict[int, Any]) -> tuple[Any, ...]:
    items = [deep(item, memo) for item in x]
    known = memo.get(id(x), _MISSING)
    if known is not _MISSING:
        return known  # x holds itself, through something that changes
    for before, after in zip(x, items):
        if before is not after:
            return tuple(items)
    return x


def _deep_set(x: set[Any], memo: dict[int, Any]) -> set[Any]:
    made: set[Any] = set()
    memo[id(x)] = made
    for item in x:
        made.add(deep(item, memo))
    return made


def _deep_method(x: types.MethodType, memo: dict[int, Any]) -> types.MethodType:
    return types.MethodType(x.__func__, deep(x.__self__, memo))


_CONTAINERS: dict[type, Callable[[Any, dict[int, Any]], Any]] = {
    list: _deep_list,
    dict: _deep_dict,
    tuple: _deep_tuple,
    set: _deep_set,
    types.MethodType: _deep_method,
}


def _anew(x: Any, memo: dict[int, Any] | None) -> Any:
    """A copy of an object without `__copy__`: deep if `memo` is given."""
    cls: Any = type(x)
    reductor = copyreg.dispatch_table.get(cls)
    if reductor is not None:
        reduction = reductor(x)
    elif _is_plain(cls) and (
        cls.__getattribute__ is object.__getattribute__
        or getattr(x, "__reduce_ex__", None) is not None
    ):
        return _with_state(x, cls.__new__(cls), memo)
    elif _is_value(cls):
        return _with_state(x, cls.__new__(cls, *x.__getnewargs__()), memo)
    else:
        reduction = _reduced(x, "shallow" if memo is None else "deep")
    if isinstance(reduction, str):
        return x
    if not 2 <= len(reduction) <= 5:
        raise TypeError(f"an object is made of 2 to 5 parts, not {len(reduction)}")
    return _rebuild(x, reduction, memo)


def _with_state(x: Any, made: Any, memo: dict[int, Any] | None) -> Any:
    if memo is not None:
        memo[id(x)] = made
    _give_state(made, x.__getstate__(), memo)
    return made


def _reduced(x: Any, how: str) -> Any:
    reductor = getattr(x, "__reduce_ex__", None)
    if reductor is not None:
        return reductor(4)
    reductor = getattr(x, "__reduce__", None)
    if reductor is None:
        raise copy.Error(f"un({how})copyable object of type {type(x)}")
    return reductor()


def _is_plain(cls: Any) -> bool:
    """Whether instances are their attributes and nothing else."""
    return (
        cls.__reduce_ex__ is object.__reduce_ex__
        and cls.__reduce__ is object.__reduce__
        and cls.__new__ is object.__new__
        and not hasattr(cls, "__getnewargs__")
        and not hasattr(cls, "__getnewargs_ex__")
        and not any(issubclass(cls, base) for base in (list, dict, set, tuple, BaseException))
    )


def _is_value(cls: Any) -> bool:
    """Whether instances are a number or a text, and their attributes."""
    return (
        cls.__reduce_ex__ is object.__reduce_ex__
        and cls.__reduce__ is object.__reduce__
        and not hasattr(cls, "__getnewargs_ex__")
        and any(issubclass(cls, base) for base in (str, bytes, int, float, complex))
    )


def _rebuild(x: Any, reduction: tuple[Any, ...], memo: dict[int, Any] | None) -> Any:
    function, args, state, items, pairs = (*reduction, None, None, None)[:5]
    if memo is not None and args:
        args = tuple([deep(arg, memo) for arg in args])
    made = function(*args)
    if memo is not None:
        memo[id(x)] = made
    if state is not None:
        _give_state(made, state, memo)
    for item in items or ():
        made.append(item if memo is None else deep(item, memo))
    for key, value in pairs or ():
        if memo is None:
            made[key] = value
        else:
            made[deep(key, memo)] = deep(value, memo)
    return made


def _give_state(made: Any, state: Any, memo: dict[int, Any] | None) -> None:
    if state is None:
        return
    if memo is not None:
        state = deep(state, memo)
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state is not None:
        made.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(made, name, value)
