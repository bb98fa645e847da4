"""A library's table that its first call fills is filled before its code is compiled."""

from __future__ import annotations

import sys
import types

import torch

from suture.compiler.misses import first_calls
from tests.harness import check

LIBRARY = """
kinds = {}

def get_backend(tensor):
    if type(tensor) not in kinds:
        kinds[type(tensor)] = "torch"
        __import__("gc").collect()
    return kinds[type(tensor)]

def total(tensor):
    return tensor.sum() if get_backend(tensor) == "torch" else None
"""


def test_the_table_of_einops(monkeypatch):
    library = types.ModuleType("einops.einops")
    exec(LIBRARY, vars(library))
    monkeypatch.setitem(sys.modules, "einops.einops", library)
    monkeypatch.setitem(first_calls.FIRST_CALLS, "einops.einops", first_calls._einops)
    check(lambda x: library.total(x) + 1, torch.ones(3), ops=[["sum", "add"]])
    assert set(library.kinds) == {torch.Tensor, torch.nn.Parameter}


def test_a_release_that_knows_no_such_call(monkeypatch):
    library = types.ModuleType("einops.einops")
    monkeypatch.setitem(sys.modules, "einops.einops", library)
    monkeypatch.setitem(first_calls.FIRST_CALLS, "einops.einops", first_calls._einops)
    check(lambda x: x + 1, torch.ones(3))
