"""Training whose world changes between calls: flags, hooks, configurations and layers."""

from __future__ import annotations

import collections
import copy
import dataclasses
import typing

import torch
import torch.nn.functional as F
from torch import nn

from tests.programs.people.registry import program


@program
def weight_tied_lm_with_cache_flag():
    @dataclasses.dataclass
    class Cfg:
        vocab: int = 11
        dim: int = 8
        tie: bool = True
        dropout: float = 0.0
        bias: typing.Optional[bool] = None

    class LM(nn.Module):
        def __init__(self, cfg):
            super().__init__()
            self.cfg = cfg
            self.emb = nn.Embedding(cfg.vocab, cfg.dim, padding_idx=0)
            self.rnn = nn.GRUCell(cfg.dim, cfg.dim)
            self.head = nn.Linear(cfg.dim, cfg.vocab, bias=bool(cfg.bias))
            if cfg.tie:
                self.head.weight = self.emb.weight

        def forward(self, ids, h=None, *, return_dict=True):
            if h is None:
                h = self.emb.weight.new_zeros(ids.shape[0], self.cfg.dim)
            outs = []
            for t in range(ids.shape[1]):
                h = self.rnn(F.dropout(self.emb(ids[:, t]), self.cfg.dropout, self.training), h)
                outs.append(h)
            logits = self.head(torch.stack(outs, 1))
            return {"logits": logits, "h": h} if return_dict else (logits, h)

    m = LM(Cfg())
    opt = torch.optim.Adagrad(m.parameters(), 0.1)

    def step(ids, h, rd):
        o = m(ids[:, :-1], h, return_dict=rd)
        logits, h = (o["logits"], o["h"]) if rd else o
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), ignore_index=0)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return (
            loss.detach(),
            h.detach(),
            m.emb.weight.grad[0].clone(),
            m.head.weight is m.emb.weight,
        )

    def between(i):
        m.cfg.dropout = 0.5 if i == 3 else 0.0
        m.train(i != 4)

    g = torch.Generator().manual_seed(1)
    mk = lambda b, t: torch.randint(0, 11, (b, t), generator=g)
    return (
        step,
        [
            (mk(2, 4), None, True),
            (mk(2, 4), torch.ones(2, 8), True),
            (mk(3, 4), None, False),
            (mk(3, 4), None, True),
            (mk(2, 5), None, True),
            (mk(2, 4), torch.ones(2, 8), False),
        ],
        between,
    )


@program
def optimizer_with_closure_and_state():
    class Rprop2(torch.optim.Optimizer):
        def __init__(self, params, lr=0.1, up=1.2, down=0.5):
            super().__init__(params, dict(lr=lr, up=up, down=down))

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
                    s = self.state[p]
                    if not s:
                        s["step"] = 0
                        s["prev"] = torch.zeros_like(p)
                        s["size"] = torch.full_like(p, g["lr"])
                    s["step"] += 1
                    sign = (p.grad * s["prev"]).sign()
                    f = torch.where(sign > 0, g["up"], torch.where(sign < 0, g["down"], 1.0))
                    s["size"].mul_(f).clamp_(1e-6, 1.0)
                    grad = p.grad.masked_fill(sign < 0, 0.0)
                    p.addcmul_(grad.sign(), s["size"], value=-1)
                    s["prev"].copy_(grad)
            return loss

    w = nn.Parameter(torch.tensor([1.0, -2.0, 3.0]))
    b = nn.Parameter(torch.zeros(()))
    unused = nn.Parameter(torch.ones(2))
    opt = Rprop2([{"params": [w]}, {"params": [b, unused], "lr": 0.01}])

    def step(x, y, use_closure):
        def closure():
            opt.zero_grad()
            loss = ((x @ w + b - y) ** 2).mean()
            loss.backward()
            return loss

        if use_closure:
            loss = opt.step(closure)
        else:
            loss = closure()
            opt.step()
        return (
            loss.detach(),
            w.detach().clone(),
            b.detach().clone(),
            opt.state[w]["step"],
            unused in opt.state,
        )

    def between(i):
        if i == 3:
            opt.param_groups[0]["up"] = 1.5
        if i == 4:
            opt.load_state_dict(copy.deepcopy(opt.state_dict()))

    g = torch.Generator().manual_seed(5)
    return (
        step,
        [
            (torch.randn(4, 3, generator=g), torch.randn(4, generator=g), i % 2 == 0)
            for i in range(6)
        ],
        between,
    )


