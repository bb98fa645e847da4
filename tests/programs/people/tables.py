"""Programs around tables, classes and globals that change between calls."""

from __future__ import annotations

import functools
import inspect
import types

import torch
from torch import nn

from tests.programs.people.registry import line, program


@program
def tokenizer_trie_longest_match():
    class Node:
        __slots__ = ("kids", "id")

        def __init__(self):
            self.kids, self.id = {}, None

    root = Node()

    def add(w, i):
        n = root
        for c in w:
            n = n.kids.setdefault(c, Node())
        n.id = i

    for i, w in enumerate(["a", "ab", "abc", "b", "ca", "c"]):
        add(w, i)
    emb = nn.Embedding(8, 2)

    def fn(text, unk):
        out, i = [], 0
        while i < len(text):
            n, best, j = root, None, i
            while j < len(text) and text[j] in n.kids:
                n = n.kids[text[j]]
                j += 1
                if n.id is not None:
                    best = (n.id, j)
            if best is None:
                out.append(unk)
                i += 1
            else:
                out.append(best[0])
                i = best[1]
        return emb(torch.tensor(out)).sum(0) if out else None, out

    def between(i):
        if i == 2:
            add("cab", 6)

    return fn, [("abcab", 7), ("cabz", 7), ("cabz", 7), ("", 7), ("zz", 7)], between


@program
def plugin_registry_with_entry_strings():
    reg = {}

    def register(name=None, *, aliases=()):
        def deco(f):
            for n in (name or f.__name__, *aliases):
                reg[n] = f
            return functools.wraps(f)(lambda *a, **k: f(*a, **k))

        return deco

    @register(aliases=("n",))
    def normalize(x, p: float = 2.0, *, eps=1e-6):
        return x / (x.norm(p) + eps)

    @register("scale")
    class Scale:
        def __init__(self, by="1"):
            self.by = float(by)

        def __call__(self, x):
            return x * self.by

    @register()
    def clip(x, lo=-1, hi=1):
        return x.clamp(lo, hi)

    def parse(spec):
        for part in filter(None, map(str.strip, spec.split("|"))):
            name, _, arg = part.partition(":")
            kw = dict(kv.split("=") for kv in arg.split(",") if kv)
            f = reg[name]
            if inspect.isclass(f):
                yield f(**kw)
            else:
                hints = inspect.signature(f).parameters
                yield functools.partial(f, **{k: float(v) for k, v in kw.items() if k in hints})

    def fn(x, spec):
        try:
            for f in parse(spec):
                x = f(x)
        except KeyError as e:
            return f"unknown {e}"
        return x

    def between(i):
        if i == 3:
            reg["clip"] = lambda x, **k: x.relu()

    return (
        fn,
        [
            (line(), "normalize:p=1 | scale:by=3"),
            (line(), "n|clip:hi=0.3"),
            (line(), "what"),
            (line(), "n|clip:hi=0.3"),
            (line(), ""),
        ],
        between,
    )


@program
def class_hierarchy_super_and_mro():
    class Root:
        order = []

        def run(self, x):
            self.order.append("Root")
            return x

        def __getattr__(self, n):
            if n.startswith("do_"):
                return lambda x, **k: self.run(x) + len(n)
            raise AttributeError(f"{type(self).__name__!r} has no {n!r}")

    class A(Root):
        def run(self, x):
            self.order.append("A")
            return super().run(x) * 2

    class B(Root):
        def run(self, x):
            self.order.append("B")
            return super().run(x) + 1

    class C(A, B):
        def run(self, x):
            self.order.append("C")
            r = super().run(x)
            return r if not hasattr(self, "extra") else r * self.extra

    objs = [A(), B(), C()]

    def fn(x, i, m):
        del Root.order[:]
        try:
            y = getattr(objs[i], m)(x)
        except AttributeError as e:
            return str(e)
        return y, Root.order[:], [k.__name__ for k in type(objs[i]).__mro__]

    def between(i):
        if i == 3:
            objs[2].extra = 3
        if i == 4:
            B.run = lambda self, x: x * 0

    return (
        fn,
        [
            (line(), 0, "run"),
            (line(), 2, "do_it"),
            (line(), 1, "other"),
            (line(), 2, "run"),
            (line(), 2, "run"),
        ],
        between,
    )


@program
def globals_flipped_by_others():
    ns = types.SimpleNamespace(debug=False, scale=1.0, hooks=[], table={"a": 1})

    def log(*a):
        if ns.debug:
            print(*a)

    def fn(x):
        log("in", x.shape)
        y = x * ns.scale
        for h in ns.hooks:
            y = h(y)
        for k, v in ns.table.items():
            y = y + v * len(k)
        if ns.table.get("stop"):
            ns.table.clear()
        return y, len(ns.table)

    def between(i):
        [
            lambda: None,
            lambda: setattr(ns, "debug", True),
            lambda: ns.hooks.append(torch.relu),
            lambda: ns.table.update(bb=2.5, stop=True),
            lambda: setattr(ns, "scale", torch.tensor(2.0)),
            lambda: setattr(ns, "scale", 3),
        ][i]()

    return fn, [(line() - 2,) for _ in range(6)], between
