"""Derivatives that a region takes itself: what of autograd's graph, as fake tensors have it, a call
of torch.autograd.grad goes through and uses up.

The graph that fake tensors have is the one that real tensors will have, as far as it was made in
the region. Behind an input that was computed before is another part of the program.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.autograd.graph import get_gradient_edge

from suture.torch_private import tensor_parts


@dataclass(slots=True)
class Reached:
    """What a derivative goes through. `run` are the nodes of autograd that the engine runs,
    `leaves` the fake leaves it comes to; `outside`: it may leave the region."""

    run: list[Any] = field(default_factory=list)
    leaves: list[torch.Tensor] = field(default_factory=list)
    outside: bool = False


@dataclass(slots=True, eq=False)
class Retained:
    """A tensor made in the region whose gradient is kept (`tensor`, a value), since the call at
    `position`; `passed`: a backward() of the region has given it one."""

    tensor: Any
    position: Any
    passed: bool = False


class Derivatives:
    """The derivatives that one graph takes, or that will be taken of it. `positions` are those of
    the calls (code, index) that take them, `hooked` the inputs that get a hook when the region
    ends."""

    def __init__(self) -> None:
        self.positions: set[Any] = set()
        self.hooked: list[torch.Tensor] = []
        self.losses: dict[Any, Any] = {}  # values of which backward() was called -> the call
        self.made: dict[int, Any] = {}  # leaves made in the region, by their fake tensors' ids
        self.steps: list[Any] = []  # where optimizers ask that a graph with a derivative ends
        self.retained: list[Retained] = []
        self._before: set[Any] = set()  # nodes of autograd that made the inputs of the region
        self._freed: dict[Any, Any] = {}  # nodes whose saved tensors are gone -> the call
        self._inside: dict[Any, Any] = {}  # nodes of leaves that stay inside -> the call
        self._with_hook: list[tuple[torch.Tensor, Any]] = []  # computed, and the calls
        self._leaves: list[tuple[torch.Tensor, Any]] = []  # those leaves, and their calls

    def note_input(self, value: Any) -> None:
        """The fake tensor of an input."""
        for tensor in (value, tensor_parts.base_of(value)):
            if isinstance(tensor, torch.Tensor) and tensor.grad_fn is not None:
                self._before.add(tensor.grad_fn)

    def reach(self, outputs: list[torch.Tensor], inputs: list[torch.Tensor]) -> Reached:
        """What is gone through from `outputs` to `inputs`."""
        wanted = {_edge(tensor) for tensor in inputs}
        nodes = _above(node for node, _ in map(_edge, outputs))
        found = Reached(leaves=[n.variable for n in nodes if hasattr(n, "variable")])
        needed: set[Any] = set()
        for node in reversed(nodes):  # those that a node leads to stand behind it
            if any(edge in wanted or edge[0] in needed for edge in node.next_functions):
                needed.add(node)
        found.run = [node for node in nodes if node in needed]
        met = self._before.intersection(nodes)
        asked = {node for node, _ in wanted}
        found.outside = bool(met - asked) or (bool(met) and len(inputs) > 1)
        return found

    def reach_leaves(self, outputs: list[torch.Tensor]) -> Reached:
        """What is gone through from `outputs` to all leaves."""
        nodes = _above(_edge(output)[0] for output in outputs)
        leaves = [n.variable for n in nodes if hasattr(n, "variable")]
        return Reached(nodes, leaves, bool(self._before.intersection(nodes)))

    def note_freed(self, nodes: list[Any], position: Any) -> None:
        """The call at `position` has taken a derivative, which has freed what `nodes` had saved."""
        self.positions.add(position)
        self._freed.update((node, position) for node in nodes)

    def retained_in(self, found: Reached) -> list[Retained]:
        """The tensors whose gradient is kept that a derivative goes through."""
        run = set(found.run)
        return [one for one in self.retained if _edge(one.tensor.value)[0] in run]

    def keep_inside(self, leaf: torch.Tensor, position: Any) -> None:
        """A leaf that the call at `position` made, and that may not leave the region."""
        self._inside[_edge(leaf)[0]] = position
        self._leaves.append((leaf, position))

    def note_hook(self, tensor: torch.Tensor, position: Any) -> None:
        """The call at `position` has set a hook inside the graph. On a tensor that leaves, others
        may be set, or its gradient be asked for: they belong behind this one, and would come
        first."""
        self._with_hook.append((tensor, position))

    def is_freed(self, value: Any) -> bool:
        """Whether a tensor is only good to raise what a second backward() raises: a number of
        which backward() was called and which has freed something, or a tensor all of whose ways
        to leaves go through what is freed. No leaf gets a gradient before that is noticed."""
        if not isinstance(value, torch.Tensor) or value.grad_fn is None or not self._freed:
            return False
        if any(one.tensor.value is value for one in self.retained):
            return False
        found = self.losses.get(id(value))
        if found is not None and value.numel() == 1 and found[1] in self._freed.values():
            return True
        if value.layout is not torch.strided or tensor_parts.base_of(value) is not None:
            return False
        return self._leads_to_freed(value.grad_fn)

    def nodes_behind(self, value: torch.Tensor) -> list[Any]:
        """The nodes of autograd that a tensor was computed through, its own first."""
        return _above([value.grad_fn])

    def _leads_to_freed(self, start: Any) -> bool:
        ends: dict[Any, bool] = {}
        for node in reversed(_above([start])):  # those that a node leads to stand behind it
            below = [ends[n] for n, _ in node.next_functions if n is not None]
            ends[node] = node in self._freed or (bool(below) and all(below))
        return ends[start]

    def ends_at(self, results: Iterable[Any]) -> Any:
        """Where the graph should have ended, given what leaves it: at a step of an optimizer, if a
        derivative is to come. None if all is well."""
        if not self.steps:
            return None
        follows = (v.grad_fn is not None for v in results if isinstance(v, torch.Tensor))
        return self.steps[0] if any(follows) else None

    def freed_by(self, values: Iterable[Any]) -> Any:
        """The call that has freed, or made, what a tensor among `values` needs for its own
        derivative, that lets one keep its gradient or has set a hook on it; None if there is no
        such tensor."""
        gone = self._freed | self._inside
        if not gone and not self.retained and not self._with_hook:
            return None
        values = list(values)
        for one in self.retained:  # only a real tensor keeps a gradient that is still to come
            if not one.passed or any(v is one.tensor.value for v in values):
                return one.position
        for tensor, position in (*self._leaves, *self._with_hook):
            if any(v is tensor for v in values):
                return position
        made = [v.grad_fn for v in values if isinstance(v, torch.Tensor) and v.grad_fn is not None]
        return next((gone[n] for n in _above(made) if n in gone), None)


def _edge(tensor: torch.Tensor) -> tuple[Any, int]:
    edge = get_gradient_edge(tensor)
    return edge.node, edge.output_nr


def _above(start: Iterable[Any]) -> list[Any]:
    """The nodes of autograd above these and themselves, each in front of what it leads to."""
    ordered: list[Any] = []
    seen: set[Any] = set()
    stack: list[tuple[Any, bool]] = [(node, False) for node in start]
    while stack:
        node, done = stack.pop()
        if done:
            ordered.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((n, False) for n, _ in node.next_functions if n is not None)
    ordered.reverse()
    return ordered


def saving(nodes: list[Any]) -> list[Any]:
    """Those of the nodes that hold tensors for their derivative."""
    return [node for node in nodes if _saves(node)]


def _saves(node: Any) -> bool:
    names = [n for n in dir(node) if n.startswith("_saved_") or n == "saved_tensors"]
    try:
        return any(_holds_tensor(getattr(node, name)) for name in names)
    except RuntimeError:  # what it held was changed in place
        return True


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(isinstance(v, torch.Tensor) for v in value)
    return isinstance(value, torch.Tensor)
