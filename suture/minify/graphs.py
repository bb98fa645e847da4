"""Making a graph that fails smaller, while its backend fails on it in the same way.

First torch's minifier takes operations away, then the sizes of the inputs shrink.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.fx

from suture import backends, repro
from suture.errors import InvalidBackend, UserError
from suture.minify.found import Minified, kind_of
from suture.torch_private import minifier


def minified(names: dict[str, Any], path: Path) -> Minified:
    """Reduce the graph of a script, of which these are the names; UserError if it does not fail."""
    module, inputs = torch.fx.symbolic_trace(names["Region"]()), names["inputs"]()
    given = names["BACKEND"]
    name = given if isinstance(given, str) else given.__name__
    try:
        compiler = backends.lookup(given)
    except InvalidBackend as unknown:
        raise UserError(
            f"{path} needs the backend {name!r}, which only the program has that made the script: "
            f"let BACKEND in it be the function, or import what registers it there"
        ) from unknown
    error = _failure(compiler, module, inputs)
    if error is None:
        raise UserError(f"{path} does not fail: backend {name!r} compiles its graph and runs it")
    wanted = kind_of(error)

    def fails(graph: Any, values: Any) -> bool:
        found = _failure(compiler, graph, list(values))
        return found is not None and kind_of(found) == wanted

    graph, kept = minifier.minified(copy.deepcopy(module), inputs, fails)
    kept = _smaller(graph, kept, fails)
    text = repro.graph_script(graph, kept, name, compiler, error)
    return Minified(text, error, _operations(module), _operations(graph), "operations")


def _failure(compiler: Any, module: Any, inputs: list[Any]) -> Exception | None:
    """What compiling the graph and running it raises."""
    torch.manual_seed(0)
    try:
        compiler(copy.deepcopy(module), inputs)(*inputs)
    except Exception as error:
        return error
    return None


def _smaller(module: Any, inputs: list[Any], fails: Callable[[Any, Any], bool]) -> list[Any]:
    """The inputs with each size, wherever it is, replaced by the smallest that still fails."""
    sizes = {s for v in inputs if isinstance(v, torch.Tensor) for s in v.shape if s > 1}
    for size in sorted(sizes, reverse=True):
        for less in (one for one in (1, 2, 3, size // 2) if 0 < one < size):
            tried = [_resized(value, size, less) for value in inputs]
            if fails(module, tried):
                inputs = tried
                break
    return inputs


def _resized(value: Any, size: int, less: int) -> Any:
    if not isinstance(value, torch.Tensor) or size not in value.shape:
        return value
    kept = tuple(slice(0, less) if s == size else slice(None) for s in value.shape)
    made = value.detach()[kept].contiguous()
    return made.requires_grad_(value.requires_grad)


def _operations(module: torch.fx.GraphModule) -> int:
    return sum(1 for _ in _calls(module))


def _calls(module: torch.fx.GraphModule) -> Iterator[Any]:
    return (node for node in module.graph.nodes if node.op.startswith("call_"))
