"""The stack that a node of the graph remembers is the program's when it was made."""

from __future__ import annotations

import re

import torch

from tests.harness import check


def doubled(x):
    return x.mul(2)


def rows(x):
    yield doubled(x)
    yield doubled(x).add(1)
    yield x.sub(1)


def shown(graphs):
    """The source lines of each node's stack, outermost first, by the node's name."""
    found = {}
    for node in graphs.modules[0].graph.nodes:
        trace = node.stack_trace or ""
        found[node.name] = [line.strip() for line in re.findall(r"\n    (.*)", trace)]
    return found


def test_a_function_that_is_called_twice_shows_the_line_of_each_call():
    def fn(x):
        first = doubled(x)
        second = doubled(x)
        return first.add(second)

    lines = shown(check(fn, torch.ones(2)))
    assert lines["mul"] == ["first = doubled(x)", "return x.mul(2)"]
    assert lines["mul_1"] == ["second = doubled(x)", "return x.mul(2)"]
    assert lines["add"] == ["return first.add(second)"]


def test_a_generator_shows_the_line_that_it_is_resumed_from():
    def fn(x):
        made = rows(x)
        first = next(made)
        second = next(made)
        return first + second - next(made)

    lines = shown(check(fn, torch.ones(2)))
    assert lines["mul"] == ["first = next(made)", "yield doubled(x)", "return x.mul(2)"]
    assert lines["mul_1"] == ["second = next(made)", "yield doubled(x).add(1)", "return x.mul(2)"]
    assert lines["add"] == ["second = next(made)", "yield doubled(x).add(1)"]
    assert lines["sub"] == ["return first + second - next(made)", "yield x.sub(1)"]


def test_several_nodes_of_one_line_and_of_the_next():
    def inner(x):
        y = x.sin().cos()
        return y.exp()

    def fn(x):
        return inner(x).log()

    lines = shown(check(fn, torch.ones(2)))
    assert lines["sin"] == lines["cos"] == ["return inner(x).log()", "y = x.sin().cos()"]
    assert lines["exp"] == ["return inner(x).log()", "return y.exp()"]
    assert lines["log"] == ["return inner(x).log()"]
