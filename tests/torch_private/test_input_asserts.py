"""Inductor's code asserts nothing about inputs that guards have looked at."""

import pytest
import torch
from torch import nn
from torch._inductor.utils import run_and_get_code

import suture
from suture.torch_private import input_asserts
from tests.compiler.graph.test_outline import Block, Stack


@pytest.fixture(autouse=True)
def no_caches():
    with (
        torch._inductor.config.patch(fx_graph_cache=False, fx_graph_remote_cache=False),
        torch._functorch.config.patch(enable_autograd_cache=False),
    ):
        yield


def asserted(code):
    """The names of what a text of code makes assertions about."""
    names = []
    for line in code.splitlines():
        call, _, given = line.strip().partition("(")
        if call in ("assert_size_stride", "assert_tensor_metadata"):  # the dtype too, since 2.15
            names.append(given.partition(",")[0])
        elif call == "assert_size_stride_grouped":  # since 2.15: of several at once
            names += given.lstrip("(").partition(")")[0].rstrip(",").split(", ")
    return names


def step(fn, x):
    y = fn(x)
    y.sum().backward()
    return y


def test_inputs_of_inference():
    fn = suture.compile(lambda x, y: (x.sin() * y).sum(1))
    out, (code,) = run_and_get_code(fn, torch.ones(2, 3), torch.ones(3))
    assert "cpp_fused" in code
    assert asserted(code) == []
    torch.testing.assert_close(out, torch.ones(2, 3).sin().sum(1))


def test_what_an_operator_gives_is_still_looked_at():
    fn = suture.compile(lambda x: torch.cumsum(torch.cholesky_inverse(x.sin()), 0))
    _, (code,) = run_and_get_code(fn, torch.eye(3))
    assert len(asserted(code)) > 0


def test_inputs_of_a_backward_graph_are_still_looked_at():
    _, (forward, backward) = run_and_get_code(step, suture.compile(Block()), torch.ones(2, 8))
    assert not [name for name in asserted(forward) if name.startswith("primals")]
    assert "tangents_1" in asserted(backward)


def test_bodies_are_passed_what_they_were_written_for():
    stack = Stack(*(Block() for _ in range(4)))
    x = torch.randn(2, 8, requires_grad=True)
    _, (forward, backward) = run_and_get_code(step, suture.compile(stack), x)
    assert "def partitioned_fw_layer_0_0(" in forward
    bodies = [name for name in asserted(forward + backward) if name.startswith("partitioned")]
    assert not [name for name in bodies if "primals" in name or "tangents" in name]


def test_other_sizes_are_another_graph():
    fn = suture.compile(lambda x: x.t() + 1, dynamic=False)
    for made in (torch.ones(2, 3), torch.ones(3, 2).t(), torch.ones(4, 6)[::2, ::2], torch.ones(5)):
        torch.testing.assert_close(fn(made), made.t() + 1)
    layer = nn.Linear(4, 4, bias=False)
    compiled = suture.compile(layer)
    with torch.no_grad():
        for weight in (layer.weight.clone(), torch.randn(6, 4), torch.randn(4, 6).t()):
            layer.weight.data = weight
            torch.testing.assert_close(compiled(torch.ones(2, 4)), torch.ones(2, 4) @ weight.t())


def test_torchs_own_switch_keeps_them(monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_SIZE_ASSERTS", "1")
    fn = suture.compile(lambda x: x.sin() + 2)
    _, (code,) = run_and_get_code(fn, torch.ones(2, 3))
    assert len(asserted(code)) == 1


def test_torch_compile_keeps_them():
    suture.compile(lambda x: x.sin() + 3)(torch.ones(2, 3))
    _, (code,) = run_and_get_code(torch.compile(lambda x: x.sin() + 3), torch.ones(2, 3))
    assert len(asserted(code)) == 1


def test_nothing_is_replaced_outside_of_compiling():
    from torch._inductor.codegen.wrapper import PythonWrapperCodegen

    before = PythonWrapperCodegen.codegen_input_size_asserts
    with input_asserts.known_inputs(True):
        assert PythonWrapperCodegen.codegen_input_size_asserts is not before
    assert PythonWrapperCodegen.codegen_input_size_asserts is before
