"""Views and writes, complex, sparse and nested tensors, NumPy, random numbers."""

from __future__ import annotations

import math
import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from tests.programs.people.registry import grid, line, program


@program
def views_of_one_tensor():

    def fn(x, i):
        a = x[i]
        b = x.t()
        c = x.view(-1)[::2]
        a.add_(10)
        c.mul_(2)
        b[0].zero_()
        return (x, a, b, c, a._base is x)

    return (fn, [(grid(), i) for i in (0, 1, 2)])


@program
def arguments_that_are_one():

    def fn(x, y):
        x.add_(1)
        y.mul_(2)
        return (x + y, x is y)

    m = line()
    return (fn, [(line(), line()), (m, m), (m, m[:]), (line(), line())])


@program
def views_that_are_written():

    def fn(x):
        y = x.expand(3, 4)
        z = y.contiguous()
        z += 1
        w = x.unsqueeze(0).squeeze()
        w += 1
        d = x.detach()
        d.mul_(3)
        return (x, y, z, w, d, d.requires_grad)

    return (fn, [(line(),)] * 3)


@program
def written_slices():

    def fn(x, m, v):
        x[m] = v
        x[..., 0] = v * 2
        x[1:, ::2] += 1
        x[[0, -1], [1, 1]] = -1
        x[None, :, 1] = 5
        x[:, -1:] = x[:, :1]
        return x

    return (fn, [(grid(), grid() > 5, v) for v in (1.0, 2.0, torch.tensor(3.0))])


@program
def scatter_and_gather():

    def fn(x, i, s):
        y = x.clone()
        y.scatter_(1, i, s)
        y.scatter_add_(1, i, torch.ones_like(x)[:, : i.shape[1]])
        z = torch.zeros(3).index_put((i[:, 0],), x[:, 0], accumulate=True)
        return (y, z, x.index_select(1, i[0]), x.take(i), x.gather(1, i))

    return (fn, [(grid(), torch.tensor([[0, 1], [2, 3], [1, 1]]) % 3, s) for s in (1.0, 2.0)])


@program
def complex_numbers():

    def fn(x, k):
        z = torch.polar(x, x * k)
        w = z.conj() * 1j
        v = torch.view_as_real(w)
        s = torch.stft(torch.arange(16.0), 8, return_complex=True)
        return (
            z.abs(),
            w.imag,
            v,
            w.is_conj(),
            (z @ w.conj()).real,
            torch.linalg.eigvals(torch.diag(x)).real.sort().values,
            s.shape,
            complex(z[0].item()),
        )

    return (fn, [(line(), k) for k in (1.0, 2.0)])


@program
def parts_of_complex():

    def fn(x):
        z = torch.complex(x, x)
        z.real.mul_(2)
        z.imag[0] = 7
        c = z.conj()
        c.add_(1)
        return (z, c.resolve_conj(), z.real.is_contiguous())

    return (fn, [(line(),)] * 3)


@program
def sparse_coordinates():

    def fn(x, i):
        s = torch.sparse_coo_tensor(i, x, (3, 3))
        d = s.to_dense()
        c = s.coalesce()
        return (d, c.values(), c.indices(), torch.sparse.mm(s, torch.eye(3)), s.is_sparse, c._nnz())

    return (fn, [(line(), torch.tensor([[0, 1, 1, 2], [1, 0, 0, k]])) for k in (0, 1, 2)])


@program
def jagged():

    def fn(a, b):
        n = torch.nested.nested_tensor([a, b], layout=torch.jagged)
        y = n.sin() + 1
        return (y.values(), y.offsets(), torch.nested.to_padded_tensor(y, 0.0))

    return (fn, [(torch.ones(2, 3), torch.ones(4, 3)), (torch.ones(1, 3), torch.ones(2, 3))])


@program
def quantized():

    def fn(x, s, zp):
        return (
            torch.fake_quantize_per_tensor_affine(x, s, zp, -128, 127),
            torch.quantize_per_tensor(x, s, zp, torch.qint8).dequantize(),
            torch.quantize_per_tensor(x, s, zp, torch.qint8).int_repr(),
        )

    return (fn, [(line(), 0.1, 0), (line(), 0.2, 3), (line(), 0.1, 0)])


@program
def forked_generator():

    def fn(x, s):
        with torch.random.fork_rng():
            torch.manual_seed(s)
            a = torch.randn(2)
        g = torch.Generator().manual_seed(s)
        b = torch.randperm(4, generator=g)
        st = torch.get_rng_state()
        c = torch.rand(1)
        torch.set_rng_state(st)
        d = torch.rand(1)
        return (a, b, c, d, torch.initial_seed() > 0, F.dropout(x, 0.3))

    return (fn, [(line(), s) for s in (1, 2, 1)])


@program
def seeds():

    def fn(x):
        random.seed(3)
        torch.manual_seed(1)
        a = random.random()
        b = random.sample(range(10), 3)
        l = [1, 2, 3, 4]
        random.shuffle(l)
        return (x * a, b, l, torch.rand(2), random.choice("abc"), random.gauss(0, 1))

    return (fn, [(torch.ones(2),)] * 3)


@program
def state_put_back():

    def fn(x, s):
        g = torch.random.get_rng_state()
        torch.manual_seed(s)
        a = torch.rand(2)
        torch.random.set_rng_state(g)
        return (a * x, F.dropout(x, 0.5, True))

    return (fn, [(torch.ones(2), s) for s in (1, 2, 1)])


