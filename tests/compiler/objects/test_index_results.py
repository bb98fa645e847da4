"""What `__index__` of an object gives, where a sequence needs a number."""

from __future__ import annotations

import torch

from tests.harness import check


class Gives:
    def __init__(self, given):
        self.given = given

    def __index__(self):
        return self.given


def test_a_number_that_the_object_gives_is_the_index():
    def fn(x, items):
        return x + items[Gives(1)], "ab" * Gives(2), range(4)[Gives(-1)]

    check(fn, torch.ones(2), [10, 20], graphs=1)


def test_a_size_that_the_object_gives_is_the_index():
    def fn(x, items):
        return x + items[Gives(x.shape[0])]

    check(fn, torch.ones(2), [10, 20, 30], graphs=1)


def test_what_is_no_integer_raises_as_in_python():
    def fn(x, given):
        try:
            return x + [1, 2][Gives(given)]
        except TypeError as error:
            return x - 1, str(error)

    for given in ("a", 1.0, None, torch.ones(1, dtype=torch.int64)):
        check(fn, torch.ones(2), given, graphs=1)
