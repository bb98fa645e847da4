"""What the function of a transform changes outside of itself: torch runs it once, at the call."""

import types

import torch

import suture
from tests.harness import Graphs, check

x = torch.linspace(0.5, 2.0, 6).reshape(3, 2)
COUNT = 0


def test_grad_of_a_function_that_notes_things_in_containers():
    def fn(x, notes):
        kept, calls = [], 0

        def loss(x):
            nonlocal calls
            calls += 1
            kept.append(x.ndim)
            notes["shape"] = tuple(x.shape)
            return x.sin().sum()

        return torch.func.grad(loss)(x), kept, calls

    check(fn, x, {}, graphs=1)


def test_a_counter_on_an_object_is_a_number_of_the_region():
    counter = types.SimpleNamespace(calls=0)
    graphs = Graphs()

    def fn(x):
        def body(row):
            counter.calls += 1
            return row * counter.calls

        return torch.vmap(body)(x), counter.calls

    compiled = suture.compile(fn, backend=graphs, fullgraph=True)
    for calls in range(1, 6):
        result, count = compiled(x)
        assert count == counter.calls == calls
        torch.testing.assert_close(result, x * calls)
    assert len(graphs) == 1


def test_transforms_inside_each_other_and_a_global():
    def fn(x):
        kept = []

        def inner(row):
            global COUNT
            COUNT += 1
            kept.append("inner")
            return row.sin().sum()

        def outer(row):
            kept.append("outer")
            return torch.func.grad(inner)(row)

        return torch.vmap(outer)(x), torch.func.jacrev(inner)(x[0]), kept

    check(fn, x, graphs=2, recompiles=None)  # the global is a number that changes
    assert COUNT == 8  # two calls of each, in eager and compiled


def test_sizes_that_are_noted_are_those_of_each_call():
    graphs = Graphs()

    def fn(x):
        kept = []

        def loss(x):
            kept.append(x.shape[0] + 1)
            return x.sin().sum()

        return torch.func.grad(loss)(x), kept

    compiled = suture.compile(fn, backend=graphs, fullgraph=True)
    for n in (3, 4, 5, 6):
        assert compiled(torch.ones(n))[1] == [n + 1]
    assert len(graphs) == 2


def test_a_tensor_of_the_body_does_not_leave_it():
    def fn(x):
        kept = []

        def loss(x):
            kept.append(x.sin())
            return kept[0].sum()

        return torch.func.grad(loss)(x), len(kept)

    check(fn, x, graphs=0, breaks=["GB0067"])


def test_a_tensor_of_the_body_does_not_leave_it_inside_of_something():
    def fn(x, state):
        def loss(x):
            state["hook"] = {"f": lambda y=x.cos(): y}
            return x.sin().sum()

        return torch.func.grad(loss)(x), len(state)

    compiled = suture.compile(fn, backend="eager")
    torch.testing.assert_close(compiled(x, {})[0], x.cos())
    assert [b.number for b in suture.stats().breaks] == ["GB0067"]


def test_the_function_of_vjp_changes_things_once():
    def fn(x):
        kept = []

        def body(x):
            kept.append(1)
            return x.sin()

        out, pull = torch.func.vjp(body, x)
        return out, pull(torch.ones_like(x)), kept

    check(fn, x, graphs=1, breaks=["GB0067"])


def test_a_body_that_runs_for_each_chunk_is_left_to_python():
    def fn(x):
        kept = []

        def body(row):
            kept.append(1)
            return row.sin()

        return torch.vmap(body, chunk_size=2)(x), kept

    check(fn, x, graphs=0, breaks=["GB0067"])
