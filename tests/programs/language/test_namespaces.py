"""A namespace that the program has as a dict, as a module and as its global variables."""

from __future__ import annotations

import builtins
import sys

import torch

from tests.harness import check

SPACE: dict[str, object] = {}
exec(
    "x = 1\ndef outer():\n    def inner():\n        global x\n        x = 2\n    return inner",
    SPACE,
)


def test_a_global_that_is_set_shows_in_the_dict():
    def fn():
        SPACE["x"] = 1
        SPACE["outer"]()()
        return SPACE["x"]

    check(fn, graphs=0)


def test_globals_that_were_set_before_are_in_the_dict():
    def fn():
        global COUNT
        COUNT = 5
        space = globals()
        space["COUNT"] += 1
        return COUNT, space["COUNT"]

    check(fn, graphs=0)


def test_a_global_that_is_deleted_is_no_longer_in_the_dict():
    def fn():
        global COUNT
        space = globals()
        COUNT = 7
        del COUNT
        return "COUNT" in space

    check(fn, graphs=0)


def test_attributes_of_a_module_and_its_dict_are_one():
    def fn():
        module = sys.modules[__name__]
        module.SHARED = 3
        before = vars(module)["SHARED"]
        vars(module)["SHARED"] = 4
        return before, SHARED, module.SHARED  # noqa: F821  (the module's own)

    check(fn, graphs=0)


def test_a_deleted_attribute_of_a_module_is_missing():
    def fn():
        module = sys.modules[__name__]
        module.SHARED = 3
        del vars(module)["SHARED"]
        try:
            return module.SHARED
        except AttributeError as error:
            return str(error)

    check(fn, graphs=0)


def test_an_annotation_in_a_class_body_leaves_the_builtins_alone():
    # Reading `__annotations__` of a module makes it there.
    vars(builtins).pop("__annotations__", None)

    def fn(x):
        class Local:
            number: int = 2

        return x * Local.number

    check(fn, torch.ones(2), breaks=None)
    assert "__annotations__" not in vars(builtins)


def test_an_import_behind_a_deleted_module_loads_it_anew():
    def fn(x):
        import colorsys

        before = colorsys
        del sys.modules["colorsys"]
        import colorsys

        return x + 1, before is colorsys, sys.modules["colorsys"] is colorsys

    check(fn, torch.ones(1), graphs=None, breaks=None, recompiles=None)


class Plain:
    pass


def test_an_attribute_that_object_does_not_find_is_named_by_the_exception():
    plain = Plain()

    def fn(x):
        try:
            object.__getattribute__(plain, "missing")
        except AttributeError as error:
            return x + 1, error.name, error.obj is plain, str(error)

    check(fn, torch.ones(1))
