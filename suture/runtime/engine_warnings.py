"""What the autograd engine says once in a process, said by variants whose graphs do its work."""

from __future__ import annotations

import torch

_said: list[str] = []


def warn_of_cycles() -> None:
    """Let the engine warn of backward(create_graph=True), unless it has done so before: only the
    engine knows, so it is called, for one number. Variants call this in the stead of theirs."""
    if not _said:
        _said.append("create_graph")
        with torch.enable_grad():
            one = torch.zeros((), requires_grad=True)
            one.exp().backward(create_graph=True)
            one.grad = None  # the cycle that the warning is about
