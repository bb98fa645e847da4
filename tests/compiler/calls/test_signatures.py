"""inspect.signature and what it gives."""

from __future__ import annotations

import functools
import inspect
import types

import torch

import suture
from tests.harness import check


def keeps(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return fn(*args, **kwargs)

    return wrapper


def scaled(x, scale: float = 2.0, *, bias=0):
    return x * scale + bias


def test_signatures_compare_by_what_they_say():
    def fn(x):
        def same(x, scale: float = 2.0, *, bias=0):
            return x

        def other(x, scale=2.0, *, bias=0):
            return x

        one = inspect.signature(scaled)
        again = inspect.signature(scaled)
        known = {one: 1}
        bound = one.bind(1, bias=2)
        return (
            x + 1, one == again, one != again, known[again], inspect.signature(other) == one,
            list(inspect.signature(same).parameters) == list(one.parameters), bound.arguments,
        )  # fmt: skip

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_a_signature_of_a_function_made_inside_has_its_annotations():
    def fn(x):
        def made(a: int, b: str = "b", *rest: float) -> bool:
            return a

        return x + 1, str(inspect.signature(made)), inspect.signature(made).return_annotation

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_a_signature_of_a_wrapper_made_inside_is_that_of_what_it_wraps():
    def fn(x):
        @keeps
        def made(a, b=1):
            return a

        told = str(inspect.signature(made)), str(inspect.signature(keeps(scaled)))
        made.__signature__ = inspect.signature(scaled)
        return x + 1, told, str(inspect.signature(made))

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_looking_at_an_object_asks_no_code_of_its_class():
    class Claims:
        asked = 0

        @property
        def __class__(self):
            Claims.asked += 1
            return object

    held = Claims()

    def fn(x):
        print("break")
        return x + 1, type(held) is Claims, Claims.asked

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_a_module_that_loads_when_it_is_looked_at_is_not_loaded_by_looking():
    loads = []

    class Late(types.ModuleType):
        def __getattribute__(self, name):
            loads.append(name)
            return super().__getattribute__(name)

    late = Late("late")
    late.value = 3

    def fn(x, module):
        suture.graph_break()
        x = x + 1
        suture.graph_break()
        return x, module is late

    loads.clear()
    suture.compile(fn, backend="eager")(torch.ones(2), late)
    assert not loads


def test_annotations_that_are_computed_with_an_effect_are_computed_once():
    made = {}
    exec(
        "def fn(x, seen, signature):\n"
        "    def made(a: seen.append(1) or int): return a\n"
        "    told = str(signature(made)), made.__annotations__\n"
        "    return x + 1, told, list(seen)\n",
        made,
    )
    check(
        made["fn"], torch.ones(2), [], inspect.signature, graphs=None, breaks=None, recompiles=None
    )
