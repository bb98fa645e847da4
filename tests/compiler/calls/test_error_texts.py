"""Errors that a program catches say what CPython says, the name of a type included."""

from __future__ import annotations

import collections
import functools
import types

import numpy as np
import pytest
import torch

from tests.harness import check

OBJECTS = [
    types.SimpleNamespace(),
    collections.deque(),
    collections.OrderedDict(),
    functools.partial(int),
    object(),
    None,
    5,
]


def no_attribute(o):
    return o.missing


def no_call(o):
    return o()


def no_item(o):
    return o[object]


def no_index(o):
    return [1][o]


def no_iteration(o):
    return [item for item in o]  # noqa: C416


def no_length(o):
    return len(o)


def no_sign(o):
    return -o


def no_sum(o):
    return {} + o


def no_order(o):
    return o < {}


def no_float(o):
    return float(o)


def no_membership(o):
    return 1 in o


def no_manager(o):
    with o:
        return 1


@pytest.mark.parametrize("value", OBJECTS, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize(
    "operation",
    [no_attribute, no_call, no_item, no_index, no_iteration, no_length, no_sign, no_sum, no_order,
     no_float, no_membership, no_manager],
)  # fmt: skip
def test_the_text_of_an_error(operation, value):
    def fn(x):
        try:
            found = operation(value)
        except (TypeError, AttributeError, KeyError) as error:
            return x + 1, type(error).__name__, str(error)
        return x, found

    check(fn, torch.ones(2), graphs=None, breaks=None, calls=1)


def test_numbers_of_numpy_have_no_length():
    def fn(x, number):
        said = []
        for ask in (len, list):
            try:
                ask(number)
            except TypeError as error:
                said.append(str(error))
        return x + 1, said

    check(fn, torch.ones(2), np.float64(1.5), graphs=None, breaks=None)
