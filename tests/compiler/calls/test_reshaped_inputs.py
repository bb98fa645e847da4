"""Methods that give a tensor itself another shape."""

from __future__ import annotations

import pytest
import torch

from tests.harness import check

METHODS = {
    "t_": (),
    "transpose_": (0, 1),
    "swapaxes_": (0, 1),
    "swapdims_": (0, 1),
    "squeeze_": (),
    "unsqueeze_": (0,),
    "as_strided_": ((2, 2), (1, 2)),
}


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("name", METHODS)
def test_a_tensor_from_outside_has_its_new_shape_afterwards(name, backend):
    def fn(x):
        y = x.view(-1) + 1
        getattr(x, name)(*METHODS[name])
        return x * 2, y

    for columns in (3, 4, 5):
        check(fn, torch.randn(2, columns), backend=backend)
    check(fn, torch.randn(2, 3), backend=backend, dynamic=True)


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("name", METHODS)
def test_python_reshapes_a_part_of_another_tensor(name, backend):
    def fn(x):
        y = x.reshape(-1) + 1
        getattr(x, name)(*METHODS[name])
        return x * 2, y

    for make in (lambda: torch.randn(8)[:6].view(3, 2), lambda: torch.randn(6).view(2, 3)):
        check(fn, make=lambda make=make: (make(),), breaks=["GB2023"], graphs=2, backend=backend)


@pytest.mark.parametrize("backend", [None, "aot_eager"])
@pytest.mark.parametrize("name", METHODS)
def test_one_that_the_program_makes_is_captured(name, backend):
    def fn(x):
        y = x + 1
        getattr(y, name)(*METHODS[name])
        return y * 2, x[0].unsqueeze_(0)

    check(fn, torch.randn(2, 3), backend=backend)


def test_a_tensor_that_was_given_other_memory_is_reshaped_by_python():
    def fn(x, y):
        y.data = (x * 2).data
        y.t_()
        return y + 1

    check(fn, torch.rand(2, 3), torch.rand(2, 3), breaks=["GB2023"], graphs=2)
