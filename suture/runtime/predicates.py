"""Predicates of guards that C does not know, as objects that say what they compare.

Each is kept by its class and its `parts`, from which `remade` makes it again in another process. A
part is a constant, an object that has a source or a name there, or a list, tuple or dict of such.
"""

from __future__ import annotations

import abc
import collections
import enum
import gc
import itertools
import math
import sys
import typing
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import torch

from suture.runtime.reads import unbound
from suture.torch_private import distributed_parts

# Types whose objects are immutable all the way down and compare by value.
LITERALS: frozenset[type] = frozenset(
    {int, float, bool, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range}
)
TORCH_LITERALS: frozenset[type] = frozenset(
    {torch.dtype, torch.device, torch.layout, torch.memory_format, torch.finfo, torch.iinfo}
)


def is_literal(value: Any) -> bool:
    """Whether a real value can be a constant of the trace."""
    kind = type(value)
    if kind in LITERALS or kind in TORCH_LITERALS:
        return True
    if kind in (tuple, frozenset):
        return all(is_literal(v) for v in value)
    if kind is slice:
        return is_literal((value.start, value.stop, value.step))
    return isinstance(value, enum.Enum)


class Predicate:
    """Called with the value at a source, or with nothing; says whether the guard holds."""

    __slots__ = ("__name__",)

    def parts(self) -> tuple[Any, ...]:
        """What it is made of: nothing, unless its class says more."""
        return ()

    @classmethod
    def remade(cls, *parts: Any) -> Predicate:
        """The same predicate from its parts."""
        return cls(*parts)


class Equals(Predicate):
    """Equal to a value that C does not know."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        from suture.breaks import readable

        self.value = value
        self.__name__ = f"equals {readable(value, 80)}"

    def __call__(self, other: Any) -> bool:
        return bool(self.value == other)

    def parts(self) -> tuple[Any, ...]:
        return (self.value,)


_MESHES = 64  # that are remembered to be like another one


class SameMesh(Predicate):
    """A mesh of processes that is this one, or one of the same ranks, names and groups: a mesh is
    made anew each time that one of its dimensions is asked for. Meshes never change, so that one
    that was found to be like it stays so."""

    __slots__ = ("alike", "mesh")

    def __init__(self, mesh: Any) -> None:
        self.mesh = mesh
        self.alike: dict[int, weakref.ref[Any]] = {}
        self.__name__ = "like the mesh"

    def __call__(self, other: Any) -> bool:
        if other is self.mesh:
            return True
        known = self.alike.get(id(other))
        if known is not None and known() is other:
            return True
        if not distributed_parts.same_mesh(self.mesh, other):
            return False
        if len(self.alike) >= _MESHES:  # most of them are gone
            self.alike.clear()
        self.alike[id(other)] = weakref.ref(other)
        return True

    def parts(self) -> tuple[Any, ...]:
        return (self.mesh,)


class SameDefaults(Predicate):
    """A function with as many defaults as before: (how many, names of those by keyword)."""

    __slots__ = ("counts",)

    def __init__(self, counts: tuple[int, list[str]]) -> None:
        self.counts = counts
        self.__name__ = "same_defaults"

    def __call__(self, fn: Any) -> bool:
        return self.counts == (len(fn.__defaults__ or ()), sorted(fn.__kwdefaults__ or ()))

    def parts(self) -> tuple[Any, ...]:
        return (self.counts,)


class BoundOf(Predicate):
    """A method made of this very descriptor."""

    __slots__ = ("raw",)

    def __init__(self, raw: Any) -> None:
        self.raw = raw
        self.__name__ = "method_of"

    def __call__(self, method: Callable[..., Any]) -> bool:
        return unbound(method) is self.raw

    def parts(self) -> tuple[Any, ...]:
        return (self.raw,)


class LevelIs(Predicate):
    """A logger's level is on, or off."""

    __slots__ = ("level", "on")

    def __init__(self, level: int, on: bool) -> None:
        self.level = level
        self.on = on
        self.__name__ = f"level {level} is {'on' if on else 'off'} for"

    def __call__(self, logger: Any) -> bool:
        return level_is_on(logger, self.level) is self.on

    def parts(self) -> tuple[Any, ...]:
        return self.level, self.on


