"""Breaks at torch.func transforms."""

from __future__ import annotations

from suture.breaks.registry import define

TRANSFORM_REFUSED = define(
    "GB0149",
    "Unsupported functorch tracing attempt",
    title="torch.func transform that cannot be traced here",
    message="torch.func.{transform}: {reason}",
    explanation=(
        "`torch.func.{transform}` goes into the graph as one piece. This form of it does not: "
        "{reason}. Python runs the transform, with the function as it is."
    ),
    hints=(
        "Use the plain form of the transform, without options.",
        "Apply the transform outside: compile the function that it returns.",
    ),
    note="a node for this form of the transform",
)
