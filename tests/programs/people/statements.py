"""Statements and classes in unusual company."""

from __future__ import annotations

import contextlib
import copy
import re

import torch
from torch import nn

from tests.programs.people.registry import grid, line, program


@program
def return_in_finally():
    log = []

    def g(x, k):
        for i in range(3):
            try:
                log.append(("try", i))
                if k == 0:
                    return x + 1
                if k == 1:
                    raise ValueError(i)
                if k == 2 and i == 1:
                    break
                if k == 3:
                    continue
            finally:
                log.append(("fin", i))
                if k == 1:
                    return x - 1
                if k == 4 and i == 2:
                    x = x * 10
        else:
            log.append("else")
        return x

    def fn(x, k):
        return g(x, k), log[:]

    return fn, [(line(), k) for k in (0, 1, 2, 3, 4, 1)]


@program
def contextmanager_throws_into():
    events = []

    @contextlib.contextmanager
    def scope(name, swallow=()):
        events.append("enter " + name)
        try:
            yield name.upper()
        except swallow as e:
            events.append(f"swallowed {e}")
        except Exception as e:
            events.append(f"seen {type(e).__name__}")
            raise RuntimeError("wrapped " + name) from e
        else:
            events.append("ok " + name)
        finally:
            events.append("exit " + name)

    def fn(x, k):
        with scope("a", (KeyError,)) as A, scope("b") as B:
            y = x * 2
            if k == 1:
                raise KeyError("k")
            if k == 2:
                raise ValueError("v")
            if k == 3:
                return y + 3, events[:]
            y = y + 1
        return y, A, B, events[:]

    return fn, [(line(), k) for k in (0, 1, 2, 3, 0)]


@program
def generator_protocol():
    def averager(decay):
        avg = None
        n = 0
        try:
            while True:
                try:
                    v = yield avg
                except ValueError:
                    avg = None
                    n = 0
                    continue
                avg = v if avg is None else decay * avg + (1 - decay) * v
                n += 1
        except GeneratorExit:
            done.append(n)
            raise
        finally:
            done.append("fin")

    done = []

    def outer(decay):
        r = yield from averager(decay)
        return r

    def fn(xs, reset_at):
        g = outer(0.5)
        next(g)
        outs = []
        for i, x in enumerate(xs):
            if i == reset_at:
                g.throw(ValueError("reset"))
            outs.append(g.send(x))
        g.close()
        return outs, done[:]

    return fn, [
        ([line() * i for i in range(4)], 2),
        ([line()] * 2, 9),
        ([line() * i for i in range(3)], 0),
    ]


@program
def coroutine_driven_by_hand():
    class Await:
        def __init__(self, v):
            self.v = v

        def __await__(self):
            r = yield self.v
            return r

    async def layer(x, i):
        s = await Await(("scale", i))
        return x * s

    async def main(x, n):
        for i in range(n):
            x = await layer(x, i)
        return x + 1

    def run(c, table):
        asked = []
        v = None
        while True:
            try:
                q = c.send(v)
            except StopIteration as e:
                return e.value, asked
            asked.append(q)
            v = table.get(q)
            if v is None:
                try:
                    c.throw(KeyError(q))
                except KeyError as e:
                    return str(e), asked

    def fn(x, n, t):
        return run(main(x, n), t)

    return fn, [
        (line(), 2, {("scale", 0): 2.0, ("scale", 1): 3.0}),
        (line(), 0, {}),
        (line(), 2, {("scale", 0): 2.0}),
        (line(), 1, {("scale", 0): 5.0}),
    ]


@program
def mutable_defaults():
    def acc(x, seen=[], *, table={}, n=[0]):
        seen.append(tuple(x.shape))
        table[x.dim()] = table.get(x.dim(), 0) + x.sum()
        n[0] += 1
        return x + n[0], seen, table

    def fn(x):
        a = acc(x)
        b = acc(a[0], n=[10])
        c = acc(x, [])
        return a, b[0], c[1], acc.__kwdefaults__["n"], len(acc.__defaults__[0])

    return fn, [(line(),), (grid(),), (line(),)]


@program
def star_args_everywhere():
    def f(a, /, b, *args, c=1, d, **kw):
        return a, b, args, c, d, kw

    def fn(x, *rest, **_):
        first, *mid, last = [x, *rest, x * 2]
        (p, q), *r = [(1, 2), 3, *[4]]
        out = f(*mid, x, *rest, **{"d": 4, "a": 5}, e=6)
        try:
            f(1, 2, 3, **{"c": 1})
        except TypeError as e:
            msg = str(e)
        try:
            f(1, b=2, d=1, **{"b": 3})
        except TypeError as e:
            msg2 = str(e)
        return (
            first + last,
            out,
            p,
            q,
            r,
            msg,
            msg2,
            {**{"a": 1}, "a": 2},
            [*range(3), *"ab"],
            {*(), 1},
        )

    return fn, [(line(), 1), (line(), 1, 2), (line(), line()), (line(), 1)]


