"""The standard library: logging, threads, coroutines, collections, texts and numbers."""

from __future__ import annotations

import asyncio
import bisect
import collections
import contextvars
import functools
import heapq
import itertools
import json
import logging
import math
import operator
import re
import threading
import warnings

import torch

from tests.programs.people.registry import line, program


@program
def context_variable():
    v = contextvars.ContextVar("v", default=1)

    def fn(x, n):
        t = v.set(v.get() + n)
        try:
            return x * v.get()
        finally:
            v.reset(t)

    return (fn, [(torch.ones(2), i) for i in (1, 2, 3)])


@program
def gathered_coroutines():
    import asyncio

    async def f(x):
        await asyncio.sleep(0)
        return x + 1

    async def main(x):
        return await asyncio.gather(f(x), f(x * 2))

    def fn(x):
        return asyncio.run(main(x))

    return (fn, [(torch.ones(2),), (torch.ones(3),)])


@program
def formatted_numbers():

    def fn(x, n):
        return (
            f"{n:>8.3f}|{n!r}|{x.shape}|{tuple(x.shape)!s:^12}|{x.dtype}|{x.mean().item():.2e}"
            + "%05.1f %s" % (n, x.dim())
            + "{:,}".format(int(n * 1000000.0))
        )

    return (fn, [(torch.arange(4.0), v) for v in (1.5, 2.25, 100000.0)])


@program
def deque_and_counter():
    d = collections.deque(maxlen=3)
    c = collections.Counter()
    od = collections.OrderedDict()

    def fn(x, k):
        d.append(x * 2)
        c[k] += 1
        c.update([k, "z"])
        od[k] = len(d)
        od.move_to_end(k, last=False)
        return (torch.stack(list(d)).sum(0), c.most_common(2), list(od.items()), d.maxlen)

    return (fn, [(torch.full((2,), float(i)), k) for i, k in enumerate("abcab")])


@program
def recorded_warnings():

    def fn(x):
        with warnings.catch_warnings(record=True) as w:
            warnings.simplefilter("always")
            warnings.warn("hey", DeprecationWarning)
            y = x + 1
        return (y, [str(i.message) for i in w], [i.category.__name__ for i in w])

    return (fn, [(torch.ones(2),)] * 3)


@program
def large_integers():

    def fn(x, n):
        return (
            x * (n % 7),
            n**3,
            n >> 3,
            n & 255,
            hash(n),
            n.bit_length(),
            divmod(n, -3),
            float(n),
            round(n, -2),
        )

    return (fn, [(torch.ones(1), n) for n in (5, 2**31, 2**40, 2**62, -7)])


@program
def special_floats():

    def fn(x, f):
        return (
            x * f,
            math.floor(f) if math.isfinite(f) else None,
            f.hex(),
            f != f,
            f.is_integer(),
            int(f) if f == f and abs(f) < 1e300 else 0,
            round(f, 2),
            f // 0.5 if f == f else 0,
        )

    return (
        fn,
        [(torch.ones(1), f) for f in (0.5, 1.5, -0.0, float("nan"), 1e308, float("inf"), 2.0)],
    )


@program
def methods_of_strings():

    def fn(x, s):
        return (
            x + len(s),
            s.split(","),
            s.partition("="),
            s.title(),
            s.encode(),
            s[::-1],
            s.translate({97: "Z"}),
            s.format(x.shape[0]),
            "a" in s,
            s.center(9, "*"),
        )

    return (fn, [(torch.ones(1), s) for s in ("a=1,b", "{}a", "", "ß")])


