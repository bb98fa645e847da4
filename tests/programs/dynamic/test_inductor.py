"""The same through Inductor: few programs, since each is compiled to C++."""

from __future__ import annotations

import pytest
import torch

from tests.programs.dynamic.counting import compilations

rand = torch.randn

PROGRAMS = {
    "sizes": (
        lambda x, w: torch.softmax(x @ w, -1) * x.shape[0],
        [(rand(n, 4, requires_grad=True), rand(4, 3, requires_grad=True)) for n in (2, 3, 5, 7)],
        [1, 2, 2, 2],
    ),
    "numbers": (
        lambda x, n, f: x * n * f + f,
        [(rand(5), n, n / 2) for n in (2, 3, 4, 5)],
        [1, 2, 2, 2],
    ),
    "data": (
        lambda x, t: x[: t.item()].sum() + x[x > 0].sum(),
        [(rand(8), torch.tensor(n)) for n in (2, 3, 5)],
        [1, 1, 1],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore")
def test_dynamic_programs_through_inductor(name):
    fn, calls, expected = PROGRAMS[name]
    assert compilations(fn, *calls, backend="inductor") == expected
