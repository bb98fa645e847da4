"""Functions of NumPy for which torch's NumPy gives other dtypes, shapes or containers."""

from __future__ import annotations

import numpy
import pytest
import torch

from tests.harness import check

CALLS = {
    "a list of arrays": lambda a: numpy.array([a, a * 2]),
    "a nested list": lambda a: numpy.asarray([[a, a], [a, a]]),
    "a list of scalars": lambda a: numpy.array([a[0, 0], a[1, 1]]),
    "a list of unlike things": lambda a: numpy.array([a[0, 0], 2.5]),
    "a sum of a list": lambda a: numpy.sum([a, a], axis=0),
    "a mean of a list": lambda a: numpy.mean([a.mean(), a.max()]),
    "zeros like a list": lambda a: numpy.zeros_like([a, a]),
    "square": numpy.square,
    "where": lambda a: numpy.where(a > 1, a, 1.5),
    "true_divide": lambda a: numpy.true_divide(a, 2),
    "arctan2": lambda a: numpy.arctan2(a, a),
    "rint": numpy.rint,
    "sum": numpy.sum,
    "the method sum": lambda a: a.sum(axis=0),
    "the method cumsum": lambda a: a.cumsum(),
    "trace": numpy.trace,
    "all": numpy.all,
    "trunc": numpy.trunc,
    "percentile": lambda a: numpy.percentile(a, [[10, 20], [30, 40]]),
    "meshgrid": lambda a: numpy.meshgrid(a[0], a[1]),
    "indices": numpy.tril_indices_from,
    "divmod": lambda a: numpy.divmod(a, 2),
    "common_type": lambda a: numpy.common_type(a.astype("float32")),
}
DTYPES = ("float32", "int64", "uint8", "bool")


REFUSED = {("divmod", "bool")}  # by NumPy itself
CASES = [(name, dtype) for name in CALLS for dtype in DTYPES if (name, dtype) not in REFUSED]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_the_kind_of_a_result_is_numpys(name, dtype):
    call = CALLS[name]

    def fn(x, a):
        return x + 1, call(a)

    array = numpy.array([[1, 2], [3, 4]]).astype(dtype)
    check(fn, torch.ones(2), array, graphs=None, breaks=None)


def test_arrays_of_one_kind_are_joined_in_the_graph():
    def fn(x):
        a = x.numpy()
        return numpy.array([a, a * 2]), numpy.asarray([[a], [a]]).sum(axis=0)

    check(fn, torch.ones(3))


FLOATS = numpy.array([0.5, -1.5, 2.5, numpy.nan, -0.0, 3.5, -8.0], "float32")
BYTES = numpy.array([3, 200, 0, 255], "uint8")
INTEGERS = numpy.array([15, -7, 0, 1234])
NUMBERS = {
    "fix": (numpy.fix, FLOATS),
    "modf": (numpy.modf, FLOATS),
    "cbrt": (numpy.cbrt, FLOATS),
    "sign": (numpy.sign, FLOATS),
    "angle": (numpy.angle, FLOATS),
    "heaviside": (lambda a: numpy.heaviside(a, 0.5), FLOATS),
    "unique": (numpy.unique, FLOATS),
    "histogram": (lambda a: numpy.histogram(a, 4), INTEGERS),
    "round": (lambda a: numpy.round(a, -2), INTEGERS),
    "the method round": (lambda a: a.round(-1), INTEGERS),
    "less": (lambda a: numpy.less(a, -3), BYTES),
    "greater": (lambda a: a > -3, BYTES),
    "a high bound": (lambda a: a <= 300, BYTES),
    "a negative power": (lambda a: a**-1, INTEGERS),
    "a power of arrays": (lambda a: numpy.power(a, a - 15), INTEGERS),
    "a quotient by zero": (lambda a: a // (a - 15), INTEGERS),
    "a remainder by zero": (lambda a: numpy.remainder(a, 0), INTEGERS),
    "a difference of truths": (lambda a: (1 - (a > 0), 1.5 - (a > 0)[0], (a > 0) - a), INTEGERS),
    "subtract": (lambda a: numpy.subtract(2.5, a > 0), INTEGERS),
    "complex numbers in order": (lambda a: a * 1j < a, INTEGERS),
    "a power of complex zero": (lambda a: (a * 1j) ** 0, INTEGERS),
    "a number of another range": (lambda a: a.astype("int8") < numpy.uint8(200), INTEGERS),
    "bounds of another range": (lambda a: (numpy.clip(a, -1, 2), a.clip(max=300)), BYTES),
    "bounds by name": (lambda a: numpy.clip(a, a_min=-5, a_max=None), BYTES),
    "tens by name": (lambda a: numpy.round(a, decimals=-2), INTEGERS),
    "an element behind an ellipsis": (lambda a: (a[..., 0], a[0, ...], a[0], a[...]), INTEGERS),
    "gradient of truths": (lambda a: numpy.gradient(a > 0), INTEGERS),
    "squeeze": (lambda a: numpy.squeeze(a, 0), INTEGERS),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_the_numbers_are_numpys(name):
    call, array = NUMBERS[name]

    def fn(x, a):
        return x + 1, call(a)

    with numpy.errstate(all="ignore"):
        check(fn, torch.ones(2), array, graphs=None, breaks=None)


def test_what_raises_in_torch_alone_is_numpys_after_a_write():
    def fn(x, done, values):
        rewards = x.numpy()
        rewards[0] = 1
        rewards //= values.numpy()
        return rewards, 1.0 - done.numpy()[0]

    numbers = torch.tensor([7, -7, 5]), torch.tensor([True, False]), torch.tensor([2, 0, -3])
    with numpy.errstate(all="ignore"):
        check(fn, *numbers, graphs=None, breaks=None)


def test_a_difference_of_truths_is_one_graph():
    check(lambda x: 1.0 - (x.numpy() > 0), torch.ones(3))
