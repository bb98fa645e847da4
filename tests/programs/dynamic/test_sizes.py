"""Python that computes with sizes, ints and floats that change: two compilations, not one each."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

import suture
from tests.programs.dynamic.counting import compilations

rand = torch.randn


def loop(x):
    i = 0
    while i < x.shape[0]:
        i += 2
    return x * i


SIZES = {
    "arithmetic": lambda x: (x.shape[0] * 2 + 1, x.shape[0] / 2, x.shape[0] % 3, -x.shape[0]),
    "extremes": lambda x: (min(x.shape[0], 5), max(x.shape), sum(x.shape), abs(-x.shape[0])),
    "rounding": lambda x: (round(x.shape[0] / 3), int(x.shape[0] / 2), float(x.shape[0])),
    "floor and ceil": lambda x: x * math.ceil(x.shape[0] / 2) + math.floor(x.shape[0] / 3),
    "roots": lambda x: x / math.sqrt(x.shape[0]) + math.pow(x.shape[0], 2) + x.shape[0] ** 0.5,
    "products": lambda x: x * math.prod(x.shape) + divmod(x.shape[0], 2)[1],
    "bits": lambda x: x * (x.shape[0] & 1) + (x.shape[0] << 1) + (x.shape[0] ^ 3),
    "len": lambda x: torch.arange(len(x)) * 2,
    "constructors": lambda x: torch.zeros(x.shape[0], x.size(1) * 2) + x.new_ones(len(x), 1),
    "slices": lambda x: (x[: x.shape[0] // 2], x[1:-1], x[-2:], x[x.shape[0] // 2 :]),
    "indices": lambda x: (x[x.shape[0] - 1], x[len(x) // 2, 1], x[..., x.shape[1] - 1, None]),
    "reshape": lambda x: x.reshape(x.shape[0] * x.shape[1]).view(x.shape[1], -1),
    "expand": lambda x: x.unsqueeze(0).expand(x.shape[0], -1, -1).sum(0),
    "cat": lambda x: torch.cat([x, x[:1]]),
    "unpacking": lambda x: (lambda rows, columns: x.view(rows * columns))(*x.shape),
    "measures": lambda x: x.sum() / x.numel() * x.stride(0),
    "chunk": lambda x: x.chunk(2),
    "truth": lambda x: x * 2 if x.shape[0] and isinstance(x.shape[0], int) else x,
    "type": lambda x: x * 2 if type(x.shape[0]) is int else x,
    "torch.sym": lambda x: x * torch.sym_max(x.shape[0], 3) + torch.sym_min(x.shape[0], 5)
    + torch.sym_float(x.shape[0]) + torch.sym_int(x.shape[0] / 2),
    "joined": lambda x: (x.view((-1,) + x.shape[1:] + (1,)), (len(x),) + x.shape, x.shape + (1,)),
    "tensors of numbers": lambda x: (torch.tensor([[len(x), 1]]), torch.as_tensor(len(x)),
                                     x.new_tensor([len(x)]), torch.tensor(len(x) / 2)),
    "narrow": lambda x: x.narrow(0, 1, x.shape[0] - 1),
}  # fmt: skip


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", SIZES)
def test_sizes_flow_through_python(name, backend):
    calls = [(rand(n, 2),) for n in (3, 4, 7, 9)]
    assert compilations(SIZES[name], *calls, backend=backend) == [1, 2, 2, 2]


OPERATORS = {
    "pad": lambda x: F.pad(x, (0, x.shape[0] % 3)),
    "convolution": lambda x: F.conv1d(x[None], torch.ones(x.shape[0], x.shape[0], 1)),
    "interpolate": lambda x: F.interpolate(x[None, None], scale_factor=2.0),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, x),
    "embedding": lambda x: F.embedding(torch.arange(x.shape[0]), torch.ones(20, 3)),
    "layer norm": lambda x: F.layer_norm(x.t(), (x.shape[0],)),
    "cross entropy": lambda x: F.cross_entropy(x, torch.zeros(x.shape[0], dtype=torch.long)),
    "triangle": lambda x: torch.ones(x.shape[0], x.shape[0]).tril() @ x,
    "windows": lambda x: x.unfold(0, 2, 1),
    "repeat": lambda x: x.repeat(2, x.shape[0]),
    "index": lambda x: x[torch.arange(x.shape[0]) - 1],
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_take_symbolic_sizes(name):
    calls = [(rand(n, 2),) for n in (3, 4, 7, 9)]
    assert compilations(OPERATORS[name], *calls) == [1, 2, 2, 2]


NUMBERS = {
    "range of an int": (lambda x, k: x * k + k, (3, 4, -7, 0, 1)),
    "bits": (lambda x, k: x * (k & 3) + (k | 1) + (k ^ 2) + (k >> 1) + (k << 2), (3, -5, 7, -8)),
    "floor division": (lambda x, k: x * (k // 2) + k % 3 - (-k) // 2 + (-k) % 3, (3, -5, 7, -8)),
    "topk": (lambda x, k: x.topk(k).values, (2, 3, 4)),
    "an index": (lambda x, k: x[k], (2, 3, 4)),
    "a returned int": (lambda x, k: (x * k, k + 1), (2, 3, 4)),
    "a product": (lambda x, k: x * (k * 2 + 1) / max(k, 0.5), (2.5, 3.5, 1.5)),
    "a factor": (lambda x, k: torch.add(x, x, alpha=k).addcmul(x, x, value=-k), (0.5, 1.5, 2.5)),
    "a comparison": (lambda x, k: x * k if k > 1 else x, (2.5, 3.5, 1.5)),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_flow_through_python(name, backend):
    fn, values = NUMBERS[name]
    counts = compilations(fn, *((rand(9), v) for v in values), backend=backend)
    assert counts == [1] + [2] * (len(values) - 1)


def test_writing_at_a_position_that_moves():
    def fn(cache, k, i):
        cache[:, i] = k
        cache[0, i : i + 2] = 1.0
        return cache.sum()

    calls = [(torch.zeros(2, 9, 3), rand(2, 3), i) for i in (1, 2, 5, 6)]
    assert compilations(fn, *calls) == [1, 2, 2, 2]


def test_a_loop_over_a_size_is_unrolled_under_a_guard():
    assert compilations(loop, *((rand(n),) for n in (3, 4, 4, 3, 8, 7))) == [1, 2, 2, 2, 3, 3]


def test_ints_computed_from_ints_need_no_backend():
    """Nothing leads to a tensor here: where it is traced, Python runs what the variant does not
    fit."""

    def refuse(gm, inputs):
        raise AssertionError("nothing to compile")

    calls = ((2,), (3,), (4,))
    assert compilations(lambda k: k * 2 + 1, *calls, backend=refuse) == [0, 0, 0]
    with suture.config.patch(trace_tensor_free=True):
        assert compilations(lambda k: k * 2 + 1, *calls, backend=refuse) == [1, 1, 1]


def test_an_index_out_of_range_raises_as_in_eager():
    calls = [(rand(4), i) for i in (1, 2, 3, 4, -5)]
    compilations(lambda x, i: x[i], *calls, raises=True)


def test_division_by_a_number_that_becomes_zero_raises_as_in_eager():
    compilations(lambda x, i: x + 7 // i, *((rand(3), i) for i in (1, 2, 3, 0)), raises=True)


def test_a_step_counter_on_an_object_is_symbolic_after_the_second_value():
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.step = 0
            self.scale = 1.0

        def forward(self, x):
            self.step += 1
            self.scale *= 0.5
            return x * self.step * self.scale

    eager, ours = Counter(), Counter()
    suture.reset()
    compiled = suture.compile(ours, backend="eager")
    for _ in range(8):
        x = rand(3)
        torch.testing.assert_close(compiled(x), eager(x))
    assert ours.step == eager.step == 8
    assert type(ours.step) is int
    assert suture.stats().variants <= 2, suture.stats().recompilations


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_gradients_with_sizes_that_change(backend):
    weight = rand(4, 3, requires_grad=True)
    calls = [(rand(n, 4, requires_grad=True), weight) for n in (2, 3, 4, 5)]
    assert compilations(lambda x, w: (x @ w).relu(), *calls, backend=backend) == [1, 2, 2, 2]


def test_symbols_live_across_a_break():
    def fn(x, f):
        n, g = x.shape[0], f * 2
        y = x * n * g
        suture.graph_break()
        return y[: n - 1] * n + len(y) + g

    calls = [(rand(n, 2), n / 3) for n in (3, 4, 7, 9)]
    assert compilations(fn, *calls) == [2, 4, 4, 4]


def test_a_failing_operation_is_handled_by_the_program_at_every_size():
    def fn(x):
        try:
            return x.view(4, -1)
        except RuntimeError:
            return x

    compilations(fn, *((rand(n, 2),) for n in (3, 4, 7, 8, 5)))
    assert not suture.stats().interpreted


def test_an_assertion_on_a_size_fails_as_in_eager():
    def fn(x):
        assert x.shape[0] > 2, f"only {x.shape[0]}"
        return x * 2

    compilations(fn, *((rand(n),) for n in (3, 4, 2, 9)), raises=True)
