"""What differs between Pythons above the instructions: what descriptors do, and what errors say."""

from __future__ import annotations

import functools
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator

from .code import EXIT_FIRST

# A property below a classmethod is a property of the class; from 3.13 on it is just called.
CLASSMETHOD_ASKS = sys.version_info < (3, 13)


# The ints of which there is one object each, however they are computed; up to 256 before 3.15.
SINGLE_INTS = range(-5, 1025 if int("1024") is int("1024") else 257)


_LAZY_IMPORT = getattr(types, "LazyImportType", None)


def is_lazy_import(value: object) -> bool:
    """Whether a global variable holds what `lazy import` has left of a module or a name (Python
    3.15): code that reads the variable imports it and puts it there."""
    return type(value) is _LAZY_IMPORT


# What stands for an argument that the call of a functools.partial gives; from 3.14 on.
PLACEHOLDER = getattr(functools, "Placeholder", None)

# Whether `map` takes `strict=True`, as `zip` does; from 3.14 on.
MAP_TAKES_STRICT = sys.version_info >= (3, 14)


class _Counted:
    """Iterable; notices that its length is asked for."""

    asked = False

    def __iter__(self) -> Iterator[int]:
        return iter(())

    def __len__(self) -> int:
        self.asked = True
        return 0


def _tuple_asks() -> bool:
    counted = _Counted()
    tuple(counted)
    return counted.asked


# `tuple(a)` and `f(*a)` ask `a` for its length first, as `list(a)` does; from 3.14 on they do not.
TUPLE_ASKS = _tuple_asks()


def _close_keeps_variables() -> bool:
    class Held:
        def __del__(self) -> None:
            freed.append(True)

    def holding() -> Iterator[None]:
        held = Held()
        yield
        del held

    freed: list[bool] = []
    made = holding()
    next(made)
    made.close()  # type: ignore[attr-defined]
    return not freed


# `close()` of a generator that waits outside of any block leaves its variables to it; some releases
# of 3.12 do that, where others free them at once.
CLOSE_KEEPS_VARIABLES = _close_keeps_variables()


def _close_gives_result() -> bool:
    def returning() -> Iterator[None]:
        try:
            yield
        except GeneratorExit:
            return True  # type: ignore[return-value]

    made = returning()
    next(made)
    return made.close() is True  # type: ignore[attr-defined]


# `close()` of a generator gives what the generator returns, from 3.13 on; before, None.
CLOSE_GIVES_RESULT = _close_gives_result()


def _frees_last_first() -> bool:
    class Held:
        def __init__(self, number: int) -> None:
            self.number = number

        def __del__(self) -> None:
            freed.append(self.number)

    def holding() -> None:
        first, second = Held(1), Held(2)  # noqa: F841

    freed: list[int] = []
    holding()
    return freed == [2, 1]


# A frame that ends frees its variables from the last one to the first, from 3.14 on; before, from
# the first one to the last.
FREES_LAST_FIRST = _frees_last_first()


def _not_in(look: Callable[..., object]) -> str:
    text = ""
    try:
        look("{item}")
    except ValueError as error:
        text = str(error)
    return text.replace("'{item}'", "{item}")


# What is said of an {item} that is not there; before 3.14 lists and deques show it.
NOT_IN_LIST, NOT_IN_TUPLE = _not_in([].index), _not_in(().index)
NOT_IN_DEQUE, NOT_REMOVED = _not_in(deque().index), _not_in(deque().remove)

# An error about a key without a hash says what it was to be a key of.
_KEYS_ARE_NAMED = sys.hexversion >= 0x030E0000


def not_a_manager(kind: type, asynchronous: bool = False) -> str | None:
    """The message for an instance of a class that lacks a method of managers; None if it lacks
    none."""
    plain, waiting = ("__enter__", "__exit__"), ("__aenter__", "__aexit__")
    names, others = (waiting, plain) if asynchronous else (plain, waiting)
    missing = next((name for name in _sought(names) if not hasattr(kind, name)), None)
    if missing is None:
        return None
    protocol, other = "context manager protocol", "asynchronous context manager protocol"
    use = "async with"
    if asynchronous:
        protocol, other, use = other, protocol, "with"
    text = f"'{_name(kind)}' object does not support the {protocol}"
    if EXIT_FIRST or missing == names[1]:
        text += f" (missed {missing} method)"
    if EXIT_FIRST and all(hasattr(kind, name) for name in others):
        text += f" but it supports the {other}. Did you mean to use '{use}'?"
    return text


