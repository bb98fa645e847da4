"""Dataclasses, enums, descriptors, metaclasses, operators."""

from __future__ import annotations

import dataclasses
import enum
import functools
import typing

import torch
import torch.nn.functional as F

from tests.programs.people.registry import line, program


@program
def enum_with_methods():

    class Act(enum.Enum):
        RELU = enum.auto()
        GELU = enum.auto()
        TANH = "tanh"

        @property
        def fn(self):
            return {Act.RELU: F.relu, Act.GELU: F.gelu, Act.TANH: torch.tanh}[self]

        @classmethod
        def parse(cls, s):
            return cls[s.upper()] if s.upper() in cls.__members__ else cls(s)

    def fn(x, s):
        return Act.parse(s).fn(x)

    return (
        fn,
        [(torch.randn(3), s) for s in ("relu", "gelu", "tanh", "relu")] + [(torch.randn(3), "no")],
    )


@program
def slots():

    class P:
        __slots__ = ("x", "y", "__weakref__")

        def __init__(s, x, y):
            s.x = x
            s.y = y

        def __add__(s, o):
            return P(s.x + o.x, s.y + o.y)

        def __iter__(s):
            yield s.x
            yield s.y

        def __repr__(s):
            return f"P({s.x.tolist()},{s.y})"

    def fn(x, n):
        p = P(x, n) + P(x * 2, 1)
        a, b = p
        return (a * b, repr(p))

    return (fn, [(torch.ones(2), i) for i in (1, 2.5, True)])


class TD(dict):
    def __getattr__(s, k):
        try:
            return s[k]
        except KeyError:
            raise AttributeError(k) from None

    def to(s, d):
        return TD({k: v.to(d) if torch.is_tensor(v) else v for k, v in s.items()})


@program
def dict_with_attributes():

    def fn(d, k):
        d = d.to(torch.float64)
        d["n"] = d.x.sum()
        try:
            return (d, getattr(d, k))
        except AttributeError as e:
            return (d, str(e), e.__cause__, e.__suppress_context__)

    return (fn, [(TD(x=torch.ones(2), s="a"), k) for k in ("x", "s", "zz")])


@program
def descriptor_and_cached_property():

    class D:
        def __set_name__(s, o, n):
            s.n = "_" + n

        def __get__(s, o, t=None):
            if o is None:
                return s
            return getattr(o, s.n, 0)

        def __set__(s, o, v):
            if v < 0:
                raise ValueError(f"{s.n} {v}")
            setattr(o, s.n, v)

    class C:
        a = D()

        @functools.cached_property
        def w(self):
            return torch.ones(2) * self.a

    c = C()

    def fn(x, v):
        try:
            c.a = v
        except ValueError as e:
            return (str(e), x)
        return (x * c.w + c.a, list(vars(c)))

    return (fn, [(torch.ones(2), v) for v in (1, 2, -1, 3)])


class NT(typing.NamedTuple):
    a: torch.Tensor
    b: int = 3

    def tot(self):
        return self.a.sum() + self.b


@program
def named_tuple():

    def fn(x, n):
        t = NT(x, n) if n else NT(x)
        t2 = t._replace(b=9)
        return (t, t2.tot(), t._asdict(), t2[1], NT._fields, t == t)

    return (fn, [(torch.ones(1), n) for n in (0, 2)])


@program
def attributes_by_name():

    class S:
        pass

    s = S()

    def fn(x, n):
        for i in range(n):
            setattr(s, f"t{i}", x + i)
        r = sum((getattr(s, k) for k in sorted(vars(s))))
        if n > 2:
            del s.t0
        return (r, sorted(vars(s)), hasattr(s, "t0"))

    return (fn, [(torch.ones(2), n) for n in (1, 2, 3, 1)])


@program
def frozen_dataclass():

    @dataclasses.dataclass(frozen=True, order=True)
    class C:
        a: int
        b: float = 1.0
        c: list = dataclasses.field(default_factory=list, compare=False)

    def fn(x, a):
        c = C(a)
        d = dataclasses.replace(c, b=2.0)
        try:
            c.a = 3
        except dataclasses.FrozenInstanceError as e:
            m = str(e)
        return (
            x * d.b,
            c < d,
            hash(C(1)) == hash(C(1)),
            dataclasses.asdict(d),
            m,
            repr(c),
            {c: 1}[C(a)],
        )

    return (fn, [(torch.ones(1), a) for a in (1, 2, 3)])


