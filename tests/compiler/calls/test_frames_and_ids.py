"""locals(), eval(), id() and weak references in compiled functions."""

from __future__ import annotations

import types
import weakref

import torch

from tests.harness import check

SCALE = 3


def test_locals_are_the_variables_by_name():
    def fn(x):
        y = x.sin()
        names = sorted(locals())
        return locals()["y"] + len(names), names

    check(fn, torch.randn(4))


def test_locals_with_cells():
    def fn(x):
        y = x.sin()

        def inner():
            return y + 1

        held = locals()
        return held["y"], inner(), sorted(held)

    check(fn, torch.randn(4))


def test_globals_are_the_modules_own():
    check(lambda x: x * globals()["SCALE"], torch.randn(4))


def test_eval_sees_the_frame_it_is_called_from():
    def fn(x):
        y = x.sin()
        return y * eval("SCALE + y.dim()")

    check(fn, torch.randn(4), breaks=("GB2051",), graphs=1, interpreted=None)


def test_ids_are_compared_and_looked_up():
    def fn(x, y):
        z = x + y
        seen = {id(x): 1, id(z): 2}
        return z * seen[id(z)], id(x) == id(y), id(x) in seen, id(y) in seen

    check(fn, torch.randn(4), torch.randn(4))


def test_an_id_as_a_key_of_a_dict_from_outside():
    x = torch.randn(4)
    table = {id(x): 2.0}

    def fn(x):
        return x * table.get(id(x), 3.0)

    import suture

    compiled = suture.compile(fn, backend="eager")
    for value in (x, torch.randn(4), x):
        assert torch.equal(compiled(value), fn(value))


def test_a_weak_reference_gives_its_object():
    def fn(x):
        y = x.sin()
        ref = weakref.ref(y)
        return ref() + 1, ref() is y

    check(fn, torch.randn(4))


def test_a_view_of_a_dict_shows_later_changes():
    def fn(x, options):
        view = types.MappingProxyType(options)
        options["scale"] = 3.0
        return x * view["scale"] + len(view), sorted(view), view.get("none", 1)

    check(fn, torch.randn(4), {"scale": 2.0})
