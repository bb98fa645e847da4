"""functools.cached_property of objects that exist outside of the compiled function."""

from __future__ import annotations

import functools

import pytest
import torch

import suture
from tests.harness import Graphs, check


class Vocabulary:
    """Maps names to rows, and counts how often it is computed."""

    def __init__(self, names):
        self.names = names
        self.computed = 0

    @functools.cached_property
    def rows(self):
        self.computed += 1
        return [i for i, name in enumerate(self.names) if name.startswith("<")]

    @functools.cached_property
    def table(self):
        return torch.arange(float(len(self.names)))

    @functools.cached_property
    def broken(self):
        raise ValueError("no such vocabulary")


def masked(vocabulary, x):
    y = x * 2
    y[vocabulary.rows] = -1.0
    return y, vocabulary.computed


def test_what_is_computed_once_needs_no_variant_of_its_own():
    graphs = Graphs()
    vocabulary = Vocabulary(["a", "<b", "<c"])
    compiled = suture.compile(masked, backend=graphs)
    for _ in range(3):
        y, computed = compiled(vocabulary, torch.ones(3))
        assert y.tolist() == [2, -1, -1] and computed == 1
    assert len(graphs) == 1
    assert vocabulary.__dict__["rows"] == [1, 2]


def test_what_the_region_has_changed_is_seen():
    def fn(x):
        vocabulary.names = ["<n", "b"]
        return x + len(vocabulary.rows), vocabulary.rows

    vocabulary = Vocabulary(["a", "b"])
    compiled = suture.compile(fn, backend="eager")
    assert compiled(torch.zeros(1))[1] == [0]
    assert vocabulary.rows == [0]


class Config:
    """What the classes below look at, through a special method that no code names."""

    value = 0


class Operand:
    def __init__(self, config):
        self.config = config

    def __add__(self, other):
        value = self.config.value
        return int(value.item() if isinstance(value, torch.Tensor) else value) + other


class Sum:
    def __init__(self, config):
        self.operand = Operand(config)

    @functools.cached_property
    def total(self):
        return self.operand + 1


def test_what_only_a_special_method_looks_at_is_seen_as_changed():
    def fn(x, config, terms):
        config.value = 5
        return x + terms.total

    config = Config()
    check(fn, torch.zeros(1), config, Sum(config), ops=[["add"]], recompiles=None)


def test_a_tensor_that_the_graph_writes_is_seen_as_changed():
    config = Config()
    config.value = torch.zeros(1)

    def fn(x, terms):
        config.value.add_(1)
        return x + terms.total

    assert suture.compile(fn, backend="eager")(torch.zeros(1), Sum(config)).tolist() == [2]


def test_tensors_that_are_kept_are_part_of_the_graph():
    graphs = Graphs()
    vocabulary = Vocabulary(["a", "b"])
    compiled = suture.compile(lambda x: vocabulary.table + x, backend=graphs)
    for _ in range(3):
        assert compiled(torch.ones(2)).tolist() == [1, 2]
    assert len(graphs) == 2
    assert vocabulary.__dict__["table"].tolist() == [0, 1]


def test_what_raises_raises_where_it_is_asked_for():
    vocabulary = Vocabulary(["a"])
    compiled = suture.compile(lambda x: (x + 1, vocabulary.broken), backend="eager")
    with pytest.raises(ValueError, match="no such vocabulary"):
        compiled(torch.ones(2))


def test_a_property_that_the_program_does_not_reach_is_not_computed():
    def fn(x, vocabulary):
        if (x < 0).any():
            raise ValueError("negative")
        return x + len(vocabulary.rows)

    vocabulary = Vocabulary(["a"])
    compiled = suture.compile(fn, backend="eager")
    with pytest.raises(ValueError, match="negative"):
        compiled(-torch.ones(2), vocabulary)
    assert vocabulary.computed == 0


def test_objects_of_the_region_compute_as_before():
    def fn(x):
        vocabulary = Vocabulary(["<a", "b"])
        return x + len(vocabulary.rows), vocabulary.rows is vocabulary.rows, vocabulary.computed

    check(fn, torch.ones(2))
