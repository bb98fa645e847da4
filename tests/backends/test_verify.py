"""config.verify finds a backend that computes something else; config.repro_dir writes a script."""

from __future__ import annotations

import logging
import runpy

import pytest
import torch

import suture
from suture.backends import Mismatch


def off_by_a_bit(gm, inputs):
    return lambda *args: tuple(out + 1 for out in gm(*args))


def test_a_wrong_backend_is_told_with_the_line(caplog):
    def fn(x):
        return x.sin() * 2

    with suture.config.patch(verify=True), caplog.at_level(logging.WARNING, "suture"):
        suture.compile(fn, backend=off_by_a_bit)(torch.ones(3))
    assert "differs from its operations" in caplog.text and "return x.sin() * 2" in caplog.text


def test_strict_raises():
    with suture.config.patch(verify=True, strict=True), pytest.raises(Mismatch, match="mul"):
        suture.compile(lambda x: x * 2, backend=off_by_a_bit)(torch.ones(3))


def test_a_right_backend_passes_with_random_numbers_and_written_inputs():
    def fn(x, y):
        y.add_(1)
        return torch.dropout(x, 0.5, True) + y

    torch.manual_seed(0)
    plain = fn(torch.ones(8), torch.zeros(8))
    torch.manual_seed(0)
    with suture.config.patch(verify=True, strict=True):
        ours = suture.compile(fn, backend="aot_eager")(torch.ones(8), torch.zeros(8))
    assert torch.equal(plain, ours)


def test_a_failed_graph_leaves_a_script_that_runs(tmp_path, capsys):
    def fails(gm, inputs):
        raise RuntimeError("no")

    options = suture.config.patch(repro_dir=str(tmp_path), raise_backend_errors=True)
    with options, pytest.raises(suture.exc.BackendFailed):
        suture.compile(lambda x: x.cos() + 1, backend=fails)(torch.ones(2, 3))
    (script,) = tmp_path.glob("graph_*.py")
    text = script.read_text()
    assert "cos" in text and "empty_strided([2, 3]" in text and torch.__version__ in text
    with pytest.raises(RuntimeError, match="no"):
        runpy.run_path(str(script))  # it has the backend, and fails as the program did
    script.write_text(text.replace("BACKEND = fails", "BACKEND = 'eager'"))
    runpy.run_path(str(script))
    assert "tensor" in capsys.readouterr().out


def slightly_off(by):
    def backend(gm, inputs):
        return lambda *args: tuple(
            out * (1 + by) if isinstance(out, float) else out for out in gm(*args)
        )

    return backend


@pytest.mark.parametrize(("by", "told"), [(1e-6, False), (0.1, True)])
def test_numbers_read_from_tensors_may_be_rounded_otherwise(by, told, caplog):
    def fn(x):
        return x + 1, x.mean().item()

    with suture.config.patch(verify=True), caplog.at_level(logging.WARNING, "suture"):
        suture.compile(fn, backend=slightly_off(by))(torch.rand(64))
    assert ("differs from its operations" in caplog.text) is told


def test_a_training_step_in_one_graph_is_verified(caplog):
    """The graph takes derivatives, of leaves and of inputs with a history, and writes to leaves."""
    layer = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)

    def step(x):
        optimizer.zero_grad()
        loss = layer(x).pow(2).mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    root = torch.ones(3, 4, requires_grad=True)
    with suture.config.patch(verify=True, strict=True), caplog.at_level(logging.WARNING, "suture"):
        compiled = suture.compile(step, backend="aot_eager")
        losses = [compiled(torch.ones(3, 4)) for _ in range(3)]
        compiled(root * 2)
    assert losses[0] > losses[1] > losses[2]
    assert "differs" not in caplog.text
