"""Functions of the standard library and small idioms: one graph, no break."""

from __future__ import annotations

import asyncio
import copy
import decimal
import functools
import io
import operator
import random
import sys
import threading
import unittest.mock

import pytest
import torch

import suture
from tests.harness import check


def functools_program(x):
    p = functools.partial(torch.add, x, alpha=2)
    q = functools.partial(p, x)
    r = functools.reduce(lambda a, b: a + b, [1, 2, 3])
    s = functools.reduce(operator.add, [x, x], x)
    return (
        p(x),
        q(),
        r,
        s,
        lru(3),
        sd(1),
        sd("a"),
        sd(x),
        p.func is torch.add,
        p.keywords,
        functools.cmp_to_key(lambda a, b: b - a)(1) < functools.cmp_to_key(lambda a, b: b - a)(0),
        sorted([1, 3, 2], key=functools.cmp_to_key(lambda a, b: b - a)),
        PM().add5(2),
    )


class PM:
    def add(self, a, b):
        return a + b

    add5 = functools.partialmethod(add, 5)


@functools.lru_cache(None)
def lru(n):
    return n * 2


@functools.singledispatch
def sd(a):
    return "obj"


@sd.register
def _(a: int):
    return "int"


@sd.register(str)
def _(a):
    return "str"


def copy_program(x):
    a = A2()
    a.l = [1, [2]]
    a.t = x
    b = copy.copy(a)
    c = copy.deepcopy(a)
    d = copy.deepcopy([1, {"a": (1, [2])}])
    e = copy.copy([1])
    f = copy.deepcopy({"t": x})
    return b.l is a.l, c.l, c.l is a.l, d, e, c.t, c.t is x, f["t"] is x, copy.copy({1: 2}), b


class A2:
    pass


def operator_program(x):
    o = operator
    return (
        o.add(x, 1),
        o.itemgetter(1)([1, 2]),
        o.itemgetter(0, 1)("ab"),
        o.attrgetter("shape")(x),
        o.methodcaller("sum")(x),
        o.mul(2, 3),
        o.contains([1], 1),
        o.not_(1),
        o.concat([1], [2]),
        o.countOf([1, 1], 1),
        o.indexOf([1, 2], 2),
        o.index(3),
        o.iadd([1], [2]),
        o.length_hint([1]),
        o.truth([]),
        o.neg(x),
        o.is_(None, None),
        o.setitem({}, 1, 2),
        o.pow(2, 3),
        o.eq(1, 1),
    )


def slice_program(x):
    s = slice(1, 3)
    return (
        [1, 2, 3, 4][s],
        x[s],
        s.start,
        s.stop,
        s.step,
        s.indices(10),
        slice(None, None, 2) == slice(None, None, 2),
        x[...],
        x[None],
        x[0:2],
        (1, 2, 3)[-2:],
        "abc"[1:],
        range(10)[2:5],
        list(range(5, 0, -2)),
        len(range(3)),
        3 in range(5),
        range(3).index(2),
        range(3) == range(0, 3),
    )


def global_program(x):
    global counter
    counter = counter + 1 if counter < 5 else 5
    glist.append(1)
    glist.pop()
    return x + 0 * counter


counter = 5

glist = []


def excgroup_program(x):
    class_ = ValueError
    try:
        raise class_
    except Exception as e:
        s = type(e).__name__
    try:
        try:
            raise KeyError(1)
        except KeyError:
            raise
    except KeyError as e:
        t = e.args
    try:
        raise CustomE(3, x)
    except CustomE as e:
        u = e.code
        v = e.t
        w = str(e)
    try:
        try:
            1 / 0
        finally:
            s += "!"
    except ArithmeticError:
        pass
    try:
        next(iter([]))
    except StopIteration as e:
        y = e.value
    return x + 1, s, t, u, v, w, y


class CustomE(Exception):
    def __init__(self, code, t):
        super().__init__(f"code {code}")
        self.code = code
        self.t = t


def star_program(x):
    a = [*range(3), *"ab"]
    b = {**{"a": 1}, "b": 2}
    c = (*a, x)
    d = {*a, 5}
    print

    def f(*a):
        return a

    return a, b, c, d, f(*[1], *(2,)), f(*x.shape)


def lambda_default_program(x):
    f = lambda a, *, b=2, **k: a + b + k.get("c", 0)
    return f(x), f(x, b=3), f(x, c=4), (lambda *a: a)(1, 2)


def varnames_program(x):
    l = []
    for i, (a, b) in enumerate([(1, 2), (3, 4)]):
        l.append(i + a * b)
    for k, v in {"a": 1}.items():
        l.append((k, v))
    return x, l, i, a, k


def isinst_str_program(x):
    return (
        x,
        "ab",
        str.join(",", ["a"]),
        list.append,
        dict.fromkeys([1]),
        int.from_bytes(b"a", "big"),
        (3).to_bytes(2, "big"),
        float.fromhex("0x1p3"),
        str.upper("a"),
        sorted(["b", "a"], key=str.lower),
        list(map(str.strip, [" a "])),
    )


