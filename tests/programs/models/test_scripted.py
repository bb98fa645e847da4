"""Functions that TorchScript compiled, inside a compiled function."""

from __future__ import annotations

import torch

from tests.harness import check


@torch.jit.script
def _scaled(x: torch.Tensor, factor: int) -> torch.Tensor:
    return torch.sqrt(torch.tensor(x.size(-1), dtype=torch.float) * factor)


def test_scripted_functions_are_traced_through() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        return x / _scaled(x, 3)

    check(fn, torch.ones(2, 3))
