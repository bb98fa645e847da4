"""The cache on a GPU: what is kept runs there again, and what is not says why."""

from __future__ import annotations

import pytest
import torch

import suture
from suture.runtime.store import environment
from tests.runtime.store.conftest import cache
from tests.runtime.store.test_training import NET, trained

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="needs a CUDA GPU, and this machine has none"
)
__all__ = ["cache"]  # the fixture

ON_GPU = NET.replace("nn.Linear(5, 2))", "nn.Linear(5, 2)).cuda()")
PROGRAM = ON_GPU + "def fn(x):\n    return net(x).sin()\n"


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_training_runs_from_the_cache(cache, backend):
    x = torch.arange(6.0, device="cuda").reshape(2, 3) / 7
    assert trained(cache, PROGRAM, backend, [x]) == (0, 1), cache.lines
    assert trained(cache, PROGRAM, backend, [x]) == (1, 0), cache.lines


@pytest.mark.filterwarnings("ignore:TensorFloat32 tensor cores")
@pytest.mark.parametrize("grad", [True, False])
def test_triton_kernels_are_compiled_as_before_and_said_to_be(cache, grad):
    x = torch.arange(6.0, device="cuda").reshape(2, 3) / 7
    with torch.set_grad_enabled(grad):
        for _ in range(2):
            run = trained(cache, PROGRAM, "inductor", [x]) if grad else inferred(cache, x)
            assert run == (0, 0), cache.lines
            assert any("not kept" in line for line in cache.lines)


def inferred(cache, x):
    return cache.run(PROGRAM, (x,), backend="inductor")


def test_a_tensor_elsewhere_is_another_variant(cache):
    program = "def fn(x):\n    return x.sin() * 2\n"
    cache.run(program, (torch.ones(3),))
    assert cache.run(program, (torch.ones(3, device="cuda"),))[0] == 0
    assert cache.run(program, (torch.ones(3, device="cuda"),)) == (1, 0), cache.lines


def test_devices_and_their_capabilities_are_part_of_the_key(cache, monkeypatch):
    program = "def fn(x):\n    return x.sin() * 2\n"
    x = torch.ones(3, device="cuda")
    cache.run(program, (x,))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda i: (1, 0))
    environment._machine.cache_clear()
    try:
        assert cache.run(program, (x,))[0] == 0
    finally:
        monkeypatch.undo()
        environment._machine.cache_clear()
    suture.reset()
