"""The cache on a GPU: what is kept runs there again, and what is not says why."""

from __future__ import annotations

import pytest
import torch

import suture
from suture.runtime.store import environment, pending_writes
from tests.runtime.store.conftest import cache
from tests.runtime.store.kept import FAULTS, spoil
from tests.runtime.store.test_programs import start
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


def inferred(cache, program, *xs):
    """One call for each input, without derivatives. How many variants were used, and are kept."""
    with torch.no_grad():
        used, _ = cache.run(program, *((x.clone(),) for x in xs), backend="inductor")
    pending_writes.finish()
    return used, len(cache.files())


POINTWISE = "def fn(x):\n    return (x.sin() * 2 + x.cos()).relu(), x.exp() - x.mean()\n"
PROGRAMS = {
    "pointwise": POINTWISE,
    "a matrix product": (
        "torch.manual_seed(0)\nw = torch.randn(48, 32, device='cuda')\nb = torch.randn(32).cuda()\n"
        "def fn(x):\n    y = nn.functional.gelu(torch.addmm(b, x, w))\n"
        "    return y + (x * 2).softmax(-1)[:, :32]\n"
    ),
    "kernels whose configuration is measured": (
        "def fn(x):\n    y = x.t().sin() + x.reshape(48, 64).cos()\n"
        "    return y.sum(1), (y * y).mean(0), y.exp().t().contiguous() + x\n"
    ),
    "a break": (
        "def fn(x):\n    y = (x * 3).sin() + x.cos()\n    if y.sum() > 1e9:\n        y = y + 1\n"
        "    return y.exp().sum(1) * 2\n"
    ),
    "an argument that is written to": (
        "def fn(x):\n    x.mul_(2)\n    y = x.sin() + x.cos() + x.tan() + x.exp() * 3 - x / 7\n"
        "    return y + x.abs() + x.neg() * 2\n"
    ),
}  # fmt: skip
tensor_cores = pytest.mark.filterwarnings("ignore:TensorFloat32 tensor cores")


def grid(rows=64, columns=48):
    return torch.linspace(-1, 1, rows * columns, device="cuda").reshape(rows, columns)


@tensor_cores
@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_of_triton_run_from_the_cache(cache, name):
    used, kept = inferred(cache, PROGRAMS[name], grid())
    assert used == 0, cache.lines
    assert kept > 0, cache.lines
    assert inferred(cache, PROGRAMS[name], grid()) == (kept, kept), cache.lines


@tensor_cores
def test_a_training_step_runs_from_the_cache(cache):
    x = torch.arange(6.0, device="cuda").reshape(2, 3) / 7
    assert trained(cache, PROGRAM, "inductor", [x])[0] == 0
    pending_writes.finish()
    assert len(cache.files()) == 1, cache.lines
    assert trained(cache, PROGRAM, "inductor", [x]) == (1, 0), cache.lines


@pytest.mark.parametrize("name", ["pointwise", "an argument that is written to"])
def test_inputs_that_begin_at_an_odd_place(cache, name):
    inferred(cache, PROGRAMS[name], grid())
    odd = torch.linspace(-1, 1, 64 * 48 + 1, device="cuda")[1:].reshape(64, 48)
    assert odd.data_ptr() % 16
    suture.reset()
    module = cache.load(PROGRAMS[name])
    with suture.config.patch(cache_dir=str(cache.folder)), cache.told(), torch.no_grad():
        theirs = odd.clone()
        compiled = suture.compile(module.fn, backend="inductor")
        torch.testing.assert_close(compiled(odd), module.fn(theirs))
        torch.testing.assert_close(odd, theirs)
    assert cache.used() == 1, cache.lines


def test_a_constant_that_begins_at_an_odd_place_is_another_program(cache):
    program = (
        "whole = torch.linspace(0, 1, 49, device='cuda')\nw = nn.Parameter(whole[{}:{}])\n"
        "def fn(x):\n    return (x * w).sin() + x.cos() * w + (x - w).exp() + w.tan() * (x + w)\n"
    )
    inferred(cache, program.format(0, 48), grid())
    assert inferred(cache, program.format(1, 49), grid())[0] == 0, cache.lines


def test_symbolic_sizes(cache):
    program = "def fn(x):\n    return (x.sin() * x.shape[0]).sum(0) + x.mean(0)\n"
    inferred(cache, program, grid(3), grid(5), grid(8))
    assert inferred(cache, program, grid(11))[0] == 1, cache.lines


@pytest.mark.parametrize("fault", FAULTS)
def test_a_binary_with_a_fault_is_not_loaded(cache, fault):
    inferred(cache, POINTWISE, grid())
    binaries = list((cache.folder / "blobs").glob("*.cubin"))
    assert binaries
    for path in binaries:
        spoil(path, fault)
    assert inferred(cache, POINTWISE, grid())[0] == 0


def test_kernels_that_triton_launches_itself_are_said_not_to_be_kept(cache):
    import torch._inductor.config as config

    torch.compiler.reset()
    program = "def fn(x):\n    return (x.sin() * 3 + x.cos()).relu() - x.exp()\n"
    with config.patch(use_static_triton_launcher=False, force_disable_caches=True):
        assert inferred(cache, program, grid()) == (0, 0)
        assert any("launched by Triton itself" in line for line in cache.lines), cache.lines


@tensor_cores
def test_a_file_to_ship(cache, tmp_path):
    module = cache.load(NET.replace("nn.Linear(5, 2))", "nn.Linear(5, 2)).cuda()"))
    x = torch.arange(6.0, device="cuda").reshape(2, 3) / 7
    with torch.no_grad():
        with suture.config.patch(cache_dir=str(cache.folder)):
            compiled = suture.compile(module.net, backend="inductor")
            compiled(x)
            suture.save(compiled, tmp_path / "net.suture")
        suture.reset()
        with cache.told():
            loaded = suture.load(module.net, tmp_path / "net.suture")
            torch.testing.assert_close(loaded(x), module.net(x))
    assert cache.used() == 1, cache.lines


MAIN = """
import sys, torch, suture
torch.manual_seed(0)
layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
net = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).cuda()
x = torch.randn(2, 5, 16, device="cuda")
suture.compile(net)(x).sum().backward()
found = [p.grad.clone() for p in net.parameters()]
net.zero_grad()
net(x).sum().backward()
for one, p in zip(found, net.parameters()):
    torch.testing.assert_close(one, p.grad, rtol=1e-3, atol=1e-4)
heavy = ("suture.compiler", "sympy", "torch._dynamo", "torch._inductor", "triton")
print(sum(m == h or m.startswith(h + ".") for m in sys.modules for h in heavy))
"""


def test_a_warm_process_imports_neither_inductor_nor_triton(tmp_path, monkeypatch):
    script = tmp_path / "program.py"
    script.write_text(MAIN)
    monkeypatch.setenv("SUTURE_LOGS", "cache")
    said = []
    for _ in range(2):
        output, errors = start(tmp_path / "cache", script).communicate()
        said.append(errors)
    assert int(output) == 0, said


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
