"""Settings of AOTAutograd and Inductor that decide whether a call of a body that draws random
numbers runs once for each time it stands in the graph, and whether the order of draws is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suture.torch_private import compilers

# The values under which no pass runs a call of a body a second time, in the backward graph:
# what AOTAutograd may compute again is a list of operators, and `invoke_subgraph` is not on it.
_RUN_ONCE = {
    "activation_memory_budget": 1.0,
    "aggressive_recomputation": False,
    "ban_recompute_not_in_allowlist": True,
    "functionalize_rng_ops": False,  # offsets would be numbered per body, not per call
    "joint_custom_pass": None,
}
# The values under which Inductor has a stream of random numbers of its own, so that no program
# knows which draw comes first; and under which no pass of the program's changes the graph.
_IN_ANY_ORDER = {
    "align_random_eager": False,
    "custom_partitioner_fn": None,
    "fallback_random": False,
    "freezing": False,
    "joint_custom_post_pass": None,
    "joint_custom_pre_pass": None,
    "post_grad_custom_post_pass": None,
    "post_grad_custom_pre_pass": None,
}


def keeps_calls(options: Mapping[str, Any]) -> bool:
    """Whether each call of a body in a graph runs exactly once, with draws of its own, and nobody
    can tell the order of two calls. `options`: those that the backend sets while it compiles."""
    asked = {name.replace("-", "_"): value for name, value in options.items()}
    of_inductor = {**_current("inductor_options", _IN_ANY_ORDER), **asked}
    return all(
        settings.get(name, expected) == expected
        for settings, table in (
            (_current("aot_options", _RUN_ONCE), _RUN_ONCE),
            (of_inductor, _IN_ANY_ORDER),
        )
        for name, expected in table.items()
    )


def _current(module: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of that name that this torch has."""
    found = compilers.NAMES.get(module)
    return {name: getattr(found, name) for name in table if hasattr(found, name)}
