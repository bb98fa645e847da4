"""torch.fx below its public surface."""

from __future__ import annotations

import linecache
from types import BuiltinFunctionType, ModuleType, NoneType
from typing import Any

import torch.fx

from suture.torch_private.table import Topic, is_missing

NAMES = Topic(
    __name__,
    "freeing the text of graphs that nobody uses any more",
    "2.11-2.15",
    {"loader": "torch.fx.graph_module._loader"},
)


def __getattr__(name: str) -> Any:
    return NAMES.get(name)


def fake_value(node: Any) -> Any:
    """What a node gave while it was traced, on fake tensors: torch's tracers keep it under one of
    two names. None if nothing is known."""
    return node.meta.get("example_value", node.meta.get("val"))


def name_for(graph: Any, target: Any) -> str | None:
    """How torch.fx begins the name of a node with this target; None: it finds that out itself. Of
    methods by name and of functions in C, which stay: nothing of the program is kept."""
    kind = type(target)
    if kind is not str and kind is not BuiltinFunctionType:
        return None
    known = _names.get(target)
    if known is None and hasattr(graph, "_target_to_str"):  # seen in 2.13
        if kind is not str and not isinstance(target.__self__, (ModuleType, type, NoneType)):
            return None  # of an object
        if len(_names) > _MOST_NAMES:
            _names.clear()
        known = _names[target] = str(graph._target_to_str(target))
    return known


def call_node(
    graph: torch.fx.Graph,
    op: str,
    target: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: Any,
) -> torch.fx.Node:
    """The node that `graph.create_node` makes. That looks through all arguments for symbolic
    numbers first, to warn of them: in the graphs of a trace those are nodes."""
    node: torch.fx.Node = graph.create_node(op, target, (), {}, name)
    fill = getattr(node, "_update_args_kwargs", None)  # seen in 2.13
    if fill is not None:
        fill(args, kwargs)
    else:
        node.args, node.kwargs = args, kwargs
    return node


_MOST_NAMES = 4096
_names: dict[Any, str] = {}


def forget_source(module: Any) -> None:
    """Drop the text that torch.fx keeps of a graph module's code for as long as the process runs.

    Tracebacks through the module, should anybody still hold it, then show no source lines.
    """
    loader = NAMES.get("loader")
    name = getattr(getattr(module.forward, "__code__", None), "co_filename", "")
    if name.startswith("<eval_with_key>"):
        linecache.cache.pop(name, None)
        if not is_missing(loader):
            loader.eval_cache.pop(name, None)
