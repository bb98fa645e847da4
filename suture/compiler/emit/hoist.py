"""Python computes with Python's floats: what depends on them alone leaves the graph.

A float that changes from call to call comes into the graph as a tensor. What the program computes
with it before it meets a tensor (`0.5 * (1 + math.cos(step / total))`, `int(ratio * 8)`) is
written into the variant, in front of the graph call, and its result is an input like the float
itself. So backends need to know no arithmetic on floats, and a float that is returned is not an
output of the graph.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import torch
import torch.fx

from suture.compiler.emit.writer import Writer
from suture.compiler.graph.builder import GraphBuilder
from suture.compiler.graph.float_inputs import add_number
from suture.runtime.reads import as_double
from suture.runtime.sources import Source

_INFIX: dict[Callable[..., Any], str] = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/",
    operator.floordiv: "//", operator.mod: "%", operator.pow: "**", operator.lt: "<",
    operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.eq: "==", operator.ne: "!=",
}  # fmt: skip
_NUMBERS = (torch.SymInt, torch.SymFloat, torch.SymBool)


def hoist(writer: Writer, builder: GraphBuilder, read: Any) -> list[str]:
    """Take arithmetic on floats out of the graph under construction. Gives the lines that do it
    instead; `read(source)` is how a variant reads an input."""
    if all(entry.convert is not as_double for entry in builder.inputs):
        return []
    found = _Hoist(writer, builder, read)
    if not found.floats:
        return []
    found.follow()
    found.replace()
    found.take_outputs()
    found.remove()
    return found.lines


class _Hoist:
    def __init__(self, writer: Writer, builder: GraphBuilder, read: Any) -> None:
        self.writer = writer
        self.builder = builder
        self.lines: list[str] = []
        self.texts: dict[torch.fx.Node, str] = {}  # how Python spells what it knows
        self.floats: set[torch.fx.Node] = set()  # what depends on a float and on numbers alone
        self.roots: dict[torch.fx.Node, Any] = {}  # what is read, and how
        writes = builder.writes()
        for entry in builder.inputs:
            if entry.convert is as_double:
                for item in entry.node.users:
                    self.roots[item] = partial(read, entry.source)
                    self.floats.add(item)
            elif isinstance(entry.node.meta["val"], torch.SymInt):
                self.roots[entry.node] = partial(read, entry.source)
            elif not writes and entry.convert is None:
                for node in filter(_is_size, entry.node.users):
                    self.roots[node] = partial(_size, read, entry.source, cast(int, node.args[1]))

    def follow(self) -> None:
        """Find all that Python could compute, and of it what depends on a float."""
        known = set(self.roots)
        for node in self.builder.graph.nodes:
            above = node.all_input_nodes
            if node.op != "call_function" or node in known or not above:
                continue
            value = node.meta.get("example_value")
            if isinstance(value, _NUMBERS) and all(n in known for n in above):
                known.add(node)
                if any(n in self.floats for n in above):
                    self.floats.add(node)
        for node in reversed(list(self.builder.graph.nodes)):
            truth = isinstance(node.meta.get("example_value"), torch.SymBool)
            if truth and node in self.floats and any(u not in self.floats for u in node.users):
                self.floats.discard(node)  # a graph takes no bools

    def replace(self) -> None:
        """A new input for each result that an operation of the graph takes."""
        for node in list(self.builder.graph.nodes):
            if node not in self.floats or node in self.roots:
                continue
            if all(user in self.floats for user in node.users):
                continue
            value = node.meta["example_value"]
            made = add_number(self.builder, value, node.name, self.spell(node), as_double)
            if made is None:
                self.floats.discard(node)
                continue
            node.replace_all_uses_with(made, delete_user_cb=lambda user: user not in self.floats)

    def take_outputs(self) -> None:
        """What Python computes is no output of the graph."""
        for node in [n for n in self.writer.outputs if n in self.floats]:
            self.writer.outputs.remove(node)
            name, text = self.writer.name_of_output(node), self.spell(node)
            if name != text:
                self.lines.append(f"{name} = {text}")

    def spell(self, node: torch.fx.Node) -> str:
        """An expression for a number, with the lines it needs."""
        text = self.texts.get(node)
        if text is None and node in self.roots:
            text = self.texts[node] = self.roots[node]()
        if text is None:
            left = [self._argument(a) for a in node.args]
            named = [f"{k}={self._argument(v)}" for k, v in node.kwargs.items()]
            target = node.target
            assert not isinstance(target, str)  # numbers are made by functions
            sign = _INFIX.get(target)
            if sign is not None:
                made = f"{left[0]} {sign} {left[1]}"
            else:
                function = self.writer.constant(target, target.__name__)
                made = f"{function}({', '.join([*left, *named])})"
            text = self.texts[node] = self.writer.fresh(node.name)
            self.lines.append(f"{text} = {made}")
        return text

    def _argument(self, value: object) -> str:
        if isinstance(value, torch.fx.Node):
            return self.spell(value)
        if isinstance(value, (tuple, list)):
            inner = "".join(self._argument(v) + ", " for v in value)
            return f"({inner})" if isinstance(value, tuple) else f"[{inner}]"
        if type(value) in (int, str, bool, type(None)):
            return repr(value)
        return self.writer.constant(value, "number")

    def remove(self) -> None:
        """Drop the nodes that nobody needs any more."""
        outputs = set(self.writer.outputs)
        for node in reversed(list(self.builder.graph.nodes)):
            spelled = node in self.texts and node.op != "placeholder"
            if (node in self.floats or spelled) and not node.users and node not in outputs:
                self.builder.graph.erase_node(node)


def _is_size(node: torch.fx.Node) -> bool:
    return (node.op, node.target) == ("call_method", "size") and len(node.args) == 2


def _size(read: Any, source: Source | None, dim: int) -> str:
    return f"{read(source)}.size({dim})"
