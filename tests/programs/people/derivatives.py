"""Derivatives, hooks, functions of autograd, higher-order operators."""

from __future__ import annotations

import copy
import itertools
import threading

import torch
import torch.nn.functional as F
from torch import nn

from tests.programs.people.registry import line, program


@program
def packed_sequences():
    g = nn.GRU(2, 3, batch_first=True)

    def fn(x, l):
        p = nn.utils.rnn.pack_padded_sequence(x, l, batch_first=True, enforce_sorted=False)
        o, h = g(p)
        y, n = nn.utils.rnn.pad_packed_sequence(o, batch_first=True)
        return (y, n, h)

    return (fn, [(torch.randn(2, 4, 2), torch.tensor(l)) for l in ([4, 2], [1, 3], [4, 4])])


@program
def hooks_on_saved():

    def fn(x, s):
        n = [0]

        def pk(t):
            n[0] += 1
            return t * s

        x = x.clone().requires_grad_()
        with torch.autograd.graph.saved_tensors_hooks(pk, lambda t: t):
            y = (x * x).sum()
        y.backward()
        return (x.grad, n[0])

    return (fn, [(line(), s) for s in (1.0, 2.0)])


@program
def second_derivatives():

    def fn(x, v):
        x = x.clone().requires_grad_()
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g, x, v)
        return (
            g.detach(),
            h,
            torch.autograd.functional.hvp(lambda a: (a**3).sum(), x.detach(), v)[1],
        )

    return (fn, [(line(), line()), (torch.ones(3), torch.ones(3))])


@program
def grad_modes():

    def fn(x, m):
        x = x.clone().requires_grad_()
        with torch.set_grad_enabled(m):
            y = x * 2
        with torch.inference_mode():
            z = x * 3

        @torch.no_grad()
        def g(a):
            return a * 4

        return (
            y.requires_grad,
            z.is_inference(),
            g(x).requires_grad,
            torch.is_grad_enabled(),
            y.detach(),
            z + 1 if not m else None,
        )

    return (fn, [(line(), m) for m in (True, False, True)])


@program
def gradients_of_samples():
    m = nn.Linear(2, 1)

    def fn(x, y):
        p = {k: v.detach() for k, v in m.named_parameters()}

        def loss(p, x, y):
            return F.mse_loss(torch.func.functional_call(m, p, (x[None],)), y[None])

        return torch.vmap(torch.func.grad_and_value(loss), (None, 0, 0))(p, x, y)

    return (fn, [(torch.randn(n, 2), torch.randn(n, 1)) for n in (2, 3)])


@program
def ensemble():
    ms = [nn.Linear(2, 2) for _ in range(3)]
    ps, bs = torch.func.stack_module_state(ms)
    base = copy.deepcopy(ms[0]).to("meta")

    def fn(x):
        return torch.vmap(
            lambda p, b, x: torch.func.functional_call(base, (p, b), (x,)), (0, 0, None)
        )(ps, bs, x)

    return (fn, [(torch.randn(n, 2),) for n in (2, 3)])


@program
def straight_through():

    class R(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, bits):
            ctx.bits = bits
            s = 2**bits - 1
            ctx.mark_non_differentiable
            return (x * s).round() / s

        @staticmethod
        def backward(ctx, g):
            return (g.clamp(-1, 1) * ctx.bits, None)

    def fn(x, b):
        x = x.clone().requires_grad_()
        y = R.apply(x, b)
        (y**2).sum().backward()
        return (y, x.grad)

    return (fn, [(line() / 5, b) for b in (2, 3, 2, 4)])


@program
def function_with_setup():

    class M(torch.autograd.Function):
        @staticmethod
        def forward(x, y):
            return (x * y, x + y)

        @staticmethod
        def setup_context(ctx, inp, out):
            ctx.save_for_backward(*inp)
            ctx.set_materialize_grads(False)

        @staticmethod
        def backward(ctx, g1, g2):
            x, y = ctx.saved_tensors
            return (
                (g1 * y if g1 is not None else 0) + (g2 if g2 is not None else 0),
                g1 * x if g1 is not None else None,
            )

    def fn(x, y, both):
        x = x.clone().requires_grad_()
        a, b = M.apply(x, y)
        (a + b if both else a).sum().backward()
        return x.grad

    return (fn, [(line(), line(), b) for b in (True, False, True)])