def _sought(names: tuple[str, str]) -> tuple[str, str]:
    return (names[1], names[0]) if EXIT_FIRST else names


def _name(kind: type) -> str:
    """The class as the message has it: with its module from 3.14 on, as its C name before."""
    return _full_name(kind) if EXIT_FIRST else _c_name(kind)


def _c_name(kind: type) -> str:
    from suture._core import type_name

    return type_name(kind)


def unhashable(kind: type, text: str, role: str) -> str | None:
    """What is said of an instance of `kind` that was to have this role ("dict key", "set element"),
    where hashing it raised a TypeError with this text; None where Pythons say just that."""
    if not _KEYS_ARE_NAMED:
        return None
    return f"cannot use '{_full_name(kind)}' as a {role} ({text})"


# What methods of a class must give, and what is said before 3.15 where they give something else.
_MUST_GIVE = {
    "__await__": ("an iterator", "__await__() returned non-iterator of type '{got}'"),
    "__bool__": ("a bool", "__bool__ should return bool, returned {got}"),
    "__complex__": ("a complex", "__complex__ returned non-complex (type {got})"),
    "__float__": ("a float", "{kind}.__float__ returned non-float (type {got})"),
    "__format__": ("a str", "__format__ must return a str, not {got}"),
    "__index__": ("an int", "__index__ returned non-int (type {got})"),
    "__int__": ("an int", "__int__ returned non-int (type {got})"),
    "__iter__": ("an iterator", "iter() returned non-iterator of type '{got}'"),
    "__repr__": ("a str", "__repr__ returned non-string (type {got})"),
    "__str__": ("a str", "__str__ returned non-string (type {got})"),
}
_RESULTS_ARE_NAMED = sys.hexversion >= 0x030F0000


def wrong_result(kind: type, method: str, got: type) -> str:
    """What is said where that method of an instance of `kind` gave an instance of `got`."""
    wanted, before = _MUST_GIVE[method]
    if not _RESULTS_ARE_NAMED:
        return before.format(kind=_c_name(kind), got=_c_name(got))
    return f"{_full_name(kind)}.{method}() must return {wanted}, not {_full_name(got)}"


# What is said where `__length_hint__` of an instance of {kind} gave an instance of {got}, and where
# it gave a negative number.
WRONG_HINT, NEGATIVE_HINT = (
    (
        "{kind}.__length_hint__() must return an int, not {got}",
        "{kind}.__length_hint__() must return a non-negative int",
    )
    if _RESULTS_ARE_NAMED
    else (
        "__length_hint__ must be an integer, not {got}",
        "__length_hint__() should return >= 0",
    )
)


def no_mapping(function: str, kind: type) -> str:
    """What is said where keywords of a call are given as an instance of `kind`, which is none;
    `function`: what the error calls the function, with a space behind it."""
    if _RESULTS_ARE_NAMED:
        return f"Value after ** must be a mapping, not {_full_name(kind)}"
    return f"{function}argument after ** must be a mapping, not {_c_name(kind)}"


def not_awaitable(kind: type) -> str:
    """What is said where an instance of `kind` is awaited, which cannot be."""
    if EXIT_FIRST:
        return f"'{_c_name(kind)}' object can't be awaited"
    return f"object {_c_name(kind)} can't be used in 'await' expression"


def awaits_coroutine(kind: type) -> str:
    """What is said where `__await__` of an instance of `kind` gave a coroutine."""
    if not _RESULTS_ARE_NAMED:
        return "__await__() returned a coroutine"
    return wrong_result(kind, "__await__", types.CoroutineType)


def _full_name(kind: type) -> str:
    plain = kind.__module__ in ("builtins", "__main__")
    return kind.__qualname__ if plain else f"{kind.__module__}.{kind.__qualname__}"