@program
def metaclass():
    reg = {}

    class M(type):
        def __new__(m, n, b, d, **k):
            c = super().__new__(m, n, b, d)
            reg[k.get("key", n)] = c
            return c

        def __call__(c, *a):
            o = super().__call__(*a)
            o.made = True
            return o

        def __len__(c):
            return 7

    class B(metaclass=M, key="base"):
        def __init__(s, s2):
            s.s = s2

        def run(s, x):
            return x * s.s

        def __init_subclass__(c, **k):
            super().__init_subclass__()
            c.tag = c.__name__.lower()

    class D(B, key="der"):
        def run(s, x):
            return super().run(x) + 1

    def fn(x, k):
        o = reg[k](2)
        return (
            o.run(x),
            o.made,
            len(type(o)),
            getattr(type(o), "tag", None),
            type(o).__mro__[1].__name__,
        )

    return (fn, [(torch.ones(1), k) for k in ("base", "der", "base")])


@program
def overloaded_operators():

    class Q:
        def __init__(s, v, u):
            s.v = v
            s.u = u

        def __mul__(s, o):
            return Q(
                s.v * (o.v if isinstance(o, Q) else o), s.u + (o.u if isinstance(o, Q) else "")
            )

        __rmul__ = __mul__

        def __matmul__(s, o):
            return s.v @ o.v

        def __getitem__(s, i):
            return Q(s.v[i], s.u)

        def __eq__(s, o):
            return NotImplemented if not isinstance(o, Q) else s.u == o.u

        def __bool__(s):
            return s.v.shape[0] > 1

        def __call__(s, *a, **k):
            return len(a) + len(k)

        def __contains__(s, k):
            return k in s.u

        def __iadd__(s, o):
            s.v += o
            return s

        def __index__(s):
            return 1

    def fn(x, n):
        q = Q(x, "m")
        r = 2 * q * q
        r += 1
        return (
            r.v,
            r.u,
            q @ q,
            q[:1].v,
            q == r,
            q != 3,
            bool(q),
            q(1, k=n),
            "m" in q,
            [5, 6, 7][q],
            n * q.v,
        )

    return (fn, [(torch.ones(n), n) for n in (1, 2, 3)])


@program
def class_statement():

    def fn(x, n):

        class L:
            k = n * 2

            def f(self, y):
                return y * self.k

        return (L().f(x), L.__name__, L.__qualname__.endswith("L"))

    return (fn, [(torch.ones(1), n) for n in (1, 2, 3)])


@program
def flags_and_string_enums():

    class P(enum.Flag):
        A = enum.auto()
        B = enum.auto()
        C = A | B

    class I(enum.IntEnum):
        line = 1
        Y = 2

    class S(str, enum.Enum):
        M = "m"
        N = "n"

    def fn(x, f):
        p = P(f)
        return (
            x * len(list(p)) if P.A in p else x,
            p | P.B,
            ~p,
            I(1) + I.Y,
            S("m").value + S.N,
            S.M == "m",
            [e.name for e in I],
            I.X in I,
        )

    return (fn, [(line(), f) for f in (1, 2, 3)])


@program
def dataclass_with_init_variables():

    @dataclasses.dataclass
    class Cfg:
        lr: float = 0.1
        layers: list = dataclasses.field(default_factory=lambda: [1, 2])
        name: str = "x"
        extra: dataclasses.InitVar[int] = 3
        cnt: typing.ClassVar[int] = 0

        def __post_init__(s, extra):
            s.tot = sum(s.layers) + extra
            Cfg.cnt += 1

        def __call__(s, x):
            return x * s.lr * s.tot

    def fn(x, **kw):
        c = Cfg(**kw)
        return (
            c(x),
            dataclasses.asdict(c),
            [f.name for f in dataclasses.fields(c)],
            Cfg.cnt,
            repr(c),
            c == Cfg(**kw),
        )

    f2 = lambda x, kw: fn(x, **kw)
    return (f2, [(line(), k) for k in ({}, {"lr": 0.5}, {"layers": [3]}, {"bad": 1})])


@program
def typed_descriptor():

    class Typed:
        def __init__(s, t):
            s.t = t

        def __set_name__(s, o, n):
            s.n = n

        def __get__(s, o, c):
            return s if o is None else o.__dict__.get(s.n, s.t())

        def __set__(s, o, v):
            if not isinstance(v, s.t):
                raise TypeError(f"{s.n}: {type(v).__name__}")
            o.__dict__[s.n] = v

        def __delete__(s, o):
            o.__dict__.pop(s.n, None)

    class A:
        k = Typed(int)
        f = Typed(float)

        def __getattr__(s, n):
            return n.upper() if n.startswith("d_") else object.__getattribute__(s, n)

        def __dir__(s):
            return ["k"]

    a = A()

    def fn(x, v):
        try:
            a.k = v
        except TypeError as e:
            return (str(e), a.k)
        r = (x * a.k + a.f, a.d_x, dir(a), A.k.n)
        if v > 2:
            del a.k
        return (r, a.k)

    return (fn, [(line(), v) for v in (1, 2, "s", 3, 4)])
