"""Wrong calls fail in CPython's own words."""

from __future__ import annotations

import pytest
import torch

from tests.harness import check


def two(a, b):
    return a + b


def keyword(a, *, k, m=1):
    return a + k + m


class Maker:
    def __init__(self, a):
        self.a = a

    def method(self, b):
        return self.a + b


THREE = 3
WRONG = {
    "too few": lambda x: two(x),
    "none": lambda x: two(),
    "too many": lambda x: two(x, 1, 2),
    "twice": lambda x: two(x, a=1),
    "unknown keyword": lambda x: two(x, c=1),
    "missing keyword": lambda x: keyword(x),
    "keyword by place": lambda x: keyword(x, 1),
    "class": lambda x: Maker(),
    "method": lambda x: Maker(x).method(),
    "lambda": lambda x: (lambda a: a)(),
    "len": lambda x: len(),
    "len of a number": lambda x: len(3),
    "list": lambda x: list([1], [2]),
    "list keyword": lambda x: list(sequence=[]),
    "dict": lambda x: dict([], []),
    "keys that are no text": lambda x: dict(**{1: 2}),
    "range": lambda x: range(),
    "isinstance": lambda x: isinstance(x),
    "append": lambda x: [].append(),
    "pop": lambda x: {}.pop(),
    "set": lambda x: {1}.add(),
    "next": lambda x: next(3),
    "iter": lambda x: iter(3),
    "call of a number": lambda x: THREE(x),
    "item": lambda x: THREE[0],
    "not iterable": lambda x: [a for a, b in [3]],
    "sum": lambda x: "a" + 1,
    "order": lambda x: [] < {},
    "raise": lambda x: (_ for _ in ()).throw(3),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_text_of_the_error(call):
    def fn(x):
        y = x + 1
        try:
            call(y)
        except Exception as error:
            return y, type(error), str(error)

    check(fn, torch.ones(2), graphs=None, breaks=None)


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_error_that_nobody_catches(call):
    check(lambda x: call(x + 1), torch.ones(2), graphs=None, breaks=None)
