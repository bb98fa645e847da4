"""A graph for people: as Python with the user's lines as comments, and as plain data.

Nodes carry the stack trace of the user's program in the form that `traceback` prints; its last
entry is the line the operation stands on.
"""

from __future__ import annotations

import functools
import re
from typing import Any

import torch
import torch.fx

from suture.breaks import readable
from suture.events import Node
from suture.messages.source import line_of, printable

_ENTRY = re.compile(r'File "(.*)", line (\d+), in ')
_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "matmul": "@", "gt": ">", "lt": "<", "ge": ">=", "le": "<=", "eq": "==", "ne": "!=",
    "and_": "&", "or_": "|", "xor": "^",
}  # fmt: skip


@functools.lru_cache(maxsize=4096)
def place_of_trace(trace: str) -> tuple[str, int]:
    """(file, line) of the innermost entry of a stack trace; ("", 0) if it has none."""
    found = _ENTRY.findall(trace)
    return (found[-1][0], int(found[-1][1])) if found else ("", 0)


def place_of_node(node: torch.fx.Node) -> tuple[str, int]:
    return place_of_trace(node.meta.get("stack_trace") or "")


def describe_value(value: Any) -> str:
    """What a value is: dtype, shape and device of a tensor; else its type."""
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        shape = ", ".join(str(size) for size in value.shape)
        return f"{dtype}[{shape}] {value.device}"
    if isinstance(value, (list, tuple)):
        return f"({', '.join(describe_value(v) for v in value[:4])}{', ...' * (len(value) > 4)})"
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return f"{type(value).__name__} {value}"
    return type(value).__name__


def target_name(node: torch.fx.Node) -> str:
    """What makes the value of a node, in one word or dotted name."""
    if node.op in ("placeholder", "output"):
        return "input" if node.op == "placeholder" else "output"
    if node.op == "call_method":
        return f".{node.target}"
    if isinstance(node.target, str):
        return node.target
    name = getattr(node.target, "__name__", None) or str(node.target)
    return str(name)


def nodes(graph: torch.fx.Graph) -> tuple[Node, ...]:
    """The values of a graph as plain data, in order; the output is the last."""
    out = []
    for node in graph.nodes:
        file, line = place_of_node(node)
        value = "" if node.op == "output" else describe_value(node.meta.get("example_value"))
        inputs = tuple(one.name for one in node.all_input_nodes)
        out.append(Node(node.name, printable(target_name(node)), inputs, value, file, line))
    return tuple(out)


def lines(graph: torch.fx.Graph) -> tuple[tuple[str, int], ...]:
    """The (file, line) pairs that have an operation in the graph, each once, in order."""
    found = (
        place_of_node(node) for node in graph.nodes if node.op not in ("placeholder", "output")
    )
    return tuple(dict.fromkeys(place for place in found if place[1]))


def text(graph: torch.fx.Graph, name: str = "graph") -> str:
    """The graph as Python: a comment per source line, what each value is at the end of its line."""
    inputs = [node.name for node in graph.nodes if node.op == "placeholder"]
    out = [f"def {name}({', '.join(inputs)}):"]
    body: list[tuple[str, str]] = []
    place = ("", 0)
    for node in graph.nodes:
        value = describe_value(node.meta.get("example_value"))
        if node.op == "placeholder":
            body.append((f"# {node.name}: {value}", ""))
            continue
        if node.op == "output":
            body.append((f"return {_argument(node.args[0])}", ""))
            continue
        here = place_of_node(node)
        if here != place and here[1]:
            place = here
            body.append((_line_comment(*here), ""))
        body.append((f"{node.name} = {expression(node)}", f"  # {value}"))
    out += ["    " + left + right for left, right in body]
    return "\n".join(out)


def _line_comment(file: str, line: int) -> str:
    source = line_of(file, line)
    shown = printable(source.strip())[:80] if source else ""
    return f"# {file.rpartition('/')[2]}:{line}  {shown}".rstrip()


def expression(node: torch.fx.Node) -> str:
    """The right side of a node's line, with operators where Python has them."""
    name = target_name(node)
    args = [_argument(a) for a in node.args]
    if node.op == "call_function" and getattr(node.target, "__module__", "") == "_operator":
        if name in _OPERATORS and len(args) == 2 and not node.kwargs:
            return f"{args[0]} {_OPERATORS[name]} {args[1]}"
        if name == "getitem" and len(args) == 2:
            return f"{args[0]}[{args[1]}]"
    args += [f"{k}={_argument(v)}" for k, v in node.kwargs.items()]
    if node.op == "call_method" and args:
        return f"{args[0]}{name}({', '.join(args[1:])})"
    if node.op == "get_attr":
        return f"self.{name}"
    module = getattr(node.target, "__module__", None) or ""
    if module in ("torch", "math", "torch.nn.functional"):
        name = f"{module}.{name}"
    return f"{name}({', '.join(args)})"


def _argument(value: Any) -> str:
    return printable(readable(value, 200))
