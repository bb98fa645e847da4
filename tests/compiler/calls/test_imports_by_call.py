"""`importlib.import_module` and `__import__` give what is imported already, in the graph."""

from __future__ import annotations

import importlib
import sys
import types

import torch

import suture
from tests.harness import check

X = torch.ones(1)


def test_a_module_that_is_there():
    import xml.dom

    def fn(x):
        inner, outer = importlib.import_module("xml.dom"), __import__("xml.dom")
        same = __import__("xml.dom", fromlist=("Node",)) is inner
        names = f"{inner.__name__} {outer.__name__}"
        return x + len(names), names, same, inner is xml.dom

    check(fn, X, ops=[["add"]])


def test_another_module_under_the_name_is_seen(monkeypatch):
    def fn(x):
        return x + importlib.import_module("module_of_a_test").value

    compiled = suture.compile(fn, backend="eager")
    for value in (1, 2):
        module = types.ModuleType("module_of_a_test")
        module.value = value
        monkeypatch.setitem(sys.modules, "module_of_a_test", module)
        assert compiled(X).item() == compiled(X).item() == 1 + value


def test_what_is_not_there_is_the_programs_error():
    def fn(x):
        try:
            importlib.import_module("no_such_module_of_a_test")
        except ModuleNotFoundError as error:
            return x + 1, str(error)

    check(fn, X, graphs=None, breaks=None)


def test_a_relative_name_and_wrong_arguments():
    def fn(x):
        told = [importlib.import_module(".dom", package="xml").__name__]
        for call in (importlib.import_module, __import__):
            try:
                call("xml", name="xml")
            except TypeError as error:
                told.append(str(error))
        return x + 1, told

    check(fn, X, graphs=None, breaks=None)
