"""Types as annotations write them: `X | None`, `list[X]`."""

from __future__ import annotations

import collections.abc
import typing

import torch

import suture
from tests.harness import check


class One:
    pass


class Meta(type):
    def __or__(cls, other):
        return "own"


class WithMeta(metaclass=Meta):
    pass


def test_a_union_with_none_is_made_while_tracing():
    def fn(x):
        either = One | int | None
        nested = (list[int] | None).__args__
        told = isinstance(None, One | None), isinstance(3, either), isinstance("", either)
        return x + 1, told, either == (None | int | One), str(int | None), nested, WithMeta | None

    check(fn, torch.ones(2))


def test_a_union_with_no_type_raises_as_in_eager():
    def fn(x):
        try:
            One | 3
        except TypeError as error:
            return x + 1, str(error)

    check(fn, torch.ones(2))


def test_a_new_union_of_the_same_types_is_the_same_assumption():
    def fn(x, kind):
        return x + len(kind.__args__)

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for kind in (One | None, One | None, list[One], list[One]):
        assert torch.equal(compiled(torch.ones(2), kind), torch.ones(2) + len(kind.__args__))
    assert suture.stats().variants == 2
    assert torch.equal(compiled(torch.ones(2), One | int | None), torch.full((2,), 4.0))


class Reading(typing.Generic[typing.TypeVar("T")]):
    made = 0

    @classmethod
    def make(cls):
        cls.made += 1
        return cls.made


class Named(typing.TypedDict):
    name: str


def test_generic_types_of_the_library_compare_by_what_they_say():
    def fn(x):
        of = collections.abc.Callable
        once = {of[[int], int], of[[int], int], of[[str], int]}
        return x + 1, len(once), typing.Callable[[int], int] == typing.Callable[[int], int]

    check(fn, torch.ones(2))


def test_any_is_a_class_that_can_be_derived_from():
    class Mock(typing.Any):
        pass

    def fn(x):
        return x + 1, isinstance(Mock(), Mock), issubclass(Mock, typing.Any), 3 in {typing.Any: 1}

    check(fn, torch.ones(2))


def test_types_that_cannot_be_called_or_iterated_raise_as_in_eager():
    pack = typing.TypeVarTuple("pack")

    def fn(x):
        said = []
        for use in (lambda: iter(typing.Any), lambda: pack(), lambda: len(typing.List)):  # noqa: UP006
            try:
                use()
            except TypeError as error:
                said.append(str(error))
        return x + 1, said

    check(fn, torch.ones(2))


def test_a_class_method_through_a_generic_type_is_traced():
    def fn(x):
        return x + Reading[int].make()

    want = fn(torch.ones(2)), fn(torch.ones(2))
    Reading.made = 0
    compiled = suture.compile(fn, backend="eager")
    got = compiled(torch.ones(2)), compiled(torch.ones(2))
    assert all(torch.equal(a, b) for a, b in zip(want, got))


def test_calling_a_typed_dict_gives_a_dict():
    def fn(x):
        made = Named(name="a")
        return x + 1, type(made), made

    check(fn, torch.ones(2))


@typing.runtime_checkable
class HasSize(typing.Protocol):
    size: int


@typing.runtime_checkable
class CanClose(typing.Protocol):
    def close(self): ...


class Box:
    def __init__(self, size):
        if size:
            self.size = size
        else:
            self.close = lambda: None


def test_a_protocol_looks_at_attributes_of_the_object():
    def fn(x, box):
        return x + 1, isinstance(box, HasSize), isinstance(box, CanClose), isinstance(3, CanClose)

    for box in (Box(1), Box(0)):
        check(fn, torch.ones(2), box, graphs=None, breaks=None)
