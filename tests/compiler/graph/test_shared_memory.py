"""Graphs that write to a part of memory which processes share are not compiled."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.harness import Graphs


def some(buffer, x):
    buffer[1] = x.sum()
    return x + 1


def rows(buffer, x):
    buffer[1:].add_(x.sum())
    return x + 1


def rows_in_a_list(buffer, x):
    torch._foreach_add_([buffer[:1], buffer[2:]], 1)
    return x + 1


def all_of_them(buffer, x):
    buffer.add_(x.sum())
    return x + 1


def compiled_graphs(fn, buffer):
    graphs = Graphs()
    x, wanted = torch.ones(2), buffer.clone()
    compiled = suture.compile(fn, backend=graphs)
    for _ in range(2):
        assert torch.equal(compiled(buffer, x), fn(wanted, x))
        assert torch.equal(buffer, wanted)
    return len(graphs)


@pytest.mark.parametrize("fn", [some, rows, rows_in_a_list])
def test_a_part_of_shared_memory_is_written_by_torch_itself(fn):
    assert compiled_graphs(fn, torch.zeros(4).share_memory_()) == 0


def test_a_part_of_a_shared_file_is_written_by_torch_itself(tmp_path):
    buffer = torch.from_file(str(tmp_path / "shared"), shared=True, size=4)
    assert compiled_graphs(some, buffer) == 0


@pytest.mark.parametrize("fn", [some, rows, rows_in_a_list, all_of_them])
def test_memory_of_this_process_is_written_by_a_compiled_graph(fn):
    assert compiled_graphs(fn, torch.zeros(4)) == 1


def test_all_of_shared_memory_is_written_by_a_compiled_graph():
    assert compiled_graphs(all_of_them, torch.zeros(4).share_memory_()) == 1


def test_shared_memory_that_is_read_is_read_by_a_compiled_graph():
    graphs = Graphs()
    buffer = torch.ones(4).share_memory_()
    compiled = suture.compile(lambda b, x: (x + b, x.add_(b)), backend=graphs)
    assert torch.equal(compiled(buffer, torch.ones(4))[0], torch.full((4,), 2.0))
    assert len(graphs) == 1
