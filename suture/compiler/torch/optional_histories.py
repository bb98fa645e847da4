"""Gradients of bodies that are in the graph though the program may skip them.

Where a body without rows would be told from a skipped one by autograd
(`graph/optional_histories.py`), the variant withholds the gradients of leaves that only such bodies
use, and checks that the rest has its history. What the engine shows besides gradients is ruled out
by guards: hooks of these leaves, and process groups.
"""

from __future__ import annotations

from typing import Any

import torch

from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.graph.optional_histories import Seen, Span, seen_in
from suture.compiler.objects import Constant
from suture.compiler.plan import Retry
from suture.compiler.torch.checks import Check
from suture.compiler.torch.optional_bodies import OptionalBody
from suture.runtime.sources import pinned
from suture.torch_private import autograd_parts, tensor_parts

_WHY = "what is skipped without rows leaves a history all the same"


def account_for_histories(trace: Trace) -> Retry | None:
    """See to it that nobody can tell, where the region ends, from autograd's histories that bodies
    ran; gives the next plan if that cannot be done: their branches decide."""
    bodies = trace.bodies
    if not bodies:
        return None
    spans = [Span(body.last, body.end, body.size, body.updates) for body in bodies]
    seen = None
    if not _shows_histories(trace):
        entries = {entry.node: entry for entry in trace.graph.inputs}
        seen = seen_in(
            trace.graph.graph, spans, trace.asked, lambda node: _is_parameter(entries.get(node))
        )
    if seen is None:
        plan = trace.region.plan
        decisive = plan.decisive | {body.position for body in bodies}
        return Retry(plan.having(decisive=decisive), _WHY)
    _withhold(trace, seen, bodies)
    for needed in seen.needed:
        _expect_rows(trace, [bodies[number] for number in sorted(needed)])
    return None


def _shows_histories(trace: Trace) -> bool:
    """Whether the region itself has taken a derivative, or made a leaf or a hook."""
    derivatives = trace.graph.derivatives
    return bool(
        derivatives.positions or derivatives.made or derivatives.hooked or derivatives.retained
    )


def _is_parameter(entry: Any) -> bool:
    """Whether an input is a leaf in all calls, and no hook is told of it."""
    if entry is None or entry.source is None or entry.convert is not None or entry.made:
        return False
    leaf = entry.example
    return type(leaf) is torch.nn.Parameter and not tensor_parts.has_leaf_hooks(leaf)


def _withhold(trace: Trace, seen: Seen, bodies: list[OptionalBody]) -> None:
    """Note whose gradients the variant withholds if none of certain bodies had rows."""
    counts = {number: _count(trace, body) for number, body in enumerate(bodies)}
    for entry in trace.graph.inputs:
        used_in = seen.leaves.get(entry.node)
        if used_in is not None and entry.source is not None:
            trace.withheld[entry.node] = [counts[number] for number in sorted(used_in)]
            for name in tensor_parts.LEAF_HOOKS:
                trace.guards.add(entry.source.attr(name), "is", None)
    groups = autograd_parts.process_groups
    if groups:
        source = pinned(groups, "torch.distributed's groups").attr(autograd_parts.DEFAULT_GROUP)
        trace.guards.add(source, "is", None)


def _expect_rows(trace: Trace, bodies: list[OptionalBody]) -> None:
    """Expect that one of some bodies had rows."""
    total: Value = _count(trace, bodies[0])
    for body in bodies[1:]:
        total = abstract.binary(trace, "add", total, _count(trace, body))
    condition: Any = abstract.compare(trace, ">", total, Constant(0))
    last = next(iter(reversed(trace.graph.graph.nodes)))
    first = bodies[0]
    trace.checks.append(
        Check(condition, True, first.position, first.step, first.exit, last, skips=True)
    )


def _count(trace: Trace, body: OptionalBody) -> Any:
    """The number of rows that a body had."""
    rows = abstract.from_value(trace, body.rows, body.rows.meta["example_value"])
    return abstract.tensor_length(trace, rows)
