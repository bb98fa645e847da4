"""Breaks at torch's higher-order operators: cond, while_loop, scan, checkpoint and their kin."""

from __future__ import annotations

from suture.breaks.registry import Kind, define

BODY_BREAKS = define(
    "GB2060",
    "Break inside the body of a higher-order operator",
    message="the body of {operator} breaks: {reason}",
    explanation=(
        "A function handed to `{operator}` becomes a graph within the graph, so it has to be "
        "captured whole; this one breaks. Python runs the operator instead."
    ),
    hints=(
        "Fix the break inside the body; its number is in the reason.",
        "Move what breaks in front of or behind {operator}.",
    ),
    kind=Kind.FUNDAMENTAL,
)

BODY_SIDE_EFFECT = define(
    "GB0067",
    "HigherOrderOperator: Mutating a variable not in the current scope (SideEffects)",
    message="the body of {operator} changes {object}",
    explanation=(
        "A body of `{operator}` may run once, many times or never, and again in the backward pass, "
        "so it may not change anything that lives outside it. This one changes `{object}`."
    ),
    hints=(
        "Return the new value from the body, and store it behind the call.",
        "Pass the value in as an operand.",
    ),
    kind=Kind.FUNDAMENTAL,
)
