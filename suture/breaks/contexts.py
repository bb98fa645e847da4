"""Breaks at `with`: context managers and modes."""

from __future__ import annotations

from suture.breaks.registry import Kind, define

UNKNOWN_MANAGER = define(
    "GB0142",
    "Unsupported context manager",
    message="with {manager}",
    explanation=(
        "Entering `{manager}` runs code that cannot be captured. Python enters and leaves it; the "
        "body of the `with` is compiled all the same."
    ),
    hints=(
        "Enter the context manager around the call of the compiled function.",
        "Write it with contextlib.contextmanager: those are captured.",
    ),
    note="a model in suture.variables for this context manager",
)

MODE_UNSUPPORTED = define(
    "GB2040",
    "Mode that a graph cannot carry",
    message="{mode} changes how operations run",
    explanation=(
        "`{mode}` changes a setting of torch that a graph has no way to switch while it runs. "
        "Python switches it, and the operations under it are compiled with the setting as it is "
        "then."
    ),
    hints=(
        "Switch the mode around the call of the compiled function.",
        "Use torch.autocast, torch.no_grad or torch.set_grad_enabled, which graphs can carry.",
    ),
    kind=Kind.FUNDAMENTAL,
)
