"""Statements and expressions, each mixed with tensors: one graph, no break."""

from __future__ import annotations

import array
import math

import pytest
import torch

import suture
from tests.harness import check


def arith_program(x):
    a = 3
    b = 2.5
    c = 7 // 2
    d = 7 % 3
    e = 2**5
    f = -a
    g = ~a
    h = a << 2
    i = a >> 1
    j = a & 2
    k = a | 4
    l = a ^ 1
    return (
        x + a + b - c + d * e + f + g + h + i + j + k + l,
        divmod(7, 3),
        abs(-3),
        round(2.567, 2),
        pow(2, 3, 5),
    )


def compare_program(x):
    a = 3
    out = []
    if 1 < a < 5:
        out.append(1)
    if not (5 < a < 7):
        out.append(2)
    if a is not None and a in (1, 2, 3) and a not in [4]:
        out.append(3)
    return (
        x * len(out),
        out,
        [1, 2] < [1, 3],
        (1, 2) == (1, 2),
        {1} <= {1, 2},
        "a" < "b",
        None is None,
    )


def unpack_program(x):
    a, (b, c), *d = 1, (2, 3), 4, 5
    *e, f = [1, 2, 3]
    g, h = {"k": 1, "l": 2}
    [i, j] = "ab"
    return x + a + b + c + sum(d) + sum(e) + f, g, h, i, j, d, e


def fstring_program(x):
    n = 3
    v = 2.34567
    s = "hi"
    return (
        x,
        f"{n:>5}|{v:.2f}|{s!r:>6}|{n=}|{x.shape}|{v:{n + 5}.1f}|{'nested'}|"
        f"{n:03d}|{1000000:,}|{s:*^10}|{x.dtype}",
    )


def compr_program(x):
    a = [i * 2 for i in range(4) if i % 2]
    b = {i: x + i for i in range(3)}
    c = {i % 2 for i in range(5)}
    d = sum(i for i in range(4))
    e = [[i * j for j in range(2)] for i in range(2)]
    f = [y for z in [[1, 2], [3]] for y in z]
    g = tuple(x * i for i in range(2))
    return a, b, c, d, e, f, g


def closure_program(x):
    n = 0

    def inc(k):
        nonlocal n
        n += k
        return n

    inc(2)
    inc(3)
    fs = [lambda y, i=i: y + i for i in range(3)]
    gs = [lambda y: y + i for i in range(3)]
    return x + n, [f(x) for f in fs], [g(x) for g in gs]


def imports_program(x):
    import os.path as p
    from collections import OrderedDict as OD

    import torch.nn.functional as F

    return F.relu(x) * math.pi, p.join("a", "b"), OD(a=1)


def args_program(x):
    def f(a, /, b, *args, c, d=4, **kw):
        return a + b + sum(args) + c + d + sum(kw.values()), sorted(kw)

    r = f(x, 2, 3, 4, c=5, e=6, f=7)
    args = (1, 2)
    kw = {"c": 3}
    s = f(x, *args, **kw, z=3)
    return r, s


def loops_program(x):
    for i in range(5):
        if i == 3:
            break
        if i == 1:
            continue
        x = x + i
    else:
        x = x * 100
    for i in []:
        pass
    else:
        x = x + 1
    n = 0
    while n < 4:
        n += 1
        if n == 2:
            continue
        x = x * n
    else:
        x = x - 1
    while True:
        n += 1
        if n > 6:
            break
    return x, n


