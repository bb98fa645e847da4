"""Functions that a program marks for the compiler, and compiling what is compiled."""

from __future__ import annotations

import pytest
import torch
import torch._dynamo

import suture
from suture.rules.rows import NamedTable, table_rows
from tests.harness import check


def test_result_of_a_method_is_taken_for_a_constant():
    class Scale:
        def __init__(self):
            self.value = 3

        @torch.compiler.assume_constant_result
        def get(self):
            return self.value

        def apply(self, x):
            return x * self.get()

    compiled = suture.compile(Scale().apply, backend="eager", fullgraph=True)
    assert compiled(torch.ones(1)).item() == 3


def test_constant_result_may_come_from_a_tensor():
    @torch.compiler.assume_constant_result
    def is_one(t):
        return t[0].item() == 1

    def fn(x, t):
        return x + 2 if is_one(t) else x + 1

    check(fn, torch.ones(1), torch.tensor([1]), graphs=1)


def test_disabled_function_alone_is_run_and_what_it_calls_is_compiled():
    def inner(x):
        return x + 1, torch.compiler.is_compiling()

    @torch._dynamo.disable(recursive=False)
    def outer(x):
        return *inner(x.cos()), torch.compiler.is_compiling()

    def fn(x):
        return outer(x.tan())

    _, below, here = suture.compile(fn, backend="eager")(torch.ones(1))
    assert (below, here) == (True, False)


def test_compile_inside_a_compiled_function_is_traced_with_it():
    def double(x, times=None):
        return x * (2 if times is None else times)

    def fn(x):
        decorated = suture.compile(backend="eager")(double)
        return suture.compile(double, backend="eager")(x) + decorated(x, 3)

    check(fn, torch.ones(2), graphs=1)


def test_installed_compile_inside_a_compiled_function_is_traced_with_it():
    def fn(x):
        return torch.compile(torch.sin, backend="eager")(x) + 1

    suture.install()
    try:
        compiled = torch.compile(fn, backend="eager", fullgraph=True)
        assert torch.equal(compiled(torch.ones(2)), torch.ones(2).sin() + 1)
    finally:
        suture.uninstall()


def test_what_is_known_of_compile_holds_after_it_was_installed_again():
    table = NamedTable(table_rows())
    suture.install()
    try:
        found = table.get(torch.compile.__wrapped__)  # the table is filled now
    finally:
        suture.uninstall()
    assert found is not None
    assert table.get(torch.compile) is found


def test_compiling_again_and_again_is_compiling_once():
    module = torch.nn.Linear(4, 4)
    compiled = module
    for _ in range(4):
        compiled = suture.compile(compiled, backend="eager")
    assert torch.equal(compiled(torch.ones(2, 4)), module(torch.ones(2, 4)))


def test_class_of_modules_can_be_compiled_as_a_whole():
    @suture.compile(backend="eager", fullgraph=True)
    class Twice(torch.nn.Module):
        def forward(self, x):
            assert torch.compiler.is_compiling()
            return x * 2

    assert isinstance(Twice(), Twice)
    assert torch.equal(Twice()(torch.ones(2)), torch.ones(2) * 2)


def test_existing_function_marked_inside_is_one_node():
    def opaque(x):
        torch._dynamo.graph_break()
        return x + 42

    def fn(x):
        return torch._dynamo.nonstrict_trace(traceable_fn=opaque)(x) + 1

    compiled = suture.compile(fn, backend="aot_eager", fullgraph=True)
    assert compiled(torch.zeros(1)).item() == 43


def test_grad_mode_decorates_a_function_made_inside():
    def fn(x):
        @torch.no_grad()
        def without_grad(x):
            return x * 2

        return without_grad(x).requires_grad, (x * 2).requires_grad, without_grad(x) + 1

    check(fn, torch.ones(2, requires_grad=True), graphs=1)


def test_failed_check_in_a_whole_graph_is_raised_each_time():
    def fn(x):
        y = x.sin()
        if x.sum() < 0:
            raise ValueError("negative")
        return y + 1

    suture.reset()
    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    for _ in range(10):
        with pytest.raises(ValueError, match="negative"):
            compiled(-torch.ones(2))
        assert torch.equal(compiled(torch.ones(2)), torch.ones(2).sin() + 1)
    assert suture.stats().variants == 1


def test_one_function_is_allowed_and_disallowed_in_turn():
    def step(x):
        return x * 2 + 1

    def fn(x):
        return step(x.sin()) + 1

    for _ in range(2):
        torch._dynamo.allow_in_graph(step)
        check(fn, torch.ones(3), ops=[["sin", "step", "add"]])
        torch._dynamo.disallow_in_graph(step)
        check(fn, torch.ones(3), ops=[["sin"], ["add"]], breaks=["GB0007"])
