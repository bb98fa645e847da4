"""What Inductor compiled for a processor, run by another process without Inductor."""

from __future__ import annotations

import pytest
import torch

from suture.torch_private import compilers
from tests.runtime.store.kept import FAULTS, spoil
from tests.runtime.store.test_programs import finished, start

X = torch.arange(24.0).reshape(4, 6)

PROGRAMS = {
    "pointwise": "def fn(x):\n    return (x.sin() * 2 + x.cos()).relu(), x.sum(0) - x.mean()\n",
    "a matrix product": (
        "torch.manual_seed(0)\nw = torch.randn(6, 6)\n"
        "def fn(x):\n    return torch.nn.functional.gelu(x @ w) + (x * 2).softmax(-1)\n"
    ),
    "kernels that share libraries": (
        "torch.manual_seed(0)\nw = torch.randn(6, 6) * 0.1\n"
        "def fn(x):\n    x = (x.sin() + 1) @ w\n    x = (x - x.mean(-1, keepdim=True)) @ w\n"
        "    x = (x.relu() * 3) @ w\n    x = x.cos().neg() @ w\n    return (x.abs() + 2) @ w\n"
    ),
    "an argument that is written to": (
        "def fn(x):\n    x.mul_(2)\n    y = x.sin() + x.cos() + x.tan() + x.exp() * 3 - x / 7\n"
        "    return y + x.sqrt() + x.abs() + x.neg() * 2\n"
    ),
    "views of the input": "def fn(x):\n    a, b = x.chunk(2)\n    return a, x.t(), x.sin() + 1\n",
    "nothing but views": "def fn(x):\n    return x.view(-1)[2:], x.unbind()\n",
    "a break": (
        "def fn(x):\n    y = (x * 3).sin() + x.cos()\n    if y.sum() > 1e9:\n        y = y + 1\n"
        "    return y.exp().sum(1) * 2\n"
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_graphs_for_processors_are_kept(cache, name):
    with torch.no_grad():
        _, kept = cache.run(PROGRAMS[name], (X.clone(),), backend="inductor")
        assert kept > 0, cache.lines
        used, more = cache.run(PROGRAMS[name], (X.clone(),), backend="inductor")
        assert (used, more) == (kept, 0), cache.lines


def test_symbolic_sizes(cache):
    program = "def fn(x):\n    return (x.sin() * x.shape[0]).sum(0) + x.mean(0)\n"
    calls = [(torch.ones(n, 6),) for n in (3, 5, 8)]
    cache.run(program, *calls, backend="inductor")
    assert cache.run(program, (torch.ones(11, 6),), backend="inductor") == (1, 0), cache.lines


def test_another_option_of_inductor_is_another_entry(cache):
    import torch._inductor.config as config

    cache.run(PROGRAMS["pointwise"], (X,), backend="inductor")
    with config.patch(fallback_random=True):
        assert cache.run(PROGRAMS["pointwise"], (X,), backend="inductor")[0] == 0
    assert cache.run(PROGRAMS["pointwise"], (X,), backend="inductor") == (1, 0)


def test_a_graph_on_which_the_backend_failed_is_tried_again(cache, monkeypatch):
    program = "def fn(x):\n    return x.sin() * 2\n"

    def failing(*args):
        raise RuntimeError("no disk space")

    with monkeypatch.context() as patch:
        patch.setattr(compilers, "aot_eager", failing)
        assert cache.run(program, (X,), backend="aot_eager") == (0, 0)
    assert "the backend failed on its graph" in cache.lines[-1]
    assert cache.run(program, (X,), backend="aot_eager") == (0, 1)


@pytest.mark.parametrize(
    "asked", [{"options": {"fallback_random": True}}, {"mode": "max-autotune-no-cudagraphs"}]
)
def test_mode_and_options_of_compile_are_part_of_the_key(cache, asked):
    program = PROGRAMS["pointwise"]
    assert cache.run(program, (X,), backend="inductor", **asked) == (0, 1), cache.lines
    assert cache.run(program, (X,), backend="inductor", **asked) == (1, 0), cache.lines
    assert cache.run(program, (X,), backend="inductor")[0] == 0


def test_options_that_are_no_plain_values_have_no_name(cache):
    asked = {"post_grad_custom_post_pass": lambda graph: None}
    run = cache.run(PROGRAMS["pointwise"], (X,), backend="inductor", options=asked)
    assert run == (0, 0), cache.lines
    assert any("options of Inductor have no name" in line for line in cache.lines)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_library_with_a_fault_is_not_loaded(cache, fault):
    program = PROGRAMS["pointwise"]
    cache.run(program, (X,), backend="inductor")
    libraries = list((cache.folder / "blobs").glob("*.so"))
    assert libraries
    for path in libraries:
        spoil(path, fault)
    assert cache.run(program, (X,), backend="inductor")[0] == 0


MAIN = """
import sys, torch, suture
torch.manual_seed(0)
layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
net = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
torch.backends.mha.set_fastpath_enabled(False)
x = torch.randn(2, 5, 16)
with torch.no_grad():
    out = suture.compile(net)(x)
    assert (out - net(x)).abs().max() < 1e-5
heavy = ("suture.compiler", "sympy", "torch._dynamo", "torch._inductor")
print(sum(m == h or m.startswith(h + ".") for m in sys.modules for h in heavy))
"""


def test_a_warm_process_imports_nothing_of_inductor(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(MAIN)
    assert finished(start(tmp_path / "cache", script)) > 0
    assert finished(start(tmp_path / "cache", script)) == 0
