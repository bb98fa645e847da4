"""Modules that are changed between calls: swapped, tied, grown, parametrized."""

from __future__ import annotations

import copy

import torch
import torch.nn.utils.parametrize as P
from torch import nn

from tests.programs.people.registry import program


@program
def swap_modules_by_name():
    m = nn.ModuleDict({"enc": nn.Linear(3, 3), "act": nn.ReLU()})
    order = ["enc", "act"]

    def fn(x):
        for k in order:
            x = m[k](x)
        return x, list(m), order[:], {n: type(c).__name__ for n, c in m.named_modules() if n}

    def calls():
        x = torch.randn(2, 3)
        yield (x,)
        m["act"] = nn.Tanh()
        yield (x,)
        m["enc2"] = copy.deepcopy(m["enc"])
        order.append("enc2")
        yield (x,)
        order.reverse()
        yield (x,)
        m.pop("enc2")
        order.remove("enc2")
        yield (x,)
        m["act"].register_forward_hook(lambda mod, i, o: o * 2)
        yield (x,)

    return fn, calls()


@program
def tied_embeddings_untied_later():
    class LM(nn.Module):
        def __init__(self):
            super().__init__()
            self.emb = nn.Embedding(7, 4)
            self.head = nn.Linear(4, 7, bias=False)
            self.head.weight = self.emb.weight

        def forward(self, t):
            return self.head(self.emb(t)), self.head.weight is self.emb.weight

    m = LM()

    def fn(t):
        y, tied = m(t)
        y.sum().backward()
        g = [p.grad.clone() for p in m.parameters()]
        m.zero_grad()
        return y.detach(), tied, g, len(list(m.parameters()))

    def calls():
        yield (torch.tensor([1, 2]),)
        m.head.weight = nn.Parameter(m.head.weight.detach().clone())
        yield (torch.tensor([1, 2]),)
        m.emb.weight = m.head.weight
        yield (torch.tensor([1, 2]),)

    return fn, calls()


@program
def parametrized_symmetric_and_orthogonal():
    class Sym(nn.Module):
        def forward(self, X):
            return X.triu() + X.triu(1).transpose(-1, -2)

        def right_inverse(self, A):
            return A.triu()

    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.s = nn.Parameter(torch.tensor(2.0))

        def forward(self, X):
            return X * self.s

    m = nn.Linear(3, 3)
    P.register_parametrization(m, "weight", Sym())

    def fn(x):
        y = m(x)
        return (
            y,
            m.weight.equal(m.weight.T),
            P.is_parametrized(m),
            len(getattr(m.parametrizations, "weight", ())) if P.is_parametrized(m) else 0,
        )

    def calls():
        yield (torch.randn(2, 3),)
        with torch.no_grad():
            m.weight = torch.ones(3, 3)
        yield (torch.randn(2, 3),)
        P.register_parametrization(m, "weight", Scale())
        yield (torch.randn(2, 3),)
        P.remove_parametrizations(m, "weight")
        yield (torch.randn(2, 3),)

    return fn, calls()


@program
def vocab_embedding_growth():
    m = nn.Module()
    m.emb = nn.Embedding(3, 2)
    m.head = nn.Linear(2, 3, bias=False)

    def grow(n):
        old = m.emb
        m.emb = nn.Embedding(old.num_embeddings + n, 2)
        with torch.no_grad():
            m.emb.weight[: old.num_embeddings] = old.weight
            m.emb.weight[old.num_embeddings :].zero_()
        m.head = nn.Linear(2, m.emb.num_embeddings, bias=False)
        m.head.weight = m.emb.weight

    def fn(ids):
        if int(ids.max()) >= m.emb.num_embeddings:
            grow(int(ids.max()) + 1 - m.emb.num_embeddings)
        return m.head(m.emb(ids)), m.emb.num_embeddings, m.head.weight is m.emb.weight

    return fn, [(torch.tensor(i),) for i in ([0, 1], [2, 3], [0, 5], [1, 1])]


