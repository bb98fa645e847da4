"""Iterators, dispatch by type, caches of calls, scopes of the library."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import itertools
import math
import threading

import torch

from tests.programs.people.registry import line, program


@program
def iterators_together():
    def fn(x, n):
        r = []
        for a, b in itertools.pairwise(x.unbind()):
            r.append(b - a)
        r += (
            [s.sum() for s in map(torch.stack, itertools.batched(x.unbind(), 2))]
            if hasattr(itertools, "batched")
            else []
        )
        acc = list(itertools.accumulate(x.unbind(), torch.maximum, initial=x.new_tensor(0.0)))
        grp = {
            k: len(list(g))
            for k, g in itertools.groupby(
                sorted(range(n), key=lambda i: i % 3), key=lambda i: i % 3
            )
        }
        prod = [
            a * b for a, b in itertools.islice(itertools.product(x.unbind(), repeat=2), 3, None, 5)
        ]
        cyc = itertools.cycle("ab")
        z = [next(cyc) for _ in range(n)]
        t1, t2 = itertools.tee(iter(range(n)))
        next(t2, None)
        sm = list(itertools.starmap(torch.add, zip(x.unbind(), itertools.repeat(1.0))))
        tw = (
            list(itertools.takewhile(lambda v: v < n - 1, range(n))),
            list(itertools.dropwhile(lambda v: v < 2, range(n))),
            list(itertools.filterfalse(lambda v: v % 2, range(n))),
        )
        zl = (
            list(itertools.zip_longest(range(n), "xy", fillvalue=None)),
            list(itertools.compress(range(n), [1, 0, 1, 1])),
            list(itertools.combinations(range(3), 2)),
            sum(1 for _ in itertools.permutations(range(3))),
        )
        return r, acc, grp, prod, z, list(zip(t1, t2)), sm, tw, zl

    return fn, [(line(), 4), (line(), 5), (torch.arange(3.0), 2)]


@program
def dispatch_caches_and_partials():
    calls = []

    @functools.singledispatch
    def enc(v):
        raise NotImplementedError(type(v).__name__)

    @enc.register
    def _(v: int):
        calls.append("int")
        return torch.full((2,), float(v))

    @enc.register(list)
    @enc.register(tuple)
    def _(v):
        return torch.stack([enc(i) for i in v]).sum(0)

    @enc.register
    def _(v: torch.Tensor):
        return v * 2

    class P:
        @functools.singledispatchmethod
        def f(self, a):
            return "obj"

        @f.register
        def _(self, a: str):
            return "str " + a

        @functools.cached_property
        def w(self):
            calls.append("w")
            return torch.ones(2) * 3

        half = functools.partialmethod(lambda self, x, s: x * s, s=0.5)

    p = P()
    comp = functools.reduce(lambda f, g: lambda x: g(f(x)), [torch.sin, torch.cos, lambda x: x + 1])

    @functools.wraps(comp)
    def named(*a, **k):
        return comp(*a, **k)

    @functools.lru_cache(maxsize=2)
    def tab(n):
        calls.append(("tab", n))
        return tuple(math.sin(i) for i in range(n))

    @functools.cmp_to_key
    def key(a, b):
        return (a > b) - (a < b)

    def fn(x, v):
        try:
            e = enc(v)
        except NotImplementedError as err:
            e = str(err)
        s = sum(tab(2 if isinstance(v, int) else 3))
        return (
            e,
            p.f(v) if not torch.is_tensor(v) else p.f("t"),
            p.w,
            p.half(x),
            named(x),
            s,
            sorted([3, 1, 2], key=key),
            list(calls),
            tab.cache_info(),
        )

    return fn, [
        (line(), 1),
        (line(), [1, (2, 3)]),
        (line(), "s"),
        (line()[:2], torch.ones(2)),
        (line(), 5),
    ]


@program
def contextvars_and_threadlocal_scopes():
    scale = contextvars.ContextVar("scale", default=1.0)
    tl = threading.local()

    @contextlib.contextmanager
    def scaled(v):
        tok = scale.set(v)
        tl.stack = getattr(tl, "stack", []) + [v]
        try:
            yield len(tl.stack)
        finally:
            scale.reset(tok)
            tl.stack = tl.stack[:-1]

    class Depth(contextlib.ContextDecorator):
        n = 0

        def __enter__(self):
            Depth.n += 1
            return self

        def __exit__(self, t, v, tb):
            Depth.n -= 1
            return t is ZeroDivisionError

    @Depth()
    def leaf(x, d):
        if d == 0:
            1 // 0
        return x * scale.get() * Depth.n

    def fn(x, v, d):
        with scaled(v) as a, scaled(v + 1) as b:
            y = leaf(x, d)
        ctx = contextvars.copy_context()
        z = ctx.run(lambda: scale.set(9.0) and x * scale.get())
        return y, a, b, scale.get(), z, tl.stack, Depth.n

    return fn, [(line(), 2.0, 1), (line(), 3.0, 0), (line(), 2.0, 1)]
