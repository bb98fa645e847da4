"""A graph that raises: the region is run again in the interpreter, and nobody has to guess."""

from __future__ import annotations

import logging
import threading
import traceback

import pytest
import torch

import suture
from suture.compiler import pipeline
from tests.harness import Graphs, Outcome, check, compare


def raising_backend(gm, inputs):
    def call(*args):
        raise ZeroDivisionError("the backend's own")

    return call


def test_a_graph_that_raises_alone_gives_the_programs_result_and_a_warning(caplog):
    compiled = suture.compile(lambda x: x + 1, backend=raising_backend)
    with caplog.at_level(logging.WARNING, logger="suture.runtime"):
        for _ in range(3):
            assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0))
    told = [r for r in caplog.records if "a graph raised" in r.getMessage()]
    assert len(told) == 1
    assert "the backend's own" in told[0].getMessage()


def test_an_error_of_the_program_is_told_by_nobody_else(caplog):
    def fn(x, i):
        return torch.ones(3)[x.long() + i]

    compiled = suture.compile(fn, backend="eager")
    compiled(torch.zeros(2), 0)
    with caplog.at_level(logging.WARNING, logger="suture.runtime"), pytest.raises(IndexError):
        compiled(torch.full((2,), 9.0), 0)
    assert not [r for r in caplog.records if r.name.startswith("suture")]


def test_the_error_comes_from_the_programs_line_through_inlined_calls():
    def inner(x):
        y = x + 1
        return torch.linalg.cholesky(y)

    def outer(x):
        try:
            return inner(x)
        finally:
            torch._dynamo.graph_break()

    def lines(call):
        with pytest.raises(RuntimeError) as caught:
            call(-torch.eye(2) * 5)
        found = traceback.extract_tb(caught.value.__traceback__)
        return [(f.name, f.lineno) for f in found if f.filename == __file__][2:]

    assert lines(suture.compile(outer, backend="eager")) == lines(outer)


def test_a_handler_in_the_same_region_gets_the_error():
    def fn(x, tries):
        for i in range(tries):
            try:
                return torch.linalg.cholesky(x + i * torch.eye(2)), i
            except RuntimeError:
                continue
        return None, tries

    check(fn, -torch.eye(2) * 1.5, 5, graphs=None, breaks=None, recompiles=None)
    check(fn, -torch.eye(2) * 9, 2, graphs=None, breaks=None, recompiles=None)


def test_a_generator_whose_graph_raises():
    def produce(x):
        for i in range(3):
            yield torch.linalg.cholesky(x - i * torch.eye(2))

    def lines(make):
        out = []
        with pytest.raises(RuntimeError) as caught:
            out.extend(make(torch.eye(2)))
        return len(out), [f.name for f in caught.traceback][2:]

    assert lines(suture.compile(produce, backend="eager")) == lines(produce)


def test_running_out_of_stack_while_compiling_leaves_a_record(monkeypatch):
    def full(*args):
        raise RecursionError

    monkeypatch.setattr(pipeline, "settle", full)
    suture.reset()
    compiled = suture.compile(lambda x: x + 1, backend="eager")
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0))
    assert [record.number for record in suture.stats().interpreted] == ["GB2048"]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_an_error_of_a_graph_that_writes_has_eagers_text(backend):
    def fn(x, mask):
        x[mask] = 1.0
        return x + 1

    def text(call):
        with pytest.raises(IndexError) as caught:
            call(torch.ones(4), torch.zeros(3, dtype=torch.bool))
        return str(caught.value)

    compiled = suture.compile(fn, backend=backend, dynamic=True)
    compiled(torch.ones(4), torch.ones(4, dtype=torch.bool))
    assert text(compiled) == text(fn)


def test_a_block_that_python_entered_is_left_where_the_graph_in_it_raises():
    """The graph writes more than is put back: its error is raised where it starts, and that is in
    the block."""

    def fn(x, lock):
        with lock:
            x.add_(1)
        return x + 1

    lock = threading.Lock()
    with pytest.raises(ZeroDivisionError):
        suture.compile(fn, backend=raising_backend)(torch.ones(1 << 19), lock)
    assert not lock.locked()


VIEWS = {
    "every other": lambda base: base[::2],
    "columns": lambda base: base.view(4, 2)[:, 0],
    "expanded": lambda base: base[:1].expand(3),
    "transposed part": lambda base: base.view(2, 4).t()[1:],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_graph_that_writes_a_part_of_memory_and_raises_in_a_block(view):
    """What it wrote is put back, also what lies apart in memory or twice at one place."""

    def fn(base, at):
        part = view(base)
        suture.graph_break()
        done = []
        try:
            done.append("first")
            part[0] = 5
            picked = base[at]
            done.append("second")
        except IndexError as error:
            return done, str(error), base
        return done, picked, base

    compiled = suture.compile(fn, backend="eager", dynamic=False)
    for at in ([1], [1], [9], [1]):
        plain, ours = (
            Outcome(call, (torch.arange(8.0), torch.tensor(at)), {}) for call in (fn, compiled)
        )
        compare(plain, ours, grads=False)


@pytest.mark.parametrize(("name", "given"), [("unsqueeze_", (0,)), ("t_", ())])
def test_a_graph_that_reshapes_an_input_and_raises_in_a_block(name, given):
    """The input gets back its numbers and its shape before the region runs again."""

    def fn(y, at):
        y += 1
        getattr(y, name)(*given)
        picked = None
        try:
            picked = y[at]
        except IndexError as error:
            return y, str(error)
        return y, picked

    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs, dynamic=False)
    for at in ([1], [2], [9], [1]):
        made = (torch.arange(12.0).view(3, 4).clone(), torch.tensor(at))
        plain, ours = (Outcome(call, tuple(t.clone() for t in made), {}) for call in (fn, compiled))
        compare(plain, ours, grads=False)
    assert graphs.ops() == [["iadd", name, "getitem"]]


def test_levels_of_autocast_are_left_and_casts_of_weights_forgotten():
    layer = torch.nn.Linear(2, 2)

    def fn(x, wrong):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            with torch.autocast("cpu", enabled=wrong):
                y = layer(x)
            return torch.linalg.cholesky(y.float()) if wrong else y

    compiled = suture.compile(fn, backend="eager")
    for _ in range(2):
        with pytest.raises(RuntimeError, match="cholesky"):
            compiled(-torch.ones(2, 2), True)
    assert torch.autocast_increment_nesting() == 1
    assert torch.autocast_decrement_nesting() == 0
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.nn.init.constant_(layer.weight, 3.0)
        torch.nn.init.zeros_(layer.bias)
        assert torch.equal(layer(torch.ones(1, 2)).float(), torch.full((1, 2), 6.0))
