"""Operators that take functions: their bodies are graphs."""

from __future__ import annotations

import functools

import pytest
import torch
import torch.utils.checkpoint as C

import suture
from tests.harness import check

torch.manual_seed(0)
x = torch.randn(3, 4)
g = torch.randn(3, 4, requires_grad=True)
i = torch.tensor([0, 2])


w = torch.randn(4, 4, requires_grad=True)


def test_vmap():
    def vmap1(x):
        return torch.vmap(lambda a: a.sin().sum())(x)

    check(vmap1, x, graphs=1)


def test_vmap_with_dims():
    def vmap2(x, y):
        return (
            torch.func.vmap(torch.dot)(x, y),
            torch.vmap(lambda a, b: a * b, in_dims=(0, None))(x, y[0]),
            torch.vmap(lambda a: a * 2, in_dims=1, out_dims=1)(x),
        )

    check(vmap2, x, x, graphs=1)


def test_vmap_closure():
    def vmap_closure(x, w):
        return torch.vmap(lambda a: a @ w)(x)

    check(vmap_closure, g, w, graphs=1)


def test_vmap_dict():
    def vmap_dict(x):
        return torch.vmap(lambda d: {"o": d["a"] + d["b"][0]})({"a": x, "b": [x]})

    check(vmap_dict, x, graphs=1)


def test_vmap_nested():
    def vmap_nested(x):
        return torch.vmap(torch.vmap(lambda a: a * 2 + 1))(x)

    check(vmap_nested, x, graphs=1)


def test_grad():
    def grad1(x):
        return torch.func.grad(lambda a: (a**2).sum())(x)

    check(grad1, x, graphs=1)


def test_grad_argnums():
    def grad_argnums(x, y):
        return torch.func.grad(lambda a, b: (a * b).sum(), argnums=(0, 1))(
            x, y
        ), torch.func.grad_and_value(lambda a: a.sin().sum())(x)

    check(grad_argnums, x, x, graphs=1)


def test_grad_aux():
    def grad_aux(x):
        return torch.func.grad(lambda a: ((a**2).sum(), a + 1), has_aux=True)(x)

    check(grad_aux, x, graphs=1)


def test_vmap_grad():
    def vmap_grad(x):
        return torch.vmap(torch.func.grad(lambda a: (a**3).sum()))(x)

    check(vmap_grad, x, graphs=1)


def test_jacobians():
    def jac(x):
        return (
            torch.func.jacrev(torch.sin)(x),
            torch.func.jacfwd(lambda a: a**2)(x[0]),
            torch.func.hessian(lambda a: (a**3).sum())(x[0]),
        )

    check(jac, x, graphs=1)


def test_jvp():
    def jvp1(x):
        return torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))

    check(jvp1, x, graphs=1)


def test_vjp():
    def vjp1(x):
        o, f = torch.func.vjp(torch.sin, x)
        return o, f(torch.ones_like(x))

    check(vjp1, x, graphs=1)


def test_vmap_rand():
    def vmap_rand(x):
        return torch.vmap(lambda a: a + torch.rand(4), randomness="different")(x)

    check(vmap_rand, x, graphs=1)


def test_vmap_body_with_side_effect():
    def vmap_side(x):
        l = []

        def f(a):
            l.append(1)
            return a * 2

        return torch.vmap(f)(x), len(l)

    check(vmap_side, x, graphs=1)


def test_cond():
    def cond1(x):
        return torch.cond(x.sum() > 0, lambda a: a + 1, lambda a: a - 1, (x,))

    check(cond1, x, graphs=1)


def test_cond_closure():
    def cond_closure(x, w):
        return torch.cond(x.sum() > 0, lambda a: a @ w, lambda a: a - 1, (x,))

    check(cond_closure, g, w, graphs=1)


def test_cond_on_a_size():
    def cond_py(x):
        return torch.cond(x.shape[0] > 2, lambda a: a + 1, lambda a: a - 1, (x,))

    check(cond_py, x, graphs=1)


def test_while_loop():
    def wl(x):
        return torch.while_loop(
            lambda i, a: i < 3, lambda i, a: (i + 1, a * 2), (torch.tensor(0), x)
        )

    check(wl, x, graphs=1)


def test_checkpoint():
    def ckpt(x, w):
        return C.checkpoint(lambda a: torch.sin(a @ w), x, use_reentrant=False)

    check(ckpt, g, w, graphs=1)


def test_reentrant_checkpoint():
    def ckpt_re(x, w):
        return C.checkpoint(lambda a: torch.sin(a @ w), x, use_reentrant=True)

    check(ckpt_re, g, w, graphs=1)


