"""Builtin conversions, comparisons and iterators at their edges."""

from __future__ import annotations

import abc
import array
import collections
import copy
import weakref

import torch

import suture
from tests.harness import check


def test_numbers_in_buffers():
    def fn(data, x):
        return x + int(data[0]), float(data[1])

    make = lambda: ([bytearray(b"12"), memoryview(b"2.5")], torch.ones(2))  # noqa: E731
    check(fn, make=make, breaks=None, graphs=None, recompiles=None, interpreted=None)


def test_an_object_that_is_no_number():
    def fn(thing, x):
        return x + int(thing)

    make = lambda: (array.array("i", [1]), torch.ones(2))  # noqa: E731
    check(fn, make=make, breaks=None, graphs=None, recompiles=None, interpreted=None)


def test_a_slice_without_a_step_has_no_indices():
    def fn(x):
        try:
            return x, slice(1, 2, 0).indices(3)
        except ValueError as error:
            return x + 1, str(error)

    check(fn, torch.ones(2))


class Base(abc.ABC):  # noqa: B024
    def __eq__(self, other):
        return "base"


class Registered:
    def __eq__(self, other):
        return "registered"


class Derived(Base):
    def __eq__(self, other):
        return "derived"


Base.register(Registered)


def test_only_a_real_subclass_is_asked_first():
    def fn(x):
        return x + 1, Base() == Registered(), Base() == Derived()

    check(fn, torch.ones(2))


class Pairs(dict):
    """Compares its order too, and leaves != to object."""

    def __eq__(self, other):
        return list(self.items()) == list(other.items())

    __ne__ = object.__ne__
    __hash__ = None


def test_unequal_of_a_dict_class_asks_its_equal():
    def fn(x):
        return x + 1, Pairs(a=1, b=2) != Pairs(b=2, a=1), Pairs(a=1) != Pairs(a=1)

    check(fn, torch.ones(2))


def test_sending_into_an_iterator_that_is_no_generator():
    def steps():
        yield from range(3)

    def fn(x):
        made = steps()
        first = next(made)
        try:
            return x + first, made.send(3)
        except AttributeError as error:
            return x - 1, error.args

    check(fn, torch.ones(2))


class Word(str):
    pass


class Count(int):
    pass


def test_copies_of_strings_and_numbers_of_an_own_class():
    def fn(x):
        word, count = Word("ab"), Count(3)
        word.size, count.parts = 2, [word]
        shallow, deep = copy.copy(word), copy.deepcopy(count)
        kinds = [type(made).__name__ for made in (shallow, deep, deep.parts[0])]
        return x + shallow.size, kinds, shallow == word, deep == 3

    check(fn, torch.ones(2), breaks=None, graphs=None, recompiles=None)


class Hidden(collections.deque):
    def __iter__(self):
        raise TypeError("not to be gone through")


def test_a_deque_class_that_refuses_iteration():
    def fn(line, x):
        return x + line[0] + len(line)

    compiled = suture.compile(fn, backend="eager")
    with suture.config.patch(strict=True):
        assert torch.equal(compiled(Hidden([1, 2]), torch.ones(2)), torch.full((2,), 4.0))


class Named(type):
    @property
    def __module__(cls):
        raise ValueError("no module")


def test_a_class_that_refuses_to_say_its_module():
    made = Named("Made", (), {})

    def fn(x):
        return x + 1, isinstance(made(), made)

    check(fn, torch.ones(2), breaks=None, graphs=None)


class Thing:
    pass


def test_an_object_has_one_weak_reference_without_callback():
    def fn(x):
        thing = Thing()
        first = weakref.ref(thing)
        torch._dynamo.graph_break()
        second = weakref.ref(thing, None)
        return x + 1, first is second, first is weakref.ref(Thing), second() is thing

    check(fn, torch.ones(2), breaks=None, graphs=None)
