"""The break at an operator that fake tensors cannot run, and what to write against it."""

from __future__ import annotations

from suture.breaks import Break, calls
from suture.compiler.graph import OpFailed
from suture.rules.torch_names import missing_fake
from suture.torch_private import operators


def no_fake_kernel(failed: OpFailed, target: object, name: str) -> Break:
    """The break that shows the registration which `target` lacks."""
    operator = getattr(failed.cause, "func", target)
    missing = ""
    if isinstance(operator, (operators.OpOverload, operators.OpOverloadPacket)):
        missing = missing_fake(operator)
    return Break(
        calls.NO_FAKE_KERNEL,
        operator=name,
        registration=missing or "torch.library.register_fake",
    )
