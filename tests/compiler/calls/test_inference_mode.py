"""torch.inference_mode inside a compiled function: in one graph, and right across breaks."""

from __future__ import annotations

import pytest
import torch
from torch._C import _dispatch_tls_local_exclude_set as excluded_keys
from torch._C import _dispatch_tls_local_include_set as included_keys
from torch._dispatch.python import enable_python_dispatcher

import suture
from suture.inference_mode import set_inference
from tests.harness import check

PLAIN = torch.arange(4.0)
LEAF = torch.arange(4.0, requires_grad=True)
LAYER = torch.nn.Linear(4, 4)

pytestmark = pytest.mark.skipif(
    torch.__version__ < "2.13", reason="before 2.13 AOTAutograd cannot take it: Python switches it"
)


def state():
    return torch.is_inference_mode_enabled(), torch.is_grad_enabled()


def block(x):
    with torch.inference_mode():
        y = x.sin() * 2
        inside = state()
    return y, y.is_inference(), x * 2, inside, state()


def switched_off(x):
    with torch.inference_mode(False):
        y = x.sin() * 2
    return y + 1, state()


def nested(x):
    with torch.inference_mode():
        y = x + 1
        with torch.inference_mode(False):
            z = x * 2
            inner = state()
        w = y * 2
        outer = state()
    return z, w, inner, outer, state()


def with_grad_modes(x):
    with torch.no_grad():
        with torch.inference_mode():
            with torch.enable_grad():
                inner = state()
            torch.set_grad_enabled(True)
        after = state()
        y = x * 2
    return y, inner, after, state(), x * 3


def left_by_an_exception(x):
    try:
        with torch.inference_mode():
            y = x + 1
            raise ValueError("left")
    except ValueError:
        pass
    return x * 2, y, state()


def entered_twice(x):
    mode = torch.inference_mode()
    with mode:
        y = x + 1
    with mode:
        z = x + 2
    return y, z, x * 2


def parameters_first_met_inside(x):
    with torch.inference_mode():
        y = LAYER(x)
    return y, LAYER(x)


@torch.inference_mode()
def decorated(x):
    return LAYER(x) + 1


def calls_decorated(x):
    return decorated(x), x * 2


def written_inside(x):
    y = x.clone()
    with torch.inference_mode():
        y.mul_(2)
    return y + 1


PROGRAMS = [
    block, switched_off, nested, with_grad_modes, left_by_an_exception, entered_twice,
    parameters_first_met_inside, decorated, calls_decorated, written_inside,
]  # fmt: skip


@pytest.mark.parametrize("x", [PLAIN, LEAF], ids=["plain", "leaf"])
@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_inference_mode_is_part_of_the_graph(fn, x):
    check(fn, x)


@pytest.mark.parametrize("fn", PROGRAMS[1:], ids=lambda f: f.__name__)
def test_inference_mode_under_aot(fn):
    check(fn, LEAF, backend="aot_eager")


def test_breaks_inside_and_behind_the_block():
    def fn(x):
        with torch.inference_mode():
            with torch.enable_grad():
                torch._dynamo.graph_break()
                inner = state()
            y = x * 2
            torch._dynamo.graph_break()
            outer = state()
        torch._dynamo.graph_break()
        return x * 3, y, inner, outer, state()

    check(fn, LEAF, graphs=2, breaks=["GB0025"] * 3)


def test_a_failing_operation_leaves_the_mode_as_it_was():
    def fn(x, i):
        with torch.inference_mode():
            y = x[i]
        return y

    compiled = suture.compile(fn, backend="eager")
    compiled(PLAIN, torch.tensor([1]))
    with pytest.raises(IndexError):
        compiled(PLAIN, torch.tensor([9]))
    assert state() == (False, True)


def test_a_failing_backend_leaves_the_mode_as_it_was():
    def fails_half_way(gm, inputs):
        set_inference(True)
        raise ValueError("half way")

    compiled = suture.compile(block, backend=fails_half_way)
    raising = suture.config.patch(raise_backend_errors=True)
    with raising, pytest.raises(suture.exc.BackendFailed):
        compiled(PLAIN)
    assert state() == (False, True)


def test_a_backend_that_fails_in_a_mode_of_its_own_leaves_dispatch_as_it_was():
    """torch's object for the mode puts back all that the thread dispatched by."""

    def fails_half_way(gm, inputs):
        with enable_python_dispatcher():
            set_inference(True)
            raise ValueError("half way")

    before = included_keys(), excluded_keys()
    raising = suture.config.patch(raise_backend_errors=True)
    with raising, pytest.raises(suture.exc.BackendFailed):
        suture.compile(block, backend=fails_half_way)(PLAIN)
    assert (included_keys(), excluded_keys()) == before
    assert (PLAIN + 1)[0] == 1


def tried(write):
    try:
        write()
    except RuntimeError as error:
        return str(error)[:40]


WRITES = {
    "setitem": lambda y: y.__setitem__(slice(1, None), 2),
    "element": lambda y: y.__setitem__(0, 2),
    "view": lambda y: y[1:].mul_(2),
    "foreach": lambda y: torch._foreach_mul_([y], 2),
    "out": lambda y: torch.add(y, 1, out=y[:]),
}


@pytest.mark.parametrize("breaks", [False, True], ids=["whole", "broken"])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_outside_the_block_raises_where_it_is(write, breaks):
    def fn(x):
        with torch.inference_mode():
            y = x * 2
        if breaks:
            torch._dynamo.graph_break()
        z = x + 1
        return y, z, tried(lambda: write(y)), y * 3

    check(fn, PLAIN, graphs=None, breaks=None)


def test_a_base_is_written_whose_view_was_made_in_the_block():
    """torch forbids to ask for the history of such a view: the program may keep it."""

    def fn(x, kept):
        y = x * 2
        with torch.inference_mode():
            kept.append(y[1:])
        y.mul_(2)
        return y, x + 1

    kept = []
    compiled = suture.compile(fn, backend="eager")
    with suture.config.patch(strict=True):
        for call in (fn, compiled):
            assert torch.equal(call(LEAF, kept)[0], LEAF * 4)
    assert len(kept) == 2


@pytest.mark.parametrize("view", [lambda x: LAYER(x), lambda x: (x * 2)[1:], lambda x: x[1:]])
def test_a_view_that_requires_grad_is_written_in_the_block(view):
    def fn(x):
        y = view(x)
        with torch.inference_mode():
            torch._dynamo.graph_break()
            try:
                y.add_(1)
            except RuntimeError as error:
                return str(error)
            z = y * 2
        return y.detach(), z, x + 1

    check(fn, make=lambda: (torch.ones(4).requires_grad_(),), graphs=None, breaks=None)


LEAVES = {
    "a view": lambda x: x.detach().requires_grad_(),
    "a copy": lambda x: x.clone().requires_grad_(),
    "a parameter": lambda x: torch.nn.Parameter(x * 2),
    "a factory": lambda x: torch.ones(4, requires_grad=True),
}


@pytest.mark.parametrize("breaks", [False, True], ids=["whole", "broken"])
@pytest.mark.parametrize("make", LEAVES.values(), ids=LEAVES)
def test_a_leaf_is_made_in_the_block_with_gradients_on(make, breaks):
    def fn(x):
        with torch.inference_mode(), torch.enable_grad():
            if breaks:
                torch._dynamo.graph_break()
            leaf = make(x)
            made = leaf * 2
        return leaf.detach(), leaf.requires_grad, made.requires_grad, made.is_inference()

    check(fn, PLAIN, graphs=None, breaks=None)
