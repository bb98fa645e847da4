"""Operations on tensors: one graph, or a numbered break that goes on."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import suture
from tests.harness import check

torch.manual_seed(0)
x = torch.randn(3, 4)
g = torch.randn(3, 4, requires_grad=True)
i = torch.tensor([0, 2])


def test_setitem_kinds():
    def setitem_kinds(x):
        y = x.clone()
        y[0] = 1
        y[:, 1] = 2.0
        y[x > 1] = 0
        y[..., 0] = 5
        y[torch.tensor([0, 2]), 1] = 7
        y[None] = y
        return y

    check(setitem_kinds, x, graphs=1)


def test_getitem_kinds():
    def getitem_kinds(x, i):
        return (
            x[0],
            x[:, 1],
            x[..., None],
            x[i],
            x[i, 1],
            x[[0, 2]],
            x[x.shape[0] - 1],
            x[1:],
            x[::2],
            x[True],
            x[-1, -1],
            x[slice(0, 2)],
            x[(0, 1)],
        )

    check(getitem_kinds, x, i, graphs=1)


def test_bool_mask():
    def bool_mask(x):
        return x[x > 0] + 1

    check(bool_mask, x, graphs=1)


def test_out_kw():
    def out_kw(x):
        o = torch.empty(3, 4)
        torch.add(x, 1, out=o)
        return o

    check(out_kw, x, graphs=1)


def test_out_arg():
    def out_arg(x, o):
        r = torch.mul(x, 2, out=o)
        return r, o

    check(out_arg, x, torch.empty(3, 4), graphs=1)


def test_factories():
    def factories(x):
        return (
            torch.zeros(2, 3),
            torch.ones(3, dtype=torch.int32),
            torch.full((2,), 3.5),
            torch.arange(5),
            torch.linspace(0, 1, 4),
            torch.eye(3),
            torch.empty(0),
            torch.zeros_like(x),
            x.new_zeros(3),
            torch.tensor(3),
            torch.tensor([1.0, 2.0]),
            torch.as_tensor([1, 2]),
            torch.tensor([[1, 2], [3, 4]], dtype=torch.float64),
            x.new_tensor([1.0, 2.0]),
            x.new_full((2,), 7.0),
            torch.tril(torch.ones(3, 3)),
            torch.scalar_tensor(2.0),
        )

    check(factories, x, graphs=1)


def test_random_numbers():
    def rng(x):
        return (
            torch.rand(3),
            torch.randn(2),
            torch.randint(0, 10, (3,)),
            torch.randperm(4),
            F.dropout(x, 0.5),
            torch.rand_like(x),
            torch.bernoulli(torch.full((4,), 0.5)),
            torch.normal(0.0, 1.0, (2,)),
            x.clone().uniform_(),
            x.clone().normal_(),
        )

    check(rng, x, graphs=1)


def test_manual_seed():
    def manual_seed(x):
        torch.manual_seed(3)
        return x + torch.rand(3, 4)

    check(manual_seed, x, graphs=1, breaks=("GB0007",))


def test_data_attr():
    def data_attr(x):
        return x.data + 1

    check(data_attr, x, graphs=1)


def test_data_grad():
    def data_grad(x):
        y = x * 2
        return y.data, y.detach()

    check(data_grad, g, graphs=1)


def test_grad_attr():
    def grad_attr(x):
        return x.grad is None, x.requires_grad, x.is_leaf, (x * 2).is_leaf

    check(grad_attr, g, graphs=0)


def test_transposed():
    def T_etc(x):
        return x.T, x.mT, x.H, x.real

    check(T_etc, x, graphs=1)


def test_requires_grad_inside():
    def requires_grad_inside(x):
        y = x.clone().requires_grad_()
        return y * 2

    check(requires_grad_inside, x)


def test_requires_grad_input():
    def requires_grad_input(x):
        x.requires_grad_()
        return x * 2

    check(requires_grad_input, x, graphs=1, breaks=("GB0125",))


def test_grad_fn():
    def grad_fn(x):
        y = x * 2
        return y.grad_fn is not None, y

    check(grad_fn, g, graphs=1, breaks=("GB0104",))


def test_namedtuples():
    def namedtuples(x):
        m = torch.max(x, dim=1)
        v, ix = torch.sort(x)
        t = torch.topk(x, 2)
        return m, m.values, m.indices, m[0], v, ix, t.values, torch.return_types.max

    check(namedtuples, x, graphs=1)


def test_svd_eigh():
    def svd_eigh(x):
        r = torch.linalg.svd(x)
        e = torch.linalg.eigh(x.T @ x)
        q = torch.linalg.qr(x)
        return r.S, e.eigenvalues, q.R, torch.linalg.slogdet(x.T @ x + torch.eye(4)).logabsdet

    check(svd_eigh, x, graphs=1)


def test_parameter_inside():
    def parameter_inside(x):
        p = torch.nn.Parameter(torch.ones(4))
        return x * p

    check(parameter_inside, x)


def test_tensor_of_tensors():
    def tensor_of_tensors(x):
        return torch.tensor([x[0, 0], x[0, 1]])

    check(tensor_of_tensors, x, graphs=1)


def test_tensor_of_shape():
    def tensor_of_shape(x):
        return torch.tensor([x.shape[0], x.shape[1]]), torch.tensor(x.size(0) * 1.5)

    check(tensor_of_shape, x, graphs=1)


def test_methods_as_functions():
    def methods_as_functions(x):
        return torch.Tensor.add(x, 1), torch.Tensor.view(x, 12), torch.Tensor.sum(x)

    check(methods_as_functions, x, graphs=1)


def test_torch_ops():
    def torch_ops(x):
        return (
            torch.ops.aten.sin(x),
            torch.ops.aten.add.Tensor(x, x),
            torch.ops.aten.relu.default(x),
        )

    check(torch_ops, x, graphs=1)


def test_fft_special():
    def fft_special(x):
        return (
            torch.fft.fft(x).real,
            torch.special.erf(x),
            torch.linalg.norm(x),
            torch.special.logit(torch.sigmoid(x)),
        )

    check(fft_special, x, graphs=1)


def test_complex_numbers():
    def complex_(x):
        return (
            x.real,
            x.imag,
            x.abs(),
            x * 1j,
            torch.view_as_real(x),
            x.conj(),
            torch.angle(x),
            x.conj() * 2,
        )

    check(complex_, torch.randn(3, dtype=torch.complex64), graphs=1)


def test_booleans():
    def bools(x):
        return ~x, x & True, x | False, x ^ x, x.any(), x.all(), x.sum()

    check(bools, torch.tensor([True, False]), graphs=1)


def test_dtypes():
    def float8(x):
        return (
            x.to(torch.float8_e4m3fn).to(torch.float32),
            x.half(),
            x.bfloat16(),
            x.double(),
            x.int(),
            x.to(torch.int8),
            x.long(),
            x.bool(),
            x.type(torch.float64),
            x.type_as(x.double()),
            x.type(),
        )

    check(float8, x, graphs=1)


@pytest.mark.filterwarnings("ignore")
def test_quantized():
    def quant(x):
        q = torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)
        return q.dequantize()

    check(quant, x, graphs=0, breaks=("GB0087", "GB0087"))


def test_meta():
    def meta(x):
        return (x + 1).shape, x.device

    check(meta, torch.randn(2, 3, device="meta"), graphs=0)


def test_channels_last():
    def channels_last(x):
        return (
            x + 1,
            x.contiguous(memory_format=torch.channels_last),
            x.is_contiguous(memory_format=torch.channels_last),
            x.stride(),
            F.conv2d(x, torch.ones(2, 3, 1, 1)),
        )

    check(channels_last, torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last), graphs=1)


def test_inplace():
    def inplace(x):
        x.add_(1)
        x.mul_(2)
        x += 1
        x[0].zero_()
        x.view(-1)[3] = 9
        x.t().add_(1)
        return x

    check(inplace, x, graphs=1)


def test_inplace_grad():
    def inplace_grad(x):
        y = x * 2
        y.add_(1)
        y[0] = 0
        return y

    check(inplace_grad, g, graphs=1)


def test_views():
    def views(x):
        v = x.view(4, 3)
        r = x.reshape(-1)
        e = x[0].expand(2, 4)
        s = x.split(2, 1)
        c = x.chunk(2)
        u = x.unbind()
        n = x.narrow(0, 0, 2)
        a = torch.as_strided(x, (2, 2), (1, 2))
        return (
            v,
            r,
            e,
            s,
            c,
            u,
            n,
            a,
            x.unfold(0, 2, 1),
            x.movedim(0, 1),
            x.diagonal(),
            x.permute(1, 0),
            x.swapaxes(0, 1),
            x.flatten(),
            x.unflatten(1, (2, 2)),
            x.squeeze(),
            x.select(0, 1),
        )

    check(views, x, graphs=1)


def test_new_takes_a_size_as_a_shape_and_a_list_as_numbers():
    def fn(x):
        return x.new(x.shape).zero_(), x.new([1.0, 2.0]), x.new(2, 3).zero_().shape

    check(fn, torch.randn(2, 3))


def test_old_tensor_classes_name_a_type():
    def fn(x):
        return x.type(torch.HalfTensor), x.type(torch.IntTensor).type(torch.float32)

    check(fn, torch.ones(2), graphs=1)


def test_sizes_are_made_of_numbers_in_tensors():
    def fn(x):
        size = torch.Size([torch.tensor(x.shape)[0], 64])
        return x + 1, size in {torch.Size([2, 64]): 1}

    check(fn, torch.ones(2), graphs=1)


def test_extremes_of_tensors_are_chosen_in_a_whole_graph():
    def fn(x):
        low = min(max(x.sum(), 0), 1)
        return x + max(low, x[0]) - min(x[0], x[1])

    for x in (torch.tensor([2.0, 3.0]), torch.tensor([-2.0, 0.5])):
        compiled = suture.compile(fn, backend="eager", fullgraph=True)
        assert torch.equal(compiled(x), fn(x))
