"""Reinforcement learning, optimizers of the program's own, running statistics."""

from __future__ import annotations

import collections
import copy
import random

import torch
import torch.nn.functional as F
from torch import nn

from tests.programs.people.registry import line, program


@program
def policy_gradient():
    pi = nn.Linear(4, 2)
    opt = torch.optim.SGD(pi.parameters(), lr=0.1)

    def fn(x, n):
        lps = []
        rs = []
        for t in range(n):
            d = torch.distributions.Categorical(logits=pi(x))
            a = d.sample()
            lps.append(d.log_prob(a))
            rs.append(float(a.item()))
        G = 0.0
        ret = []
        for r in reversed(rs):
            G = r + 0.9 * G
            ret.insert(0, G)
        ret = torch.tensor(ret)
        ret = (ret - ret.mean()) / (ret.std() + 1e-06)
        loss = -(torch.stack(lps) * ret).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return (loss.detach(), rs)

    return (fn, [(line(), n) for n in (4, 4, 5)])


@program
def advantages():

    def fn(r, v, done, lam):
        adv = torch.zeros_like(r)
        last = 0
        for t in reversed(range(len(r))):
            nv = v[t + 1] if t + 1 < len(v) else 0.0
            nt = 1.0 - done[t].float()
            delta = r[t] + 0.99 * nv * nt - v[t]
            last = delta + 0.99 * lam * nt * last
            adv[t] = last
        return (adv, adv + v)

    return (
        fn,
        [
            (torch.randn(n), torch.randn(n), torch.zeros(n, dtype=torch.bool), l)
            for n, l in ((4, 0.9), (5, 0.95), (6, 0.9))
        ],
    )


@program
def q_learning():
    buf = collections.deque(maxlen=5)
    q = nn.Linear(3, 2)
    t = copy.deepcopy(q)

    def fn(s, r, done):
        eps = 0.5
        a = q(s).argmax().item() if random.random() > eps else random.randrange(2)
        buf.append((s, a, r, done))
        S, A, R, Dn = zip(*buf)
        S = torch.stack(S)
        A = torch.tensor(A)
        R = torch.tensor(R)
        Dn = torch.tensor(Dn)
        with torch.no_grad():
            tgt = R + 0.9 * t(S).max(-1).values * ~Dn
        loss = F.smooth_l1_loss(q(S).gather(1, A[:, None]).squeeze(1), tgt)
        if len(buf) % 3 == 0:
            t.load_state_dict(q.state_dict())
        return (a, loss)

    return (fn, [(torch.randn(3), float(i), i % 2 == 0) for i in range(6)])


@program
def replay_buffer():

    class Buf:
        def __init__(s, cap):
            s.b = []
            s.cap = cap
            s.i = 0

        def push(s, *t):
            if len(s.b) < s.cap:
                s.b.append(None)
            s.b[s.i] = t
            s.i = (s.i + 1) % s.cap

        def sample(s, n):
            return map(torch.stack, zip(*random.sample(s.b, n)))

        def __len__(s):
            return len(s.b)

    buf = Buf(3)

    def fn(x, r):
        buf.push(x, torch.tensor(r))
        if len(buf) < 2:
            return None
        a, b = buf.sample(2)
        return (a.sum(), b, len(buf))

    return (fn, [(line() * i, float(i)) for i in range(6)])


@program
def optimizer_of_the_program():

    class Lion(torch.optim.Optimizer):
        def __init__(s, p, lr=0.1, b=0.9):
            super().__init__(p, dict(lr=lr, b=b))

        @torch.no_grad()
        def step(s, closure=None):
            for g in s.param_groups:
                for p in g["params"]:
                    if p.grad is None:
                        continue
                    st = s.state[p]
                    if not st:
                        st["m"] = torch.zeros_like(p)
                        st["t"] = 0
                    st["t"] += 1
                    u = st["m"].lerp(p.grad, 1 - g["b"]).sign_()
                    p.add_(u, alpha=-g["lr"] / st["t"])
                    st["m"].lerp_(p.grad, 0.01)

    w = nn.Parameter(torch.ones(4))
    o = Lion([w])

    def fn(x):
        o.zero_grad()
        l = (w * x).sum() ** 2
        l.backward()
        o.step()
        return (l.detach(), w.detach().clone(), o.state[w]["t"])

    return (fn, [(torch.randn(4),) for _ in range(5)])


@program
def scaled_gradients():
    m = nn.Linear(4, 4)
    o = torch.optim.SGD(m.parameters(), 0.1)
    s = torch.amp.GradScaler("cpu", init_scale=4.0)

    def fn(x):
        o.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            l = m(x).float().pow(2).mean()
        s.scale(l).backward()
        s.unscale_(o)
        s.step(o)
        s.update()
        return (l.detach(), s.get_scale())

    return (fn, [(torch.randn(2, 4),) for _ in range(3)])


@program
def averaged_weights():
    m = nn.Linear(2, 2)
    a = torch.optim.swa_utils.AveragedModel(m)

    def fn(x):
        with torch.no_grad():
            m.weight.add_(0.1)
        a.update_parameters(m)
        return (a(x), int(a.n_averaged))

    return (fn, [(torch.ones(1, 2),)] * 4)


@program
def running_statistics():
    bn = nn.BatchNorm1d(4, momentum=None)

    def fn(x, tr):
        bn.train(tr)
        return (bn(x), bn.running_mean.clone(), bn.num_batches_tracked.item())

    return (fn, [(torch.randn(3, 4), t) for t in (True, True, False, True)])


@program
def gradients_of_embeddings():
    e = nn.Embedding(5, 3, padding_idx=0, max_norm=1.0)
    b = nn.EmbeddingBag(5, 3, mode="sum")

    def fn(i, o):
        y = e(i).sum() + b(i.view(-1), o).sum()
        y.backward()
        g = (e.weight.grad.clone(), b.weight.grad.clone())
        e.zero_grad()
        b.zero_grad()
        return (y.detach(), g)

    return (fn, [(torch.tensor([[0, 1], [2, k]]), torch.tensor([0, 2])) for k in (3, 4, 0)])


@program
def normed_weights():
    l = nn.utils.parametrizations.spectral_norm(nn.Linear(3, 3))
    w = nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))

    def fn(x, t):
        l.train(t)
        return (l(x), w(x))

    return (fn, [(torch.randn(2, 3), t) for t in (True, True, False)])
