"""Builtin and library containers with their methods: one graph, no break."""

from __future__ import annotations

import functools
import itertools
import operator
import typing
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple

import pytest
import torch

from tests.harness import check


def list_program(x):
    l = [3, 1, 2]
    l.append(x)
    m = l.copy()
    l.pop()
    l.extend((5, 4))
    l.insert(1, 9)
    l.remove(9)
    l.sort()
    l.reverse()
    i = l.index(3)
    c = l.count(5)
    l += [7]
    l *= 2
    l[1:3] = [0]
    l[::2] = [8] * len(l[::2])
    del l[-1]
    k = sorted([(2, "b"), (1, "a")], key=lambda t: t[1], reverse=True)
    q = l[::-1]
    n = [1] * 3
    l2 = list("abc")
    l3 = l + [1]
    m.clear()
    e = [[]] * 2
    e[0].append(1)
    return (
        x,
        l,
        i,
        c,
        k,
        q,
        n,
        l2,
        l3,
        m,
        e,
        [1, 2] == [1, 2],
        3 in l,
        max(l),
        min([x.shape[0], 2]),
        len(l),
        l.__len__(),
        list(reversed(l)),
        [*l, *n],
        l[0],
        l[-1],
    )


def tuple_program(x):
    t = (1, x, 3)
    u = t + (4,)
    v = u * 2
    w = t[0:2]
    a = (1, 2, 1).count(1)
    b = (1, 2).index(2)
    c = 1 in (1, 2)
    d = (1, 2) < (1, 3)
    h = hash((1, 2))
    return t, u, v, w, a, b, c, d, h, tuple([1, 2]), len(t), t[-1], (x,), ()


def dict_program(x):
    d = {"a": 1, "b": x}
    d["c"] = 3
    d.update(d=4, e=5)
    d.update({"f": 6})
    d.update([("g", 7)])
    p = d.pop("g")
    q = d.pop("zz", None)
    s = d.setdefault("h", [])
    s.append(1)
    g = d.get("nope", 9)
    it = d.popitem()
    e = {**d, "z": 1}
    f = d | {"y": 2}
    f |= {"w": 1}
    k = list(d.keys())
    v = list(d.values())
    i = list(d.items())
    r = list(reversed(d))
    c = dict.fromkeys("ab", 0)
    o = dict(a=1, **{"b": 2})
    z = dict(zip("ab", [1, 2]))
    m = d.copy()
    m.clear()
    del d["a"]
    return (
        d,
        p,
        q,
        s,
        g,
        it,
        e,
        f,
        k,
        v,
        i,
        r,
        c,
        o,
        z,
        m,
        "b" in d,
        len(d),
        d == dict(d),
        {1: 2} == {1: 2},
        d.keys() & {"b"},
        d.keys() - {"b"},
        ("c", 3) in d.items(),
        {(1, 2): x}[(1, 2)],
        {i: v for i, v in enumerate("ab")},
    )


def set_program(x):
    s = {1, 2, 3}
    s.add(4)
    s.discard(9)
    s.remove(1)
    t = frozenset([2, 3])
    a = s & t
    b = s | {8}
    c = s - t
    d = s ^ {2, 10}
    s |= {11}
    s &= {2, 3, 4, 11}
    s -= {2}
    s ^= {3}
    e = t <= {2, 3}
    f = {1}.isdisjoint({2})
    g = s.copy()
    g.clear()
    h = {1, 2}.issubset([1, 2, 3])
    i = {1, 2}.union([5], [6])
    s.update([20], [21])
    j = t | s
    return (
        x,
        s,
        t,
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
        i,
        j,
        4 in s,
        len(s),
        sorted(s),
        set("aab"),
        {1, 2} == {2, 1},
        {frozenset([1]): 2},
        hash(t) == hash(frozenset([3, 2])),
        {1, 2}.intersection([2]),
        {1}.difference([2]),
        {1}.symmetric_difference([2]),
    )


def deque_program(x):
    d = deque([1, 2, 3], maxlen=4)
    d.append(4)
    d.append(5)
    d.appendleft(0)
    d.rotate(1)
    p = d.pop()
    q = d.popleft()
    d.extend([8])
    d.extendleft([9])
    d.remove(8)
    d.reverse()
    e = deque()
    e.append(x)
    return (
        d,
        p,
        q,
        list(d),
        len(d),
        d[0],
        d.maxlen,
        d.count(2),
        d.index(9),
        e.pop(),
        bool(e),
        deque([1]) == deque([1]),
        2 in d,
        d.copy(),
        list(reversed(d)),
    )


def ordered_program(x):
    d = OrderedDict(a=1)
    d["b"] = x
    d.move_to_end("a")
    d.move_to_end("a", last=False)
    i = d.popitem(last=False)
    d["q"] = 1
    return (
        d,
        i,
        list(d),
        d == OrderedDict(d),
        list(d.items()),
        next(iter(d)),
        OrderedDict([("a", 1)]) == {"a": 1},
        list(reversed(d)),
    )