def test_checkpoint_with_dropout():
    def ckpt_drop(x):
        return C.checkpoint(
            lambda a: torch.nn.functional.dropout(a.sin(), 0.5), x, use_reentrant=False
        )

    check(ckpt_drop, g, graphs=1)


def test_scan():
    from torch._higher_order_ops.scan import scan

    def fn(x):
        return scan(lambda carry, row: (carry + row, carry * row), torch.zeros(4), x)

    check(fn, x, graphs=1)


def test_map():
    from torch._higher_order_ops.map import map as map_rows

    def fn(x, y):
        return map_rows(lambda row, other: row + other, x, y)

    check(fn, x, torch.ones(4), graphs=1)


def test_functional_call_under_transforms():
    class PerSample(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 2)

        def forward(self, x):
            parameters = dict(self.layer.named_parameters())

            def loss(parameters, sample):
                return torch.func.functional_call(self.layer, parameters, (sample,)).sum()

            return torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(parameters, x)

    check(PerSample(), x, graphs=1)


def test_functional_call_with_parameters_of_a_closure():
    layer = torch.nn.Linear(4, 2)

    def fn(x):
        parameters = {k: v.detach() * 2 for k, v in layer.named_parameters()}

        def called(sample):
            return torch.func.functional_call(layer, parameters, (sample,))

        slope = torch.func.jacrev(called)(x[0])
        return slope, torch.func.grad(lambda s: called(s).sum())(x), list(parameters)

    check(fn, x, graphs=1)


def test_a_body_that_changes_a_dict_of_its_closure():
    def fn(x):
        seen = {"calls": 1}

        def body(sample):
            seen["calls"] = seen["calls"] + 1
            return sample * 2

        return torch.vmap(body)(x), seen

    check(fn, x, graphs=1)


@pytest.mark.filterwarnings("ignore:flex_attention called without")
def test_flex_attention():
    from torch.nn.attention.flex_attention import flex_attention

    def fn(q, bias):
        return flex_attention(q, q, q, score_mod=lambda s, b, h, i, j: s + bias[i] - j)

    check(fn, torch.randn(1, 2, 128, 16), torch.randn(128), graphs=1)


@pytest.mark.filterwarnings("ignore:flex_attention called without")
def test_flex_attention_with_a_table_read_at_several_indices():
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def fn(q, real, bias):
        def masked(b, h, i, j):
            return real[b, j] & (i >= j)

        blocks = create_block_mask(masked, 2, None, 12, 12, device="cpu")
        return flex_attention(
            q, q, q, score_mod=lambda s, b, h, i, j: s + bias[h, i, 0], block_mask=blocks
        )

    real = torch.ones(2, 12, dtype=torch.bool)
    real[1, -2:] = False
    check(fn, torch.randn(2, 2, 12, 16), real, torch.randn(2, 12, 3), graphs=1)


def _keep_products(ctx, op, *args, **kwargs):
    keep = op == torch.ops.aten.mm.default
    return C.CheckpointPolicy.MUST_SAVE if keep else C.CheckpointPolicy.PREFER_RECOMPUTE


def _contexts():
    return C.create_selective_checkpoint_contexts(_keep_products)


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_a_checkpoint_with_a_policy(backend):
    def fn(x):
        make = functools.partial(C.create_selective_checkpoint_contexts, _keep_products)
        y = C.checkpoint(lambda z: (z @ z).sin(), x, use_reentrant=False, context_fn=make)
        y = C.checkpoint(torch.cos, y, use_reentrant=False, context_fn=_contexts)
        return C.checkpoint(torch.sin, y, use_reentrant=False, context_fn=C.noop_context_fn)

    check(fn, torch.randn(4, 4, requires_grad=True), backend=backend)


def _keep(kept, ctx, op, *args, **kwargs):
    return C.CheckpointPolicy.MUST_SAVE if op in kept else C.CheckpointPolicy.PREFER_RECOMPUTE


def test_a_policy_that_is_given_is_compiled_for_what_it_holds():
    def fn(x, contexts):
        return C.checkpoint(lambda z: (z @ z).sin(), x, use_reentrant=False, context_fn=contexts)

    def contexts(*kept):
        policy = functools.partial(_keep, set(kept))
        return functools.partial(C.create_selective_checkpoint_contexts, policy)

    mm, sin = torch.ops.aten.mm.default, torch.ops.aten.sin.default
    suture.reset()
    compiled = suture.compile(fn, backend="aot_eager", fullgraph=True)
    x = torch.randn(4, 4)
    for kept, variants in (((mm, sin), 1), ((sin, mm), 1), ((mm,), 2)):
        assert torch.allclose(compiled(x, contexts(*kept)), (x @ x).sin())
        assert suture.stats().variants == variants


