# ruff: noqa: F821, F841  (programs as users write them)
"""What a frame holds at a break: unbound locals, cells, aliases, objects under construction."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.programs.breaks.comparing import check_program

LOG: list[object] = []
X = torch.tensor([1.0, 2.0])
COUNT = 0
TABLE: dict[str, object] = {}


@suture.disable
def look(value):
    LOG.append(repr(value))


class Holder:
    pass


def deleted_local(x):
    y = x + 1
    del y
    suture.graph_break()
    try:
        return y
    except UnboundLocalError as error:
        LOG.append(str(error))
        return x * 2


def unbound_on_one_path(x):
    if x.dim() == 3:
        y = x + 1
    suture.graph_break()
    if x.dim() == 3:
        return y
    z = x * 2
    LOG.append("before")
    return y + z


def bound_on_the_other_path(x):
    for i in range(3):
        if i == 1:
            y = x * i
        suture.graph_break()
    return y


def cells_shared_between_frames(x):
    total = x

    def add(v):
        nonlocal total
        total = total + v
        suture.graph_break()
        return total

    def get():
        return total * 2

    a = add(x)
    b = get()
    total = total + 1
    suture.graph_break()
    return a, b, get(), total


def nonlocal_changed_before_the_break(x):
    n = 0

    def bump():
        nonlocal n, x
        n += 1
        x = x + n
        look(n)
        n += 10

    bump()
    bump()
    return x, n


def empty_cell(x):
    def inner():
        return later * 2

    suture.graph_break()
    later = x + 1
    suture.graph_break()
    return inner()


def list_in_a_local_and_an_attribute(x):
    h = Holder()
    items = [x]
    h.items = items
    items.append(x + 1)
    look(len(h.items))
    h.items.append(x * 2)
    suture.graph_break()
    items[0] = x - 1
    return h.items is items, items


def list_that_holds_itself(x):
    items = [x]
    items.append(items)
    suture.graph_break()
    items[0] = x + 1
    return items[1][1][0], items[1] is items


def object_across_breaks(x):
    h = Holder()
    h.a = x + 1
    suture.graph_break()
    h.b = h.a * 2
    del h.a
    suture.graph_break()
    return hasattr(h, "a"), h.b


def alias_of_an_argument(x):
    y = x
    z = x.view(2)
    suture.graph_break()
    y.add_(1)
    suture.graph_break()
    return y is x, z + 0, x


def global_variable(x):
    global COUNT
    COUNT = 1
    look(COUNT)
    COUNT += 1
    suture.graph_break()
    COUNT += 1
    out = COUNT
    COUNT = 0
    return x + out


def global_table(x):
    TABLE["x"] = x + 1
    suture.graph_break()
    y = TABLE["x"] * 2
    TABLE["n"] = TABLE.get("n", 0) + 1
    look(sorted(TABLE))
    TABLE.clear()
    return y


def closure_made_before_the_break(x):
    k = 3
    f = lambda v: v * k  # noqa: E731
    suture.graph_break()
    k = 4
    return f(x), (lambda: f)() is f


def default_arguments_kept(x):
    def f(v, scale=x * 2, *, shift=1):
        return v * scale + shift

    suture.graph_break()
    return f(x), f(x, shift=2)


def bound_method_kept(x):
    append = LOG.append
    suture.graph_break()
    append("through the method")
    method = x.add
    suture.graph_break()
    return method(1)


def starred_arguments(x):
    def f(*args, **kwargs):
        suture.graph_break()
        return sum(args) + kwargs["k"]

    args = (x, x + 1)
    return f(*args, k=x * 2)


def locals_of_the_function(x):
    a = 1
    y = x + 1
    found = sorted(locals())
    suture.graph_break()
    LOG.append(found)
    return y + a


def evaluated_text(x):
    a = 2.0
    y = eval("x * a")
    exec("LOG.append('run')")
    return y + 1


def frame_of_the_function(x):
    import sys

    y = x + 1
    LOG.append(sys._getframe().f_code.co_name)
    LOG.append(sys._getframe().f_lineno)
    return y * 2


def imports(x):
    y = x + 1
    import json
    from collections import OrderedDict

    suture.graph_break()
    return y, json.dumps([1]), OrderedDict(a=1)


def opened_file(x):
    y = x * 2
    with open(__file__) as file:
        first = file.readline()
    LOG.append(first)
    return y + len(first)


def unknown_object(x):
    import decimal

    y = x + 1
    d = decimal.Decimal("1.5")
    d = d * 2 + decimal.Decimal(1)
    if d > 3:
        y = y * 2
    return y + float(d)


def boolean_operators(x):
    a = x.sum() > 0 and x.max() > 1
    b = x.sum() < 0 or x.min() > 0
    c = not x.sum() > 0
    return x + 1 if a and b and not c else x - 1


def conditional_expression(x):
    y = (x + 1) if x.sum() > 0 else (x - 1)
    return y * (2 if (y.max() > 100) else 3)


def chained_comparison(x):
    if 0 < x.sum() < 10:
        return x + 1
    return x - 1


def walrus(x):
    while (s := x.sum()) < 20:
        x = x * 2
    return x, s


def unpacking_what_python_made(x):
    @suture.disable
    def pair():
        return x * 2, 3

    a, b = pair()
    first, *rest = [a, b, x]
    return a + b, first, rest


def in_place_operators(x):
    h = Holder()
    h.v = x
    h.v += 1
    suture.graph_break()
    h.v *= 2
    items = [1, 2]
    items += [3]
    suture.graph_break()
    items *= 2
    return h.v, items


def formatted(x):
    text = f"{x.sum().item():.1f} and {x.shape}"
    LOG.append(text)
    return x + len(text)


def deep_in_an_expression(x):
    @suture.disable
    def two(v):
        return v + 2

    return (x + 1) * two(x) - (two(x * 2) if x.dim() == 1 else x) / two(x)


PROGRAMS = [v for v in list(globals().values()) if getattr(v, "__module__", "") == __name__]
PROGRAMS = [v for v in PROGRAMS if callable(v) and not isinstance(v, type) and v is not look]


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_state_survives_breaks(fn):
    check_program(fn, X, log=LOG)


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_state_survives_a_break_at_every_call(fn):
    """The same with the whole program below a break: its frame is compiled on its own."""

    @suture.disable(recursive=False)
    def caller(x):
        return fn(x)

    def outer(x):
        return caller(x + 0)

    check_program(outer, X, log=LOG)
