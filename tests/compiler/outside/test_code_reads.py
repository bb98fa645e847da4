"""What code reads is looked up without running the program, and what only code could tell is told
apart from what is not there."""

from __future__ import annotations

import os
import sys
import types

from suture.compiler.objects.lookup import MISSING, UNTOLD
from suture.compiler.outside.code_reads import imported, names_of, reads, taken
from suture.compiler.outside.real_reach import Reach


class Lazily(types.ModuleType):
    """A module that makes what it gives."""

    def __getattr__(self, name):
        raise AssertionError("code of the program ran")


def values(namespace, *load):
    return [read.value for read in reads(namespace, load)]


def test_attributes_are_followed_through_modules_only():
    assert values({"os": os}, "os", "path", "join", "__name__") == [os, os.path, os.path.join]
    assert values({}, "os", "path") == [MISSING]
    assert values({"os": os}, "os", "no_such_name", "x") == [os, MISSING]


def test_what_a_module_makes_is_not_asked_for():
    module = Lazily("lazily")
    assert values({"m": module}, "m", "name") == [module, UNTOLD]
    assert taken("lazily", module, "name").value is UNTOLD


def test_a_module_that_is_imported_from_its_package_is_that_module():
    def fn():
        import xml.dom as found

        return found

    (names,) = names_of(fn.__code__).imports
    __import__("xml.dom")
    assert imported({}, *names[:2]) == ("xml.dom", sys.modules["xml.dom"])


def test_a_submodule_that_its_package_does_not_hold_is_found(monkeypatch):
    package, part = types.ModuleType("package"), types.ModuleType("package.part")
    monkeypatch.setitem(sys.modules, "package.part", part)
    assert taken("package", package, "part").value is part
    assert taken("package", package, "other").value is MISSING


def leads_nowhere(fn):
    reach = Reach(arrays=True)
    return reach.value(fn) and reach.finish()


def test_torch_under_another_name_is_met():
    def fn():
        import torch.functional as anything

        return anything.torch

    class Holder:
        held = types.ModuleType("torch.held")

    holder = Holder()
    assert not leads_nowhere(fn)
    assert not leads_nowhere(lambda: getattr(holder, "held"))  # noqa: B009
    assert leads_nowhere(lambda: os.path.join("a", "b"))
