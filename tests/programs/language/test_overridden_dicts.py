"""Dicts of classes with methods of their own, and builtins that the program replaces."""

from __future__ import annotations

import builtins
import collections

import pytest
import torch

from tests.harness import check


class Keys(dict):
    def keys(self):
        return ["fake"]

    def __missing__(self, key):
        return "missing"


class Items(dict):
    def __getitem__(self, key):
        return "got"


class Iterates(dict):
    def __iter__(self):
        return iter(["other"])

    def __getitem__(self, key):
        return "got"


class Both(Keys):
    def __iter__(self):
        return iter(["other"])


class Ordered(collections.OrderedDict):
    def __getitem__(self, key):
        return "got"


class Default(collections.defaultdict):
    def keys(self):
        return ["other"]


def made(**given):
    return given


@pytest.mark.parametrize("kind", [Keys, Items, Iterates, Both, Ordered, Default])
def test_a_dict_is_copied_by_what_cpython_asks_of_it(kind):
    def fn(x, table):
        updated = {}
        updated.update(table)
        copies = {**table}, dict(table), updated, made(**table), dict(table, b=2), list(table)
        return x + 1, copies

    def of_one_made_here(x):
        table = kind()
        table["a"] = 1
        return fn(x, table)

    table = kind()
    base = collections.OrderedDict if kind is Ordered else dict
    base.__setitem__(table, "a", 1)
    check(fn, torch.ones(2), table, graphs=None, breaks=None)
    check(of_one_made_here, torch.ones(2), graphs=None, breaks=None)


def test_a_builtin_that_the_function_replaces_is_the_one_it_calls():
    def fn(x, other):
        kept = builtins.len
        if other:
            builtins.len = lambda of: 42
        try:
            return x * len([1])
        finally:
            builtins.len = kept

    for other in (False, True):
        check(fn, torch.ones(2), other, graphs=None, breaks=None)


def test_a_builtin_that_the_function_deletes_is_gone():
    def fn(x):
        builtins.of_this_test = 3
        before = of_this_test  # noqa: F821
        del builtins.of_this_test
        try:
            return x + of_this_test, before  # noqa: F821
        except NameError as error:
            return x - before, str(error)

    check(fn, torch.ones(2), graphs=None, breaks=None)
