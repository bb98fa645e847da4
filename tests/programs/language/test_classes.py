"""Dataclasses, enums, inheritance, iterators: one graph, no break."""

from __future__ import annotations

import dataclasses
import enum
import typing

import pytest
import torch

from tests.harness import check


@dataclasses.dataclass
class DC:
    a: int
    b: typing.Any = None
    c: list = dataclasses.field(default_factory=list)
    d: int = dataclasses.field(init=False, default=4)

    def __post_init__(self):
        self.e = self.a * 2


@dataclasses.dataclass(frozen=True, order=True)
class FD:
    a: int
    b: int = 2


@dataclasses.dataclass(slots=True)
class SD:
    a: int
    b: int = 2


@dataclasses.dataclass
class DC2(DC):
    f: int = 7


def dataclass_program(x):
    d = DC(1, x)
    d.c.append(2)
    e = DC(a=3, b=4, c=[1])
    f = FD(1)
    g = FD(1, 3)
    s = SD(5)
    s.b = x
    h = DC2(1, f=9)
    try:
        f.a = 3
    except dataclasses.FrozenInstanceError as ex:
        m = str(ex)
    return (
        d,
        e,
        f == FD(1),
        f < g,
        hash(f) == hash(FD(1)),
        repr(f),
        s.b,
        h,
        [q.name for q in dataclasses.fields(d)],
        dataclasses.replace(f, b=8),
        m,
        d == e,
        dataclasses.is_dataclass(d),
        repr(e),
    )


def dc_asdict_program(x):
    return dataclasses.asdict(DC(1, 2)), dataclasses.astuple(FD(1)), x + 1


class E(enum.Enum):
    A = 1
    B = "b"

    @property
    def low(self):
        return self.name.lower()

    def f(self, x):
        return x * 2 if self is E.A else x


class IE(enum.IntEnum):
    X = 1
    Y = 2


class FL(enum.Flag):
    R = 1
    W = 2


class SE(str, enum.Enum):
    P = "p"
    Q = "q"


def enum_program(x):
    return (
        x * IE.X,
        E.A.f(x),
        E.A.low,
        E("b") is E.B,
        E["A"].name,
        E.A == E.B,
        [e.name for e in E],
        IE.Y + 1,
        FL.R | FL.W,
        FL.R in (FL.R | FL.W),
        SE.P == "p",
        {E.A: x}[E.A],
        len(E),
        E.A.value,
        isinstance(E.A, E),
        SE("q").value,
        E.A in E,
        f"{SE.P.value}",
        str(E.A),
        repr(IE.X),
        hash(E.A) == hash(E.A),
        IE.X < IE.Y,
        E.__members__.keys(),
    )


def super_multi_program(x):
    return Dia().f(x)


class Ba:
    def f(s, x):
        return x + 1


class L(Ba):
    def f(s, x):
        return super().f(x) * 2


class R(Ba):
    def f(s, x):
        return super().f(x) - 3


class Dia(L, R):
    def f(s, x):
        return super().f(x) / 2


def iterclass_program(x):
    return (
        [v * x for v in Count(3)],
        list(Count(2)),
        sum(Count(4)),
        list(zip(Count(2), Count(3))),
        max(Count(3)),
        2 in Count(3),
        list(OldIter()),
    )


class Count:
    def __init__(s, n):
        s.n = n
        s.i = 0

    def __iter__(s):
        return s

    def __next__(s):
        if s.i >= s.n:
            raise StopIteration
        s.i += 1
        return s.i


class OldIter:
    def __getitem__(s, i):
        if i > 2:
            raise IndexError
        return i * 2


def genobj_program(x):
    g = (x * i for i in range(3))
    a = next(g)
    rest = list(g)
    e = next(g, None)

    def w():
        x2 = yield 1
        while True:
            x2 = yield x2

    h = w()
    next(h)
    b = h.send(x)
    h.close()
    return a, rest, e, b


PROGRAMS = [
    dataclass_program,
    dc_asdict_program,
    enum_program,
    super_multi_program,
    iterclass_program,
    genobj_program,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__.removesuffix("_program"))
def test_one_graph(program):
    def fn(x):
        return x + 1, program(x)

    check(fn, torch.randn(3), graphs=1)


def test_methods_of_a_metaclass_run_while_a_class_is_made():
    def fn():
        seen = []

        class Meta(type):
            def mro(self):
                self.__dict__["look"]()
                return super().mro()

        class Made(metaclass=Meta):
            def look():
                seen.append(__class__)

        return seen == [Made]

    check(fn, graphs=0, breaks=None, recompiles=None)
