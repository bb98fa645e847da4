"""Which object an operation gives: a new one, or the one that it was given."""

from __future__ import annotations

import functools
import inspect
import sys
import weakref

import pytest
import torch

from tests.harness import check
from tests.programs.dynamic.counting import compilations

X = torch.ones(2)


def test_equal_results_of_two_operations_are_two_numbers():
    def fn(x, a, b):
        return x + 1, (a + b) is (b + a), (a * b) is (a * b), int.__add__(a, b) is (a + b)

    compilations(fn, *[(X, *pair) for pair in ((1000, 2000), (1000, 3000), (5, 6), (400, 1))])


@pytest.mark.parametrize("number", [-6, -5, 256, 257, 1024, 1025])
def test_numbers_of_which_python_has_one_object_are_one(number):
    def fn(x, a, b):
        made = int("7") + number - 7  # known while tracing
        return x + 1, (a + b) is (b + a), made is a + b, int(str(number)) is int(str(number))

    compilations(fn, *[(X, n, number - n) for n in (3, 4, 5)])


def test_plus_gives_the_number_itself():
    def fn(x, a):
        return x + 1, +a is a, float(a) is a, abs(a) is a, a + 0.0 is a

    compilations(fn, *[(X, a) for a in (1.5, 2.5, 3.5)])


def test_what_calls_a_function_is_the_wrapper_of_a_slot():
    class Counter:
        def count(self):
            return 3

    def fn(x):
        def inner(y):
            return y + 1

        slots = inner.__call__, Counter().count.__call__, functools.partial(inner, x).__call__
        made = slots[0](x) + slots[1]() + slots[2]()
        return made, [type(slot) for slot in slots], slots[0].__self__ is inner

    check(fn, X)


def test_a_weak_dict_keyed_by_tensors_compares_them():
    def fn(x):
        seen = weakref.WeakKeyDictionary()
        seen[x] = 1
        return x + 1, seen[x], x in seen

    check(fn, torch.ones(2), graphs=None, breaks=None, recompiles=None)
    check(fn, torch.ones(1), graphs=None, breaks=None, recompiles=None)
    check(fn, torch.zeros(1), graphs=None, breaks=None, recompiles=None)


def test_a_function_sees_its_own_variables_in_its_frame():
    def own(x):
        frame = inspect.currentframe()
        y = x + 1
        return y, sorted(frame.f_locals)

    def asked(x):
        y = x * 2
        return sorted(sys._getframe().f_locals), y

    for fn in (own, asked):
        check(fn, X, graphs=None, breaks=None, interpreted=None)
