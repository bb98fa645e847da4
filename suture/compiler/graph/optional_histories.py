"""Bodies that ran on no rows where the program skips them, as autograd sees it.

A body that ran leaves a history: what it wrote requires grad, and all that it computed from gets a
gradient, of zeros if there were no rows. One that was skipped leaves none. `seen_in` says what
tells the two apart in a graph, and so what must be known of the numbers of rows:

- a leaf that bodies alone use has a gradient only if one of them had rows. Its gradient can be
  withheld (`Seen.leaves`);
- anything else that autograd comes to through such bodies has its history if one of those that
  write to the same tensor had rows, which has to be checked (`Seen.needed`).

Tensors are told apart by their memory: a view has the history of what it shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.fx

from suture.compiler.graph.fake_values import tree_leaves
from suture.compiler.graph.no_rows import NoRows
from suture.op_effects import effects_of
from suture.op_kinds import ADDING_TO, PASSING_ZEROS, plain_name
from suture.torch_private import tensor_parts


@dataclass(slots=True, eq=False)
class Span:
    """The nodes of one body, behind `last` up to `end`; `size` is its number of rows, a symbol.
    `updates`: nodes that give a tensor anew which another node gave before; they count as writes
    to it."""

    last: torch.fx.Node
    end: torch.fx.Node
    size: Any
    updates: dict[torch.fx.Node, torch.fx.Node] = field(default_factory=dict)

    def nodes(self) -> Iterator[torch.fx.Node]:
        node = self.last
        while node is not self.end:
            node = node.next
            yield node


@dataclass(slots=True, eq=False)
class Seen:
    """`leaves`: inputs that bodies alone use, and the numbers of these bodies. `needed`: sets of
    bodies, one at least of each of which must have had rows."""

    leaves: dict[torch.fx.Node, frozenset[int]] = field(default_factory=dict)
    needed: list[frozenset[int]] = field(default_factory=list)

    def need(self, bodies: frozenset[int]) -> None:
        """One of these bodies must have had rows, unless that is known of fewer of them."""
        if not any(known <= bodies for known in self.needed):
            self.needed = [known for known in self.needed if not bodies <= known] + [bodies]


def seen_in(
    graph: torch.fx.Graph, spans: list[Span], asked: list[Asked], is_leaf: Any
) -> Seen | None:
    """What tells bodies that ran on no rows from skipped ones; None if that cannot be said.
    `asked`: the program has asked for the history of a tensor, behind a node. `is_leaf` says of a
    placeholder whether its gradient can be withheld."""
    try:
        return _Histories(graph, spans, asked).seen(is_leaf)
    except _Unclear:
        return None


Asked = tuple[torch.fx.Node, torch.Tensor]


class _Unclear(Exception):
    """It cannot be said which histories there are."""


class _Histories:
    """Which tensors have a history, where bodies may be skipped, as the graph is gone through.

    `has`: by memory, whether there is a history: True, False, or the bodies of which one must have
    run. `uses`: the bodies that compute from a tensor. `targets`: what each body writes to."""

    def __init__(self, graph: torch.fx.Graph, spans: list[Span], asked: list[Asked]) -> None:
        self.graph = graph
        self.asked = asked
        self.spans = spans
        self.inside = {node: i for i, span in enumerate(spans) for node in span.nodes()}
        self.empty = [NoRows(graph, span.size) for span in spans]
        self.updates = {new: old for span in spans for new, old in span.updates.items()}
        self.first: dict[Any, Any] = {}  # memory of a tensor that was given anew -> that before
        self.made_in: dict[Any, int | None] = {}  # the body that has made a tensor
        self.has: dict[Any, bool | frozenset[int]] = {}
        self.uses: dict[Any, frozenset[int]] = {}
        self.outside: set[Any] = set()  # memory that is read outside of all bodies
        self.rewritten: set[Any] = set()  # memory whose history may be none of what it was before
        self.targets: list[frozenset[Any]] = [frozenset()] * len(spans)
        self.result = Seen()

    def seen(self, is_leaf: Any) -> Seen:
        for new, old in self.updates.items():
            for memory in self._memory([new]):
                self.first[memory] = next(iter(self._memory([old])))
        for node in self.graph.nodes:
            if node.op in ("placeholder", "get_attr"):
                self._begin(node)
            for memory in self._memory([node]):
                self.made_in.setdefault(memory, self.inside.get(node))
        for i, span in enumerate(self.spans):
            written = {m for node in span.nodes() for m in self._memory(self._written(node))}
            self.targets[i] = frozenset(m for m in written if self.made_in[m] != i)
        for node in self.graph.nodes:
            if node.op not in ("placeholder", "get_attr", "output"):
                self._step(node)
        for bodies in self.has.values():
            if isinstance(bodies, frozenset):
                self.result.need(bodies)
        self._look_back()
        self._decide(is_leaf)
        return self.result

    def _begin(self, node: torch.fx.Node) -> None:
        for memory in self._memory([node]):
            if memory in self.has and (self.has[memory] or _requires_grad(node)):
                raise _Unclear  # two inputs on one memory: whose gradient it is cannot be said
            self.has[memory] = _requires_grad(node)

    # ---- forward: who has a history

    def _step(self, node: torch.fx.Node) -> None:
        body = self.inside.get(node)
        given = {
            m for one in node.all_input_nodes if _requires_grad(one) for m in self._memory([one])
        }
        given = {memory for memory in given if self.has.get(memory)}
        written = set(self._memory(self._written(node)))
        if body is None:
            history: bool | frozenset[int] = self._read_outside(given)
        else:
            history = self._read_inside(body, given)
        for memory in self._memory([node]):
            if memory not in self.has:
                self.has[memory] = history if _requires_grad(node) else False
        for memory in written:
            if body is None and plain_name(node) not in ADDING_TO:
                self.rewritten.add(memory)
            self._write(memory, body, history)
        self._read_outside({m for m in self._asked_behind(node) if self.has.get(m)})

    def _asked_behind(self, node: torch.fx.Node) -> Iterator[Any]:
        """The memory of tensors whose history the program asked for when a node was the last."""
        for at, tensor in self.asked:
            if at is node:
                body = self.inside.get(node)
                if body is not None and node is not self.spans[body].end:
                    raise _Unclear
                yield from self._memory_of([tensor])

    def _read_outside(self, given: set[Any]) -> bool:
        for memory in given:
            bodies = self.has[memory]
            if isinstance(bodies, frozenset):
                self.result.need(bodies)
                self.has[memory] = True
        self.outside |= given
        return bool(given)

    def _read_inside(self, body: int, given: set[Any]) -> bool | frozenset[int]:
        history: bool | frozenset[int] = False
        for memory in given:
            bodies = self.has[memory]
            if memory not in self.targets[body] and self.made_in.get(memory) != body:
                if isinstance(bodies, frozenset) or memory in self.rewritten:
                    raise _Unclear
                self.uses[memory] = self.uses.get(memory, frozenset()) | {body}
            history = _joined(history, bodies)
        return history

    def _write(self, memory: Any, body: int | None, history: bool | frozenset[int]) -> None:
        if memory in self.uses:
            raise _Unclear  # what was computed from it before has another history
        before = self.has.get(memory, False)
        if before is True or history is False:
            return
        if body is None or self.made_in.get(memory) == body:
            self.has[memory] = True if history is True else _joined(before, history)
        elif history is True:
            self.has[memory] = _joined(before, frozenset({body}))
        elif before is False or not history <= before:
            raise _Unclear

    # ---- backward: what is computed from what

    def _look_back(self) -> None:
        """What bodies compute from what was computed outside they compute from its inputs too."""
        for node in reversed(self.graph.nodes):
            if node in self.inside or not node.all_input_nodes or not _requires_grad(node):
                continue
            own = set(self._memory([node]))
            later = frozenset[int]().union(*(self.uses.get(m, frozenset()) for m in own))
            if not later:
                continue
            for memory in set(self._memory(node.all_input_nodes)) - own:
                if self.has.get(memory):
                    self.uses[memory] = self.uses.get(memory, frozenset()) | later

    def _decide(self, is_leaf: Any) -> None:
        """A leaf that bodies alone use, and that write to the same tensors, is one whose gradient
        is withheld; of all others, each tensor that bodies write to must have got its history."""
        begun = {m: n for n in self.graph.nodes if n.op == "placeholder" for m in self._memory([n])}
        written = frozenset[Any]().union(*self.targets)
        for memory, bodies in self.uses.items():
            node = begun.get(memory)
            same = len({self.targets[body] for body in bodies}) == 1
            alone = node is not None and memory not in self.outside and same and is_leaf(node)
            if len(bodies) > 1 or not alone:
                self._need_zeros(memory, bodies)
            if alone:
                assert node is not None
                self.result.leaves[node] = bodies
            elif node is not None or memory in written:
                for target in frozenset[Any]().union(*(self.targets[body] for body in bodies)):
                    self.result.need(frozenset(b for b in bodies if target in self.targets[b]))

    def _need_zeros(self, memory: Any, bodies: Iterable[int]) -> None:
        """A body without rows must give a gradient of zeros, and not one of zero times infinity."""
        for body in bodies:
            reached = {memory}
            for node in self.spans[body].nodes():
                if not _requires_grad(node) or self.empty[body].empties(node):
                    continue
                if not reached.isdisjoint(self._memory(node.all_input_nodes)):
                    if self._written(node):
                        continue
                    if plain_name(node) not in PASSING_ZEROS:
                        raise _Unclear
                    reached |= set(self._memory([node]))

    # ---- memory

    def _memory(self, nodes: Iterable[torch.fx.Node]) -> Iterator[Any]:
        """The memory of what nodes give. A tensor that is given anew is the one that it was."""
        for node in nodes:
            yield from self._memory_of(_tensors(node))

    def _memory_of(self, tensors: Iterable[torch.Tensor]) -> Iterator[Any]:
        for value in tensors:
            if value.layout is not torch.strided:
                raise _Unclear
            memory = tensor_parts.storage_key(value)
            while memory in self.first:
                memory = self.first[memory]
            yield memory

    def _written(self, node: torch.fx.Node) -> list[torch.fx.Node]:
        found: list[torch.fx.Node] = []
        torch.fx.map_arg(effects_of(node).writes, found.append)
        return [*found, self.updates[node]] if node in self.updates else found


def _joined(one: bool | frozenset[int], other: bool | frozenset[int]) -> bool | frozenset[int]:
    if one is True or other is True:
        return True
    return (one or frozenset()) | (other or frozenset())


def _tensors(node: torch.fx.Node) -> list[torch.Tensor]:
    leaves = tree_leaves(node.meta.get("example_value", node.meta.get("val")))
    return [value for value in leaves if isinstance(value, torch.Tensor)]


def _requires_grad(node: torch.fx.Node) -> bool:
    return any(value.requires_grad for value in _tensors(node))
