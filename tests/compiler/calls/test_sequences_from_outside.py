"""Lists and tuples that come from outside are to torch and NumPy what those made here are."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import suture
from tests.harness import check


class Doubling(torch.Tensor):
    """Joins tensors its own way."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        made = super().__torch_function__(func, types, args, kwargs or {})
        return made * 2 if func in (torch.stack, torch.cat) else made


class Named:
    """No tensor, but operations ask it."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return f"asked about {func.__name__}"


def doubling():
    return torch.ones(2).as_subclass(Doubling)


@pytest.mark.parametrize("kind", [list, tuple])
def test_tensors_in_it_take_operations_over(kind):
    check(lambda parts: (torch.stack(parts), torch.cat(parts)), kind([doubling(), doubling()]))


def test_tensors_in_it_take_operations_over_where_it_is_named():
    check(lambda parts: torch.stack(tensors=parts), [torch.ones(2), doubling()])


def test_tensors_of_a_list_in_an_object_take_operations_over():
    class Holder:
        parts = None

    holder = Holder()
    holder.parts = [doubling(), torch.ones(2)]
    check(lambda x: torch.stack(holder.parts) + x, torch.ones(2))


def test_a_list_of_plain_tensors_and_then_of_others():
    compiled = suture.compile(lambda parts: torch.stack(parts), backend="eager")
    for parts in ([torch.ones(2)], [doubling()], [torch.ones(2)]):
        made, expected = compiled(parts), torch.stack(parts)
        assert type(made) is type(expected)
        assert torch.equal(made, expected)


def test_objects_in_it_are_asked():
    check(lambda parts: torch.cat(parts), [torch.ones(2), Named()], graphs=0)
    check(lambda x, other: torch.add(x, other=other), torch.ones(2), Named(), graphs=0)


@pytest.mark.parametrize("kind", [np.float32, np.int8, np.bool_, np.float64])
def test_scalars_in_it_decide_the_dtype_of_an_array(kind):
    def fn(parts):
        return np.array(parts), np.asarray([parts, parts]), np.array([parts[0], 1])

    check(fn, [kind(1), kind(0)], graphs=1)


def test_scalars_of_an_array_that_python_goes_through():
    check(
        lambda a: np.array([v * 2 for v in a.flat]), np.ones(3, np.float32), graphs=2, breaks=None
    )


def test_arrays_in_it_are_joined():
    def fn(parts):
        joined = np.concatenate(parts), np.array(parts), np.mean(parts, axis=0)
        return *joined, np.add(parts, parts), np.maximum(parts, 2)

    check(fn, [np.ones((2, 3), np.float32), np.zeros((2, 3), np.float32)], graphs=1)


def test_an_array_of_tensors_in_it():
    check(lambda parts: np.array(parts), [torch.ones(2), torch.zeros(2)], graphs=1)


def test_arrays_in_a_key_that_outlives_a_break():
    def fn(x, rows):
        key = (rows, slice(0, 2))
        suture.graph_break()
        return x[key]

    check(fn, torch.rand(3, 3), np.array([0, 2]), graphs=1, breaks=None)
