"""Generators, closures, context managers, exceptions, pattern matching."""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import functools

import torch
import torch.nn.functional as F

from tests.programs.people.registry import line, program


@program
def running_mean_by_send():

    def avg():
        tot = None
        n = 0
        r = None
        while True:
            x = yield r
            tot = x if tot is None else tot + x
            n += 1
            r = tot / n

    g = avg()
    next(g)

    def fn(x):
        return g.send(x)

    return (fn, [(torch.full((2,), float(i)),) for i in range(4)])


@program
def single_dispatch():

    @functools.singledispatch
    def f(a):
        raise TypeError(f"no {type(a).__name__}")

    @f.register
    def _(a: int):
        return torch.ones(a)

    @f.register
    def _(a: torch.Tensor):
        return a + 1

    @f.register(list)
    def _(a):
        return [f(x) for x in a]

    def fn(a):
        return f(a)

    return (fn, [(2,), (torch.ones(2),), ([1, torch.ones(1), [2]],), ("s",)])


@program
def chained_exceptions():

    class E(Exception):
        def __init__(s, t, **kw):
            super().__init__(t)
            s.kw = kw

    def a(x):
        if x.shape[0] > 2:
            raise E("big", n=x.shape[0])
        return x

    def fn(x):
        try:
            try:
                return a(x) + 1
            except E as e:
                raise RuntimeError("wrap") from e
            finally:
                x.add_(1)
        except RuntimeError as r:
            r.add_note("n")
            return (type(r.__cause__).__name__, r.__cause__.kw, r.__notes__, x)

    return (fn, [(torch.ones(n),) for n in (2, 3, 4)])


@dataclasses.dataclass
class Op:
    name: str
    args: tuple = ()


@program
def match_statement():

    def fn(x, op):
        match op:
            case Op("add", [n]):
                return x + n
            case Op("cat", [a, *rest]):
                return torch.cat([x, a, *rest])
            case {"k": v, **r}:
                return (x * v, r)
            case [1 | 2 as q, *_]:
                return x - q
            case str() as s if s.isdigit():
                return x * int(s)
            case _:
                return None

    return (
        fn,
        [
            (torch.ones(2), o)
            for o in (
                Op("add", (3,)),
                Op("cat", (torch.zeros(1), torch.ones(1))),
                {"k": 2, "z": 3},
                [2, 5],
                "7",
                "q",
                Op("sub"),
            )
        ],
    )


@program
def nonlocal_counters():

    def outer():
        cnt = 0

        def inc(x):
            nonlocal cnt
            cnt += 1

            def deep():
                nonlocal cnt
                cnt *= 2
                return cnt

            return x * deep()

        return inc

    f = outer()

    def fn(x):
        return f(x) + f(x)

    return (fn, [(torch.ones(2),)] * 4)