PROGRAMS = [
    functools_program,
    copy_program,
    operator_program,
    slice_program,
    global_program,
    excgroup_program,
    star_program,
    lambda_default_program,
    varnames_program,
    isinst_str_program,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__.removesuffix("_program"))
def test_one_graph(program):
    def fn(x):
        return x + 1, program(x)

    check(fn, torch.randn(3), graphs=1)


def test_the_number_of_the_thread_is_compared_and_looked_up_as_the_number_it_is():
    here = threading.get_ident()
    names = {here: "here"}

    def fn(x):
        now = threading.get_ident()
        mine = {now: 1}
        mine[here] = 2
        told = now == here, now in names, names.get(now), now in [here], {now} == {here}
        return x + 1, told, len(mine), len({now, here}), now == threading.get_ident()

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_a_traceback_is_one_object_while_the_exception_passes_no_frame():
    def fn(x):
        try:
            raise ValueError(x.shape)
        except ValueError as error:
            kind, value, trace = sys.exc_info()
            same = value is error, trace is error.__traceback__
            return x + 1, kind, same, error.__traceback__ is error.__traceback__

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_objects_of_classes_in_c_that_nobody_makes_are_refused():
    def fn(x):
        said = []
        for kind in (type(sys.flags), type(sys.version_info)):
            for make in (kind, lambda kind=kind: kind.__new__(kind)):
                try:
                    make()
                except TypeError as error:
                    said.append(str(error))
        return x + 1, said

    check(fn, torch.ones(2), graphs=None, breaks=None, recompiles=None)


class Buffer(io.TextIOWrapper):
    def __init__(self, text):
        start = super().__init__
        start(io.BytesIO(text.encode()))
        self.text = text


def test_a_bound_method_in_c_is_that_of_the_class_it_was_taken_from():
    def fn(x):
        made = Buffer("abc")
        return x + 1, made.read(), made.text

    check(fn, torch.ones(2), graphs=None, breaks=None, recompiles=None)


class Counting:
    def __init__(self, *args, **kwargs):
        self.calls = {}
        super().__init__(*args, **kwargs)

    def add_done_callback(self, *args, **kwargs):
        self.calls["add"] = self.calls.get("add", 0) + 1
        return super().add_done_callback(*args, **kwargs)


class CountingFuture(Counting, asyncio.Future):
    pass


def test_objects_that_hide_their_dict_are_left_to_python():
    loop = asyncio.new_event_loop()

    def fn(x):
        future = CountingFuture(loop=loop)
        future.add_done_callback(print)
        future.more = 3
        return x + 1, future.calls, future.more, hasattr(future, "less"), future.done()

    try:
        check(fn, torch.ones(2), graphs=None, breaks=None, recompiles=None)
    finally:
        loop.close()


class Closed:
    __slots__ = ("size",)

    def grow(self):
        return 1


def test_attributes_that_a_class_in_c_answers_for_are_read_and_set():
    def fn(x):
        context = decimal.Context(prec=5, traps=[])
        context.traps[decimal.Inexact] = True
        told = context.traps[decimal.Inexact], context.flags[decimal.Inexact], context.prec
        context.clear_traps()
        return x + 1, told, context.traps[decimal.Inexact], context.prec

    check(fn, torch.ones(2), graphs=None, breaks=None, recompiles=None)


def test_objects_without_a_dict_refuse_attributes_as_python_does():
    def fn(x):
        said = []
        for obj, name in ((decimal.Decimal(3), "conjugate"), (Closed(), "grow"), (Closed(), "no")):
            try:
                setattr(obj, name, 3)
            except AttributeError as error:
                said.append(str(error))
        return x + 1, said

    check(fn, torch.ones(2), graphs=None, breaks=None, recompiles=None)


def test_large_random_numbers_are_drawn():
    def fn(x):
        return x + 1, random.randrange(10**30), random.randint(0, 2**70), random.randint(1, 2**40)

    check(fn, torch.ones(2), graphs=None, breaks=None, recompiles=None)


def test_a_program_that_replaces_import_is_run_meanwhile():
    def fn(x):
        with unittest.mock.patch("builtins.__import__", return_value=None):
            import nowhere

            x = x + 1
        return x, nowhere

    check(fn, torch.ones(2), graphs=None, breaks=None, interpreted=None, recompiles=None)


@pytest.mark.filterwarnings("ignore:functools.partial will be a method:FutureWarning")
@pytest.mark.skipif(sys.version_info >= (3, 14), reason="a partial is a method there")
def test_special_methods_that_are_no_functions_are_called_without_the_object():
    calls = []

    class Manager:
        __enter__ = functools.partial(calls.append, "enter")
        __exit__ = functools.partial(lambda *args: calls.append(len(args)))

    def fn(x, manager):
        with manager:
            x = x + 1
        with unittest.mock.MagicMock() as mock:
            mock.use(3)
        return x, mock.mock_calls == [unittest.mock.call.use(3)]

    def told(call):
        calls.clear()
        return call(torch.ones(2), Manager())[1], list(calls)

    assert told(suture.compile(fn, backend="eager")) == told(fn)
