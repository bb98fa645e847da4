"""operator: the functions that are more than an operator."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable
from typing import Any

from suture.bytecode.language import NEGATIVE_HINT, WRONG_HINT
from suture.rules.substitutes import substitute


@substitute(operator.countOf)
def countOf(a: Iterable[Any], b: Any, /) -> int:  # noqa: N802
    count = 0
    for item in a:
        if item is b or item == b:
            count += 1
    return count


@substitute(operator.indexOf)
def indexOf(a: Iterable[Any], b: Any, /) -> int:  # noqa: N802
    for index, item in enumerate(a):
        if item is b or item == b:
            return index
    raise ValueError("sequence.index(x): x not in sequence")


@substitute(operator.length_hint)
def length_hint(obj: Any, default: int = 0, /) -> int:
    if not isinstance(default, int):
        raise TypeError(f"{type(default).__name__!r} object cannot be interpreted as an integer")
    if hasattr(type(obj), "__len__"):
        try:
            return len(obj)
        except TypeError:
            pass
    hint = getattr(type(obj), "__length_hint__", None)
    if hint is None:
        return default
    try:
        length = hint(obj)
    except TypeError:
        return default
    if length is NotImplemented:
        return default
    if not isinstance(length, int):
        text = WRONG_HINT.format(kind=_full_name(type(obj)), got=type(length).__name__)
        raise TypeError(text)
    if not -sys.maxsize - 1 <= length <= sys.maxsize:
        raise OverflowError("Python int too large to convert to C ssize_t")
    if length < 0:
        raise ValueError(NEGATIVE_HINT.format(kind=_full_name(type(obj))))
    return length


def _full_name(kind: type) -> str:
    plain = kind.__module__ in ("builtins", "__main__")
    return kind.__qualname__ if plain else f"{kind.__module__}.{kind.__qualname__}"


@substitute(operator.concat)
def concat(a: Any, b: Any, /) -> Any:
    if not hasattr(type(a), "__getitem__"):
        raise TypeError(f"{type(a).__name__!r} object can't be concatenated")
    return a + b


@substitute(operator.iconcat)
def iconcat(a: Any, b: Any, /) -> Any:
    if not hasattr(type(a), "__getitem__"):
        raise TypeError(f"{type(a).__name__!r} object can't be concatenated")
    a += b
    return a


@substitute(operator.call)
def call(obj: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    return obj(*args, **kwargs)


@substitute(operator.attrgetter)
def attrgetter(attr: str, /, *attrs: str) -> Callable[[Any], Any]:
    for name in (attr, *attrs):
        if not isinstance(name, str):
            raise TypeError("attribute name must be a string")
    if not attrs:
        return lambda obj: _reach(obj, attr)
    return lambda obj: tuple([_reach(obj, name) for name in (attr, *attrs)])


def _reach(obj: Any, dotted: str) -> Any:
    for name in dotted.split("."):
        obj = getattr(obj, name)
    return obj


@substitute(operator.itemgetter)
def itemgetter(item: Any, /, *items: Any) -> Callable[[Any], Any]:
    if not items:
        return lambda obj: obj[item]
    return lambda obj: tuple([obj[key] for key in (item, *items)])


@substitute(operator.methodcaller)
def methodcaller(name: str, /, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    if not isinstance(name, str):
        raise TypeError("method name must be a string")
    return lambda obj: getattr(obj, name)(*args, **kwargs)
