"""`+=`, `*=` and `|=` on containers: who is asked first, and which object comes out."""

from __future__ import annotations

from collections import UserList, deque

import numpy as np
import pytest
import torch

from tests.harness import check


class Items(list):
    pass


class Table(dict):
    pass


class Reflects:
    def __radd__(self, other):
        return ("reflected", type(other).__name__)

    def __rmul__(self, other):
        return ("multiplied", type(other).__name__)

    def __iter__(self):
        return iter((1, 2))


class Declines:
    def __radd__(self, other):
        return NotImplemented

    def __iter__(self):
        return iter((1, 2))


def add(x, left, right):
    same = left
    left += right
    return x + 1, left, left is same, same


def multiply(x, left, right):
    same = left
    left *= right
    return x + 1, left, left is same, same


def merge(x, left, right):
    same = left
    left |= right
    return x + 1, left, left is same, type(left).__name__


@pytest.mark.parametrize("right", [[9], (9,), {9: 1}, Reflects(), Declines(), "ab"])
@pytest.mark.parametrize("left", [[1], Items([1]), deque([1])])
def test_adding_in_place(left, right):
    check(add, torch.ones(2), left, right)


def test_adding_an_array_to_a_list_in_place_adds_the_numbers():
    check(add, torch.ones(2), [1.0, 2.0], np.array([3.0, 4.0]), graphs=None, breaks=None)


def test_adding_a_user_list_to_a_list_in_place_gives_a_user_list():
    check(add, torch.ones(2), [1.0, 2.0], UserList([3]))


@pytest.mark.parametrize("right", [2, True, Reflects()])
@pytest.mark.parametrize("left", [[1], Items([1])])
def test_multiplying_in_place(left, right):
    check(multiply, torch.ones(2), left, right)


@pytest.mark.parametrize("left", [{}, Table(a=1)])
def test_merging_in_place_keeps_the_object(left):
    check(merge, torch.ones(2), left, {"b": 2})


def test_a_derived_list_from_outside_stays_itself():
    def fn(x, kept):
        items = kept[0]
        items += [2]
        return x + len(items), items is kept[0], type(items).__name__

    check(fn, torch.ones(2), [Items([1])])


def test_slices_as_keys():
    def fn(x, key):
        try:
            return x, {key: 1}[key]
        except TypeError as error:
            return x + 1, str(error)

    check(fn, torch.ones(2), slice(1, 2), graphs=None)  # from Python 3.12 on they are keys


def test_numpy_numbers_as_keys():
    def fn(x, key):
        return x * {key: 2}[key], {3: 1}.get(key)

    check(fn, torch.ones(2), np.int64(3), graphs=None, breaks=None)
