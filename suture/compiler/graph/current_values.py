"""Numbers that follow from module state, computed on the real tensors while tracing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.fx

from suture.compiler.graph.builder import GraphBuilder, GraphInput, was_written
from suture.compiler.graph.fake_values import tree_leaves
from suture.op_effects import draws, effects_of
from suture.torch_private import tensor_parts

_MOST_NODES = 64
_MOST_NUMBERS = 4096


def current_number(
    builder: GraphBuilder, node: torch.fx.Node, is_module_state: Callable[[GraphInput], bool]
) -> Any:
    """What a node gives if it were run now, as a Python number; None if it depends on more than a
    few small inputs for which `is_module_state` holds, or on random numbers. Nothing is changed."""
    inputs = {e.node: e.example for e in builder.inputs if not e.made and is_module_state(e)}
    above = _above(node)
    if above is None or not all(_may_run(n, inputs) for n in above):
        return None
    try:
        with torch.no_grad(), _WithoutDraws():
            return _run(above, inputs)
    except Exception:
        return None  # the program will raise it by itself, if it comes to that


class _WithoutDraws(tensor_parts.TorchDispatchMode):  # type: ignore[misc]
    """Refuses operations that draw random numbers, before they have drawn any."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if draws(func):
            raise RuntimeError(f"{func} draws random numbers")
        return func(*args, **(kwargs or {}))


def _run(above: list[torch.fx.Node], values: dict[Any, Any]) -> Any:
    for node in above:
        if node in values:
            continue
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), values.__getitem__)
        if node.op == "call_method":
            values[node] = getattr(args[0], str(node.target))(*args[1:], **kwargs)
        else:
            assert callable(node.target)
            values[node] = node.target(*args, **kwargs)
    found = values[above[-1]]
    return found.item() if isinstance(found, torch.Tensor) else found


def _above(node: torch.fx.Node) -> list[torch.fx.Node] | None:
    """The nodes that a node is computed from, itself last; None if they are many."""
    found, waiting = {node}, [node]
    while waiting:
        for one in waiting.pop().all_input_nodes:
            if one not in found:
                found.add(one)
                waiting.append(one)
        if len(found) > _MOST_NODES:
            return None
    return sorted(found)


def _may_run(node: torch.fx.Node, inputs: dict[Any, Any]) -> bool:
    value = node.meta["example_value"]
    small = all(
        isinstance(v.numel(), int) and v.numel() <= _MOST_NUMBERS
        for v in tree_leaves(value)
        if isinstance(v, torch.Tensor)
    )
    if node.op == "placeholder":  # a number among the inputs may be another one in each call
        kept = small and node in inputs and isinstance(value, torch.Tensor)
        return kept and not was_written(value)
    if node.op not in ("call_function", "call_method") or not node.all_input_nodes:
        return False
    return small and not effects_of(node).must_run
