"""What a sparse tensor says of itself is known while tracing, and guarded."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.harness import Graphs

pytestmark = pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")


def kind(x, a):
    if isinstance(a, torch.Tensor) and a.layout is torch.strided:
        return x + 1
    x = x.sin() if a.is_sparse else x.cos()
    return x * a.dim() + a.size(0) if a.dtype == torch.float32 else x


def graphs_of(fn, *given, **options):
    """How often each graph of `fn` was compiled, its operations; the results are eager's."""
    suture.reset()
    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs, **options)
    for a in given:
        x = torch.randn(a.shape[0], 2)
        assert torch.equal(compiled(x, a), fn(x, a))
    return graphs.ops()


def test_facts_need_no_break():
    kinds = [
        torch.eye(2).to_sparse(),
        torch.eye(2).to_sparse_csr(),
        torch.eye(2),
        torch.eye(2).double().to_sparse(),
        torch.eye(3).to_sparse(),
    ]
    assert graphs_of(kind, *kinds, *kinds, dynamic=False) == [
        ["sin", "mul", "add"],
        ["cos", "mul", "add"],
        ["add"],
        ["sin"],
        ["sin", "mul", "add"],
    ]
    assert not suture.stats().breaks


def test_a_growing_sparse_tensor_has_one_more_variant():
    made = graphs_of(kind, *(torch.eye(n).to_sparse() for n in (2, 3, 4, 5)))
    assert [[op for op in ops if op != "size"] for ops in made] == [["sin", "mul", "add"]] * 2


def test_the_product_is_the_only_break():
    def fn(x, a):
        y = x.sin() if a.is_sparse else x.cos()
        return torch.sparse.mm(a, y) + a.shape[0]

    a = torch.eye(2).to_sparse()
    assert graphs_of(fn, a, a) == [["sin"], ["add"]]
    assert [record.number for record in suture.stats().breaks] == ["GB0015"]


def test_a_dimension_that_is_not_there():
    compiled = suture.compile(lambda x, a: x.sin() + a.size(4), backend="eager")
    with pytest.raises(IndexError, match="Dimension out of range"):
        compiled(torch.ones(2), torch.eye(2).to_sparse())
