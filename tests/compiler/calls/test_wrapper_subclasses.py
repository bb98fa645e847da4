"""Wrapper subclasses (`__torch_dispatch__` with flatten and unflatten) are held by graphs."""

from __future__ import annotations

import pytest
import torch
import torch.utils._pytree as pytree
from torch.testing._internal.two_tensor import TwoTensor

import suture
from tests.harness import check

BACKENDS = (None, "aot_eager")


class Quantized(torch.Tensor):
    """An int8 weight with a scale per row."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, q, scale, dtype=torch.float32):
        return torch.Tensor._make_wrapper_subclass(
            cls, q.shape, strides=q.stride(), dtype=dtype, device=q.device
        )

    def __init__(self, q, scale, dtype=torch.float32):
        self.q, self.scale = q, scale

    def __repr__(self):
        return f"Quantized({tuple(self.shape)})"

    def __tensor_flatten__(self):
        return ["q", "scale"], (self.dtype,)

    @classmethod
    def __tensor_unflatten__(cls, inner, context, size, stride):
        return cls(inner["q"], inner["scale"], *context)

    @classmethod
    def from_float(cls, weight):
        scale = weight.abs().amax(1, keepdim=True) / 127
        return cls((weight / scale).round().to(torch.int8), scale, weight.dtype)

    def dequantize(self):
        return self.q.to(self.dtype) * self.scale

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs=None):
        if func in (torch.ops.aten.detach.default, torch.ops.aten.clone.default):
            return cls(func(args[0].q), func(args[0].scale), args[0].dtype)
        plain, named = pytree.tree_map_only(
            Quantized, lambda t: t.dequantize(), (args, kwargs or {})
        )
        return func(*plain, **named)


class Fused(Quantized):
    """Has a linear of its own, above `__torch_dispatch__`."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.nn.functional.linear:
            x, weight, bias = args
            return (x @ weight.q.to(x.dtype).t()) * weight.scale.t() + bias
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


def two(*shape):
    return TwoTensor(torch.randn(*shape), torch.randn(*shape))


def weight():
    return Quantized.from_float(torch.randn(4, 3))


