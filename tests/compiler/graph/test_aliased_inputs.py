"""Graphs that write to what two inputs have in common, through a compiler that keeps kernels."""

from __future__ import annotations

import pytest
import torch

import suture
from suture import events
from tests.harness import Graphs

BACKENDS = ["eager", "aot_eager", "inductor"]


def doubled(x):
    suture.graph_break()
    return x * 2


def rows_of_what_is_made(x):
    out = torch.zeros_like(x)
    for t in range(3):
        out[t] += doubled(x[t])
    return out


def rows_kept_in_a_name(x):
    out = torch.zeros_like(x)
    for t in range(3):
        row = out[t]
        suture.graph_break()
        row += x[t]
        out[t] = row
    return out


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [rows_of_what_is_made, rows_kept_in_a_name])
def test_a_row_and_its_matrix_are_written_in_each_turn(fn, backend):
    suture.reset()
    compiled = suture.compile(fn, backend=backend)
    for k in range(3):
        x = torch.full((3, 4), k + 1.0)
        assert torch.equal(compiled(x), fn(x))


def write_both(row, x, i, out):
    row += x
    out[i] = row * 2


def write_one(row, x, i, out):
    row += x
    return out * 2


def write_whole(row, x, i, out):
    out += row * 2


def write_shifted(row, x, i, out):
    row.mul_(2)
    out[:, 1:] = out[:, :-1] * 1


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("fn", [write_both, write_one, write_whole, write_shifted])
def test_a_row_at_one_place_and_at_another(fn, backend):
    suture.reset()
    compiled = suture.compile(fn, backend=backend)
    for i in (1, 1, 2, 0, 1):
        plain, ours = (torch.ones(3, 4) + torch.arange(4.0) for _ in range(2))
        want = fn(plain[i], torch.ones(4), i, plain)
        got = compiled(ours[i], torch.ones(4), i, ours)
        assert torch.equal(plain, ours)
        assert want is got or torch.equal(want, got)


def test_rows_that_do_not_meet_are_compiled():
    def fn(first, second):
        first += 1
        second += first

    both = torch.zeros(2, 4)
    suture.reset()
    compiled = suture.compile(fn)
    with events.recorded(events.BackendCompiled) as seen:
        compiled(both[0], both[1])
    assert len(seen) == 1
    assert both.tolist() == [[1.0] * 4] * 2


def test_another_backend_gets_the_graph():
    graphs = Graphs()
    compiled = suture.compile(write_both, backend=graphs)
    out = torch.zeros(3, 4)
    compiled(out[1], torch.ones(4), 1, out)
    assert len(graphs) == 1
    assert out.tolist() == [[0.0] * 4, [2.0] * 4, [0.0] * 4]