def default_program(x):
    d = defaultdict(list)
    d["a"].append(x)
    d["b"]
    e = defaultdict(int)
    e["k"] += 2
    f = defaultdict(lambda: x * 2)
    return (
        d,
        dict(e),
        f["q"],
        "z" in d,
        d.get("zz"),
        e.default_factory,
        len(d),
        defaultdict(int, a=1),
    )


def counter_program(x):
    c = Counter("aabbb")
    c["z"] += 1
    c.update("az")
    m = c.most_common(1)
    c2 = c + Counter(a=1)
    c3 = c - Counter(a=1)
    t = c.total()
    c.subtract("a")
    e = sorted(c.elements())
    return x, c, m, c2, c3, t, e, c["none"], c & c2, c | c2, Counter([1, 1, 2])[1]


NT = namedtuple("NT", "a b c", defaults=[5])


class NT2(typing.NamedTuple):
    a: int
    b: typing.Any = 3

    def s(self):
        return self.a + self.b


def namedtuple_program(x):
    n = NT(1, x)
    m = n._replace(a=2)
    a, b, c = n
    o = NT2(1, x)
    return (
        n,
        m,
        n._asdict(),
        n.b,
        n[0],
        c,
        n._fields,
        o.s(),
        o,
        NT._make([1, 2, 3]),
        n[1:],
        len(n),
        NT2(1),
        n.a in n[:1],
        NT(1, 2) == (1, 2, 5),
    )


def size_program(x):
    s = x.shape
    t = torch.Size([1, 2])
    u = s + t
    v = s[1:]
    (a,) = s
    return (
        s,
        t,
        u,
        v,
        a,
        s.numel(),
        len(s),
        list(s),
        s == (3,),
        tuple(s),
        isinstance(s, tuple),
        x.reshape(-1, *s),
        torch.Size((2, 3)).numel(),
        (1,) + s,
        s[-1],
    )


def zip_program(x):
    return (
        [x * i for i, _ in zip([1, 2], "ab")],
        list(enumerate("ab", 1)),
        list(map(lambda a, b: a + b, [1], [2])),
        list(filter(None, [0, 1])),
        list(reversed([1, 2])),
        list(zip(*[(1, 2), (3, 4)])),
        list(zip("ab", [1, 2], strict=True)),
        dict(enumerate("ab")),
        next(zip([1], [2])),
        list(map(str, [1, 2])),
        list(map(int, "12")),
        list(reversed(range(3))),
        sum([x, x]),
        sum([[1], [2]], []),
        all([]),
        any([0, 1]),
        min(3, 1, 2),
        max([1, 2], key=lambda v: -v),
        max([], default=3),
        min("ab", "b"),
        [a for a in iter([1, 2])],
        list(iter(lambda c=[0]: c.append(1) or len(c), 4)),
    )


def itertools_program(x):
    it = itertools
    return (
        x,
        list(it.chain([1], [2])),
        list(it.chain.from_iterable([[1], [2]])),
        list(it.islice(it.count(3, 2), 3)),
        list(it.islice(range(10), 2, 8, 3)),
        list(it.product("ab", repeat=2)),
        list(it.permutations([1, 2, 3], 2)),
        list(it.combinations([1, 2, 3], 2)),
        list(it.accumulate([1, 2, 3])),
        list(it.accumulate([1, 2, 3], operator.mul, initial=2)),
        list(it.zip_longest([1, 2], [3], fillvalue=0)),
        list(it.repeat(1, 2)),
        list(it.takewhile(lambda v: v < 2, [1, 2, 1])),
        list(it.dropwhile(lambda v: v < 2, [1, 2, 1])),
        list(it.starmap(pow, [(2, 3)])),
        [(k, list(g)) for k, g in it.groupby("aab")],
        list(it.pairwise([1, 2, 3])),
        list(it.compress("abc", [1, 0, 1])),
        list(it.filterfalse(lambda v: v > 1, [1, 2])),
        [list(t) for t in it.tee([1, 2])],
        list(it.islice(it.cycle([1, 2]), 3)),
        list(it.combinations_with_replacement([1, 2], 2)),
        [y for y in it.repeat(x, 2)],
    )


@functools.singledispatch
def sd(a):
    return "obj"


@sd.register
def _(a: int):
    return "int"


@sd.register(str)
def _(a):
    return "str"


PROGRAMS = [
    list_program,
    tuple_program,
    dict_program,
    set_program,
    deque_program,
    ordered_program,
    default_program,
    counter_program,
    namedtuple_program,
    size_program,
    zip_program,
    itertools_program,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__.removesuffix("_program"))
def test_one_graph(program):
    def fn(x):
        return x + 1, program(x)

    check(fn, torch.randn(3), graphs=1)
