"""Functions that assert on data. They stand here because pytest rewrites assertions in tests."""

from __future__ import annotations


def positive(x):
    y = x.exp()
    assert (x > 0).all(), f"not positive: {x.tolist()}"
    assert x.sum().item() < 10, "too much"
    return y.log()


def only_asserts(x):
    assert x.sum() > 0


def caught(x):
    try:
        assert x.sum() > 0
    except AssertionError:
        return x - 1
    return x + 1