@program
def iterators():

    def fn(x, n):
        it = iter(range(n))
        a = next(it, None)
        z = zip(it, itertools.cycle("ab"))
        return (
            x + n,
            a,
            list(z),
            list(itertools.accumulate(range(n), lambda p, q: p * 2 + q)),
            list(itertools.groupby(range(n), lambda i: i // 2))[0:1] != [],
            [list(g) for _, g in itertools.groupby(range(n), lambda i: i // 2)],
            list(itertools.islice(itertools.count(n), 3)),
            list(itertools.pairwise(range(n))),
        )

    return (fn, [(torch.ones(1), n) for n in (1, 3, 5)])


@program
def settings_as_json():

    def fn(x, d):
        s = json.dumps(d, sort_keys=True)
        r = json.loads(s)
        return (x * len(s), r, s)

    return (fn, [(torch.ones(1), d) for d in ({"a": [1, 2, {"b": None}]}, {"z": 1.5, "a": "q"})])


@program
def logged_values():
    lg = logging.getLogger("programs.people")
    lg.propagate = False
    lg.setLevel(logging.INFO)
    rec = []

    class H(logging.Handler):
        def emit(s, r):
            rec.append((r.levelname, r.getMessage(), r.funcName))

    lg.handlers[:] = [H()]

    def fn(x, lvl):
        lg.info("a %s %d", tuple(x.shape), 3)
        lg.debug("no")
        y = x * 2
        lg.log(lvl, "m=%.1f", y.mean().item())
        try:
            1 / 0
        except ZeroDivisionError:
            lg.exception("bad")
        return (y, list(rec))

    return (fn, [(line(), l) for l in (10, 20, 40)])


@program
def threads_with_a_lock():
    lock = threading.Lock()
    out = {}

    def work(i, x):
        with lock:
            out[i] = x * i

    def fn(x, n):
        ts = [threading.Thread(target=work, args=(i, x)) for i in range(n)]
        [t.start() for t in ts]
        [t.join() for t in ts]
        return (sum((out[i] for i in range(n))), sorted(out))

    return (fn, [(line(), n) for n in (2, 3, 2)])


@program
def queue_of_coroutines():

    async def prod(q, x, n):
        for i in range(n):
            await q.put(x * i)
        await q.put(None)

    async def cons(q):
        t = []
        while (v := (await q.get())) is not None:
            t.append(v)
        return torch.stack(t).sum(0)

    async def main(x, n):
        q = asyncio.Queue(1)
        r, _ = await asyncio.gather(cons(q), prod(q, x, n))
        return r

    def fn(x, n):
        return asyncio.run(main(x, n))

    return (fn, [(line(), 2)])


@program
def asynchronous_generator():

    async def ag(x, n):
        for i in range(n):
            yield (x * i)

    async def main(x, n):
        return ([v async for v in ag(x, n) if v.sum() > 0], [w async for w in ag(x, 1)])

    def fn(x, n):
        return asyncio.run(main(x, n))

    return (fn, [(line(), n) for n in (2, 3)])


@program
def copied_context():
    v = contextvars.ContextVar("q")

    def fn(x, n):
        t = v.set(n)
        c = contextvars.copy_context()
        v.set(n + 1)
        r = c.run(lambda: x * v.get())
        v.reset(t)
        return (r, v.get("none"), c[v])

    return (fn, [(line(), n) for n in (1, 2)])


@program
def tools_of_iterators():

    def fn(x, n):
        a, b = itertools.tee(range(n))
        next(a, None)
        return (
            x + n,
            list(zip(a, b)),
            list(itertools.zip_longest("ab", range(n), fillvalue="-")),
            list(itertools.compress("abcd", [1, 0, 1])),
            list(itertools.starmap(pow, [(2, 3), (n, 2)])),
            list(itertools.takewhile(lambda v: v < n, [0, 5, 1])),
            list(itertools.dropwhile(lambda v: v < n, [0, 5, 1])),
            list(itertools.combinations(range(n), 2)),
            len(list(itertools.permutations(range(n)))),
            list(itertools.product("a", range(n))),
        )

    return (fn, [(line(), n) for n in (1, 2, 3)])


@program
def tools_of_functions():

    @functools.total_ordering
    class V:
        def __init__(s, v):
            s.v = v

        def __eq__(s, o):
            return s.v == o.v

        def __lt__(s, o):
            return s.v < o.v

    def fn(x, n):
        r = functools.reduce(lambda a, b: a * b + 1, range(1, n + 1), x)
        c = sorted(range(n), key=functools.cmp_to_key(lambda a, b: b - a))
        return (
            r,
            c,
            V(n) >= V(2),
            max(V(n), V(1)).v,
            functools.partial(torch.add, x)(1),
            operator.itemgetter(1, 0)("ab"),
            operator.attrgetter("shape")(x),
            operator.methodcaller("mul", 2)(x),
        )

    return (fn, [(line(), n) for n in (1, 2, 3)])


NT = collections.namedtuple("NT", "a b", defaults=[3])


@program
def containers_of_the_library():

    def fn(x, n):
        c = collections.Counter("abca"[: n + 1])
        c.subtract("a")
        cm = collections.ChainMap({"a": 1}, {"a": 2, "b": n})
        d = collections.deque([1, 2, 3], 2)
        d.rotate(n)
        d.appendleft(9)
        u = collections.UserDict({"k": n})
        u["j"] = x
        return (
            x * c["b"],
            c,
            +c,
            c.total(),
            dict(cm),
            cm.new_child({"z": n})["b"],
            list(d),
            NT(x),
            NT(1, n)._replace(a=2),
            u["k"],
            list(u),
            collections.OrderedDict(b=1, a=n) == collections.OrderedDict(a=n, b=1),
        )

    return (fn, [(line(), n) for n in (1, 2, 3)])


@program
def heap_and_bisection():

    def fn(x, ks):
        h = []
        for i, k in enumerate(ks):
            heapq.heappush(h, (k, i))
        o = [heapq.heappop(h)[1] for _ in range(len(h))]
        bisect.insort(ks, 2)
        return (x[torch.tensor(o)], ks, bisect.bisect(ks, 2), list(heapq.merge([1, 4], [2, 3])))

    return (fn, [(line(), [3, 1, 2]), (line(), [0, 5]), (line(), [3, 1, 2])])


@program
def pattern_of_axes():

    def rearr(x, pat, **ax):
        l, r = [s.split() for s in pat.split("->")]
        sizes = dict(zip(l, x.shape))
        perm = [l.index(a) for a in re.findall("\\w+", " ".join(r))]
        y = x.permute(perm)
        out = []
        toks = re.findall("\\([^)]*\\)|\\w+", " ".join(r))
        for t in toks:
            k = t.strip("()").split()
            out.append(math.prod((sizes[a] for a in k)))
        return y.reshape(out)

    def fn(x, p):
        return rearr(x, p)

    return (
        fn,
        [
            (torch.arange(24.0).view(2, 3, 4), p)
            for p in ("a b c -> a (b c)", "a b c -> (c a) b", "a b c -> a (b c)")
        ],
    )
