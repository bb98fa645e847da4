"""Objects of C++ that a binding shows to Python."""

from __future__ import annotations

import torch

import suture
from tests.harness import check

SCHEMA = torch.ops.aten.add.Tensor._schema


def info(result):
    return torch._C._dynamo.guards.GuardDebugInfo(result, ["a == 1"], 0)


HELD = info(True)


def test_a_field_is_read_while_tracing():
    def fn(x):
        return x.sin() if HELD.result else x.cos(), SCHEMA.name, HELD.num_guards_executed

    check(fn, torch.ones(3), ops=[["sin"]])


def test_a_field_of_an_argument_is_guarded():
    def fn(x, given):
        return x.sin() if given.result else x.cos()

    compiled = suture.compile(fn, backend="eager")
    x = torch.ones(3)
    for result in (True, False, True):
        torch.testing.assert_close(compiled(x, info(result)), fn(x, info(result)))


def test_a_field_that_is_made_anew_is_read_by_python():
    def fn(x):
        y = x.sin()
        return y * len(SCHEMA.arguments)

    check(fn, torch.ones(3), ops=[["sin"], ["mul"]], breaks=["GB0177"])
