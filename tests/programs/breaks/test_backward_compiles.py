"""Torch compiles a backward graph when it is first needed, perhaps inside a compiled function:
nothing of the compiler itself is compiled."""

from __future__ import annotations

import os
import threading
from typing import Any

import torch
from torch import nn

import suture
from suture.look import unit_of


def files_of_points(compiled: Any) -> set[str]:
    """The files of the code that the points of a compiled function stand in."""
    points = list(unit_of(compiled).points.values())
    return {os.path.realpath(spec.code.co_filename) for p in points for spec in p.data.chain}


def step(model, x):
    loss = model(x).square().sum()
    loss.backward()
    return loss.detach() * 2


def fresh_caches(monkeypatch, path) -> None:
    """Inductor's caches are empty: it compiles, and takes its locks."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(path))
    monkeypatch.setenv("TORCHINDUCTOR_FORCE_DISABLE_CACHES", "1")


def trained(compile: Any) -> list[torch.Tensor]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    run = compile(step)
    losses = [run(model, torch.ones(2, 3)) for _ in range(3)]
    return [*losses, *(p.grad for p in model.parameters())]


def test_nothing_of_the_compiler_is_compiled(monkeypatch, tmp_path, recwarn):
    suture.reset()
    fresh_caches(monkeypatch, tmp_path)
    made = []

    def compile(fn):
        made.append(suture.compile(fn))
        return made[0]

    torch.testing.assert_close(trained(compile), trained(lambda fn: fn))
    here = os.path.realpath(__file__)
    files = files_of_points(made[0])
    others = {f for f in files if f != here and f"{os.sep}nn{os.sep}modules{os.sep}" not in f}
    assert here in files and not others
    assert not suture.stats().interpreted


def test_later_calls_and_other_threads(monkeypatch, tmp_path):
    fresh_caches(monkeypatch, tmp_path)
    compiled = suture.compile(step)
    model = nn.Linear(3, 2)
    compiled(model, torch.ones(2, 3))
    errors = []

    def run() -> None:
        try:
            compiled(model, torch.ones(5, 3))  # another size: compiles again, both ways
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert not errors
    strange = ("_inductor", "filelock", "typing", "_functorch", "_dynamo", "sympy")
    assert not [f for f in files_of_points(compiled) if any(name in f for name in strange)]


def test_functions_of_the_program_in_hooks_are_still_compiled():
    seen = []

    def hook(grad):
        seen.append(grad.sum())
        return grad * 2

    def step(x):
        y = (x * 3).sin()
        y.register_hook(hook)
        y.sum().backward()
        return y.detach()

    x, same = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    torch.testing.assert_close(suture.compile(step)(x), step(same))
    torch.testing.assert_close(x.grad, same.grad)
    assert len(seen) == 2
