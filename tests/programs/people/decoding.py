"""Samplers, decoders and solvers: loops that end where the numbers say."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from tests.programs.people.registry import line, program


@program
def top_k_top_p():
    def fn(logits, k, p, temp, gen_seed):
        g = torch.Generator().manual_seed(gen_seed)
        logits = logits / max(temp, 1e-5)
        if k:
            kth = torch.topk(logits, min(k, logits.size(-1)))[0][..., -1, None]
            logits = logits.masked_fill(logits < kth, float("-inf"))
        if p < 1.0:
            s, idx = logits.sort(descending=True)
            cum = s.softmax(-1).cumsum(-1)
            rm = cum > p
            rm[..., 1:] = rm[..., :-1].clone()
            rm[..., 0] = False
            logits = logits.masked_fill(rm.scatter(-1, idx, rm), -math.inf)
        pr = logits.softmax(-1)
        return torch.multinomial(pr, 1, generator=g), pr, torch.multinomial(pr, 2, replacement=True)

    L = torch.linspace(-2, 2, 12).view(2, 6)
    return fn, [
        (L, 3, 0.9, 1.0, 0),
        (L, 0, 0.5, 0.7, 1),
        (L, 50, 1.0, 0.0, 2),
        (L[:1], 2, 0.8, 1.0, 3),
    ]


@program
def ddim_sampler():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 8), nn.SiLU(), nn.Linear(8, 4)).eval()

    class Sched:
        def __init__(self, n):
            self.betas = torch.linspace(1e-4, 0.02, n)
            self.ac = torch.cumprod(1 - self.betas, 0)
            self.timesteps = None
            self.n = n

        def set_timesteps(self, k):
            self.timesteps = torch.from_numpy(
                np.linspace(0, self.n - 1, k).round()[::-1].copy().astype(np.int64)
            )
            self.step_i = None

        def step(self, eps, t, x, eta=0.0):
            if self.step_i is None:
                self.step_i = (self.timesteps == t).nonzero().item()
            prev = self.timesteps[self.step_i + 1] if self.step_i + 1 < len(self.timesteps) else -1
            a = self.ac[t]
            ap = self.ac[prev] if prev >= 0 else torch.tensor(1.0)
            x0 = (x - (1 - a) ** 0.5 * eps) / a**0.5
            var = (1 - ap) / (1 - a) * (1 - a / ap)
            sd = eta * var**0.5
            x = ap**0.5 * x0 + (1 - ap - sd**2).clamp(min=0) ** 0.5 * eps
            if eta > 0:
                x = x + sd * torch.randn_like(x)
            self.step_i += 1
            return x

    s = Sched(20)

    @torch.no_grad()
    def fn(x, k, eta, callback=None):
        s.set_timesteps(k)
        seen = []
        for i, t in enumerate(s.timesteps):
            eps = net(torch.cat([x, t.float().expand(len(x), 1) / 20], -1))
            x = s.step(eps, t, x, eta)
            seen.append((i, int(t)))
        return x, seen

    return fn, [(torch.ones(2, 4), 3, 0.0), (torch.ones(2, 4), 4, 0.5), (torch.ones(3, 4), 3, 0.0)]


@program
def viterbi():
    def fn(em, tr):
        T, S = em.shape
        dp = em[0]
        bp = []
        for t in range(1, T):
            m = dp[:, None] + tr
            dp, arg = m.max(0)
            dp = dp + em[t]
            bp.append(arg)
        best = dp.argmax().item()
        path = [best]
        for arg in reversed(bp):
            path.append(int(arg[path[-1]]))
        return path[::-1], dp.max()

    torch.manual_seed(0)
    return fn, [
        (torch.randn(4, 3), torch.randn(3, 3)),
        (torch.randn(6, 3), torch.randn(3, 3)),
        (torch.randn(1, 2), torch.randn(2, 2)),
        (torch.randn(4, 3), torch.randn(3, 3)),
    ]


@program
def ctc_greedy_and_prefix():
    def fn(lp, blank=0):
        greedy = [k for k, _ in itertools.groupby(lp.argmax(-1).tolist()) if k != blank]
        beams = {(): (0.0, -math.inf)}
        la = lambda *a: (
            -math.inf
            if (m := max(a)) == -math.inf
            else m + math.log(sum(math.exp(x - m) for x in a))
        )
        for row in lp.tolist():
            nxt = collections.defaultdict(lambda: (-math.inf, -math.inf))
            for pre, (pb, pn) in beams.items():
                for c, p in enumerate(row):
                    if c == blank:
                        b, n = nxt[pre]
                        nxt[pre] = (la(b, pb + p, pn + p), n)
                        continue
                    end = pre[-1] if pre else None
                    b, n = nxt[pre + (c,)]
                    n = la(n, pb + p) if c == end else la(n, pb + p, pn + p)
                    nxt[pre + (c,)] = (b, n)
                    if c == end:
                        b, n = nxt[pre]
                        nxt[pre] = (b, la(n, pn + p))
            beams = dict(sorted(nxt.items(), key=lambda kv: -la(*kv[1]))[:3])
        return greedy, list(beams), lp.exp().sum()

    torch.manual_seed(0)
    return fn, [
        (torch.randn(4, 3).log_softmax(-1),),
        (torch.randn(3, 3).log_softmax(-1),),
        (torch.randn(4, 3).log_softmax(-1),),
    ]


@program
def kmeans_until_converged():
    def fn(x, k, tol=1e-4, max_iter=20):
        c = x[:k].clone()
        for it in range(max_iter):
            d = torch.cdist(x, c)
            a = d.argmin(1)
            new = torch.stack([x[a == j].mean(0) if (a == j).any() else c[j] for j in range(k)])
            shift = (new - c).norm().item()
            c = new
            if shift < tol:
                break
        else:
            it = -1
        return c, a, it

    torch.manual_seed(0)
    d = torch.cat([torch.randn(6, 2), torch.randn(6, 2) + 5])
    return fn, [(d, 2), (d[::2], 2), (d, 3), (d + 1, 2)]


@program
def nms_loop():
    def iou(b, bs):
        lt = torch.max(b[:2], bs[:, :2])
        rb = torch.min(b[2:], bs[:, 2:])
        inter = (rb - lt).clamp(min=0).prod(1)
        area = lambda z: (z[..., 2] - z[..., 0]) * (z[..., 3] - z[..., 1])
        return inter / (area(b) + area(bs) - inter)

    def fn(boxes, scores, thr):
        order = scores.argsort(descending=True)
        keep = []
        while order.numel() > 0:
            i = order[0]
            keep.append(i.item())
            if order.numel() == 1:
                break
            order = order[1:]
            order = order[iou(boxes[i], boxes[order]) <= thr]
        return torch.tensor(keep, dtype=torch.long), boxes[keep] if keep else boxes[:0]

    b = torch.tensor([[0, 0, 2, 2], [0, 0, 2, 2.1], [3, 3, 4, 4], [3, 3, 4.2, 4], [9, 9, 10, 10.0]])
    s = torch.tensor([0.9, 0.8, 0.7, 0.95, 0.1])
    return fn, [(b, s, 0.5), (b, -s, 0.5), (b[:0], s[:0], 0.5), (b, s, 0.99), (b[:1], s[:1], 0.1)]


@program
def adaptive_ode():
    def fn(y, t0, t1, tol, stats):
        f = lambda t, y: -y + math.sin(t)
        t, h = t0, 0.5
        while t < t1:
            h = min(h, t1 - t)
            k1 = f(t, y)
            k2 = f(t + h / 2, y + h / 2 * k1)
            k3 = f(t + 3 * h / 4, y + 3 * h / 4 * k2)
            y3 = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
            k4 = f(t + h, y3)
            err = (h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - k4 / 8)).abs().max()
            if err < tol:
                t += h
                y = y3
                stats["ok"] += 1
            else:
                stats["rej"] += 1
            h *= min(2.0, max(0.3, 0.9 * (tol / (float(err) + 1e-12)) ** (1 / 3)))
        return y, t, h, dict(stats)

    return fn, [
        (line(), 0.0, 1.0, 1e-2, collections.Counter()),
        (line(), 0.0, 1.5, 1e-3, collections.Counter()),
        (line() * 2, 0.0, 1.0, 1e-2, collections.Counter()),
    ]


@program
def sinkhorn_and_hungarian():
    def fn(C, eps, iters, tol):
        K = (-C / eps).exp()
        u = torch.ones(C.size(0))
        v = torch.ones(C.size(1))
        n = 0
        for n in range(iters):
            u0 = u
            u = 1 / (K @ v)
            v = 1 / (K.T @ u)
            if torch.allclose(u, u0, atol=tol):
                break
        P = u[:, None] * K * v
        best = min(
            itertools.permutations(range(C.size(0))),
            key=lambda p: sum(C[i, j].item() for i, j in enumerate(p)),
        )
        return P, n, best

    torch.manual_seed(0)
    return fn, [
        (torch.rand(3, 3), 0.5, 10, 1e-3),
        (torch.rand(3, 3), 0.5, 10, 1e-3),
        (torch.rand(2, 2), 0.1, 5, 1e-6),
    ]


@program
def data_dependent_while():
    def fn(x, n):
        steps = 0
        while (m := x.abs().max()) > 1 and steps < n:
            x = x / 2 if steps % 2 else x - x.sign()
            steps += 1
        else:
            steps = -steps
        i = 0
        while True:
            i += 1
            if x.sum().item() > 5 or i > 3:
                break
            x = x + 0.7
        coll = []
        t = int(x.abs().sum() * 10)
        while t > 1:
            coll.append(t)
            t = t // 2 if t % 2 == 0 else 3 * t + 1
            if len(coll) > 20:
                break
        return x, steps, i, coll, float(m)

    return fn, [(line(), 5), (line() * 3, 2), (line() / 9, 5), (line(), 5)]


@program
def early_exit_and_halting():
    torch.manual_seed(0)
    ls = [nn.Linear(4, 4) for _ in range(4)]
    heads = [nn.Linear(4, 3) for _ in range(4)]

    def fn(x, thr):
        conf = []
        for i, (l, h) in enumerate(zip(ls, heads)):
            x = torch.tanh(l(x))
            p = h(x).softmax(-1)
            c, pred = p.max(-1)
            conf.append(round(c.mean().item(), 4))
            if c.mean() > thr:
                break
        return pred, i, conf

    return fn, [
        (torch.ones(2, 4), 0.3),
        (torch.ones(2, 4), 0.9),
        (torch.ones(2, 4) * 3, 0.42),
        (torch.ones(3, 4), 0.3),
    ]


@program
def kv_cache_dataclass():
    @dataclasses.dataclass
    class Cache:
        k: torch.Tensor | None = None
        v: torch.Tensor | None = None
        pos: int = 0

        def update(self, k, v):
            self.k = k if self.k is None else torch.cat([self.k, k], 1)
            self.v = v if self.v is None else torch.cat([self.v, v], 1)
            self.pos += k.shape[1]
            return self.k, self.v

    torch.manual_seed(0)

    class Attn(nn.Module):
        def __init__(s):
            super().__init__()
            s.qkv = nn.Linear(4, 12)
            s.o = nn.Linear(4, 4)

        def forward(s, x, c):
            q, k, v = s.qkv(x).chunk(3, -1)
            k, v = c.update(k, v)
            return x + s.o(F.scaled_dot_product_attention(q, k, v, is_causal=x.shape[1] > 1))

    ls = nn.ModuleList([Attn() for _ in range(3)])
    caches = [Cache() for _ in ls]

    @torch.no_grad()
    def fn(x, reset=False):
        if reset:
            for c in caches:
                c.k = c.v = None
                c.pos = 0
        for l, c in zip(ls, caches):
            x = l(x, c)
        return x[:, -1], [c.pos for c in caches]

    return fn, [
        (torch.ones(1, 3, 4),),
        (torch.ones(1, 1, 4),),
        (torch.ones(1, 1, 4),),
        (torch.ones(1, 1, 4),),
        (torch.ones(1, 5, 4), True),
        (torch.ones(1, 1, 4),),
    ]


@program
def lazy_and_cached_modules():
    class Rope(nn.Module):
        def __init__(s):
            super().__init__()
            s.cache = {}
            s.max = 0
            s.cos = None

        def forward(s, x, off=0):
            n = x.shape[1] + off
            if n > s.max or s.cos is None:
                s.max = max(n, 2 * s.max)
                t = torch.arange(s.max).float()[:, None] * torch.tensor([1.0, 0.1])
                s.cos, s.sin = t.cos().repeat(1, 2), t.sin().repeat(1, 2)
            c, si = s.cos[off:n], s.sin[off:n]
            a, b = x.chunk(2, -1)
            return x * c + torch.cat([-b, a], -1) * si

    r = Rope()
    lz = nn.LazyLinear(3)

    def fn(x, off):
        torch.manual_seed(0)
        return lz(r(x, off)).detach(), r.max

    return fn, [
        (torch.ones(1, 3, 4), 0),
        (torch.ones(1, 1, 4), 3),
        (torch.ones(1, 1, 4), 4),
        (torch.ones(1, 9, 4), 0),
        (torch.ones(1, 1, 4), 9),
    ]
