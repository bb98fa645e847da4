"""Optimizers of the program's own, accumulation, averages, adapters, simulated quantisation."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import math

import torch
import torch.nn.functional as F
from torch import nn

from tests.programs.people.registry import line, program


@program
def lion_with_weight_decay_groups():
    class Lion(torch.optim.Optimizer):
        def __init__(self, params, lr=1e-2, betas=(0.9, 0.99), wd=0.0):
            super().__init__(params, dict(lr=lr, betas=betas, wd=wd))

        @torch.no_grad()
        def step(self, closure=None):
            loss = None
            if closure is not None:
                with torch.enable_grad():
                    loss = closure()
            for g in self.param_groups:
                for p in g["params"]:
                    if p.grad is None:
                        continue
                    st = self.state[p]
                    if not st:
                        st["m"] = torch.zeros_like(p)
                        st["t"] = 0
                    st["t"] += 1
                    b1, b2 = g["betas"]
                    u = st["m"].mul(b1).add(p.grad, alpha=1 - b1).sign_()
                    p.mul_(1 - g["lr"] * g["wd"]).add_(u, alpha=-g["lr"])
                    st["m"].mul_(b2).add_(p.grad, alpha=1 - b2)
            return loss

    m = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    decay = [p for n, p in m.named_parameters() if n.endswith("weight")]
    rest = [p for n, p in m.named_parameters() if not n.endswith("weight")]
    opt = Lion([{"params": decay, "wd": 0.1}, {"params": rest}])

    def fn(x, y):
        def closure():
            opt.zero_grad()
            l = F.smooth_l1_loss(m(x), y)
            l.backward()
            return l

        l = opt.step(closure)
        return (
            l.detach(),
            {k: v.clone() for k, v in m.state_dict().items()},
            [s["t"] for s in opt.state.values()],
        )

    def calls():
        for i in range(4):
            if i == 2:
                opt.param_groups[1]["lr"] = 0.5
            yield torch.randn(4, 3), torch.randn(4, 1)

    return fn, calls()


@program
def accumulation_with_clip_and_skip():
    m = nn.Linear(2, 2)
    opt = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
    state = {"micro": 0, "skipped": 0, "norms": []}

    def fn(x, y, every):
        loss = F.mse_loss(m(x), y) / every
        loss.backward()
        state["micro"] += 1
        if state["micro"] % every == 0:
            n = nn.utils.clip_grad_norm_(m.parameters(), 0.5)
            state["norms"].append(n)
            if torch.isfinite(n):
                opt.step()
            else:
                state["skipped"] += 1
            opt.zero_grad(set_to_none=True)
        return (
            loss.detach(),
            dict(state),
            [None if p.grad is None else p.grad.clone() for p in m.parameters()],
            [p.detach().clone() for p in m.parameters()],
        )

    return fn, [
        (torch.randn(3, 2), torch.randn(3, 2) * s, e)
        for s, e in ((1, 2), (1, 2), (float("inf"), 2), (1, 2), (1, 1))
    ]


@program
def ema_with_shadow_swap():
    class EMA:
        def __init__(self, model, decay):
            self.decay, self.n = decay, 0
            self.shadow = {n: p.detach().clone() for n, p in model.named_parameters()}
            self.backup = {}

        def update(self, model):
            self.n += 1
            d = min(self.decay, (1 + self.n) / (10 + self.n))
            with torch.no_grad():
                for n, p in model.named_parameters():
                    self.shadow[n].lerp_(p, 1 - d)

        @contextlib.contextmanager
        def applied(self, model):
            self.backup = {n: p.data for n, p in model.named_parameters()}
            for n, p in model.named_parameters():
                p.data = self.shadow[n]
            try:
                yield self
            finally:
                for n, p in model.named_parameters():
                    p.data = self.backup[n]
                self.backup.clear()

    m = nn.Linear(3, 3)
    ema = EMA(m, 0.99)

    def fn(x, ev):
        with torch.no_grad():
            for p in m.parameters():
                p.add_(0.1)
        ema.update(m)
        if ev:
            with ema.applied(m) as e:
                y = m(x)
                assert e.n >= 1
            return y.detach(), ema.n, m.weight.sum().item(), len(ema.backup)
        return m(x).detach(), ema.n

    return fn, [(torch.randn(2, 3), e) for e in (False, True, False, True, True)]


@program
def warmup_cosine_schedule_object():
    @dataclasses.dataclass
    class Cosine:
        base: float
        warm: int
        total: int
        floor: float = 0.0
        step_: int = 0
        hist: list = dataclasses.field(default_factory=list)

        def __call__(self):
            s = self.step_
            if s < self.warm:
                lr = self.base * (s + 1) / self.warm
            else:
                t = (s - self.warm) / max(1, self.total - self.warm)
                lr = self.floor + 0.5 * (self.base - self.floor) * (
                    1 + math.cos(math.pi * min(t, 1.0))
                )
            self.step_ += 1
            self.hist.append(round(lr, 6))
            return lr

    s = Cosine(0.1, 2, 6, 0.01)
    w = torch.zeros(3)

    def fn(g):
        lr = s()
        w.sub_(lr * g)
        return w.clone(), lr, list(s.hist), f"{lr:.3e}"

    return fn, [(line()[:3],) for _ in range(8)]


@program
def amp_step_by_hand():
    m = nn.Linear(3, 2)
    opt = torch.optim.AdamW(m.parameters(), lr=0.01)
    sc = {"scale": 1024.0, "good": 0}

    def fn(x, y):
        opt.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            o = m(x)
            l = F.mse_loss(o.float(), y)
        (l * sc["scale"]).backward()
        inv = 1.0 / sc["scale"]
        bad = False
        for p in m.parameters():
            p.grad.mul_(inv)
            bad |= not bool(torch.isfinite(p.grad).all())
        if bad:
            sc["scale"] *= 0.5
            sc["good"] = 0
        else:
            opt.step()
            sc["good"] += 1
            if sc["good"] >= 2:
                sc["scale"] *= 2
                sc["good"] = 0
        return l.detach(), o.dtype, dict(sc), m.weight.detach().clone()

    return fn, [(torch.randn(4, 3), torch.randn(4, 2) * s) for s in (1, 1, float("nan"), 1, 1)]


@program
def sam_two_step():
    m = nn.Linear(2, 1)
    opt = torch.optim.SGD(m.parameters(), lr=0.1)

    def fn(x, y, rho):
        def loss():
            return F.mse_loss(m(x), y)

        l = loss()
        l.backward()
        norm = torch.stack([p.grad.norm() for p in m.parameters()]).norm()
        eps = {}
        with torch.no_grad():
            for p in m.parameters():
                e = p.grad * (rho / (norm + 1e-12))
                p.add_(e)
                eps[p] = e
        opt.zero_grad()
        loss().backward()
        with torch.no_grad():
            for p, e in eps.items():
                p.sub_(e)
        opt.step()
        opt.zero_grad()
        return l.detach(), [p.detach().clone() for p in m.parameters()], len(eps)

    return fn, [(torch.randn(3, 2), torch.randn(3, 1), r) for r in (0.05, 0.05, 0.1)]


@program
def lora_injected_between_calls():
    class LoRA(nn.Module):
        def __init__(self, base, r, a):
            super().__init__()
            self.base = base
            self.s = a / r
            self.merged = False
            for p in base.parameters():
                p.requires_grad_(False)
            self.A = nn.Parameter(torch.full((r, base.in_features), 0.1))
            self.B = nn.Parameter(torch.full((base.out_features, r), 0.2))

        def merge(self):
            if not self.merged:
                self.base.weight.data += self.s * self.B @ self.A
                self.merged = True

        def forward(self, x):
            y = self.base(x)
            return y if self.merged else y + self.s * F.linear(F.linear(x, self.A), self.B)

    net = nn.Sequential(
        collections.OrderedDict(fc1=nn.Linear(3, 4), act=nn.GELU(), fc2=nn.Linear(4, 2))
    )

    def inject(mod, r):
        for n, c in list(mod.named_children()):
            if isinstance(c, nn.Linear):
                setattr(mod, n, LoRA(c, r, 2 * r))
            else:
                inject(c, r)

    def fn(x):
        y = net(x)
        return y, sorted(n for n, p in net.named_parameters() if p.requires_grad)

    def calls():
        x = torch.randn(2, 3)
        yield (x,)
        inject(net, 2)
        yield (x,)
        yield (x + 1,)
        net.fc1.merge()
        yield (x,)
        net.fc2 = net.fc2.base
        yield (x,)

    return fn, calls()


@program
def fake_quant_with_observers():
    class Obs(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("lo", torch.tensor(float("inf")))
            self.register_buffer("hi", torch.tensor(float("-inf")))
            self.enabled = True
            self.bits = 8

        def forward(self, x):
            if self.enabled and self.training:
                self.lo = torch.minimum(self.lo, x.detach().amin())
                self.hi.copy_(torch.maximum(self.hi, x.detach().amax()))
            qmin, qmax = -(2 ** (self.bits - 1)), 2 ** (self.bits - 1) - 1
            s = ((self.hi - self.lo) / float(qmax - qmin)).clamp(min=torch.finfo(torch.float32).eps)
            z = qmin - torch.round(self.lo / s)
            q = torch.clamp(torch.round(x / s + z), qmin, qmax)
            y = (q - z) * s
            return x + (y - x).detach()

    o = Obs()

    def fn(x):
        x = x.clone().requires_grad_()
        y = o(x)
        y.pow(2).sum().backward()
        return y.detach(), x.grad, o.lo.clone(), o.hi.clone()

    def calls():
        yield (torch.randn(5),)
        yield (torch.randn(5) * 3,)
        o.bits = 4
        yield (torch.randn(5),)
        o.eval()
        yield (torch.randn(5) * 9,)
        o.train()
        o.enabled = False
        yield (torch.randn(5) * 9,)

    return fn, calls()
