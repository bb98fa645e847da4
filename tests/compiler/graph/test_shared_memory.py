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


@pytest.mark.parametrize("fn", [some, rows, rows_in_a_list])
def test_memory_that_is_shared_in_a_later_call_is_noticed(fn):
    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    variants = []
    for buffer in (torch.zeros(4), torch.zeros(4).share_memory_(), torch.zeros(4)):
        wanted = buffer.clone()
        x = torch.ones(2)
        for _ in range(2):
            assert torch.equal(compiled(buffer, x), fn(wanted, x))
            assert torch.equal(buffer, wanted)
        variants.append(suture.stats().variants)
    assert variants[1] == variants[0] + 1 and variants[2] == variants[1]
    assert len(graphs) == 1  # that of the first call; the other one was never given away


def test_a_buffer_of_a_module_that_is_shared_later_is_noticed():
    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("counts", torch.zeros(4))

        def forward(self, x):
            self.counts[1] += x.sum()
            return x + 1

    graphs = Graphs()
    module = Counts()
    compiled = suture.compile(module, backend=graphs)
    compiled(torch.ones(2))
    before = suture.stats().variants
    module.share_memory()
    compiled(torch.ones(2))
    assert suture.stats().variants == before + 1
    assert len(graphs) == 1
    assert module.counts.tolist() == [0.0, 4.0, 0.0, 0.0]