@program
def manager_that_swallows():

    class T:
        tot = {}

        def __init__(s, n):
            s.n = n

        def __enter__(s):
            s.t0 = len(T.tot)
            return s

        def __exit__(s, et, ev, tb):
            T.tot[s.n] = T.tot.get(s.n, 0) + 1
            return et is ZeroDivisionError

    def fn(x, n):
        with T("a") as a, T("b"):
            x = x + 1
            x = x / 1 if n else x * (1 // n)
        return (x, dict(T.tot), a.t0)

    return (fn, [(torch.ones(1), n) for n in (1, 0, 1)])


@program
def pipeline_of_generators():

    def chunks(x, n):
        for i in range(0, x.shape[0], n):
            yield (i, x[i : i + n])

    def proc(it):
        try:
            for i, c in it:
                if c.shape[0] < 2:
                    return "short"
                yield (c.sum() * i)
        finally:
            log.append("done")

    log = []

    def fn(x, n):
        r = []
        g = proc(chunks(x, n))
        while True:
            try:
                r.append(next(g))
            except StopIteration as s:
                return (r, s.value, list(log))

    return (fn, [(torch.arange(5.0), n) for n in (2, 3, 5)])


@program
def sorted_tensors():

    def fn(ts, rev):
        a = sorted(ts, key=lambda t: (t.dim(), t.sum().item()), reverse=rev)
        b = min(ts, key=torch.numel)
        i = [id(b) == id(t) for t in ts]
        return (a, b, i, max(enumerate(ts), key=lambda p: p[1].numel())[0])

    return (fn, [([torch.ones(3), torch.zeros(2, 2), torch.ones(1)], r) for r in (False, True)])


@program
def truths():

    def fn(x, a, b):
        return (
            x if a and b else x * 2 if a or b else -x,
            a is True,
            bool(x.numel()) ^ a,
            not b,
            a and "s" or b,
        )

    return (fn, [(torch.ones(1), a, b) for a in (0, 1, None, "") for b in (True, [])])


@program
def exception_group():

    def fn(x, n):
        try:
            if n:
                raise ExceptionGroup("g", [ValueError("a"), TypeError("b")])
            y = x + 1
        except* ValueError as eg:
            y = x * len(eg.exceptions)
        except* TypeError:
            y = x - 1
        return y

    return (fn, [(torch.ones(1), n) for n in (0, 1, 0)])


@program
def rest_of_a_group():

    def fn(x, n):
        log = []
        try:
            try:
                raise ExceptionGroup(
                    "g",
                    [
                        ValueError("a"),
                        TypeError("b"),
                        ExceptionGroup("in", [ValueError("c"), KeyError("d")]),
                    ],
                )
            except* ValueError as eg:
                log.append(repr(eg))
                x = x + 1
            except* TypeError as eg:
                log.append(repr(eg))
                if n:
                    raise RuntimeError("new")
        except ExceptionGroup as rest:
            return (x, log, repr(rest))
        return x

    return (fn, [(torch.ones(1), n) for n in (0, 1, 0)])


@program
def exit_stack():
    log = []

    @contextlib.contextmanager
    def scope(n):
        log.append("+" + n)
        try:
            yield len(log)
        except ValueError as e:
            log.append("E" + str(e))
        finally:
            log.append("-" + n)

    def fn(x, ns, bad):
        with contextlib.ExitStack() as st:
            for n in ns:
                x = x + st.enter_context(scope(n))
            st.callback(log.append, "cb")
            if bad:
                raise ValueError("v")
        return (x, list(log))

    return (
        fn,
        [
            (line(), ["a", "b"], False),
            (line(), ["a"], True),
            (line(), [], False),
            (line(), ["a", "b"], False),
        ],
    )


@program
def windows():

    def src(x):
        for i in range(len(x)):
            r = yield x[i]
            print("got", r)

    def win(it, n):
        d = collections.deque(maxlen=n)
        for v in it:
            d.append(v)
            if len(d) == n:
                yield torch.stack(tuple(d)).mean()

    def fn(x, n):
        return torch.stack(list(win(src(x), n)))

    return (fn, [(line(), 2), (line(), 3), (torch.ones(6), 2)])


@program
def late_and_early_binding():
    fs = []

    def fn(x, n):
        acc = []
        for i in range(n):
            acc.append(lambda y, i=i: y * i + n)
        late = [lambda: i for i in range(3)]
        fs.append(acc[-1])
        return (sum((f(x) for f in acc)), [f() for f in late], len(fs), fs[0](x))

    return (fn, [(line(), n) for n in (1, 2, 3)])


@program
def merged_settings():
    base = {"m": {"d": 4, "act": "relu"}, "opt": {"lr": 0.1}}

    def merge(a, b):
        o = copy.deepcopy(a)
        for k, v in b.items():
            o[k] = merge(o[k], v) if isinstance(v, dict) and isinstance(o.get(k), dict) else v
        return o

    def fn(x, o):
        c = merge(base, o)
        return (getattr(F, c["m"]["act"])(x - c["m"]["d"]) * c["opt"]["lr"], c, base)

    return (
        fn,
        [
            (line(), o)
            for o in (
                {},
                {"m": {"act": "gelu"}},
                {"opt": {"lr": 0.5, "z": 1}},
                {"m": {"act": "gelu"}},
            )
        ],
    )


@program
def else_and_finally():

    def fn(x, k):
        log = []
        for i in range(3):
            try:
                if i == k:
                    raise KeyError(i)
                if i == k + 1:
                    continue
                x = x + i
            except KeyError as e:
                log.append(e.args)
            else:
                log.append("else")
            finally:
                log.append(i)
                if i == 2 and k == 0:
                    break
        else:
            log.append("done")
        return (x, log)

    return (fn, [(line(), k) for k in (0, 1, 5)])


@program
def retrying():

    def retry(n):

        def d(f):

            @functools.wraps(f)
            def w(*a, **k):
                for i in range(n):
                    try:
                        return f(*a, attempt=i, **k)
                    except RuntimeError as e:
                        w.errs.append(str(e))
                raise

            w.errs = []
            return w

        return d

    @retry(3)
    def g(x, ok, attempt):
        if attempt < ok:
            raise RuntimeError(f"a{attempt}")
        return x * attempt

    def fn(x, ok):
        return (g(x, ok), list(g.errs), g.__name__)

    return (fn, [(line(), k) for k in (0, 1, 2, 0)])
