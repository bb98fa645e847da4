"""Decoding with drafts, paged and ring caches, routers, graphs, samplers."""

from __future__ import annotations

import collections
import enum
import typing
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from tests.programs.people.registry import line, program


@program
def speculative_decoding():
    draft_w, main_w = torch.randn(6, 6), torch.randn(6, 6)

    class LM:
        def __init__(self, w):
            self.w, self.calls = w, 0

        def probs(self, toks):
            self.calls += 1
            return F.softmax(self.w[toks], -1)

    d, m = LM(draft_w), LM(main_w)

    def fn(toks, k):
        out = list(toks)
        prop, qs = [], []
        cur = out[-1]
        for _ in range(k):
            q = d.probs(torch.tensor([cur]))[0]
            cur = int(torch.multinomial(q, 1))
            prop.append(cur)
            qs.append(q)
        ps = m.probs(torch.tensor([out[-1]] + prop))
        n = 0
        for i, t in enumerate(prop):
            if torch.rand(()) < (ps[i, t] / qs[i][t]).clamp(max=1):
                out.append(t)
                n += 1
            else:
                r = (ps[i] - qs[i]).clamp(min=0)
                out.append(torch.multinomial(r / r.sum(), 1).item())
                break
        else:
            out.append(torch.multinomial(ps[-1], 1).item())
        return out, n, d.calls, m.calls

    return fn, [([0], 3), ([1, 2], 3), ([3], 2), ([0], 3)]


@program
def paged_kv_cache():
    class Pages:
        def __init__(self, n, size, d):
            self.k = torch.zeros(n, size, d)
            self.free = collections.deque(range(n))
            self.table = collections.defaultdict(list)
            self.len = collections.Counter()
            self.size = size

        def append(self, seq, k):
            i = self.len[seq]
            if i % self.size == 0:
                if not self.free:
                    raise MemoryError(f"no page for {seq}")
                self.table[seq].append(self.free.popleft())
            self.k[self.table[seq][-1], i % self.size] = k
            self.len[seq] += 1

        def gather(self, seq):
            return self.k[self.table[seq]].flatten(0, 1)[: self.len[seq]]

        def drop(self, seq):
            self.free.extend(self.table.pop(seq, ()))
            del self.len[seq]

    c = Pages(3, 2, 4)

    def fn(seq, x, drop):
        try:
            c.append(seq, x)
        except MemoryError as e:
            return str(e), dict(c.table)
        k = c.gather(seq)
        y = F.softmax(k @ x, 0) @ k
        if drop:
            c.drop(seq)
        return y, dict(c.len), list(c.free)

    return fn, [
        ("a", line(), 0),
        ("a", line() * 2, 0),
        ("b", line(), 0),
        ("a", line(), 0),
        ("b", line(), 0),
        ("c", line(), 0),
        ("a", line(), 1),
        ("c", line(), 0),
    ]


@program
def ring_cache_and_rotary():
    class Ring(nn.Module):
        def __init__(self, n, d):
            super().__init__()
            self.n = n
            self.register_buffer("buf", torch.zeros(n, d))
            self.register_buffer("pos", torch.zeros((), dtype=torch.long))
            self.start = 0

        def forward(self, x):
            t = x.shape[0]
            idx = (self.pos + torch.arange(t)) % self.n
            self.buf.index_copy_(0, idx, x)
            self.pos += t
            self.start = (self.start + t) % self.n
            ang = (self.pos - t + torch.arange(t))[:, None] * 0.1
            return torch.cat([x[:, :2] * ang.cos(), x[:, 2:] * ang.sin()], 1), self.buf.roll(
                -self.start, 0
            )

    m = Ring(4, 4)

    def fn(x):
        return m(x), m.start

    def calls():
        yield (torch.randn(2, 4),)
        yield (torch.randn(1, 4),)
        yield (torch.randn(1, 4),)
        yield (torch.randn(3, 4),)
        m.load_state_dict(Ring(4, 4).state_dict())
        m.start = 0
        yield (torch.randn(1, 4),)

    return fn, calls()


