"""Programs written for torch.compile, run with suture in its place."""

from __future__ import annotations

import pytest
import torch

import suture


@pytest.fixture(autouse=True)
def _installed():
    suture.install()
    yield
    suture.set_stance("default")
    suture.uninstall()


def test_stance_of_torch_holds_for_what_was_compiled():
    @torch.compile(backend="eager")
    def where(x):
        return x + 1 if torch.compiler.is_compiling() else x + 2

    @torch.compiler.set_stance("force_eager")
    def plainly(x):
        return where(x)

    x = torch.zeros(1)
    assert where(x).item() == 1
    assert plainly(x).item() == 2
    with torch.compiler.set_stance("force_eager"):
        assert where(x).item() == 2
    assert where(x).item() == 1
    torch.compiler.set_stance("force_eager")
    assert where(x).item() == 2
    torch.compiler.set_stance("default")
    assert where(x).item() == 1


def test_reset_of_torch_forgets_what_was_compiled():
    torch.compile(torch.sin, backend="eager")(torch.ones(1))
    assert suture.stats().variants
    torch.compiler.reset()
    assert not suture.stats().variants


def test_uninstall_gives_back_what_was_there():
    ours = torch.compile, torch.compiler.set_stance, torch.compiler.reset
    suture.uninstall()
    theirs = torch.compile, torch.compiler.set_stance, torch.compiler.reset
    assert not set(map(id, ours)) & set(map(id, theirs))
    suture.install()
