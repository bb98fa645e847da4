"""A graph for people: as Python with the user's lines as comments, and as plain data.

Nodes carry the stack trace of the user's program in the form that `traceback` prints; its last
entry is the line the operation is on.
"""

from __future__ import annotations

import functools
import re
from typing import Any

import torch
import torch.fx

from suture.events import Node
from suture.messages.source import printable
from suture.messages.texts import shorten

_ENTRY = re.compile(r'File "(.*)", line (\d+), in ')
_LINE = re.compile(r"# File: (.*?):(\d+ .*)$")


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
    return tuple(dict.fromkeys(location for location in found if location[1]))


def text(graph: torch.fx.Graph, name: str = "graph") -> str:
    """The graph as torch prints it (`print_readable`): a comment per source line, and for every
    value its dtype, shape and device."""
    try:
        source = graph.python_code("self", verbose=True, include_device=True).src
    except Exception:  # an argument that fx cannot write as Python; the graph is shown all the same
        source = str(graph)
    shown = [_LINE.sub(_line_comment, printable(line.rstrip())) for line in source.splitlines()]
    shown = [line for line in shown if line.strip()]
    return (
        "\n".join(shown)
        .replace("def forward(self, ", f"def {name}(", 1)
        .replace("def forward(self)", f"def {name}()", 1)
    )


def _line_comment(found: re.Match[str]) -> str:
    """torch's comment on a source line, with the file as it is shown everywhere else."""
    file, rest = found.groups()
    return f"# {shorten(file)}:{rest}"[:120]
