"""Objects that answer for themselves: looking at them runs none of their code, and what they
hold is one thing, whether it is read as an attribute or out of a dict."""

from __future__ import annotations

import types

import pytest
import torch

import suture
from tests.harness import check


class Observed:
    """Tells of every attribute that is read."""

    seen: list[str] = []  # noqa: RUF012 - one for all, on purpose

    def __getattribute__(self, name):
        Observed.seen.append(name)
        return object.__getattribute__(self, name)


class ObservedList(Observed, list):
    pass


class ObservedDict(Observed, dict):
    pass


@pytest.mark.parametrize("kind", [Observed, ObservedList, ObservedDict])
def test_looking_at_an_object_reads_none_of_its_attributes(kind):
    def fn(thing, x):
        print(end="")
        held = [thing, {"a": thing}]
        return x + len(held), thing is None, thing is held[0]

    compiled = suture.compile(fn, backend="eager")
    Observed.seen.clear()
    with suture.config.patch(strict=True):
        for _ in range(2):
            assert compiled(kind(), torch.ones(2))[1:] == (False, True)
    assert Observed.seen == []


class Hook:
    def __init__(self):
        self.asked = 0

    def __get__(self, obj, kind=None):
        def answer(name):
            self.asked += 1
            raise AttributeError(name)

        return answer


def test_getattribute_may_be_any_descriptor():
    hook = Hook()
    answers = type("Answers", (), {"__getattribute__": hook})

    def fn(x):
        before = hook.asked
        found = getattr(answers(), "size", 3)
        return x + found, hook.asked - before

    check(fn, torch.ones(2), breaks=None, graphs=None, recompiles=None)


class Box:
    pass


def _box():
    box = Box()
    box.a = 1
    return (box, torch.ones(2))


def _by_dict(box, x):
    held = box.__dict__
    torch._dynamo.graph_break()
    held["b"] = 4
    return x + box.b


def _by_attribute(box, x):
    held = box.__dict__
    torch._dynamo.graph_break()
    box.b = 5
    return x + held["b"], len(held)


def _both(box, x):
    held = box.__dict__
    torch._dynamo.graph_break()
    size = len(held)
    box.b = 5
    held["c"] = 6
    return x + held["b"] + box.c, size, len(held)


def _deleted(box, x):
    held = box.__dict__
    torch._dynamo.graph_break()
    del box.a
    return x + len(held)


def _deleted_in_dict(box, x):
    held = box.__dict__
    torch._dynamo.graph_break()
    del held["a"]
    return x, hasattr(box, "a")


@pytest.mark.parametrize("fn", [_by_dict, _by_attribute, _both, _deleted, _deleted_in_dict])
def test_the_dict_of_an_object_held_across_a_break_is_still_its_dict(fn):
    check(fn, make=_box, breaks=None, graphs=None)


class Coded(Exception):
    @property
    def code(self):
        return self.number

    @code.setter
    def code(self, value):
        self.number = value * 2


def test_attributes_of_a_new_exception_go_through_its_class():
    def fn(x):
        made = Coded("a")
        made.code = 4
        made.plain = 5
        return x + made.number, made.code, made.plain

    check(fn, torch.ones(2))


def test_the_dict_of_a_new_exception_can_be_replaced():
    def fn(x):
        made = Coded("a")
        made.__dict__ = {"number": 3}
        return x + made.code

    check(fn, torch.ones(2), breaks=None, graphs=None)


def test_bases_that_change_are_seen():
    class First:
        step = 1

    class Second:
        step = 2

    class Last(First):
        pass

    def fn(x):
        return x + len(Last.__mro__), Last.__bases__ == (Second,)

    compiled = suture.compile(fn, backend="eager")
    assert compiled(torch.ones(2))[1] is False
    Last.__bases__ = (Second,)
    assert compiled(torch.ones(2))[1] is True


def test_a_module_shows_what_was_set_in_it():
    def fn(module, x):
        module.size = 3
        return x + module.size, module.__dict__ == {**module.__dict__, "size": 3}

    check(
        fn,
        make=lambda: (types.ModuleType("made"), torch.ones(2)),
        breaks=None,
        graphs=None,
        recompiles=None,
    )
