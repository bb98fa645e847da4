"""Lookups, descriptors, handlers and operators as the program's classes define them."""

from __future__ import annotations

import abc
import dataclasses
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from tests.programs.people.registry import line, program


@program
def proxy_made_on_demand():
    class Lazy:
        def __init__(self, make):
            object.__setattr__(self, "_make", make)
            object.__setattr__(self, "_obj", None)
            object.__setattr__(self, "_n", 0)

        def _get(self):
            if self._obj is None:
                object.__setattr__(self, "_obj", self._make())
            object.__setattr__(self, "_n", self._n + 1)
            return self._obj

        def __getattr__(self, n):
            return getattr(self._get(), n)

        def __setattr__(self, n, v):
            setattr(self._get(), n, v)

        def __call__(self, *a, **k):
            return self._get()(*a, **k)

        def __len__(self):
            return len(self._get())

        def __getitem__(self, i):
            return self._get()[i]

        def __iter__(self):
            return iter(self._get())

        def __delattr__(self, n):
            delattr(self._get(), n)

    made = []
    lz = Lazy(lambda: made.append(1) or nn.Sequential(nn.Linear(2, 2), nn.ReLU()))

    def fn(x, k):
        y = lz(x)
        lz.tag = k
        r = (
            [type(m).__name__ for m in lz],
            len(lz),
            lz[0].in_features,
            lz.training,
            lz.tag,
            hasattr(lz, "nope"),
            lz._n,
            len(made),
        )
        del lz.tag
        return y, r

    return fn, [(torch.randn(1, 2), k) for k in (1, 2, "x")]


@program
def validated_config():
    class Field:
        def __init__(self, default=..., ge=None, alias=None):
            self.default, self.ge, self.alias = default, ge, alias

        def __set_name__(self, o, n):
            self.name = n
            o.__dict__.get("_f", {})

        def __get__(self, o, c=None):
            if o is None:
                return self
            try:
                return o._v[self.name]
            except KeyError:
                raise AttributeError(self.name) from None

        def __set__(self, o, v):
            if self.ge is not None and v < self.ge:
                raise ValueError(f"{self.name}: {v} < {self.ge}")
            o._v[self.name] = v
            o._set.add(self.name)

    class Meta(abc.ABCMeta):
        def __new__(m, n, b, ns, **k):
            c = super().__new__(m, n, b, ns)
            c.__fields__ = {
                **{
                    q: w
                    for x in reversed(c.__mro__[1:])
                    for q, w in getattr(x, "__fields__", {}).items()
                },
                **{q: w for q, w in ns.items() if isinstance(w, Field)},
            }
            return c

    class Model(metaclass=Meta):
        def __init__(self, /, **kw):
            object.__setattr__(self, "_v", {})
            object.__setattr__(self, "_set", set())
            for n, f in self.__fields__.items():
                if (f.alias or n) in kw:
                    setattr(self, n, kw.pop(f.alias or n))
                elif f.default is ...:
                    raise TypeError(f"missing {n}")
                else:
                    self._v[n] = f.default
            if kw:
                raise TypeError(f"extra {sorted(kw)}")

        def __setattr__(self, k, v):
            if k not in self.__fields__:
                raise AttributeError(f"no field {k!r}")
            super().__setattr__(k, v)

        def dict(self, exclude_unset=False):
            return {k: v for k, v in self._v.items() if not exclude_unset or k in self._set}

        def __eq__(self, o):
            return type(o) is type(self) and o._v == self._v

    class Base(Model):
        dim = Field(ge=1)

    class Cfg(Base):
        heads = Field(2, ge=1)
        act = Field("relu", alias="activation")

    def fn(x, kw, extra):
        try:
            c = Cfg(**kw)
            for k, v in extra.items():
                setattr(c, k, v)
        except (ValueError, TypeError, AttributeError) as e:
            return type(e).__name__, str(e), repr(e.__cause__)
        return (
            getattr(F, c.act)(x[..., : c.dim]).view(c.heads, -1),
            c.dict(),
            c.dict(True),
            sorted(c._set),
            c == Cfg(**kw),
        )

    x = torch.arange(-4.0, 4.0)
    return fn, [
        (x, {"dim": 4}, {}),
        (x, {"dim": 8, "activation": "gelu"}, {"heads": 4}),
        (x, {}, {}),
        (x, {"dim": 0}, {}),
        (x, {"dim": 4, "z": 1}, {}),
        (x, {"dim": 4}, {"q": 1}),
    ]


@program
def finally_overrides():
    log = []

    def a(x, k):
        try:
            try:
                if k == 1:
                    raise KeyError("inner")
                return x + 1
            finally:
                log.append("f1")
                if k == 2:
                    raise OSError("from finally")
        except KeyError as e:
            raise RuntimeError("outer") from e
        except OSError:
            log.append("os")
            return x - 1
        finally:
            log.append("f2")
            if k == 3:
                return x * 100

    def fn(x, k):
        try:
            r = a(x, k)
        except RuntimeError as e:
            r = (str(e), repr(e.__cause__), e.__context__ is e.__cause__, e.__suppress_context__)
        return r, list(log)

    return fn, [(line(), k) for k in (0, 1, 2, 3, 0)]


@program
def operators_and_ordering():
    @dataclasses.dataclass(order=True, frozen=True)
    class V:
        n: int
        t: Any = dataclasses.field(compare=False, default=None)

        def __matmul__(s, o):
            return V(s.n + o.n, s.t @ o.t)

        def __rshift__(s, f):
            return V(s.n, f(s.t))

        def __neg__(s):
            return V(-s.n, -s.t)

        def __getitem__(s, k):
            return V(s.n, s.t[k])

        def __float__(s):
            return float(s.n)

        def __round__(s, d=None):
            return s.n * (d or 1)

        def __format__(s, spec):
            return f"V<{s.n:{spec or 'd'}}>"

        def __divmod__(s, o):
            return s.n // o, s.n % o

        def __rpow__(s, o):
            return o**s.n

        def __ior__(s, o):
            return V(s.n | o.n, s.t + o.t)

        def __invert__(s):
            return s.n

        def __bool__(s):
            return s.n > 0

        def __hash__(s):
            return s.n

        def __lshift__(s, o):
            return NotImplemented

        def __rlshift__(s, o):
            return ("r", s.n)

    def fn(x, n):
        a, b = V(n, x), V(2, x.flip(0))
        c = (a @ b) >> torch.sin
        a2 = a
        a2 |= b
        try:
            bad = a << "q"
        except TypeError as e:
            bad = str(e)
        return (
            c.t,
            (-a).t,
            a[1:].t,
            sorted([b, a, c]) == sorted([c, b, a]),
            max(a, b).n,
            float(a),
            round(a, 3),
            f"{a} {a:>4}",
            divmod(a, 2),
            2**a,
            a2.n,
            ~a,
            not a,
            {a: 1}[V(n)],
            bad,
            5 << a,
            a < b,
            a == V(n, None),
        )

    return fn, [(line(), n) for n in (1, 0, 3)]