@pytest.mark.parametrize("backend", BACKENDS)
def test_operations_on_wrappers_and_plain_tensors(backend):
    def fn(x, y, z):
        return (x + y).sin() * 2, x * z + 1, x.view(-1)[1:]

    check(fn, make=lambda: (two(3, 2), two(3, 2), torch.randn(3, 2)), backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_inner_tensors_are_read(backend):
    def fn(x):
        return x.a + x.b.sum() + x.sin().a

    check(fn, make=lambda: (two(3),), backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_wrappers_are_made_inside(backend):
    def fn(a, b):
        made = TwoTensor(a + 1, b * 2) * 2
        return made.sin(), made.a + 1, isinstance(made, TwoTensor)

    check(fn, make=lambda: (torch.randn(3), torch.randn(3)), backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_flow_through_wrappers(backend):
    def fn(x):
        return (x.sin() * 2).sum()

    compiled = suture.compile(fn, backend=backend or "eager")
    for _ in range(2):
        x = two(3).requires_grad_()
        y = x.detach().clone().requires_grad_()
        fn(x).backward()
        compiled(y).backward()
        assert torch.equal(x.grad.a, y.grad.a) and torch.equal(x.grad.b, y.grad.b)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_wrapper_of_wrappers(backend):
    check(lambda x: x * 2, make=lambda: (TwoTensor(two(3), two(3)),), backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_change_in_place_reaches_the_inner_tensors(backend):
    check(lambda x: x.add_(1), make=lambda: (two(3),), backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_quantized_weight(backend):
    def fn(w, x):
        return torch.nn.functional.linear(x, w), x @ w.dequantize().t() + w.q.shape[0]

    check(fn, make=lambda: (weight(), torch.randn(2, 3)), backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_weight_is_quantized_inside(backend):
    def fn(w, x):
        return torch.nn.functional.linear(x, Quantized.from_float(w))

    check(fn, torch.randn(4, 3), torch.randn(2, 3), backend=backend)


@pytest.mark.parametrize("kind", (Quantized, Fused))
@pytest.mark.parametrize("backend", BACKENDS)
def test_wrappers_as_parameters(kind, backend):
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    for layer in (model[0], model[2]):
        made = kind.from_float(layer.weight.detach())
        layer.weight = torch.nn.Parameter(made, requires_grad=False)
    check(model, torch.randn(2, 3), backend=backend)


def test_a_wrapper_that_is_a_parameter_is_an_instance_of_it():
    def fn(p):
        return isinstance(p, torch.nn.Parameter), isinstance(p, Quantized), type(p) is Quantized

    check(fn, make=lambda: (torch.nn.Parameter(weight(), requires_grad=False),), graphs=0)


def test_other_inner_tensors_and_another_context_compile_again():
    def fn(w):
        return w.dequantize() * 2

    compiled = suture.compile(fn, backend="eager")
    w = weight()
    others = [
        Quantized(w.q, w.scale.half()),
        Quantized(w.q, w.scale, torch.float64),
        Quantized(w.q.clone(), w.scale.clone()),
        Quantized(w.q.to(torch.int16), w.scale),
    ]
    for value in (w, *others, w):
        got, wanted = compiled(value), fn(value)
        assert got.dtype == wanted.dtype and torch.equal(got, wanted)


def test_an_inner_tensor_that_is_exchanged_is_seen():
    layer = torch.nn.Linear(3, 4)
    layer.weight = torch.nn.Parameter(weight(), requires_grad=False)
    compiled = suture.compile(layer, backend="eager")
    x = torch.randn(2, 3)
    assert torch.equal(compiled(x), layer(x))
    layer.weight.q = layer.weight.q + 1
    assert torch.equal(compiled(x), layer(x))


class Opaque(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return super().__torch_dispatch__(func, types, args, kwargs or {})


def test_a_class_that_does_not_tell_its_inner_tensors_is_left_to_python():
    def fn(x):
        return x.sin()

    check(fn, make=lambda: (torch.randn(3).as_subclass(Opaque),), graphs=0, breaks=("GB2021",))


@pytest.mark.parametrize("backend", BACKENDS)
def test_sizes_that_change_become_symbols(backend):
    def sum_of(x, y):
        return (x * 2 + y).sin() * x.shape[0]

    def linear(w, x):
        return torch.nn.functional.linear(x, w)

    suture.reset()
    compiled = [suture.compile(fn, backend=backend or "eager") for fn in (sum_of, linear)]
    with suture.config.patch(strict=True):
        for n in range(3, 8):
            x, y, z = two(n, 2), torch.randn(n, 2), torch.randn(2, 4)
            w = Quantized.from_float(torch.randn(n, 4))
            assert torch.equal(compiled[0](x, y).b, sum_of(x, y).b)
            assert torch.allclose(compiled[1](w, z), linear(w, z))
    assert suture.stats().variants == 4 and not suture.stats().interpreted


def test_a_size_marked_dynamic_is_a_symbol_at_once():
    def fn(x):
        return x.sin() + x.shape[0]

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    x = two(4, 2)
    suture.mark_dynamic(x, 0)
    for value in (x, two(5, 2)):
        assert torch.equal(compiled(value).a, fn(value).a)
    assert suture.stats().variants == 1


class Slotted(torch.Tensor):
    """Keeps its inner tensor, and an object that it counts among its parts, in slots."""

    __slots__ = ("inner", "kind")

    @staticmethod
    def __new__(cls, inner, kind):
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner, made.kind = inner, kind
        return made

    def __repr__(self):
        return "Slotted"

    def __tensor_flatten__(self):
        return ["inner"], self.kind

    @classmethod
    def __tensor_unflatten__(cls, inner, context, size, stride):
        return cls(inner["inner"], context)

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs=None):
        kind = next(a.kind for a in pytree.tree_leaves(args) if isinstance(a, cls))
        plain = pytree.tree_map_only(cls, lambda t: t.inner, args)
        return pytree.tree_map_only(torch.Tensor, lambda t: cls(t, kind), func(*plain))


def test_slots_of_a_wrapper_are_read():
    def fn(x):
        y = x * 2
        return y, x.inner + 1, y.inner - 1, x.kind, y.kind

    check(fn, make=lambda: (Slotted(torch.randn(3), "kind"),))


class Unwilling(Slotted):
    def __tensor_flatten__(self):
        if self.kind == "raises":
            raise ValueError("not now")
        return ["inner"], torch.ones(2)


@pytest.mark.parametrize("kind", ("raises", "a context that does not compare"))
def test_a_wrapper_that_cannot_be_described_is_left_to_python(kind):
    def fn(x):
        return x * 2

    def make():
        return (Unwilling(torch.randn(3), kind),)

    graphs = check(fn, make=make, graphs=None, breaks=None, recompiles=None)
    assert graphs.numbers[0] == "GB0087"
