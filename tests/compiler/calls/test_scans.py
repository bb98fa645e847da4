"""scan, map and associative_scan with gradients; torch.func where it is refused or has options."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch._higher_order_ops import associative_scan, scan
from torch._higher_order_ops.map import map as map_rows
from torch.func import grad, hessian, jvp, vjp, vmap

from tests.harness import check

X = torch.randn(4, 3, requires_grad=True)
# What torch itself runs for a scan outside of a graph looks at .grad.
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute")
BACKENDS = [None, "aot_eager"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_go_through_scan(backend):
    def fn(x):
        weight = x.sum()

        def step(carry, row):
            return {"h": carry["h"] + row[0] * weight}, (carry["h"] * row[1]).clone()

        return scan(step, {"h": x[0] * 0}, (x, x * 2))

    check(fn, X, backend=backend)


def test_a_scan_backwards_over_another_dimension():
    def fn(x):
        return scan(lambda c, r: (c + r, (c * r).clone()), x[:, 0] * 0, x, dim=1, reverse=True)

    check(fn, X)


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_go_through_map(backend):
    def fn(x):
        return map_rows(
            lambda row, k: {"a": row["x"].sin() * k, "b": row["x"] + 1}, {"x": x}, x[0] * 2
        )

    check(fn, X, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_go_through_an_associative_scan(backend):
    def fn(x):
        def combine(a, b):
            return a[0] * b[0], a[1] * b[0] + b[1]

        return associative_scan(combine, (x, x * 2), dim=0, combine_mode="generic")

    check(fn, X, backend=backend)


def test_the_result_of_a_scan_knows_that_it_requires_gradients():
    def fn(x):
        carry, rows = scan(lambda c, r: (c + r, (c * r).clone()), x[0] * 0, x)
        return carry.requires_grad, rows.requires_grad, rows.is_leaf, rows

    check(fn, X)


def test_vjp_with_something_beside_the_value():
    def fn(x):
        value, pull, aux = vjp(lambda z: (z.sin(), z.cos()), x, has_aux=True)
        return value, pull(torch.ones_like(value)), aux

    check(fn, X.detach())


def test_vjp_of_a_function_that_draws_is_left_to_python():
    def fn(x):
        value, pull = vjp(lambda z: F.dropout(z, 0.5), x)
        return value, pull(torch.ones_like(value))

    check(fn, X.detach(), graphs=None, breaks=["GB0149"])


def loss(z):
    return (z.sin() ** 2).sum()


@pytest.mark.parametrize(
    "fn",
    [
        lambda x: vmap(hessian(loss))(x),
        lambda x: vmap(lambda z: jvp(grad(loss), (z,), (z,))[1])(x),
    ],
    ids=["hessian", "jvp of grad"],
)
def test_forward_over_reverse_mode_under_vmap_is_left_to_python(fn):
    check(fn, X.detach(), graphs=None, breaks=["GB2060"])
    torch.testing.assert_close(hessian(loss)(X.detach()[0]), vmap(hessian(loss))(X.detach())[0])