def level_is_on(logger: Any, level: int) -> bool:
    """What `isEnabledFor` of a logger gives. The logger does not remember it: tracing and guards
    change nothing."""
    if logger.disabled:
        return False
    known = logger._cache.get(level)
    if known is not None:
        return bool(known)
    return bool(logger.manager.disable < level and level >= logger.getEffectiveLevel())


class SameAnswer(Predicate):
    """A callable still gives the same for the same arguments. With `cached` it is a function under
    functools.lru_cache whose answer must be in its cache, so that the function does not run."""

    __slots__ = ("cached", "named", "result", "values")

    def __init__(
        self, values: list[Any], named: dict[str, Any], result: Any, cached: bool = False
    ) -> None:
        self.values = values
        self.named = named
        self.result = result
        self.cached = cached
        self.__name__ = "same_answer"

    def __call__(self, fn: Any) -> bool:
        if self.cached and not has_answer(fn, self.values, self.named):
            return False
        try:
            answer = fn(*self.values, **self.named)
        except Exception:
            return False
        if answer is self.result:
            return True
        return is_literal(answer) and type(answer) is type(self.result) and answer == self.result

    def parts(self) -> tuple[Any, ...]:
        return self.values, self.named, self.result, self.cached


def has_answer(cached: Any, values: list[Any], named: dict[str, Any]) -> bool:
    """Whether the cache of a functools.lru_cache, which only the garbage collector is shown, has an
    entry for these arguments. Where keys are made in another way (`typed`), none is found."""
    parts = gc.get_referents(cached)
    tables = [part for part in parts if type(part) is dict and part is not cached.__dict__]
    marks = [part for part in parts if type(part) is object]  # between arguments and keywords
    if len(tables) != 1 or len(marks) != 1:
        return False
    key: Any = tuple(values)
    if named:
        key = (*values, *marks, *itertools.chain.from_iterable(named.items()))
    elif len(values) == 1 and type(values[0]) in (int, str):
        key = values[0]
    try:
        return key in tables[0]
    except TypeError:  # an argument without a hash
        return False


class SameMembers(Predicate):
    """A set with exactly these objects."""

    __slots__ = ("members",)

    def __init__(self, members: Any) -> None:
        self.members = list(members)
        self.__name__ = "same_members"

    def __call__(self, other: Any) -> bool:
        return {id(m) for m in self.members} == {id(m) for m in other}

    def parts(self) -> tuple[Any, ...]:
        return (self.members,)


class SameKeyOrder(Predicate):
    """An OrderedDict with its keys in this order."""

    __slots__ = ("keys",)

    def __init__(self, keys: list[Any]) -> None:
        self.keys = keys
        self.__name__ = "same_order"

    def __call__(self, of: Any) -> bool:
        order = collections.OrderedDict.__iter__(of)
        return all(a is b or a == b for a, b in zip(order, self.keys, strict=True))

    def parts(self) -> tuple[Any, ...]:
        return (list(self.keys),)


class SameOrder(Predicate):
    """A set whose members come in this order."""

    __slots__ = ("members",)

    def __init__(self, members: Iterable[Any]) -> None:
        self.members = list(members)
        self.__name__ = "same_order"

    def __call__(self, other: Any) -> bool:
        return len(other) == len(self.members) and all(
            a is b or (is_literal(b) and bool(a == b)) for a, b in zip(other, self.members)
        )

    def parts(self) -> tuple[Any, ...]:
        return (self.members,)


def places_in_copy(of: set[Any]) -> list[int]:
    """For each member of a copy of a set, in the order of the copy, its place in the set: the
    table of a copy may be smaller, and have another order."""
    places = {id(member): place for place, member in enumerate(of)}
    return [places[id(member)] for member in set.copy(of)]


class CopiesTo(Predicate):
    """A set whose copy has its members in this order: their places in the set."""

    __slots__ = ("places",)

    def __init__(self, places: list[int]) -> None:
        self.places = places
        self.__name__ = "copies_to_the_same_order"

    def __call__(self, other: Any) -> bool:
        return places_in_copy(other) == self.places

    def parts(self) -> tuple[Any, ...]:
        return (self.places,)


