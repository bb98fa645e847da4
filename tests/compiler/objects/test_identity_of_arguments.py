"""What a program is given and has no state of its own: views, bound methods, numbers, texts."""

from __future__ import annotations

import itertools
import types

import pytest
import torch

import suture
from tests.harness import check

X = torch.ones(2)
TABLE = {1: 2}
MAKERS = {
    "keys": TABLE.keys,
    "values": TABLE.values,
    "items": TABLE.items,
    "proxy": lambda: types.MappingProxyType(TABLE),
    "method in C": lambda: TABLE.get,
    "method-wrapper": lambda: TABLE.__len__,
    "method of a tensor": lambda: X.add,
    "range": lambda: range(3),
    "text": lambda: "".join(["a", "bcd"]),
    "bytes": lambda: bytes([1, 2, 5]),
    "float": lambda: float("2.5"),
    "complex": lambda: complex("2.5j"),
    "int": lambda: int("12345"),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_two_arguments_are_one_object_or_two_at_each_call(kind):
    first, second = MAKERS[kind](), MAKERS[kind]()
    for given in itertools.permutations([(first, first), (first, second), (second, second)]):
        suture.reset()
        compiled = suture.compile(lambda x, a, b: (x.sin(), a is b, a is not b), backend="eager")
        for a, b in (*given, *given):
            assert compiled(X, a, b)[1:] == (a is b, a is not b)


class Point:
    pass


@pytest.mark.parametrize(
    "make", [Point, lambda: [1], lambda: {1: 2}, lambda: X + 1, lambda: "ab c"]
)
def test_method_wrappers_as_keys_are_equal_if_they_are_of_one_object(make):
    def fn(x, a, b):
        table = {a.__str__: 1, a.__repr__: 2}
        return (
            x.sin(),
            table.get(a.__str__),
            table.get(b.__str__),
            a.__str__ == a.__str__,
            a.__str__ == b.__str__,
            a.__repr__ in {b.__repr__},
            b.__repr__ in [a.__repr__],
        )

    first, second = make(), make()
    check(fn, X, first, first)
    check(fn, X, first, second)


@pytest.mark.parametrize("name", ["__len__", "get", "__contains__"])
def test_methods_that_are_arguments_are_keys_by_their_object(name):
    other = {1: 2}
    compiled = suture.compile(lambda x, a, b: (x.sin(), {a: 1}.get(b), a == b), backend="eager")
    for one, two in ((TABLE, other), (TABLE, TABLE), (other, TABLE), (other, other)):
        a, b = getattr(one, name), getattr(two, name)
        assert compiled(X, a, b)[1:] == (1 if one is two else None, one is two)


def test_methods_of_tensors_are_keys_by_their_tensor():
    def fn(x, y):
        table = {x.add: 1}
        return x.sin(), table.get(x.add), table.get(y.add), table.get(x.mul), x.add == y.add

    check(fn, X, torch.ones(2))
    check(fn, X, X)


def test_the_wrapper_of_a_class_is_a_key_by_its_class():
    def fn(x):
        return (
            x.sin(),
            {Point.__call__: 1}.get(Point.__call__),
            {Point.__call__: 1}.get(dict.__call__),
        )

    check(fn, X)
