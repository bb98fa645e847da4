"""Training, optimizers, generative and contrastive models, meta learning."""

from __future__ import annotations

import collections
import copy

import torch
import torch.nn.functional as F
from torch import nn

from tests.programs.people.registry import program


@program
def moving_average_of_a_model():
    m = nn.Linear(4, 4)
    ema = copy.deepcopy(m)

    def step(x, decay):
        with torch.no_grad():
            for p, q in zip(ema.parameters(), m.parameters()):
                p.mul_(decay).add_(q, alpha=1 - decay)
        return ema(x)

    return (step, [(torch.ones(2, 4), d) for d in (0.9, 0.99, 0.999, 0.5)])


@program
def meters_of_losses():

    class Meter:
        def __init__(self):
            self.hist = collections.defaultdict(list)

        def __call__(self, **kw):
            for k, v in kw.items():
                self.hist[k].append(v if not torch.is_tensor(v) else v.detach())
            return {k: sum(h) / len(h) for k, h in self.hist.items()}

    m = Meter()

    def fn(x, y):
        loss = F.mse_loss(x, y)
        acc = (x > y).float().mean()
        return m(loss=loss, acc=acc)

    return (fn, [(torch.randn(3), torch.randn(3)) for _ in range(4)])


@program
def schedule_of_learning_rates():
    w = nn.Parameter(torch.ones(3))
    opt = torch.optim.SGD([w], lr=1.0, momentum=0.9)
    sch = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=10)

    def fn(x):
        opt.zero_grad()
        l = (w * x).sum() ** 2
        l.backward()
        opt.step()
        sch.step()
        return (l.item(), sch.get_last_lr(), w.detach().clone())

    return (fn, [(torch.randn(3),) for _ in range(5)])


@program
def accumulated_gradients():
    m = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Dropout(0.0)).double()
    opt = torch.optim.AdamW(m.parameters())
    st = {"i": 0}

    def fn(x):
        l = m(x).pow(2).mean() / 2
        l.backward()
        st["i"] += 1
        if st["i"] % 2 == 0:
            torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
            opt.step()
            opt.zero_grad(set_to_none=True)
        return (l.detach(), [None if p.grad is None else p.grad.clone() for p in m.parameters()])

    return (fn, [(torch.randn(4, 3).double(),) for _ in range(5)])


@program
def adversarial_step():
    G = nn.Linear(2, 2)
    D = nn.Linear(2, 1)
    og = torch.optim.Adam(G.parameters())
    od = torch.optim.Adam(D.parameters())

    def fn(x, z):
        od.zero_grad()
        f = G(z)
        ld = F.softplus(-D(x)).mean() + F.softplus(D(f.detach())).mean()
        ld.backward()
        od.step()
        og.zero_grad()
        lg = F.softplus(-D(G(z))).mean()
        lg.backward()
        og.step()
        return (ld.item(), lg.item())

    return (fn, [(torch.randn(4, 2), torch.randn(4, 2)) for _ in range(4)])


@program
def variational_autoencoder():
    e = nn.Linear(4, 4)
    d = nn.Linear(2, 4)

    def fn(x):
        torch.manual_seed(0)
        mu, lv = e(x).chunk(2, -1)
        z = mu + torch.randn_like(mu) * (lv / 2).exp()
        r = d(z)
        kl = -0.5 * (1 + lv - mu**2 - lv.exp()).sum(-1).mean()
        return {"recon": F.mse_loss(r, x), "kl": kl, "z": z}

    return (fn, [(torch.randn(n, 4),) for n in (2, 3, 5)])


@program
def gradient_penalty():
    D = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))

    def fn(r, f):
        e = torch.rand(r.size(0), 1)
        i = (e * r + (1 - e) * f).requires_grad_()
        s = D(i)
        (g,) = torch.autograd.grad(s.sum(), i, create_graph=True)
        gp = ((g.norm(2, 1) - 1) ** 2).mean()
        l = D(f).mean() - D(r).mean() + 10 * gp
        l.backward()
        out = [p.grad.clone() for p in D.parameters()]
        D.zero_grad()
        return (l.detach(), out)

    return (fn, [(torch.randn(n, 2), torch.randn(n, 2)) for n in (3, 3, 4)])


