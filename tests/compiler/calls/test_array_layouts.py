"""What NumPy computes lies in memory as NumPy lays it out."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.harness import check

LAYOUTS = {
    "in order": torch.arange(6.0).view(3, 2),
    "transposed": torch.arange(6.0).view(2, 3).t(),
    "with gaps": torch.arange(15.0).view(3, 5)[:, :2],
    "one element": torch.as_strided(torch.arange(8.0), (4, 1), (1, 4)),
}
PROGRAMS = {
    "sum": lambda a: a + 1,
    "of two": lambda a: a + np.ascontiguousarray(a),
    "copy": lambda a: a.copy(),
    "copy of a function": lambda a: np.copy(a),
    "another dtype": lambda a: a.astype(np.float32),
    "reduction": lambda a: a.sum(1, keepdims=True),
    "cumulative": lambda a: a.cumsum(0),
    "joined": lambda a: np.concatenate([a, a]),
    "stacked": lambda a: np.stack([a, a]),
    "one more dimension": lambda a: a[None] * 2,
    "columns": lambda a: a[:, [0, 0]],
    "rows": lambda a: a[[1, 0]],
    "view": lambda a: a.T,
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("compute", PROGRAMS.values(), ids=PROGRAMS)
def test_strides_are_those_of_numpy(compute, layout):
    def fn(x):
        return torch.from_numpy(compute(x.numpy()))

    check(fn, layout)


@pytest.mark.parametrize("name", ["sum", "copy", "joined", "stacked"])
def test_strides_of_arrays_too_large_to_ask_with(name):
    def fn(x):
        return torch.from_numpy(PROGRAMS[name](x.numpy()))

    check(fn, torch.ones(4, 4096).t())


def test_a_copy_of_a_transposed_array_can_be_viewed():
    def fn(x):
        return torch.from_numpy(x.numpy().T.copy()).view(-1)

    check(fn, torch.arange(6.0).view(2, 3), backend="aot_eager")


def test_nothing_is_copied_where_the_order_is_the_usual_one():
    def fn(x):
        return torch.from_numpy((x.numpy() + 1).sum(0))

    (ops,) = check(fn, torch.arange(6.0).view(2, 3)).ops()
    assert "contiguous" not in ops and "as_strided" not in ops
