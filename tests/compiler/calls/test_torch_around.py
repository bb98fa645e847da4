"""What stands around a compiled call: modes of the user, shared memory, hooks, transforms."""

from __future__ import annotations

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import suture


class Counting(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.count += 1
        return func(*args, **(kwargs or {}))


class Doubling(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result * 2 if func is torch.ops.aten.add.Tensor else result


def plus_one(x):
    return x + 1


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("warm", [False, True])
def test_function_mode_sees_the_programs_operations_only(backend, warm):
    compiled = suture.compile(plus_one, backend=backend)
    x = torch.ones(3)
    if warm:
        compiled(x)
    with Counting() as mode:
        result = compiled(x)
    assert mode.count == 1
    assert torch.equal(result, x + 1)
    assert torch.equal(compiled(x), x + 1)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("warm", [False, True])
def test_dispatch_mode_changes_results(backend, warm):
    compiled = suture.compile(plus_one, backend=backend)
    x = torch.ones(3)
    if warm:
        compiled(x)
    with Doubling():
        result = compiled(x)
    assert torch.equal(result, (x + 1) * 2)
    assert torch.equal(compiled(x), x + 1)


def test_default_device_is_guarded():
    compiled = suture.compile(lambda x: (x, torch.ones(2)), backend="eager")
    x = torch.ones(3)
    assert compiled(x)[1].device.type == "cpu"
    with torch.device("meta"):
        assert compiled(x)[1].device.type == "meta"
    with torch.device("cpu"):
        assert compiled(x)[1].device.type == "cpu"
    assert compiled(x)[1].device.type == "cpu"


def test_default_dtype_is_guarded():
    compiled = suture.compile(lambda x: (x, torch.ones(2)), backend="eager")
    assert compiled(torch.ones(3))[1].dtype is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert compiled(torch.ones(3))[1].dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert compiled(torch.ones(3))[1].dtype is torch.float32


def test_autocast_around_the_call_is_guarded():
    compiled = suture.compile(lambda x: x @ x, backend="eager")
    x = torch.ones(3, 3)
    assert compiled(x).dtype is torch.float32
    for dtype in (torch.bfloat16, torch.float16, torch.bfloat16):
        with torch.autocast("cpu", dtype=dtype):
            assert compiled(x).dtype is dtype
    assert compiled(x).dtype is torch.float32


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_one_tensor_passed_twice(backend):
    def fn(x, y):
        x.add_(1)
        return x is y, y * 2

    compiled = suture.compile(fn, backend=backend)
    assert compiled(torch.ones(2), torch.ones(2))[0] is False
    a = torch.ones(2)
    same, result = compiled(a, a)
    assert same is True
    assert torch.equal(result, torch.full((2,), 4.0))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_view_of_a_tensor_that_is_written(backend):
    def fn(x, y):
        x.add_(1)
        return y * 2

    compiled = suture.compile(fn, backend=backend)
    compiled(torch.ones(2), torch.ones(2))
    a = torch.ones(2)
    assert torch.equal(compiled(a, a.view(2)), torch.full((2,), 4.0))
    assert torch.equal(compiled(torch.ones(2), torch.ones(2)), torch.full((2,), 2.0))


def test_one_list_passed_twice():
    def fn(a, b):
        a.append(1)
        return len(b)

    compiled = suture.compile(fn, backend="eager")
    assert compiled([1], [2]) == 1
    one = [1]
    assert compiled(one, one) == 2


def test_saved_tensor_hooks_see_no_fake_tensors():
    seen = []

    def pack(tensor):
        seen.append(type(tensor))
        return tensor

    compiled = suture.compile(lambda x: x.sin().exp(), backend="eager")
    x = torch.ones(3, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        compiled(x).sum().backward()
    assert seen
    assert set(seen) == {torch.Tensor}
    assert torch.allclose(x.grad, x.sin().exp().detach() * x.cos().detach())


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_transform_around_a_compiled_function(backend):
    compiled = suture.compile(lambda x: (x**2).sum(), backend=backend)
    x = torch.randn(4, 3)
    compiled(x[0])
    assert torch.allclose(torch.vmap(compiled)(x), (x**2).sum(1))
    assert torch.allclose(torch.func.grad(compiled)(x[0]), 2 * x[0])


def test_modes_are_as_before_when_a_graph_raises():
    def fn(x, index):
        with torch.no_grad():
            return x[index] + 1

    compiled = suture.compile(fn, backend="eager")
    compiled(torch.ones(3), torch.tensor([1]))
    with pytest.raises(IndexError):
        compiled(torch.ones(3), torch.tensor([7]))
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_tensor_made_in_inference_mode(backend):
    with torch.inference_mode():
        x = torch.ones(3)
    compiled = suture.compile(lambda x: x * 2 + 1, backend=backend)
    with suture.config.patch(strict=True):
        assert torch.equal(compiled(x), x * 2 + 1)


def unusual_tensors():
    x = torch.randn(3, 4)
    pieces = [torch.ones(2), torch.ones(3)]
    yield torch.eye(3).to_sparse()
    yield torch.eye(3).to_sparse_csr()
    yield torch.nested.nested_tensor(pieces, layout=torch.jagged)
    yield torch.randn(3, dtype=torch.complex64).conj()
    yield torch._neg_view(x)
    yield torch.nn.Parameter(x)
    yield torch.nn.Buffer(x)
    yield x.to_mkldnn()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("number", range(8))
def test_unusual_tensors(backend, number):
    tensor = list(unusual_tensors())[number]

    def dense(value):
        if value.is_nested:
            return value.values()
        return value.to_dense() if value.is_mkldnn or value.layout is not torch.strided else value

    compiled = suture.compile(lambda x: (x + x, x.dtype), backend=backend)
    for _ in range(2):
        result, dtype = compiled(tensor)
        assert type(result) is type(tensor + tensor)
        assert dtype is tensor.dtype
        assert torch.allclose(dense(result), dense(tensor + tensor))


def test_a_dispatch_mode_around_is_told_once():
    suture.reset()
    compiled = suture.compile(plus_one, backend="eager")
    for _ in range(3):
        with Doubling():
            compiled(torch.ones(3))
    assert [(r.number, r.count) for r in suture.stats().interpreted] == [("GB2041", 1)]
    compiled(torch.ones(3))
    assert suture.stats().variants == 1


def test_the_handler_of_a_dispatch_mode_is_not_compiled():
    class Recording(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.names.append(str(func))
            return func(*args, **(kwargs or {}))

    def fn(x):
        with Recording() as mode:
            y = x.sin().cos() + 1
        return y * 2, mode.names

    suture.reset()
    got, wanted = suture.compile(fn, backend="eager")(torch.ones(3)), fn(torch.ones(3))
    assert torch.equal(got[0], wanted[0]) and got[1] == wanted[1]
    assert not suture.stats().recompilations


def layer(x):
    return torch.nn.functional.dropout((x.sin() * x.cos()), 0.5).exp()


def breaking_layer(x):
    y = x.sin() * x.cos()
    torch._dynamo.graph_break()
    return y.exp() * x


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("fn", [layer, breaking_layer])
@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_around_a_compiled_function(fn, reentrant, backend):
    def gradient(function):
        torch.manual_seed(0)
        x = torch.arange(4.0, requires_grad=True)
        y = torch.utils.checkpoint.checkpoint(function, x * 2, use_reentrant=reentrant)
        y.sum().backward()
        return y.detach(), x.grad

    suture.reset()
    compiled = suture.compile(fn, backend=backend)
    for _ in range(3):
        torch.testing.assert_close(gradient(compiled), gradient(fn))
    assert not suture.stats().interpreted


def test_hooks_on_saved_tensors_that_raise_are_called_once():
    seen = []

    def pack(tensor):
        seen.append(1)
        raise KeyError("full")

    def call(function):
        seen.clear()
        with (
            pytest.raises(KeyError, match="full"),
            torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor),
        ):
            function(torch.ones(3, requires_grad=True))
        return len(seen)

    compiled = suture.compile(layer, backend="eager")
    assert call(layer) == call(compiled) == call(compiled) == 1


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("fn", [layer, breaking_layer])
def test_torch_compile_around_a_compiled_function(fn, backend):
    inner = suture.compile(fn, backend=backend)

    def outer(x, function):
        return function(x + 1) * 2

    compiled = torch.compile(outer, backend="eager")
    suture.reset()
    for _ in range(3):
        torch.manual_seed(0)
        wanted = outer(torch.ones(3), fn)
        torch.manual_seed(0)
        torch.testing.assert_close(compiled(torch.ones(3), inner), wanted)
    assert not suture.stats().interpreted
    assert suture.stats().variants == (1 if fn is layer else 2)
    torch._dynamo.reset()
