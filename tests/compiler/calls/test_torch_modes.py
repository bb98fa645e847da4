"""Modes of torch inside compiled code."""

from __future__ import annotations

import torch
import torch.nn.functional as F

import suture
from tests.harness import check

torch.manual_seed(0)
x = torch.randn(3, 4)
g = torch.randn(3, 4, requires_grad=True)
i = torch.tensor([0, 2])
# Before 2.13 AOTAutograd cannot take inference mode: Python switches it there.
INFERENCE = () if torch.__version__ >= "2.13" else ("GB2040", "GB2040")


@torch.no_grad()
def dec(x):
    return x * 2


@torch.inference_mode()
def dinf(x):
    return x + 1


def test_no_grad():
    def nograd(x):
        with torch.no_grad():
            y = x * 2
        return y, x * 3, torch.is_grad_enabled()

    check(nograd, g, graphs=1)


def test_nograd_break():
    def nograd_break(x):
        with torch.no_grad():
            y = x * 2
            suture.graph_break()
            z = x * 4
            e = torch.is_grad_enabled()
        return y, z, x * 3, e

    check(nograd_break, g, graphs=2, breaks=("GB0025",))


def test_nograd_deco():
    def nograd_deco(x):
        return dec(x), x * 2

    check(nograd_deco, g, graphs=1)


def test_enable():
    def enable(x):
        with torch.no_grad():
            with torch.enable_grad():
                y = x * 2
        with torch.set_grad_enabled(False):
            z = x * 2
        return y, z

    check(enable, g, graphs=1)


def test_set_fn():
    def set_fn(x):
        torch.set_grad_enabled(False)
        y = x * 2
        torch.set_grad_enabled(True)
        return y, x * 2

    check(set_fn, g, graphs=1)


def test_inference():
    def inference(x):
        with torch.inference_mode():
            y = x * 2
        return y.is_inference(), y

    check(inference, x, breaks=INFERENCE)


def test_inference_deco():
    def inference_deco(x):
        return dinf(x)

    check(inference_deco, x, breaks=INFERENCE)


def test_autocast_cpu():
    def autocast_cpu(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x.T
        return y, y.dtype, x @ x.T

    check(autocast_cpu, x, graphs=1)


def test_autocast_break():
    def autocast_break(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x.T
            suture.graph_break()
            z = x @ x.T
        return y, z, x @ x.T

    check(autocast_break, x, graphs=2, breaks=("GB0025",))


def test_autocast_nested():
    def autocast_nested(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            with torch.autocast("cpu", enabled=False):
                y = x @ x.T
            z = x @ x.T
        return y, z, torch.is_autocast_enabled("cpu")

    check(autocast_nested, x, graphs=1)


def test_cpu_amp():
    def cpu_amp(x):
        with torch.amp.autocast(device_type="cpu"):
            return x @ x.T

    check(cpu_amp, x, graphs=1)


def test_default_dtype():
    def default_dtype(x):
        torch.set_default_dtype(torch.float64)
        y = torch.zeros(3)
        torch.set_default_dtype(torch.float32)
        return y, torch.zeros(2)

    check(default_dtype, x, graphs=2, breaks=("GB2040", "GB2040"))


def test_default_dtype_get():
    def default_dtype_get(x):
        return x.to(torch.get_default_dtype()), torch.get_default_device()

    check(default_dtype_get, x, graphs=0)


def test_with_device():
    def with_device(x):
        with torch.device("meta"):
            y = torch.ones(3)
        return y.device, x + 1

    check(with_device, x)


def test_with_device_cpu():
    def with_device_cpu(x):
        with torch.device("cpu"):
            y = torch.ones(3)
        return y, x + 1

    check(with_device_cpu, x)


def test_sdpa_kernel():
    def sdpk(x):
        from torch.nn.attention import SDPBackend, sdpa_kernel

        q = x.view(1, 1, 3, 4)
        with sdpa_kernel(SDPBackend.MATH):
            return F.scaled_dot_product_attention(q, q, q)

    check(sdpk, x, graphs=1)


def test_profiler():
    def profiler(x):
        with torch.profiler.record_function("a"):
            y = x + 1
        return y

    check(profiler, x, graphs=1)


def test_fork_rng():
    def fork_rng(x):
        with torch.random.fork_rng():
            y = torch.rand(3)
        return y, torch.rand(2), x

    check(fork_rng, x, graphs=2, breaks=("GB0007", "GB0160", "GB0160"))


def test_detect_anomaly():
    def detect_anomaly(x):
        with torch.autograd.set_detect_anomaly(True):
            return x * 2

    check(detect_anomaly, g, graphs=1, breaks=("GB2040", "GB2040", "GB2040"))


def test_saved_hooks():
    def saved_hooks(x):
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            return (x * 2).sin()

    check(saved_hooks, g, graphs=1, breaks=("GB0177", "GB0007", "GB0007"))


def test_a_range_of_the_profiler_as_a_decorator_made_inside():
    def fn(x):
        @torch.profiler.record_function("named")
        def inner(x):
            return x.sin()

        with torch.profiler.record_function("block"):
            return inner(x) + 1

    check(fn, x)