class SaysTheSame(Predicate):
    """Each `X | None` and `list[X]` is a new object: what they are made of is compared."""

    __slots__ = ("made_of",)

    def __init__(self, origin: Any, args: tuple[Any, ...]) -> None:
        self.made_of = origin, args
        self.__name__ = f"says {origin!r} of {args!r}"

    @classmethod
    def of(cls, value: Any) -> SaysTheSame:
        """The predicate that holds for this annotation and those like it."""
        return cls(typing.get_origin(value), value.__args__)

    def __call__(self, other: Any) -> bool:
        return self.made_of == (typing.get_origin(other), other.__args__)

    def parts(self) -> tuple[Any, ...]:
        return self.made_of


class SameLayout(Predicate):
    """An array of this dtype, shape and strides."""

    __slots__ = ("layout",)

    def __init__(self, array: Any) -> None:
        self.layout = _layout(array)
        self.__name__ = f"array of {array.dtype} {array.shape}"

    def __call__(self, array: Any) -> bool:
        return bool(self.layout == _layout(array))

    def __repr__(self) -> str:
        return self.__name__

    def parts(self) -> tuple[Any, ...]:
        dtype, shape, strides = self.layout
        return dtype.str, shape, strides

    @classmethod
    def remade(cls, dtype: Any, shape: Any, strides: Any) -> SameLayout:
        """numpy is there where an array of it is."""
        made = cls.__new__(cls)
        made.layout = sys.modules["numpy"].dtype(dtype), shape, strides
        made.__name__ = f"array of {dtype} {shape}"
        return made


def _layout(array: Any) -> Any:
    return array.dtype, array.shape, array.strides


class Answers(Predicate):
    """The abstract classes still say what they said while tracing.

    Asking is one comparison as long as no abstract class of the process has got a new member;
    then each question is asked again.
    """

    __slots__ = ("known_answers", "token")

    def __init__(self) -> None:
        self.__name__ = "abstract_classes_say_the_same"
        self.known_answers: dict[tuple[int, int], tuple[Any, Any, bool]] = {}
        self.token = abc.get_cache_token()

    def note(self, cls: type, kind: type) -> None:
        """Remember what `kind` says about `cls`."""
        key = (id(cls), id(kind))
        if key not in self.known_answers:
            self.known_answers[key] = (weakref.ref(cls), weakref.ref(kind), issubclass(cls, kind))

    def __call__(self) -> bool:
        token = abc.get_cache_token()
        if token == self.token:
            return True
        for cls, kind, answer in self.known_answers.values():
            one, other = cls(), kind()
            if one is not None and other is not None and issubclass(one, other) is not answer:
                return False
        self.token = token
        return True

    def parts(self) -> tuple[Any, ...]:
        return ([(cls(), kind(), answer) for cls, kind, answer in self.known_answers.values()],)

    @classmethod
    def remade(cls, answers: Any) -> Answers:
        """Each question is asked again: LookupError where the answer is another one."""
        made = cls()
        for one, kind, answer in answers:
            made.note(one, kind)
            if made.known_answers[id(one), id(kind)][2] is not answer:
                raise LookupError(f"{kind.__qualname__} says something else of {one.__qualname__}")
        return made


def formula(text: str, count: int) -> Any:
    """The predicate of `count` numbers, called n0, n1 and so on, that an expression of Python says.
    It may name functions of math and torch. As a function it is called faster than an object."""
    numbers = ", ".join(f"n{i}" for i in range(count))
    made: Any = eval(f"lambda {numbers}: {text}", {"math": math, "torch": torch})
    made.__name__ = "shapes"
    made.formula = (text, count)
    return made


def is_writeable(array: Any) -> bool:
    """An array whose memory may be changed. Its flags would warn where NumPy will make it one that
    may not."""
    return not array.__array_interface__["data"][1]


def has_no_callback(reference: Any) -> bool:
    """A weak reference that tells nobody when its object goes."""
    return reference.__callback__ is None


def has_callback(reference: Any) -> bool:
    """A weak reference that tells somebody when its object goes."""
    return reference.__callback__ is not None


def not_none(value: object) -> bool:
    """There is an object."""
    return value is not None


def in_own_memory(tensor: Any) -> bool:
    """A tensor whose memory belongs to this process alone."""
    return not tensor.untyped_storage().is_shared()
