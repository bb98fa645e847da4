"""`suture minify`: a script of a graph that fails, made smaller while it fails in the same way.

The scripts are those of `config.repro_dir`. First torch's minifier takes operations away, then the
sizes of the inputs shrink. A step is kept if the backend, or what it compiled, raises an error of
the same class with the same words, numbers aside.
"""

from __future__ import annotations

import copy
import re
import runpy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.fx

from suture import backends, repro
from suture.errors import UserError
from suture.torch_private import minifier


@dataclass(frozen=True)
class Minified:
    """What was found: the script's text, the error, and operations before and after."""

    script: str
    error: BaseException
    before: int
    after: int


def minify(path: Path) -> Minified:
    """Reduce the graph of a script; UserError if it has none or does not fail."""
    module, inputs, name = _load(path)
    compiler = backends.lookup(name)
    error = _failure(compiler, module, inputs)
    if error is None:
        raise UserError(f"{path} does not fail: backend {name!r} compiles its graph and runs it")
    wanted = _kind(error)

    def fails(graph: Any, values: Any) -> bool:
        found = _failure(compiler, graph, list(values))
        return found is not None and _kind(found) == wanted

    graph, kept = minifier.minified(copy.deepcopy(module), inputs, fails)
    kept = _smaller(graph, kept, fails)
    text = repro.graph_script(graph, kept, name, error)
    return Minified(text, error, _operations(module), _operations(graph))


def _load(path: Path) -> tuple[torch.fx.GraphModule, list[Any], str]:
    names = runpy.run_path(str(path), run_name="suture_repro")
    if not {"Region", "inputs", "BACKEND"} <= names.keys():
        raise UserError(
            f"{path} has no graph to reduce: suture minify takes the graph_*.py that"
            " suture.config.repro_dir collects"
        )
    return torch.fx.symbolic_trace(names["Region"]()), names["inputs"](), names["BACKEND"]


def _failure(compiler: Any, module: Any, inputs: list[Any]) -> Exception | None:
    """What compiling the graph and running it raises."""
    torch.manual_seed(0)
    try:
        compiler(copy.deepcopy(module), inputs)(*inputs)
    except Exception as error:
        return error
    return None


def _kind(error: BaseException) -> tuple[type, str]:
    """What two errors have in common if they have one cause: numbers and names may differ."""
    first = str(error).strip().splitlines()[:1]
    return type(error), re.sub(r"\d+", "0", first[0]) if first else ""


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