@program
def hooks_collecting_activations_and_grads():
    net = nn.Sequential(collections.OrderedDict(a=nn.Linear(3, 4), b=nn.ReLU(), c=nn.Linear(4, 2)))
    store = {}

    def fwd(name):
        def hook(mod, inp, out):
            store[name] = out.detach().mean()
            if out.requires_grad:
                out.register_hook(lambda g: store.__setitem__(name + ".g", g.abs().sum()))

        return hook

    handles = []

    def step(x, scale):
        store.clear()
        net.zero_grad()
        loss = (net(x) * scale).pow(2).mean()
        loss.backward()
        return loss.detach(), dict(store), [p.grad.norm() for p in net.parameters()]

    def between(i):
        if i == 1:
            handles.extend(m.register_forward_hook(fwd(n)) for n, m in net.named_children())
        if i == 3:
            handles.pop().remove()
        if i == 4:
            net.c.register_forward_pre_hook(lambda m, a: (a[0] * 2,))

    x = torch.randn(5, 3)
    return step, [(x, 1.0), (x, 1.0), (x, 2.0), (x, 2.0), (x, 1), (x[:2], 1)], between


@program
def parametrized_and_pruned():
    from torch.nn.utils import parametrize, prune

    class Sym(nn.Module):
        def forward(self, w):
            return w.triu() + w.triu(1).mT

        def right_inverse(self, w):
            return w.triu()

    class Clip(nn.Module):
        def __init__(self):
            super().__init__()
            self.c = 0.5

        def forward(self, w):
            return w.clamp(-self.c, self.c)

    lin = nn.Linear(4, 4)
    clip = Clip()
    other = nn.Linear(4, 2)

    def step(x):
        for p in (*lin.parameters(), *other.parameters()):
            p.grad = None
        y = other(torch.tanh(lin(x)))
        y.square().mean().backward()
        return (
            y.detach(),
            {n: p.grad for n, p in lin.named_parameters()},
            {n: p.grad for n, p in other.named_parameters()},
            lin.weight.detach().clone(),
        )

    def between(i):
        if i == 1:
            parametrize.register_parametrization(lin, "weight", Sym())
        if i == 2:
            parametrize.register_parametrization(lin, "weight", clip)
        if i == 3:
            clip.c = 0.1
            prune.random_unstructured(other, "weight", 3)
        if i == 4:
            parametrize.remove_parametrizations(lin, "weight")
        if i == 5:
            prune.remove(other, "weight")

    x = torch.randn(3, 4)
    return step, [(x,)] * 6, between


@program
def frozen_then_unfrozen_backbone():
    net = nn.ModuleDict(
        {
            "backbone": nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU()),
            "head": nn.Linear(4, 2),
        }
    )
    opt = torch.optim.SGD([p for p in net["head"].parameters()], 0.1, momentum=0.9)

    def step(x, y):
        h = net["backbone"](x)
        loss = F.cross_entropy(net["head"](h), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return (
            loss.detach(),
            h.requires_grad,
            [p.grad is not None for p in net.parameters()],
            [b.clone() for b in net.buffers()],
        )

    def between(i):
        if i == 0:
            for p in net["backbone"].parameters():
                p.requires_grad = False
            net["backbone"].eval()
        if i == 2:
            for p in net["backbone"].parameters():
                p.requires_grad = True
            opt.add_param_group({"params": list(net["backbone"].parameters()), "lr": 0.01})
            net["backbone"].train()
        if i == 4:
            net["head"] = nn.Linear(4, 3)

    x, y = torch.randn(4, 3), torch.tensor([0, 1, 1, 0])
    return step, [(x, y)] * 6, between


@program
def lora_merge_and_switch():
    class LoRA(nn.Module):
        def __init__(self, base, r=2):
            super().__init__()
            self.base = base.requires_grad_(False)
            self.A = nn.Parameter(torch.randn(r, base.in_features) * 0.1)
            self.B = nn.Parameter(torch.zeros(base.out_features, r))
            self.merged = False
            self.scale = 1.0

        @property
        def delta(self):
            return self.B @ self.A * self.scale

        def merge(self):
            if not self.merged:
                self.base.weight.data += self.delta.data
                self.merged = True

        def unmerge(self):
            if self.merged:
                self.base.weight.data -= self.delta.data
                self.merged = False

        def train(self, mode=True):
            super().train(mode)
            (self.unmerge if mode else self.merge)()
            return self

        def forward(self, x):
            y = self.base(x)
            return y if self.merged else y + F.linear(F.linear(x, self.A), self.B) * self.scale

    net = nn.Sequential(LoRA(nn.Linear(3, 4)), nn.ReLU(), LoRA(nn.Linear(4, 2)))
    opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], 0.5)

    def step(x):
        y = net(x)
        loss = y.pow(2).mean()
        if net.training:
            opt.zero_grad()
            loss.backward()
            opt.step()
        return loss.detach(), net[0].base.weight.detach().clone(), loss.requires_grad

    def between(i):
        net.train(i not in (2, 3))
        if i == 4:
            net[0].scale = 2.0

    x = torch.randn(3, 3)
    return step, [(x,)] * 6, between