def test_a_policy_made_beside_its_checkpoint():
    mm = torch.ops.aten.mm.default

    def fn(x):
        def policy(ctx, op, *args, **kwargs):
            return _keep((mm,), ctx, op)

        def contexts():
            return C.create_selective_checkpoint_contexts(policy)

        return C.checkpoint(lambda z: (z @ z).sin(), x, use_reentrant=False, context_fn=contexts)

    check(fn, torch.randn(4, 4, requires_grad=True), backend="aot_eager", fullgraph=True)


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_sequential_checkpoint(reentrant):
    layers = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 4))

    def fn(x):
        return C.checkpoint_sequential(layers, 2, x, use_reentrant=reentrant)

    check(fn, torch.randn(3, 4, requires_grad=True))


def test_hooks_on_all_modules_do_not_see_transforms():
    from torch.nn.modules.module import register_module_forward_hook

    def fn(x):
        return torch.vmap(torch.sin)(x) + 1

    handle = register_module_forward_hook(lambda module, args, output: output * 2)
    try:
        check(fn, torch.randn(3, 4))
    finally:
        handle.remove()


def test_a_checkpoint_that_writes_to_buffers_is_left_to_python():
    class Normed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(4)

        def forward(self, x):
            return C.checkpoint(lambda z: self.norm(z).relu(), x, use_reentrant=False)

    # Python runs it again in the backward, plainly: so it does the first time.
    check(Normed(), torch.randn(3, 4, requires_grad=True), graphs=0, breaks=["GB0067"])


def test_a_level_of_a_transform_on_its_own_is_left_to_python():
    from torch._C import _functorch

    def fn(x):
        level = _functorch._jvp_increment_nesting()
        depth = _functorch.get_dynamic_layer_stack_depth()
        _functorch._jvp_decrement_nesting()
        return x + level + depth

    check(fn, torch.randn(3), graphs=None, breaks=None)
    assert _functorch.maybe_current_level() is None


def test_cond_over_containers_of_tensors_and_numbers():
    def cond_tree(x):
        def grow(given, by):
            return given["a"] * by + given["b"][0]

        def shrink(given, by):
            return given["a"] / by - given["b"][0]

        return torch.cond(x.sum() > 0, grow, shrink, ({"a": x, "b": (x + 1,)}, x.sum()))

    check(cond_tree, x, graphs=1)


def test_wrapped_call_is_one_node():
    wrap = torch.ops.higher_order.wrap

    def wrapped(x, k):
        def inner(a, k):
            return {"sine": a.sin() * k, "k": k}

        given = wrap(inner, x, k)
        return given["sine"] + given["k"]

    check(wrapped, x, 3, graphs=1)


@pytest.mark.filterwarnings("ignore:flex_attention called without")
@pytest.mark.parametrize("inside", [True, False])
def test_a_mask_of_flex_attention_reads_a_tensor_at_the_indices(inside):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    documents = torch.tensor([[0] * 60 + [1] * 68, [0] * 100 + [1] * 28])

    def made():
        def same_document(b, h, q, k):
            return (documents[b, q] == documents[b, k % 128]) & (k <= q)

        return create_block_mask(same_document, 2, None, 128, 128, device="cpu", _compile=False)

    mask = made()

    def fn(q):
        return flex_attention(q, q, q, block_mask=made() if inside else mask)

    check(fn, torch.randn(2, 1, 128, 16), graphs=1)


def test_what_vmap_changes_in_place_and_returns_is_the_same_tensor():
    def fn(x):
        y = torch.func.vmap(lambda row: row.mul_(2))(x)
        z, w = torch.func.vmap(lambda row: (row, row.sum()))(x)
        return y, y is x, z is x, w

    check(fn, torch.ones(3, 4))


def test_map_over_rows_with_a_number():
    def mapped(x):
        return torch._higher_order_ops.map(lambda row, k: row * k, x, 3)

    check(mapped, x, graphs=1)


def test_operators_that_mark_a_call():
    foreach_map = torch._higher_order_ops.foreach_map

    def fn(x, rows):
        marked = torch._higher_order_ops.invoke_quant(lambda a: a.sin() + 1, x, scheme="nf4")
        return marked, foreach_map(torch.mul, rows, rows)

    for backend in ("eager", "aot_eager"):
        compiled = suture.compile(fn, fullgraph=True, backend=backend)
        marked, products = compiled(x, [x, x + 1])
        torch.testing.assert_close(marked, x.sin() + 1)
        torch.testing.assert_close(list(products), [x * x, (x + 1) * (x + 1)])
