"""What objects of builtin types have under a name is what their class has, not what `type` has."""

from __future__ import annotations

import collections

import numpy as np
import pytest
import torch

import suture
from tests.harness import check

X = torch.ones(2)
NAMES = ("__hash__", "__name__", "mro", "__module__", "__mro__", "__call__", "__doc__", "__len__")
MADE = {
    "list": lambda: [1],
    "tuple": lambda: (1, [2]),
    "dict": lambda: {1: []},
    "set": lambda: {1},
    "slice": lambda: slice(1),
    "keys": lambda: {1: 2}.keys(),
    "iterator": lambda: iter([1]),
    "deque": lambda: collections.deque([1]),
    "tensor": lambda: torch.ones(2),
    "array": lambda: np.ones(2),
}


def known(value):
    return value if value is None or isinstance(value, str) else type(value)


@pytest.mark.parametrize("kind", MADE)
def test_names_of_metaclasses_are_not_found(kind):
    make = MADE[kind]

    def made(x, name):
        it = make()
        return x + 1, known(getattr(it, name, "none")), hasattr(it, name)

    def given(x, it, name):
        return x + 1, known(getattr(it, name, "none")), hasattr(it, name)

    with suture.config.patch(recompile_limit=len(NAMES)):
        compiled = suture.compile(made, backend="eager")
        other = suture.compile(given, backend="eager")
        for name in NAMES:
            assert compiled(X, name)[1:] == made(X, name)[1:], name
            assert other(X, make(), name)[1:] == given(X, make(), name)[1:], name


def test_views_of_dicts_that_are_sets_have_no_hash():
    def fn(x, d):
        try:
            return x, {d.keys(): 1}
        except TypeError as error:
            return x + 1, str(error), len({d.values(): 1})

    check(fn, X, {1: 2})


def test_a_super_object_has_attributes_of_its_own():
    class Base:
        pass

    class Child(Base):
        def parts(self):
            sup = super()
            own = (sup.__self__ is self, sup.__thisclass__, sup.__self_class__, sup.__class__)
            return own, hasattr(sup, "other")

    def fn(x):
        return x + 1, Child().parts()

    check(fn, X)
