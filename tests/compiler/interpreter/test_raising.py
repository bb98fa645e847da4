"""Regions that end because the program raises."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.harness import check


class Positive:
    def __set__(self, obj, value):
        if value < 0:
            raise ValueError(f"negative: {value}")
        obj.kept = value


class Holder:
    value = Positive()


def set_value(x, value):
    holder = Holder()
    holder.value = value
    return x * holder.kept


@pytest.mark.parametrize("values", [(-5, 5), (3, 5, -5, 1.5, 5), (-1, -2, -3, 4, 5), (-0.5, 0.5)])
def test_a_value_that_raised_in_a_nested_call_says_nothing_about_others(values):
    compiled = suture.compile(set_value, backend="eager")
    x = torch.ones(2)
    with suture.config.patch(strict=True):
        for value in values:
            if value < 0:
                with pytest.raises(ValueError, match="negative"):
                    compiled(x, value)
            else:
                assert torch.equal(compiled(x, value), x * value)


def test_after_a_raise_other_values_are_captured():
    compiled = suture.compile(set_value, backend="eager")
    suture.reset()
    for value in (-1, -2, -3):
        with pytest.raises(ValueError, match="negative"):
            compiled(torch.ones(2), value)
    compiled(torch.ones(2), 4)
    assert suture.stats().graphs == 1


def test_the_exception_has_the_lines_of_the_nested_call():
    def fn(x):
        return set_value(x, -1)

    def lines(call):
        with pytest.raises(ValueError, match="negative") as caught:
            call(torch.ones(2))
        return [(e.name, e.lineno) for e in caught.traceback][2:]

    assert lines(suture.compile(fn, backend="eager")) == lines(fn)


def test_sizes_that_raised_in_a_nested_call_say_nothing_about_others():
    class Shaped:
        def __init__(self, x):
            self.x = x

        @property
        def rows(self):
            if self.x.shape[0] % 2:
                raise LookupError(self.x.shape[0])
            return self.x.shape[0]

    def fn(x):
        shaped = Shaped(x)
        return x * getattr(shaped, "rows")  # noqa: B009

    compiled = suture.compile(fn, backend="eager")
    with suture.config.patch(strict=True):
        for size in (3, 4, 5, 6, 7, 8):
            x = torch.ones(size)
            if size % 2:
                with pytest.raises(LookupError):
                    compiled(x)
            else:
                assert torch.equal(compiled(x), x * size)


def test_a_raise_that_an_outer_frame_handles():
    def fn(x, value):
        try:
            return set_value(x, value)
        except ValueError as error:
            return x - 1, error.args

    for value in (-1, 2):
        check(fn, torch.ones(2), value)
