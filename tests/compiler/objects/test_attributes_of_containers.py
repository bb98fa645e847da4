"""Attributes that the program has set on containers which take them: an OrderedDict."""

from __future__ import annotations

import collections

import torch

import suture
from tests.harness import check


def tagged(**attributes):
    made = collections.OrderedDict(a=1)
    vars(made).update(attributes)
    return made


def test_attributes_of_an_ordered_dict_are_found():
    def fn(x, table):
        y = x * table.scale if hasattr(table, "scale") else x.neg()
        return y, getattr(table, "tag", "none"), table["a"], len(table)

    check(fn, torch.ones(2), tagged(scale=2.0, tag="hi"), ops=[["mul"]])
    check(fn, torch.ones(2), tagged(), ops=[["neg"]])


def test_an_attribute_that_comes_changes_and_goes_is_another_variant():
    def fn(x, table):
        return x + getattr(table, "shift", 0)

    table = tagged()
    compiled = suture.compile(fn, backend="eager", dynamic=False)
    for shift in (None, 1, 2, None, 1):
        vars(table).clear()
        vars(table).update({} if shift is None else {"shift": shift})
        assert torch.equal(compiled(torch.ones(2), table), fn(torch.ones(2), table))


def test_an_attribute_that_is_missing_raises():
    check(lambda x, table: x * table.scale, torch.ones(2), tagged(tag=1), graphs=None, breaks=None)


def test_a_state_dict_that_is_made_has_its_versions():
    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))

    def fn(x):
        state = net.state_dict()
        return x + len(state), dict(state._metadata), list(state)

    check(fn, torch.ones(2), graphs=None, breaks=None)
