"""In this folder torch.compile means suture."""

from __future__ import annotations

import pytest
import torch

import suture


@pytest.fixture(autouse=True)
def _installed():
    suture.reset()
    suture.install()
    yield
    torch.compiler.set_stance("default")
    if hasattr(torch.compiler, "set_default_backend"):
        torch.compiler.set_default_backend(None)
    suture.uninstall()