def try_program(x):
    out = []
    try:
        try:
            raise ValueError("a", 1)
        except (KeyError, ValueError) as e:
            out.append(e.args)
            out.append(str(e))
            raise KeyError("b") from e
        finally:
            out.append("fin")
    except KeyError as e:
        out.append(repr(e))
        out.append(type(e.__cause__).__name__)
        out.append(type(e.__context__).__name__)
    else:
        out.append("no")
    try:
        pass
    except ValueError:
        out.append("x")
    else:
        out.append("else")
    finally:
        out.append("fin2")

    def f():
        try:
            return 1
        finally:
            out.append("f")

    def g():
        for i in range(3):
            try:
                continue
            finally:
                out.append(i)
        return 5

    try:
        {}["k"]
    except KeyError as e:
        out.append(e.args)
    try:
        [][1]
    except IndexError as e:
        out.append(str(e))
    try:
        1 / 0
    except ZeroDivisionError as e:
        out.append(str(e))
    try:
        int("x")
    except ValueError as e:
        out.append(str(e))
    try:
        None.foo
    except AttributeError as e:
        out.append(str(e))
    try:
        (1).foo
    except AttributeError as e:
        out.append(str(e))
    try:
        undefined_name
    except NameError as e:
        out.append(str(e))
    return x + f() + g(), out


class Pt:
    __match_args__ = ("x", "y")

    def __init__(s, x, y):
        s.x = x
        s.y = y


def match2_program(x):
    p = Pt(1, x)
    match p:
        case Pt(2, _):
            return x
        case Pt(1, y=z):
            return z * 2


def walrus_program(x):
    if (n := 5) > 3:
        x = x + n
    l = [y := 1, y**2]
    return x, l, [z for i in range(3) if (z := i * 2)]


def del_program(x):
    a = 1
    d = {"a": 1, "b": 2}
    l = [1, 2, 3, 4]
    del a, d["a"], l[0], l[1:]
    try:
        a  # noqa: F821
    except UnboundLocalError as e:
        s = str(e)
    return x, d, l, s


def fact(n):
    return 1 if n <= 1 else n * fact(n - 1)


def rec_program(x):
    def tree(d):
        return x if d == 0 else tree(d - 1) + tree(d - 1)

    return x * fact(5), tree(3)


PROGRAMS = [
    arith_program,
    compare_program,
    unpack_program,
    fstring_program,
    compr_program,
    closure_program,
    imports_program,
    args_program,
    loops_program,
    try_program,
    match2_program,
    walrus_program,
    del_program,
    rec_program,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__.removesuffix("_program"))
def test_one_graph(program):
    def fn(x):
        return x + 1, program(x)

    check(fn, torch.randn(3), graphs=1)


def test_one_item_is_unpacked_from_what_only_python_can_iterate():
    class Own(list):
        def __iter__(self):
            return iter(["own"])

    def fn(x, items):
        (one,) = items
        [*all_] = items
        (own,) = Own([1, 2, 3])
        return x + 1, one, all_, own

    check(fn, torch.ones(2), array.array("i", [5]), graphs=None, breaks=None, recompiles=None)


def test_locals_behind_a_break_hold_values_and_not_cells():
    def fn(x):
        y = x + 1
        print("break")
        inner = lambda: y  # noqa: E731
        return sorted(name for name in locals()), type(locals()["y"]), inner()

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_notes_of_exceptions():
    def fn(x):
        made = ValueError("shape")
        made.add_note("first")
        try:
            raise made
        except ValueError as caught:
            caught.add_note("second")
            notes = caught.__notes__
        try:
            made.add_note(3)
        except TypeError as refused:
            return x + len(notes), notes, str(refused)

    check(fn, torch.ones(2), graphs=1)


def test_exception_leaves_with_its_note():
    def fn(x):
        try:
            return x + {}["missing"]
        except KeyError as caught:
            caught.add_note("while adding")
            raise

    for called in (fn, suture.compile(fn, backend="eager", fullgraph=True)):
        with pytest.raises(KeyError) as info:
            called(torch.ones(2))
        assert info.value.__notes__ == ["while adding"]


def test_notes_that_are_no_list_refuse_more():
    def fn(x):
        error = ValueError("bad")
        error.__notes__ = 42
        try:
            error.add_note("more")
        except TypeError as refused:
            return x + 1, str(refused), error.__notes__

    check(fn, torch.ones(2))
