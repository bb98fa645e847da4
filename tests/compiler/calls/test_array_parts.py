"""Attributes, items and containers of arrays, in the types that NumPy gives them."""

from __future__ import annotations

import numpy
import pytest
import torch

from tests.harness import check


def array():
    return numpy.arange(12.0).reshape(3, 4)


def both(fn):
    check(fn, make=lambda: (array(),))
    check(fn, make=lambda: (array(),), backend="aot_eager")


def test_sizes_and_strides():
    def fn(a):
        return a.nbytes, (a * 2).nbytes, a.strides, a.T.dtype.itemsize, a + 1

    both(fn)


def test_strides_of_a_result_are_read_by_python():
    def fn(a):
        return (a * 2).strides

    check(fn, make=lambda: (array(),), breaks=["GB0157"], graphs=1)


def test_elements_in_line_are_read():
    def fn(a):
        return a.flat[3], a.flat[1:3], a.T.flat[[1, 2]], len(a.flat), a.flat[-1] + a

    both(fn)


def test_elements_in_line_are_written():
    def fn(a):
        b = a.copy()
        b.flat[3] = 7
        b.flat[5:7] = 1.5
        picked = a.flat[1:3]
        a.flat = 5
        return b, picked, a

    both(fn)


def test_what_is_read_in_line_is_a_copy():
    def fn(a):
        picked = a.flat[1:3]
        picked[0] = 100
        return a, picked

    both(fn)


@pytest.mark.parametrize("values", [[1, 2], numpy.ones(2)])
def test_several_numbers_are_written_in_line_by_python(values):
    def fn(a):
        b = a * 2
        b.flat = values
        return b + 1

    check(fn, make=lambda: (array(),), breaks=["GB0157"], graphs=2)


def test_elements_in_line_of_a_transposed_array_are_written_by_python():
    def fn(a):
        a.T.flat[1] = 7
        return a

    check(fn, make=lambda: (array(),), breaks=["GB0157"], graphs=None)


def test_an_item_is_a_number_of_python():
    def fn(a):
        return a.item(3), a.item(1, 2), a.item((0, 1)), a[1].item(0), a.item(-1)

    both(fn)


def test_an_item_that_is_not_there():
    def fn(a):
        return a.item(99)

    check(fn, make=lambda: (array(),), breaks=None, graphs=None)


@pytest.mark.parametrize(
    "fn",
    [
        lambda a: numpy.meshgrid(numpy.arange(2), a[0]),
        lambda a: numpy.atleast_2d(a, a[0]),
        lambda a: numpy.split(a, 3),
        lambda a: numpy.array_split(a, 2),
        lambda a: numpy.hsplit(a, 2),
        lambda a: numpy.gradient(a),
        lambda a: numpy.nonzero(a),
        lambda a: type(numpy.broadcast_arrays(a, a[0])),
    ],
)
def test_several_results_are_held_as_numpy_holds_them(fn):
    check(fn, make=lambda: (array(),), graphs=None)


def test_statistics_of_a_whole_array_are_scalars():
    def fn(a):
        whole = numpy.median(a), numpy.percentile(a, 50), numpy.quantile(a, 0.3)
        parts = numpy.median(a, axis=0), numpy.quantile(a, [0.5])
        return whole, parts, numpy.median(a[0])

    both(fn)


def test_several_percentiles():
    # torch 2.11 looks at the numbers of the list
    breaks = () if torch.__version__ >= (2, 12) else ("GB0033",)
    check(
        lambda a: numpy.percentile(a, [10, 90]) + 1,
        make=lambda: (array(),),
        breaks=breaks,
        graphs=None,
    )


def test_numbers_of_a_list():
    def fn(a):
        numbers = [float(i) for i in range(4)]
        return a * numpy.mean(numbers) + numpy.std(numbers), numpy.sum(numbers), numpy.max(numbers)

    both(fn)


def test_arrays_of_arrays():
    def fn(a):
        row = a[0]
        return numpy.array([row, row * 2]), numpy.stack([row, row]), numpy.asarray([a, a])

    both(fn)