@program
def walrus_and_comprehension_scopes():
    def fn(xs, thr):
        kept = [y for x in xs if (y := x.sum()) is not None and (n := x.numel()) > thr]
        try:
            last = n
        except UnboundLocalError:
            last = -1
        fs = [lambda z, k=k: z * k for k in range(3)]
        gs = [lambda z: z * k for k in range(3)]
        d = {k: v for k, v in zip("abc", kept)}
        if (m := re.match(r"(\d+)", str(thr))) and (v := int(m[1])) >= 0:
            kept.append(torch.tensor(float(v)))
        return kept, last, [f(xs[0]) for f in fs] if xs else [], [g(1) for g in gs], d

    return fn, [([line(), grid()], 3), ([line(), grid()], 5), ([], 1), ([line()], -2)]


@program
def interval_arithmetic():
    class I:
        __slots__ = ("lo", "hi")

        def __init__(self, lo, hi=None):
            self.lo, self.hi = lo, lo if hi is None else hi

        def __add__(s, o):
            o = s.c(o)
            return I(s.lo + o.lo, s.hi + o.hi)

        __radd__ = __add__

        def __neg__(s):
            return I(-s.hi, -s.lo)

        def __sub__(s, o):
            return s + (-s.c(o))

        def __rsub__(s, o):
            return (-s) + o

        def __mul__(s, o):
            o = s.c(o)
            ps = torch.stack([s.lo * o.lo, s.lo * o.hi, s.hi * o.lo, s.hi * o.hi])
            return I(ps.amin(0), ps.amax(0))

        __rmul__ = __mul__

        @staticmethod
        def c(o):
            return o if isinstance(o, I) else I(torch.as_tensor(o, dtype=torch.float32))

        def __matmul__(s, o):
            return NotImplemented

        def __contains__(s, v):
            return bool(((s.lo <= v) & (v <= s.hi)).all())

        def __iter__(s):
            yield s.lo
            yield s.hi

        def __len__(s):
            return 2

        def __getitem__(s, i):
            return I(s.lo[i], s.hi[i])

        def __bool__(s):
            return True

    def fn(x, w):
        a = I(x - 1, x + 1)
        b = 2 - a * 3 + w
        lo, hi = b
        try:
            a @ b
        except TypeError as e:
            m = str(e)
        return lo, hi, x in a, [*b[0]], m, 0.5 in b

    return fn, [(line(), 1.0), (line(), torch.ones(4)), (line(), 3)]


@program
def slots_and_descriptors():
    class Typed:
        def __init__(s, t):
            s.t = t

        def __set_name__(s, o, n):
            s.n = "_" + n

        def __get__(s, i, o):
            return s if i is None else getattr(i, s.n, None)

        def __set__(s, i, v):
            if not isinstance(v, s.t):
                raise TypeError(f"{s.n[1:]} must be {s.t.__name__}")
            setattr(i, s.n, v)

        def __delete__(s, i):
            delattr(i, s.n)

    class P:
        __slots__ = ("_x", "_n", "__weakref__")
        x = Typed(torch.Tensor)
        n = Typed(int)

        def __init__(s, x, n):
            s.x, s.n = x, n

        def __eq__(s, o):
            return isinstance(o, P) and s.n == o.n

        __hash__ = None

        def __getstate__(s):
            return (s._x, s._n)

        def __setstate__(s, st):
            s._x, s._n = st

        def __copy__(s):
            return P(s.x.clone(), s.n)

    def fn(x, n):
        p = P(x, n)
        p.n += 1
        q = copy.copy(p)
        r = copy.deepcopy(p)
        try:
            p.zz = 1
        except AttributeError as e:
            m = str(e)
        try:
            p.n = "a"
        except TypeError as e:
            m2 = str(e)
        try:
            hash(p)
        except TypeError as e:
            m3 = str(e)
        del p.n
        return q.x + r.x, q == r, p.n, m, m2, m3, P.x.t.__name__, P.__slots__

    return fn, [(line(), 1), (line(), 2), (line(), "z"), (line(), 1)]


@program
def property_with_setter_on_module():
    class M(nn.Module):
        def __init__(self):
            super().__init__()
            self._t = 1.0
            self.log = []
            self.w = nn.Parameter(torch.ones(4))

        @property
        def temp(self):
            self.log.append("get")
            return self._t

        @temp.setter
        def temp(self, v):
            self.log.append(("set", v))
            if v < 0:
                raise ValueError("negative")
            self._t = v

        @temp.deleter
        def temp(self):
            self._t = 1.0

        def forward(self, x, d):
            self.temp = self.temp + d
            y = x * self.temp * self.w
            if self._t > 3:
                del self.temp
            return y, list(self.log)

    m = M()

    def fn(x, d):
        return m(x, d)

    return fn, [(line(), 1), (line(), 0.5), (line(), -9), (line(), 2.0), (line(), 1)]