@program
def hook_on_a_gradient():
    log = []

    def fn(x, s):
        x = x.clone().requires_grad_()
        y = x * 2
        h = y.register_hook(lambda g: log.append(float(g.sum())) or g * s)
        z = (y * y).sum()
        z.backward()
        h.remove()
        return (x.grad, list(log))

    return (fn, [(line(), s) for s in (1.0, 2.0, 0.5)])


@program
def hook_behind_accumulation():
    w = nn.Parameter(torch.ones(4))
    log = []
    w.register_post_accumulate_grad_hook(lambda p: log.append(p.grad.sum().item()))

    def fn(x):
        (w * x).sum().backward()
        g = w.grad.clone()
        w.grad = None
        return (g, list(log))

    return (fn, [(line() * i,) for i in range(3)])


@program
def retained_gradient():

    def fn(x):
        x = x.clone().requires_grad_()
        y = x * 2
        y.retain_grad()
        z = (y**2).sum()
        z.backward()
        return (x.grad, y.grad, y.is_leaf, y.requires_grad, type(y.grad_fn).__name__)

    return (fn, [(torch.ones(2),), (torch.ones(3),)])


@program
def branch_without_operands():

    def fn(x):
        return torch.cond(x.sum() > 0, lambda: x + 1, lambda: x - 1)

    return (fn, [(line(),), (-line(),)])


@program
def branch_of_trees():

    def fn(x, y):
        return torch.cond(
            x.sum() > 0,
            lambda d: {"a": d["x"] + 1, "b": [d["y"] * 2]},
            lambda d: {"a": d["x"] - 1, "b": [d["y"] * 3]},
            ({"x": x, "y": y},),
        )

    return (fn, [(line(), line()), (-line(), line())])


@program
def branch_that_captures():

    def fn(x, y):
        z = y * 2
        return torch.cond(x.sum() > 0, lambda a: z + 0, lambda a: a * 1, (x,))

    return (fn, [(line(), line()), (-line(), line())])


@program
def loop_that_counts():
    from torch._higher_order_ops import while_loop

    def fn(x, n):
        return while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * 2), (0, x))

    return (fn, [(line(), 3), (line(), 4), (line(), 2)])


@program
def thread_local_state():
    tl = threading.local()
    tl.n = 1

    def fn(x):
        tl.n += 1
        tl.last = x * tl.n
        return (tl.last + 1, tl.n, hasattr(tl, "zz"), sorted(vars(tl)))

    return (fn, [(line(),)] * 4)


@program
def iterators_that_are_returned():

    def fn(x, n):
        c = itertools.count(n)
        next(c)
        ch = itertools.chain([1], [2, 3])
        next(ch)
        return (
            x + n,
            c,
            ch,
            itertools.repeat(x, 2),
            zip([1, 2], [3, 4]),
            itertools.islice(range(9), 2, 5),
            itertools.cycle([1, 2]),
        )

    return (fn, [(line(), i) for i in (1, 2, 3)])


@program
def cached_parametrization():
    import torch.nn.utils.parametrize as P

    class S(nn.Module):
        def forward(self, w):
            cnt.append(1)
            return w.triu() + w.triu(1).T

    cnt = []
    l = nn.Linear(3, 3)
    P.register_parametrization(l, "weight", S())

    def fn(x):
        n = len(cnt)
        with P.cached():
            y = l(x) + l(x * 2)
        return (y, len(cnt) - n)

    return (fn, [(torch.ones(1, 3),)] * 3)


@program
def written_under_vmap():

    def fn(x):

        def g(a):
            a.add_(1)
            return a

        y = torch.func.vmap(g)(x)
        return (y, y is x, x)

    return (fn, [(line(),)] * 3)
