"""Settings of torch that a program switches for a while: in the graph, and put back."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
import torch.utils.checkpoint as C
from torch.nn.attention import SDPBackend, sdpa_kernel

import suture
from tests.harness import check

X = torch.randn(4, 4)


def cudnn_block(x):
    with torch.backends.cudnn.flags(enabled=False, benchmark=True):
        inside = torch.backends.cudnn.enabled, torch.backends.cudnn.benchmark
        y = x.sin()
    return y, inside, torch.backends.cudnn.enabled


def cudnn_assignment(x):
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = not before
    y, inside = x.sin(), torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = before
    return y, inside


def tf32(x):
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    y = x @ x
    torch.backends.cuda.matmul.allow_tf32 = before
    return y


def deterministic(x):
    torch.use_deterministic_algorithms(True, warn_only=True)
    inside = torch.are_deterministic_algorithms_enabled()
    y = x.sin()
    torch.use_deterministic_algorithms(False)
    return y, inside, torch.are_deterministic_algorithms_enabled()


def attention_in_order(x):
    q = x.view(1, 1, 4, 4)
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION], set_priority=True):
        return F.scaled_dot_product_attention(q, q, q)


def forbidden_hooks(x):
    with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        return x.sin() * x


def one_thread(x):
    with torch.autograd.set_multithreading_enabled(False):
        return x.sin()


def checkpoint_settings(x):
    with C.set_checkpoint_debug_enabled(False), C.set_checkpoint_early_stop(False):
        return C.checkpoint(torch.sin, x, use_reentrant=False)


def old_autocast(x):
    with torch.cpu.amp.autocast():
        return x @ x


PROGRAMS = [
    cudnn_block, cudnn_assignment, tf32, deterministic, attention_in_order, forbidden_hooks,
    one_thread, checkpoint_settings,
]  # fmt: skip


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_a_setting_is_switched_in_the_graph(fn):
    check(fn, X.clone().requires_grad_())


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
def test_a_setting_is_switched_under_aot(fn):
    check(fn, X, backend="aot_eager")


@pytest.mark.filterwarnings("ignore:.*autocast.*:FutureWarning")
def test_the_old_name_of_autocast():
    check(old_autocast, X.clone().requires_grad_())


def test_a_setting_holds_across_a_break():
    def fn(x):
        torch.use_deterministic_algorithms(True)
        try:
            y = x.sin()
            torch._dynamo.graph_break()
            inside = torch.are_deterministic_algorithms_enabled()
        finally:
            torch.use_deterministic_algorithms(False)
        return y, inside, torch.are_deterministic_algorithms_enabled()

    check(fn, X, breaks=["GB0025"])


def test_a_setting_that_is_read_is_guarded():
    def fn(x):
        return x + 1 if torch.backends.cudnn.enabled else x - 1

    compiled = suture.compile(fn, backend="eager")
    before = torch.backends.cudnn.enabled
    try:
        for state in (True, False, True):
            torch.backends.cudnn.enabled = state
            torch.testing.assert_close(compiled(X), fn(X))
    finally:
        torch.backends.cudnn.enabled = before


def test_the_default_device_is_set_inside():
    def there_and_back(x):
        torch.set_default_device("meta")
        made = torch.zeros(3)
        torch.set_default_device(None)
        return x.sin(), made.device.type, torch.zeros(2) + 1

    check(there_and_back, torch.ones(3), graphs=1)


def test_a_default_device_that_stays_is_there_behind_the_region():
    def stays(x):
        torch.set_default_device("meta")
        return x + 1, torch.zeros(3).device.type

    compiled = suture.compile(stays, backend="eager", fullgraph=True)
    x = torch.ones(3)
    try:
        for _ in range(2):
            torch.testing.assert_close(compiled(x)[0], x + 1, check_device=False)
            assert torch.get_default_device().type == "meta"
            torch.set_default_device(None)
    finally:
        torch.set_default_device(None)
    assert torch.zeros(1).device.type == "cpu"
