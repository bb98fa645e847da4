"""Functions, decorators, generators and plain classes: one graph, no break."""

from __future__ import annotations

import functools

import pytest
import torch

from tests.harness import check


class A:
    k = 3

    def __init__(self, v):
        self.v = v
        self._p = 1

    @property
    def p(self):
        return self._p * 2

    @p.setter
    def p(self, v):
        self._p = v

    @p.deleter
    def p(self):
        self._p = 0

    @staticmethod
    def s(x):
        return x + 1

    @classmethod
    def c(cls, x):
        return x + cls.k

    def m(self, x):
        return x * self.v


class B(A):
    k = 4

    def __init__(self, v):
        super().__init__(v + 1)
        self.w = 1

    def m(self, x):
        return super().m(x) + super(B, self).p

    @classmethod
    def c(cls, x):
        return super().c(x) * 2


def classes_program(x):
    a, b = A(2), B(3)
    a.p = 10
    b.p += 1
    del a.p
    return (
        a.m(x),
        b.m(x),
        a.p,
        b.p,
        A.s(x),
        b.s(x),
        B.c(x),
        b.c(x),
        isinstance(b, A),
        type(b).__name__,
        a.k,
        B.k,
        hasattr(a, "zz"),
        getattr(a, "zz", 4),
        b,
    )


def closure_class_arg_program(x):
    a = A(2)
    a.new = x
    setattr(a, "dyn", 4)
    return a.__dict__, vars(a), a.new + 1


def deco(f):
    @functools.wraps(f)
    def w(*a, **k):
        return f(*a, **k) + 1

    return w


@deco
def decorated(x, n=2):
    "doc"
    return x * n


def deco_program(x):
    @deco
    def inner(x):
        return x - 1

    return (
        decorated(x),
        decorated(x, n=3),
        inner(x),
        decorated.__name__,
        decorated.__doc__,
        decorated.__wrapped__(x),
        inner.__name__,
    )


def gen(n):
    for i in range(n):
        r = yield i
        if r:
            yield r * 10
    return "done"


def gen_program(x):
    def g2():
        r = yield from gen(2)
        yield r

    it = gen(3)
    a = next(it)
    b = it.send(4)
    c = list(it)
    d = list(g2())
    e = sum(gen(4))
    f = [x * i for i in gen(3)]
    z = dict(zip("abc", gen(3)))

    def fin():
        try:
            yield 1
            yield 2
        finally:
            log.append("closed")

    log = []
    g = fin()
    next(g)
    g.close()

    def th():
        try:
            yield 1
        except ValueError as e:
            yield str(e)

    g = th()
    next(g)
    h = g.throw(ValueError("v"))
    return (
        a,
        b,
        c,
        d,
        e,
        f,
        z,
        log,
        h,
        next(iter(()), 5),
        max(gen(4)),
        sorted(gen(4), reverse=True),
        any(i > 2 for i in gen(4)),
        tuple(gen(2)),
    )


PROGRAMS = [classes_program, closure_class_arg_program, deco_program, gen_program]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__.removesuffix("_program"))
def test_one_graph(program):
    def fn(x):
        return x + 1, program(x)

    check(fn, torch.randn(3), graphs=1)


def test_mistakes_in_keywords_name_the_function_that_was_called():
    def taken(a, b=0, **rest):
        return a

    def told(call):
        try:
            call()
        except TypeError as error:
            return str(error)

    def fn(x):
        more = {"b": 3}
        return x + 1, [
            told(lambda: taken(x, b=2, **more)),
            told(lambda: taken(x, **more, **more)),
            told(lambda: taken(x, c=1, **[1])),
            told(lambda: dict(b=1, **more)),
            told(lambda: print(x, sep="", **{"sep": " "})),
        ]

    check(fn, torch.ones(3), breaks=None, graphs=None)
