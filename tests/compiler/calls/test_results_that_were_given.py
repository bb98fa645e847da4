"""Results of operations that are tensors they were given, and tensors made of numbers."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.harness import Graphs, check

PAIRS = {
    "max": lambda x, out: torch.max(x, 1, out=out),
    "sort": lambda x, out: torch.sort(x[:, 0], out=out),
    "topk": lambda x, out: torch.topk(x[:, 0], 3, out=out),
    "kthvalue": lambda x, out: x.kthvalue(1, 1) and torch.kthvalue(x, 1, 1, out=out),
}


@pytest.mark.parametrize("op", PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_pair_of_outputs_comes_back_as_the_tensors_that_were_given(op, backend):
    def fn(x, values, indices):
        given = (values, indices)
        made = op(x, given)
        first, second = made
        return first is values, second is indices, made[0] is first, values + 1, indices

    check(
        fn,
        torch.randn(3, 4),
        torch.zeros(3),
        torch.zeros(3, dtype=torch.long),
        graphs=1,
        backend=backend,
    )


def test_a_list_of_results_holds_what_needed_no_change():
    def fn(x, y):
        wide = torch.atleast_1d(x, y)
        both = torch.broadcast_tensors(x, y)
        return [t is x for t in (*wide, *both)], [t is y for t in (*wide, *both)], both[1]

    check(fn, torch.ones(3), torch.zeros(()), graphs=1)
    check(fn, torch.ones(3), torch.zeros(3), graphs=None)


def test_a_float_too_large_for_its_tensor_is_infinite():
    graphs = Graphs()

    def fn(x, number):
        return x * torch.tensor(number), torch.tensor([number, -number]), x.new_tensor(number)

    compiled = suture.compile(fn, backend=graphs, fullgraph=True)
    for number in (0.1, 1 / 3, 1e300, float("inf"), -1e39):
        for ours, plain in zip(compiled(torch.ones(2), number), fn(torch.ones(2), number)):
            assert ours.dtype is plain.dtype
            assert torch.equal(ours, plain)
    assert len(graphs) == 2
