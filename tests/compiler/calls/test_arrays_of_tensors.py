"""Arrays that NumPy makes of tensors and scalars, and tensors of lists of arrays."""

import numpy as np
import pytest
import torch

from tests.harness import check

x = torch.linspace(0.5, 2.0, 6).reshape(3, 2)


@pytest.mark.filterwarnings("ignore:Creating a tensor from a list")  # of how slow eager is
def test_a_tensor_of_a_list_of_arrays():
    def fn(a):
        b = a.astype(np.float32)
        return torch.tensor([a, a + 1]), torch.tensor([a, b]), torch.tensor([b, b]) * 2

    check(fn, np.ones((2, 3)), graphs=1)


def test_a_tensor_of_arrays_of_different_shapes_is_torchs_error():
    check(lambda a, b: torch.tensor([a, b]), np.ones(2), np.ones(3), graphs=None, breaks=None)


def test_an_array_of_a_list_of_tensors():
    def fn(x):
        return np.array([x.sum(), x.mean()]), np.asarray([x[0], x[1]]), np.mean([x.sum(), x[0, 0]])

    check(fn, x, graphs=1)


def test_an_array_of_tensors_that_require_grad_is_numpys_error():
    check(lambda x: np.array([x.sum()]), x.clone().requires_grad_(), graphs=None, breaks=None)


def test_an_array_of_a_numpy_scalar():
    def fn(x):
        total = np.sum(np.mean(x.numpy(), 1))
        return torch.from_numpy(np.asarray(total)), np.array(total) + 1

    check(fn, x, graphs=1)


def test_numpy_by_force_of_what_requires_grad():
    def fn(x):
        return x.sin().numpy(force=True) + 1, x.detach().numpy(force=False) * 2

    check(fn, x.clone().requires_grad_(), graphs=1)


@pytest.mark.parametrize("value", [x, x.t(), x[:, 1]])
def test_strides_of_the_array_of_an_argument(value):
    check(lambda x: (x.sin(), x.numpy().strides), value, graphs=1)