@program
def message_passing():
    class Conv(nn.Module):
        aggr = {
            "add": lambda o, i, m: o.index_add(0, i, m),
            "max": lambda o, i, m: o.scatter_reduce(
                0, i[:, None].expand_as(m), m, "amax", include_self=False
            ),
            "mean": lambda o, i, m: (
                o.index_add(0, i, m) / torch.bincount(i, minlength=o.shape[0]).clamp(min=1)[:, None]
            ),
        }

        def __init__(self, d, how):
            super().__init__()
            self.l = nn.Linear(2 * d, d)
            self.how = how

        def message(self, xi, xj):
            return F.relu(self.l(torch.cat([xi, xj - xi], -1)))

        def forward(self, x, ei):
            s, t = ei
            return self.aggr[self.how](torch.zeros_like(x), t, self.message(x[t], x[s]))

    class Data(typing.TypedDict):
        x: torch.Tensor
        ei: torch.Tensor
        batch: torch.Tensor

    net = nn.ModuleList(Conv(3, h) for h in ("add", "max", "mean"))

    def fn(d: Data):
        h = d["x"]
        for c in net:
            h = h + c(h, d["ei"])
        n = int(d["batch"].max()) + 1
        return torch.zeros(n, 3).index_add_(0, d["batch"], h), h

    def g(n, e):
        return Data(x=torch.randn(n, 3), ei=torch.randint(0, n, (2, e)), batch=torch.arange(n) // 2)

    return fn, [(g(4, 6),), (g(4, 6),), (g(6, 9),), (g(3, 1),)]


@program
def diffusion_with_schedule_dicts():
    class Sched:
        def __init__(self, n):
            b = torch.linspace(1e-4, 0.02, n)
            a = torch.cumprod(1 - b, 0)
            self.cfg = {"n": n, "kind": "eps"}
            self.tab = {"a": a, "b": b, "s": a.sqrt(), "o": (1 - a).sqrt()}
            self.timesteps = list(range(n - 1, -1, -2))

        def step(self, e, t, x, *, eta=0.0, gen=None):
            a = self.tab["a"][t]
            p = self.tab["a"][t - 2] if t >= 2 else torch.tensor(1.0)
            x0 = (x - self.tab["o"][t] * e) / self.tab["s"][t] if self.cfg["kind"] == "eps" else e
            sg = eta * ((1 - p) / (1 - a) * (1 - a / p)).sqrt()
            x = p.sqrt() * x0 + (1 - p - sg**2).clamp(min=0).sqrt() * e
            return {
                "prev": x + sg * torch.randn(x.shape, generator=gen) if eta > 0 else x,
                "x0": x0,
            }

    s = Sched(8)

    def fn(x, eta, cb):
        gen = torch.Generator().manual_seed(3)
        hist = []
        for i, t in enumerate(s.timesteps):
            out = s.step(torch.tanh(x + t / 8), t, x, eta=eta, gen=gen)
            x = out["prev"]
            if cb is not None and cb(i, t, out):
                break
            hist.append(round(t / 8, 3))
        return x, hist, gen.initial_seed(), s.cfg

    def calls():
        yield torch.randn(3), 0.0, None
        yield torch.randn(3), 0.5, None
        s.cfg["kind"] = "x0"
        yield torch.randn(3), 0.5, lambda i, t, o: i == 2
        s.cfg = dict(s.cfg, kind="eps")
        yield torch.randn(3), 0.0, lambda i, t, o: o.update(extra=1)

    return fn, calls()


@program
def gridworld_rollout():
    class Env:
        class Action(enum.IntEnum):
            UP = 0
            DOWN = 1
            LEFT = 2
            RIGHT = 3

        moves = {
            Action.UP: (-1, 0),
            Action.DOWN: (1, 0),
            Action.LEFT: (0, -1),
            Action.RIGHT: (0, 1),
        }

        def __init__(self, n):
            self.n = n
            self.reset()

        def reset(self):
            self.p = (0, 0)
            self.t = 0
            return self.obs

        @property
        def obs(self):
            return torch.eye(self.n * self.n)[self.p[0] * self.n + self.p[1]]

        def step(self, a):
            dy, dx = self.moves[self.Action(a)]
            self.p = tuple(min(max(v + d, 0), self.n - 1) for v, d in zip(self.p, (dy, dx)))
            self.t += 1
            done = self.p == (self.n - 1,) * 2
            return self.obs, 1.0 if done else -0.01, done or self.t >= 6, {"t": self.t}

    pi = nn.Linear(9, 4)
    env = Env(3)

    class Step(NamedTuple):
        logp: torch.Tensor
        r: float
        ent: torch.Tensor

    def fn(gamma):
        o, traj, done = env.reset(), [], False
        while not done:
            dist = torch.distributions.Categorical(logits=pi(o))
            a = dist.sample()
            o, r, done, info = env.step(a.item())
            traj.append(Step(dist.log_prob(a), r, dist.entropy()))
        R, loss = 0.0, torch.zeros(())
        for s in reversed(traj):
            R = s.r + gamma * R
            loss = loss - s.logp * R - 0.01 * s.ent
        loss.backward()
        g = pi.weight.grad.clone()
        pi.zero_grad()
        return loss.detach(), len(traj), env.p, g, info

    return fn, [(0.9,), (0.9,), (0.5,)]
