"""Caches, weak references, finalizers, modules that change, subclasses of tensors."""

from __future__ import annotations

import functools
import weakref

import torch
from torch import nn

from tests.programs.people.registry import line, program


@program
def dict_of_parameters():
    pd = nn.ParameterDict({"a": nn.Parameter(torch.ones(2)), "b": nn.Parameter(torch.zeros(2))})

    def fn(x, k, v):
        if v is not None:
            pd[k] = nn.Parameter(torch.full((2,), v))
        return (sum((p * i for i, p in enumerate(pd.values()))) + x, list(pd.keys()), k in pd)

    return (
        fn,
        [(torch.ones(2), k, v) for k, v in (("a", None), ("c", 3.0), ("a", None), ("b", 5.0))],
    )


@program
def finalizer():
    log = []

    class R:
        def __init__(s, n):
            s.n = n

        def __del__(s):
            log.append(s.n)

    def fn(x, n):
        r = R(n)
        y = x + n
        del r
        _kept = R(-n)
        return (y, list(log))

    return (fn, [(torch.ones(1), n) for n in (1, 2, 3)])


@program
def decorator_that_remembers():

    class Memo:
        def __init__(s, f):
            s.f = f
            s.c = {}
            functools.update_wrapper(s, f)

        def __get__(s, o, t=None):
            return functools.partial(s, o) if o is not None else s

        def __call__(s, *a):
            k = tuple((id(v) if torch.is_tensor(v) or hasattr(v, "w") else v for v in a))
            if k not in s.c:
                s.c[k] = s.f(*a)
            return s.c[k]

    class M:
        def __init__(s):
            s.w = 2.0

        @Memo
        def k(self, n):
            self.w += 1
            return torch.ones(n) * self.w

        def __deepcopy__(s, m):
            return s

    m = M()

    def fn(x, n):
        return (m.k(n) + x[0], m.w)

    return (fn, [(line(), n) for n in (2, 3, 2, 3)])


@program
def tree_with_weak_parents():

    class N:
        def __init__(s, v):
            s.v = v
            s.kids = []
            s.p = None

        def add(s, k):
            k.p = weakref.ref(s)
            s.kids.append(k)
            return k

        def tot(s):
            return s.v + sum((k.tot() for k in s.kids))

    wd = weakref.WeakValueDictionary()

    def fn(x, n):
        r = N(x)
        for i in range(n):
            r.add(N(x * i))
        wd["r"] = r
        k = r.kids[-1] if r.kids else r
        res = (r.tot(), k.p() is r if k.p else None, "r" in wd)
        del r
        return (res, len(wd), k.p() is None if k.p else None)

    return (fn, [(line(), n) for n in (0, 1, 2)])


class H:
    def __init__(s, v):
        s.v = v

    def __deepcopy__(s, m):
        return s


@program
def cache_by_identity():
    cache = {}
    seen = set()

    def fn(x, o):
        k = (id(o), x.shape[0])
        if k not in cache:
            cache[k] = x * 2
            hit = False
        else:
            hit = True
        first = id(o) in seen
        seen.add(id(o))
        return (cache[k] + 1, hit, first, len(cache), len(seen))

    h, i = (H(1), H(2))
    return (fn, [(line(), o) for o in (h, i, h, i, h)])


@program
def cache_of_calls():
    log = []

    @functools.lru_cache(maxsize=2)
    def f(n):
        log.append(n)
        print("f", n)
        return n * 2

    def fn(x, n):
        return (x * f(n) + f(n), list(log), f.cache_info())

    return (fn, [(line(), n) for n in (1, 2, 1, 3, 1, 2)])


@program
def cache_of_a_method():

    class C:
        def __init__(s):
            s.n = 0

        @functools.lru_cache
        def g(s, k):
            s.n += 1
            return torch.ones(4) * k

        def __deepcopy__(s, m):
            return s

    c = C()

    def fn(x, k):
        return (x * c.g(k), c.n, C.g.cache_info().hits)

    return (fn, [(line(), k) for k in (1, 2, 1, 2, 3)])


@program
def module_that_changes_itself():

    class Mo(nn.Module):
        def __init__(s):
            super().__init__()
            s.l = nn.Linear(2, 2)
            s.calls = 0
            s.cache = {}
            s.register_buffer("b", torch.zeros(2))
            s.opt = None

        def forward(s, x, flag=None, **kw):
            s.calls += 1
            s.b = s.b + 1
            s.cache[s.calls] = x.shape
            if flag:
                s.l.bias = nn.Parameter(torch.ones(2) * s.calls)
            if s.calls == 3:
                del s.opt
            return (s.l(x) + s.b, s.calls, len(s.cache), hasattr(s, "opt"), s.training, kw)

    m = Mo()

    def fn(x, f):
        return m(x, flag=f, z=1)

    return (fn, [(torch.ones(1, 2), f) for f in (None, True, False, True, None)])


@program
def dict_of_modules():
    md = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.ReLU()})

    def fn(x, k):
        if k == "new":
            md["c"] = nn.Tanh()
        if k == "pop":
            md.pop("b")
        for n, m in md.items():
            x = m(x)
        return (x, list(md), len(md), "c" in md)

    return (fn, [(torch.ones(1, 2), k) for k in ("", "new", "pop", "")])


@program
def applied_to_all_layers():
    m = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))

    def init(l):
        if isinstance(l, nn.Linear):
            nn.init.constant_(l.weight, cur[0])
            l.bias.data.fill_(0.1)

    cur = [0.0]

    def fn(x, c):
        cur[0] = c
        m.apply(init)
        m.requires_grad_(c > 1)
        return (m(x), [p.requires_grad for p in m.parameters()])

    return (fn, [(torch.ones(1, 2), c) for c in (1.0, 2.0, 1.0)])


@program
def subclass_of_tensor():

    class MyT(torch.Tensor):
        @classmethod
        def __torch_function__(cls, f, t, a=(), k=None):
            log.append(getattr(f, "__name__", "?"))
            return super().__torch_function__(f, t, a, k or {})

        @property
        def tag(self):
            return getattr(self, "_tag", None)

    log = []

    def fn(x, n):
        y = x.as_subclass(MyT)
        y._tag = n
        z = y * 2 + 1
        return (z.as_subclass(torch.Tensor), type(z).__name__, y.tag, z.tag, len(log))

    return (fn, [(line(), n) for n in (1, 2, 3)])


@program
def mode_of_functions():
    from torch.overrides import TorchFunctionMode

    class Mo(TorchFunctionMode):
        def __torch_function__(s, f, t, a=(), k=None):
            if f is torch.add or getattr(f, "__name__", "") == "add":
                s.n = getattr(s, "n", 0) + 1
                return f(*a, **k or {}) * 2
            return f(*a, **k or {})

    def fn(x, n):
        m = Mo()
        with m:
            y = torch.add(x, n)
            z = y.sin()
        return (y, z, m.n)

    return (fn, [(line(), n) for n in (1, 2)])
