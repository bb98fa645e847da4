"""Whether a graph may run for nothing: with a condition that does not hold, and once more after it.

Besides what `undo` puts back, running a graph twice must not show. And a graph that runs on numbers
for which the program would have gone another way must not do worse than raise: an index out of
range, or a division of integers by zero, in a compiled kernel ends the process.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.fx

from suture.compiler.graph.builder import GraphBuilder
from suture.compiler.graph.fake_values import tree_leaves
from suture.compiler.graph.index_bounds import is_in_range
from suture.op_effects import effects_of, operation_name, writes_of
from suture.op_kinds import CHECKING, DIVIDING, INDEXING, is_of_others, plain_name

# Must run, and may run twice: what they switch the graph switches back, what they check stays true.
_HARMLESS = ("_check", "_assert", "_set_grad_enabled", "_enter_autocast", "_exit_autocast")


def is_repeatable(builder: GraphBuilder) -> bool:
    """Whether nobody can tell that the graph ran twice, once what it wrote is put back."""
    return all(_is_repeatable(node) for node in builder.graph.nodes)


def _is_repeatable(node: torch.fx.Node) -> bool:
    if node.op in ("placeholder", "get_attr", "output"):
        return True
    if node.op == "call_module" or node.kwargs.get("generator") is not None:
        return False
    if is_of_others(node):
        return False
    return not effects_of(node).acts or operation_name(node).startswith(_HARMLESS)


def is_safe_after(last: torch.fx.Node) -> bool:
    """Whether all operations behind `last` at most raise, whatever numbers they are given."""
    return not any(map(may_trap, after(last)))


def writes_after(last: torch.fx.Node) -> bool:
    """Whether some operation behind `last` writes to a tensor."""
    return any(writes_of(node) for node in after(last))


def after(last: torch.fx.Node) -> Iterator[torch.fx.Node]:
    node = last.next
    while node.op != "root":
        yield node
        node = node.next


def may_trap(node: torch.fx.Node) -> bool:
    if node.op not in ("call_function", "call_method"):
        return False
    name = plain_name(node)
    if name in CHECKING:
        return True
    if name in DIVIDING:
        return _divides_integers(node, name)
    if name not in INDEXING:
        return False
    return any(_is_integer(one) for one in node.all_input_nodes) and not is_in_range(node, name)


def _divides_integers(node: torch.fx.Node, name: str) -> bool:
    """Whether integers are divided by what is not a number of the program; by zero that is an
    end."""
    made = [v for v in tree_leaves(node.meta.get("example_value")) if isinstance(v, torch.Tensor)]
    if any(value.is_floating_point() for value in made):
        return False
    divisor = node.args[1] if len(node.args) > 1 else None
    if name.startswith("r") and name != "remainder":
        return True
    return not (type(divisor) is int and divisor != 0)


def _is_integer(node: torch.fx.Node) -> bool:
    value = node.meta.get("example_value")
    if not isinstance(value, torch.Tensor):
        return False
    return not (value.is_floating_point() or value.is_complex() or value.dtype is torch.bool)
