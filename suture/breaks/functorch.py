"""Breaks at torch.func transforms."""

from __future__ import annotations

from suture.breaks.registry import define

TRANSFORM_REFUSED = define(
    "GB0149",
    "Unsupported functorch tracing attempt",
    message="torch.func.{transform}: {reason}",
    explanation=(
        "The function handed to `torch.func.{transform}` has to go into the graph whole, and "
        "something in it does not. Python runs the transform, with the function as it is."
    ),
    hints=(
        "Remove what breaks from the transformed function; its number is in the reason.",
        "Apply the transform outside: compile the function that it returns.",
    ),
    note="breaks inside the functions that a transform is applied to",
)