@program
def contrastive_loss():

    def fn(a, b, t):
        z = F.normalize(torch.cat([a, b]), dim=1)
        s = z @ z.T / t
        n = a.size(0)
        s.fill_diagonal_(-1000000000.0)
        lab = torch.cat([torch.arange(n) + n, torch.arange(n)])
        return F.cross_entropy(s, lab)

    return (
        fn,
        [(torch.randn(n, 3), torch.randn(n, 3), t) for n, t in ((2, 0.5), (3, 0.1), (4, 0.5))],
    )


@program
def queue_of_keys():
    q = nn.Linear(3, 3)
    k = copy.deepcopy(q)
    queue_ = F.normalize(torch.randn(3, 6), dim=0)
    ptr = torch.zeros(1, dtype=torch.long)

    @torch.no_grad()
    def enq(ks):
        p = int(ptr)
        b = ks.shape[0]
        queue_[:, p : p + b] = ks.T
        ptr[0] = (p + b) % queue_.shape[1]

    def fn(x):
        a = F.normalize(q(x), dim=1)
        with torch.no_grad():
            for pq, pk in zip(q.parameters(), k.parameters()):
                pk.data = pk.data * 0.9 + pq.data * 0.1
            b = F.normalize(k(x), dim=1)
        l = torch.cat([(a * b).sum(1, keepdim=True), a @ queue_.clone()], 1)
        enq(b)
        return (l, int(ptr), queue_.clone())

    return (fn, [(torch.randn(2, 3),) for _ in range(5)])


@program
def two_inner_steps():
    m = nn.Linear(2, 1)

    def fn(xs, ys, xq, yq):
        p = dict(m.named_parameters())

        def loss(p, x, y):
            return F.mse_loss(torch.func.functional_call(m, p, (x,)), y)

        for _ in range(2):
            g = torch.autograd.grad(loss(p, xs, ys), list(p.values()), create_graph=True)
            p = {k: v - 0.1 * gg for (k, v), gg in zip(p.items(), g)}
        l = loss(p, xq, yq)
        l.backward()
        o = [q.grad.clone() for q in m.parameters()]
        m.zero_grad()
        return (l.detach(), o)

    return (
        fn,
        [
            (torch.randn(n, 2), torch.randn(n, 1), torch.randn(n, 2), torch.randn(n, 1))
            for n in (3, 3, 4)
        ],
    )


@program
def groups_of_parameters():
    m = nn.Linear(3, 3).double()
    opt = torch.optim.SGD(
        [{"params": [m.weight], "lr": 0.1, "weight_decay": 0.1}, {"params": [m.bias]}],
        lr=0.01,
        momentum=0.9,
    )
    sch = torch.optim.lr_scheduler.LambdaLR(opt, lambda e: 0.5**e)

    def fn(x):
        opt.zero_grad()
        l = m(x).pow(2).sum()
        l.backward()
        n = nn.utils.clip_grad_norm_(m.parameters(), 0.5)
        opt.step()
        sch.step()
        return (
            l.detach(),
            n,
            [g["lr"] for g in opt.param_groups],
            m.weight.detach().clone(),
            len(opt.state),
        )

    return (fn, [(torch.randn(2, 3).double(),) for _ in range(4)])


@program
def denoising_steps():
    betas = torch.linspace(0.0001, 0.02, 10)
    ac = (1 - betas).cumprod(0)
    net = nn.Linear(5, 4)

    def fn(x, steps):
        for i in reversed(range(0, 10, 10 // steps)):
            t = torch.full((x.size(0), 1), i / 10)
            e = net(torch.cat([x, t], 1))
            a = ac[i]
            x0 = (x - (1 - a).sqrt() * e) / a.sqrt()
            pa = ac[i - 1] if i > 0 else torch.tensor(1.0)
            x = pa.sqrt() * x0 + (1 - pa).sqrt() * e
            if i > 0:
                x = x + torch.randn_like(x) * 0.01
        return x

    return (fn, [(torch.randn(2, 4), s) for s in (2, 5, 2)])