@program
def parameters_moved_by_vector():
    m = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))

    def fn(x, noise):
        v = nn.utils.parameters_to_vector(m.parameters())
        nn.utils.vector_to_parameters(
            v + noise * torch.arange(v.numel()) / v.numel(), m.parameters()
        )
        y = m(x)
        nn.utils.vector_to_parameters(v, m.parameters())
        return y, m(x), v.shape

    return fn, [(torch.randn(2, 2), n) for n in (0.1, 0.2, 0.0)]


@program
def hooks_of_every_kind():
    seen = []
    m = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    m[0].register_forward_pre_hook(lambda mod, a: (a[0] * 2,))
    m[1].register_forward_hook(lambda mod, a, o: seen.append(("fwd", tuple(o.shape))) or None)
    m[2].register_forward_hook(lambda mod, a, kw, o: o + len(kw), with_kwargs=True)
    h = m[0].register_full_backward_hook(
        lambda mod, gi, go: seen.append(("bwd", gi[0] is None, go[0].shape))
    )

    def fn(x):
        seen.clear()
        y = m(x)
        y.sum().backward()
        g = m[0].weight.grad.clone()
        m.zero_grad()
        return y.detach(), g, list(seen)

    def calls():
        yield (torch.randn(4, 2),)
        yield (torch.randn(4, 2),)
        h.remove()
        yield (torch.randn(4, 2),)
        m[1].register_forward_pre_hook(lambda mod, a: seen.append("pre"), prepend=True)
        yield (torch.randn(4, 2),)

    return fn, calls()


@program
def metric_classes_with_state():
    class Metric:
        _reg = {}

        def __init_subclass__(cls, name=None, **k):
            super().__init_subclass__(**k)
            Metric._reg[name or cls.__name__] = cls

        def __init__(self):
            self.reset()

        def __enter__(self):
            self.reset()
            return self

        def __exit__(self, *a):
            self.final = self.compute()

        def __add__(self, o):
            r = type(self)()
            r.__dict__.update(
                {k: v + o.__dict__[k] for k, v in self.__dict__.items() if k != "final"}
            )
            return r

        def __radd__(self, o):
            return self if o == 0 else NotImplemented

    class Acc(Metric, name="acc"):
        def reset(self):
            self.c, self.n = torch.tensor(0), 0

        def update(self, p, t):
            self.c = self.c + (p.argmax(-1) == t).sum()
            self.n += t.numel()

        def compute(self):
            return self.c / max(self.n, 1)

    class Conf(Metric):
        def reset(self):
            self.m = torch.zeros(3, 3, dtype=torch.long)

        def update(self, p, t):
            self.m.index_put_((t, p.argmax(-1)), torch.ones_like(t), accumulate=True)

        def compute(self):
            return self.m.diag() / self.m.sum(1).clamp(min=1)

    ms = {k: [c() for _ in range(2)] for k, c in Metric._reg.items()}

    def fn(p, t, w):
        out = {}
        for k, pair in ms.items():
            pair[w].update(p, t)
            out[k] = sum(pair).compute()
        with Metric._reg["acc"]() as a:
            a.update(p, t)
        return out, a.final, vars(ms["acc"][w])

    return fn, [
        (torch.randn(n, 3), torch.randint(0, 3, (n,)), w)
        for n, w in ((4, 0), (4, 1), (6, 0), (1, 1))
    ]


@program
def stateful_rnn_detach_every():
    cell = nn.GRUCell(2, 3)
    st = {"h": None, "n": 0}

    def fn(xs, k):
        losses = []
        for x in xs:
            h = st["h"] if st["h"] is not None else torch.zeros(x.shape[0], 3)
            h = cell(x, h)
            st["n"] += 1
            if st["n"] % k == 0:
                h = h.detach()
            st["h"] = h
            losses.append(h.pow(2).mean())
        tot = torch.stack(losses).sum()
        if tot.requires_grad:
            tot.backward()
        st["h"] = st["h"].detach()
        g = None if cell.weight_hh.grad is None else cell.weight_hh.grad.clone()
        cell.zero_grad()
        return tot.detach(), g, st["n"], st["h"].clone()

    return fn, [(torch.randn(n, 1, 2), k) for n, k in ((3, 2), (3, 2), (2, 1), (4, 3))]
