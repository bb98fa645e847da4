"""Containers for settings, as programs write them: dicts whose items are attributes, and kin."""

from __future__ import annotations

import pytest
import torch

from tests.harness import check


class ByAssignment(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__


class OwnDict(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self


class Both(dict):
    def __init__(self, **kwargs):
        for name, value in kwargs.items():
            setattr(self, name, value)

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        super().__setitem__(name, value)

    def __delattr__(self, name):
        super().__delattr__(name)
        super().__delitem__(name)


class Slotted:  # noqa: PLW1641
    __slots__ = ("table",)

    def __init__(self, **kwargs):
        object.__setattr__(self, "table", kwargs)

    def __getattr__(self, name):
        try:
            return self.table[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self.table[name] = value

    def __delattr__(self, name):
        del self.table[name]

    def __eq__(self, other):
        return list(self.table) == list(other.table)


@pytest.mark.parametrize("kind", [ByAssignment, OwnDict, Both, Slotted])
def test_attributes_are_set_read_and_deleted_where_the_class_keeps_them(kind):
    def fn(x, settings):
        settings.steps = settings.steps + 1
        settings.seen = True
        y = x * settings.rate + settings.steps
        del settings.seen
        settings.last = y
        return y, settings.last is y

    check(fn, make=lambda: (torch.ones(2), kind(rate=0.5, steps=1)), graphs=None, breaks=None)


@pytest.mark.parametrize("kind", [ByAssignment, OwnDict, Both, Slotted])
def test_one_that_is_made_inside(kind):
    def fn(x):
        made = kind(rate=2)
        made.x = x
        return made, made.x * made.rate

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_a_builtin_method_in_the_place_of_getattribute():
    class Odd(dict):
        __getattribute__ = dict.get

    def fn(x, odd):
        return x + odd.two, odd.missing

    odd = Odd(two=2)
    check(lambda x: fn(x, odd), torch.ones(2), graphs=None, breaks=None)


class Renaming:
    """Attributes have a second name, as those of configurations."""

    other_names = {"hidden_size": "width"}

    def __init__(self, width):
        self.width = width

    def __getattribute__(self, name):
        if name != "other_names" and name in super().__getattribute__("other_names"):
            name = super().__getattribute__("other_names")[name]
        return super().__getattribute__(name)


def test_the_class_of_objects_whose_attributes_are_looked_up_by_the_program():
    def fn(x, outside):
        made = Renaming(3)
        names = made.__class__.__name__, outside.__class__.__name__
        known = isinstance(made, Renaming), isinstance(made, (int, dict)), isinstance(outside, dict)
        return x * made.hidden_size * outside.hidden_size, names, known

    check(fn, torch.ones(2), Renaming(2))
