"""Results with memory of their own that are copies of an input which the graph writes to.

Inductor takes a copy of what it is about to write for needless, and then writes in place: the
result of `cache[0] = x; return cache.clone()` is the cache itself, and changes with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
import torch.fx

from suture.op_effects import written_by
from suture.op_kinds import may_copy
from suture.torch_private import tensor_parts
from suture.torch_private.graph_modules import fake_value


def with_own_results(compiled: Callable[..., Any], copies: dict[int, bool]) -> Callable[..., Any]:
    """A compiled graph, with those of the results at `copies` copied that lie in the memory of an
    input."""

    def run(*inputs: Any) -> Any:
        results = list(compiled(*inputs))
        memory = {_address(one) for one in inputs if type(one) in _PLAIN}
        for i, follows in copies.items():
            if _address(results[i]) in memory:
                given = results[i] if follows else results[i].detach()
                results[i] = given.clone()
            memory.add(_address(results[i]))
        return results

    return run


_PLAIN = (torch.Tensor, torch.nn.Parameter)


def _address(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def copies_of_inputs(module: torch.fx.GraphModule) -> dict[int, bool]:
    """The results that have memory of their own, though they may be no more than a copy of an input
    that the graph writes to, or of what another result is a copy of: their places, and whether
    autograd follows them."""
    graph = module.graph
    written = {_memory(at) for node in graph.nodes for at in written_by(node)} - {None}
    given = {_memory(node) for node in graph.nodes if node.op == "placeholder"}
    made = _copies(module, given)
    of = Counter(source for _, source in made.values())
    return {
        i: bool(fake_value(node).requires_grad)
        for i, (node, source) in made.items()
        if of[source] > 1 or _memory(source) in written & given
    }


def is_written_later(module: torch.fx.GraphModule, copies: dict[int, bool]) -> bool:
    """Whether the graph keeps writing to what one of the results is a copy of. The result cannot
    be corrected after the graph then."""
    order = {node: at for at, node in enumerate(module.graph.nodes)}
    writes = [(at, _memory(one)) for node, at in order.items() for one in written_by(node)]
    return any(
        at > order[node] and memory == _memory(source)
        for i, (node, source) in _copies(module, set()).items()
        if i in copies
        for at, memory in writes
    )


def _copies(module: torch.fx.GraphModule, given: set[Any]) -> dict[int, tuple[Any, Any]]:
    """The results, by place, that an operation makes of one tensor, which may do nothing but copy
    it: with memory of their own, that is not among `given`. Each with that tensor."""
    output = next((node for node in module.graph.nodes if node.op == "output"), None)
    if output is None or not isinstance(output.args[0], (list, tuple)):
        return {}
    found = {}
    for i, node in enumerate(output.args[0]):
        if not isinstance(node, torch.fx.Node) or not may_copy(node):
            continue
        tensors = [a for a in node.all_input_nodes if _memory(a) is not None]
        if len(tensors) == 1 and _memory(node) not in (None, _memory(tensors[0]), *given):
            found[i] = (node, tensors[0])
    return found


def _memory(node: torch.fx.Node) -> Any:
    value = fake_value(node)
    plain = isinstance(value, torch.Tensor) and value.layout is torch.strided
    return tensor_parts.storage_key(value) if plain else None
