"""Corners of the tensor API: overlapping views, outputs, masks, dtypes, numbers that are none."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F

from tests.programs.people.registry import line, program


@program
def inplace_on_overlapping_views():
    def fn(x, k):
        a = x.view(2, 6)
        b = a.t()
        c = x[::2]
        d = a[1]
        c += k
        b[0] *= 2
        d.neg_()
        e = x.unfold(0, 4, 4)
        e[1].fill_(7)
        a.narrow(1, 1, 2).zero_()
        x.diagonal(0, 0, 0).add_(1) if x.dim() > 1 else x[-1:].add_(1)
        return a.sum(0), b, c.clone(), d.data_ptr() == a[1].data_ptr(), d._base is x, x._is_view()

    return fn, [
        (torch.arange(12.0), 1),
        (torch.arange(12.0) * 2, 3),
        (torch.arange(12), 2),
        (torch.arange(24.0)[::2], 1),
    ]


@program
def out_arguments():
    buf = torch.zeros(3)

    def fn(x, y, o, i):
        r = torch.add(x, y, out=o)
        v, ix = torch.max(grid_(x), 1, out=(buf, i))
        torch.cat([x[:1], y[:1]], out=o[:2])
        torch.matmul(grid_(x), x, out=buf)
        s = torch.stack((x, y))
        torch.sum(s, 0, out=o)
        return r is o, v is buf, ix is i, o.clone(), buf

    def grid_(x):
        return x.expand(3, 4) * torch.arange(3.0)[:, None]

    return fn, [
        (line(), line() * k, torch.zeros(4), torch.zeros(3, dtype=torch.long)) for k in (1, 2)
    ] + [
        (line(), line(), torch.zeros(2), torch.zeros(3, dtype=torch.int)),
        (line(), line(), torch.zeros(4, dtype=torch.int), torch.zeros(3, dtype=torch.long)),
    ]


@program
def index_put_and_masks():
    def fn(x, m, i, v):
        x[m] = v
        x[~m] += 1
        x[i] -= 2
        x.index_put_((i,), torch.ones(len(i)), accumulate=True)
        x[..., -1:] = x[..., :1]
        x[None][0][i[0]] = 5
        x[[0, 1]] = x[[1, 0]]
        x[torch.tensor(0)] += 1
        return x, x[m].sum(), (x == 5).nonzero(as_tuple=True)

    return fn, [
        (torch.arange(6.0), torch.tensor([1, 0, 1, 0, 0, 1]).bool(), torch.tensor([1, 1, 4]), v)
        for v in (0, 2.5, True, torch.tensor(3.0))
    ] + [
        (torch.arange(6), torch.zeros(6).bool(), torch.tensor([0]), 1.5),
        (torch.arange(6.0), torch.ones(5).bool(), torch.tensor([0]), 1),
    ]


@program
def integer_edges():
    def fn(a, b):
        return (
            a // b,
            a % b,
            torch.div(a, b, rounding_mode="trunc"),
            torch.fmod(a, b),
            a << 3,
            a >> 1,
            a * 2**30,
            ~a,
            a ^ 5,
            -a,
            abs(a),
            a.to(torch.int8),
            a.to(torch.uint8),
            (a * 1.0 / 3).to(torch.int32),
        )

    return fn, [
        (torch.tensor([7, -7, 2**31 - 1, -(2**31)], dtype=torch.int32), b)
        for b in (2, -3, torch.tensor(4, dtype=torch.int32))
    ] + [(torch.tensor([2**62, -(2**63)]), 3), (torch.tensor([1]), 0)]


@program
def float64_constants():
    EPS = 1e-12

    def fn(x, s):
        a = x + EPS
        b = x * s
        c = torch.full_like(x, 0.1) + 0.2
        d = torch.tensor([0.1, 0.2]).double() + 0.1
        e = x.to(torch.float64) * s - 0.1
        f = (
            torch.tensor(s).item(),
            torch.tensor(s, dtype=torch.float64).item(),
            np.float32(s) * x,
            x * np.float64(s),
        )
        return a, b, c, d, e, f, x.mul(s).sum().item()

    return fn, [(line(), s) for s in (0.1, 1 / 3, 1e-40, 3, 1e300)] + [
        (line().double(), 0.1),
        (line().half(), 1e5),
    ]


@program
def where_with_scalars():
    def fn(c, x, y):
        r = [torch.where(c, x, y)]
        r.append(torch.where(c, x, 2))
        r.append(torch.where(c, 1, y))
        r.append(torch.where(c, 1.0, 2))
        r.append(torch.where(c, True, False))
        return r, [t.dtype for t in r]

    c = torch.tensor([True, False])
    return fn, [
        (c, torch.ones(2), torch.zeros(2)),
        (c, torch.ones(2, dtype=torch.int), torch.tensor(2.5)),
        (c, torch.ones(2).half(), torch.zeros(2).double()),
        (c.int(), torch.ones(2), torch.ones(2)),
        (c, 3, torch.ones(2, dtype=torch.uint8)),
    ]


@program
def grad_switches():
    w = torch.ones(3, requires_grad=True)

    @torch.no_grad()
    def frozen(x):
        return x * w

    @torch.enable_grad()
    def live(x):
        return x * w

    @torch.inference_mode()
    def inf(x):
        return x * w

    def gen(x):
        with torch.no_grad():
            yield x * w
            yield torch.is_grad_enabled()

    def fn(x, k):
        with torch.set_grad_enabled(k % 2 == 0):
            a, b, c = frozen(x), live(x), inf(x)
            g = gen(x)
            d = next(g)
            e = torch.is_grad_enabled()
            f = next(g)
            h = torch.is_grad_enabled()
        if k == 3:
            torch.set_grad_enabled(False)
        return (
            a.requires_grad,
            b.requires_grad,
            c.is_inference(),
            d.requires_grad,
            e,
            f,
            h,
            torch.is_grad_enabled(),
            b,
        )

    def calls():
        yield line()[:3], 0
        yield line()[:3], 1
        w.requires_grad_(False)
        yield line()[:3], 2
        w.requires_grad_()
        yield line()[:3], 3
        torch.set_grad_enabled(True)
        yield line()[:3], 4

    return fn, calls()


@program
def complex_signals():
    def fn(x, n):
        X = torch.fft.rfft(x, n)
        P = X.abs() ** 2
        ac = torch.fft.irfft(X * X.conj(), n)
        z = torch.polar(P, X.angle())
        v = torch.view_as_real(z)
        v[..., 1] *= -1
        z.imag.add_(1)
        return (
            P,
            ac,
            z,
            X.conj().is_conj(),
            X.conj().resolve_conj(),
            z.real,
            torch.complex(x, x).mean(),
            (X * 1j).real,
            z == z.conj().conj(),
        )

    return fn, [(line(), 4), (torch.randn(6), 6), (torch.randn(6), 8)]


@program
def unfold_einsum_attention():
    def fn(x, w):
        b, t, d = x.shape
        win = F.pad(x, (0, 0, w - 1, 0)).unfold(1, w, 1)
        sc = torch.einsum("btd,btdw->btw", x, win) / d**0.5
        m = torch.arange(w)[None] + torch.arange(t)[:, None] - (w - 1) < 0
        sc = sc.masked_fill(m, torch.finfo(sc.dtype).min)
        return (
            torch.einsum("btw,btdw->btd", sc.softmax(-1), win),
            sc.shape,
            f"{tuple(sc.shape)} {x.shape!s:>24}|{list(x.shape)}|{x.dtype}",
        )

    return fn, [(torch.randn(1, 5, 3), 2), (torch.randn(2, 4, 3), 3), (torch.randn(2, 6, 3), 3)]


@program
def hooks_that_change_gradients():
    def fn(x, k):
        x = x.clone().requires_grad_()
        y = x * 2
        got = []
        y.register_hook(lambda g: g.clamp(-k, k))
        h = y.register_hook(lambda g: got.append(g.clone()))
        z = (y**2).sum()
        if k > 1:
            h.remove()
        z.backward()
        return x.grad, got

    return fn, [(line(), k) for k in (1.0, 0.5, 2.0)]


@program
def double_backward_function():
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return CubeBack.apply(g, x)

    class CubeBack(torch.autograd.Function):
        @staticmethod
        def forward(ctx, g, x):
            ctx.save_for_backward(g, x)
            return 3 * x * x * g

        @staticmethod
        def backward(ctx, gg):
            g, x = ctx.saved_tensors
            return 3 * x * x * gg, 6 * x * g * gg

    def fn(x):
        x = x.clone().requires_grad_()
        y = Cube.apply(x).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        (h,) = torch.autograd.grad(g.pow(2).sum(), x)
        return y.detach(), g.detach(), h

    return fn, [(line(),), (torch.randn(3),)]