@program
def random_module():

    def fn(x):
        st = random.getstate()
        a = random.random()
        random.setstate(st)
        b = random.random()
        r = random.Random(4)
        return (
            x * a,
            a == b,
            r.randint(0, 9),
            random.choices([1, 2, 3], k=2),
            random.uniform(0, x.shape[0]),
            random.betavariate(1, 2),
        )

    return (fn, [(line(),)] * 3)


@program
def dtypes():

    def fn(x, d):
        y = x.to(d)
        z = y + 1
        w = torch.promote_types(y.dtype, torch.int64)
        torch.set_default_dtype(torch.float64) if False else None
        return (
            z,
            z.dtype,
            w,
            torch.result_type(y, 1.5),
            y.element_size(),
            torch.can_cast(y.dtype, torch.float32),
            torch.ones(2, dtype=d).sum(),
        )

    return (
        fn,
        [
            (line(), d)
            for d in (torch.float16, torch.int32, torch.bool, torch.bfloat16, torch.float64)
        ],
    )


@program
def empty_and_single_rows():

    def fn(x):
        return (
            x.sum(),
            x.shape,
            [t for t in x],
            x.numel() == 0,
            x.view(-1).max() if x.numel() else None,
            list(x.split(2)) if x.shape[0] else None,
        )

    return (fn, [(torch.ones(n, 2),) for n in (3, 0, 1, 4, 2)])


@program
def arithmetic_of_sizes():

    def fn(x, k):
        b, *r = x.shape
        n = math.prod(r)
        p = -n % k
        y = F.pad(x.reshape(b, -1), (0, p))
        return (
            y.view(b, -1, k),
            divmod(n, k),
            p,
            n // k if n > k else n / k,
            str(x.shape),
            x.shape + (1,),
            x.shape[::-1],
            hash(tuple(x.shape)) == hash(tuple(x.shape)),
            max(x.shape),
            sorted(x.shape),
            {s: i for i, s in enumerate(x.shape)},
        )

    return (fn, [(torch.ones(2, a, b), k) for a, b, k in ((3, 5, 4), (7, 3, 2))])


@program
def assigned_data():

    def fn(x, y):
        z = x * 1
        z.data = y * 2
        return (z + 1, z)

    return (fn, [(line(), line() + i) for i in range(3)])


@program
def swapped_data():
    p = nn.Parameter(torch.ones(4))
    q = nn.Parameter(torch.zeros(4))

    def fn(x):
        p.data, q.data = (q.data, p.data)
        return (x * p + q, p.requires_grad)

    return (fn, [(line(),)] * 4)


@program
def set_to_another():

    def fn(x, y):
        z = torch.empty(0)
        z.set_(y)
        z.add_(1)
        return (z, y, x)

    return (fn, [(line(), line() * i) for i in range(3)])


@program
def flat_parameters():
    flat = torch.arange(6.0)
    p = nn.Parameter(flat[:4].view(2, 2))
    b = nn.Parameter(flat[4:])

    def fn(x):
        y = F.linear(x, p, b)
        with torch.no_grad():
            flat.mul_(0.5)
        return (
            y,
            p.untyped_storage().data_ptr() == flat.untyped_storage().data_ptr(),
            p.storage_offset(),
            b.storage_offset(),
        )

    return (fn, [(torch.ones(1, 2),)] * 3)


@program
def written_array():

    def fn(x):
        a = x.numpy().copy()
        a[...] = a * 3
        a[1:3] += 1
        a[a > 5] = 0
        return (a, torch.from_numpy(a).sum())

    return (fn, [(line(),), (line() * 2,), (torch.ones(6),)])


@program
def flat_array():

    def fn(x):
        a = x.numpy().reshape(2, -1).copy()
        b = a.flat[1:3]
        a.flat[0] = 9
        return (
            b,
            a,
            a.T.shape,
            a.nbytes,
            a.itemsize,
            a.size,
            a.ndim,
            a.flags.c_contiguous,
            list(a.flat)[:2],
        )

    return (fn, [(line(),), (line() * 2,)])


@program
def drawn_by_numpy():

    def fn(x):
        return (
            x * np.random.rand(),
            np.random.randint(5),
            x + float(np.random.normal()),
            np.random.uniform(0, 1, 2),
        )

    return (fn, [(line(),)] * 3)


@program
def array_of_arrays():

    def fn(x):
        a = np.array([x.numpy(), x.numpy() * 2])
        b = np.stack([a[0], a[1]])
        return (a, b, np.asarray([a, b]).sum())

    return (fn, [(line(),), (line() * 2,)])


@program
def arrays_and_tensors():
    import numpy as np

    def fn(x, a):
        b = np.asarray(a, dtype=np.float32)
        m = x.numpy().mean(axis=0)
        b[...] = b * 2
        return (torch.from_numpy(b) + x, m, np.float32(m[0]), b.shape, float(np.sqrt(b.sum())))

    return (fn, [(torch.ones(2, 2), [1, 2]), (torch.ones(3, 2), [3, 4])])


@program
def offsets_of_views():
    base = torch.arange(12.0)

    def fn(i):
        v = base[i : i + 4]
        return (v.storage_offset(), v.as_strided((2,), (1,), v.storage_offset()), v * 1)

    return (fn, [(i,) for i in (0, 3, 5, 0)])


@program
def result_that_is_resized():

    def fn(x):
        o = torch.empty(0)
        r = torch.add(x, 1, out=o)
        return (r is o, o, o.shape)

    return (fn, [(line(),), (torch.ones(2, 2),)])
