"""An attribute that a region sets and deletes: the real object may have had one, or not."""

from __future__ import annotations

import threading

import pytest
import torch

import suture


class Plain:
    pass


class Slots:
    __slots__ = ("__weakref__", "flag")


class Shadowing:
    flag = 9


def has_own(obj):
    return "flag" in vars(obj) if isinstance(obj, Shadowing) else hasattr(obj, "flag")


@pytest.mark.parametrize("order", [(False, True, False, True), (True, False, True, False)])
@pytest.mark.parametrize("kind", [Plain, Slots, Shadowing, threading.local])
def test_an_attribute_that_is_set_and_deleted_is_gone(kind, order):
    def fn(obj, x):
        obj.flag = 1
        del obj.flag
        return x + 1

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for given in order:
        obj = kind()
        if given:
            obj.flag = 5
        compiled(obj, torch.ones(1))
        assert not has_own(obj)
    assert suture.stats().variants == 2
