"""Graphs below DistributedDataParallel, compiled in parts.

DDP reduces the gradients of a bucket of parameters as soon as autograd has all of them. The
backward of one compiled graph gives all gradients at once, at its end: nothing would overlap.
torch's own DDPOptimizer cuts a graph where buckets end, counted from the last operation on; each
part has a backward of its own. The parts are called by one function without a module around each.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from suture.torch_private import compilers, distributed_parts


def bucketed(backend: Callable[..., Any], compile_id: Any) -> Callable[..., Any] | None:
    """A backend that compiles each part on its own, while DDP runs a forward whose gradients it
    will reduce; None: the graph is compiled whole."""
    cap = distributed_parts.bucket_bytes()
    if cap is None or not torch.is_grad_enabled():
        return None

    def compile_parts(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        compilers.mark_static_inputs(gm, (), compile_id, keep=True)
        made = distributed_parts.ddp_optimizer(cap, backend)
        compiled: Callable[..., Any] = made.compile_fn(gm, list(inputs))
        return _chained(compiled) if isinstance(compiled, torch.fx.GraphModule) else compiled

    return compile_parts


def _chained(split: torch.fx.GraphModule) -> Callable[..., Any]:
    """One function that calls the compiled parts in turn. A graph with anything else in it than
    parts and what they hand on comes back as it is."""
    lines, given = [], []
    scope: dict[str, Any] = {}
    for node in split.graph.nodes:
        if node.op == "placeholder":
            given.append(node.name)
        elif node.op == "call_module" and not node.kwargs:
            part = split.get_submodule(node.target)
            scope[f"part_{node.name}"] = part.submod
            taken = ", ".join(map(_spell, node.args))
            one = "[0]" if part.unwrap_singleton_tuple else ""
            lines.append(f"{node.name} = part_{node.name}({taken}){one}")
        elif node.op == "call_function" and node.target is operator.getitem:
            lines.append(f"{node.name} = {_spell(node.args[0])}[{_spell(node.args[1])}]")
        elif node.op == "output":
            lines.append(f"return {_spell(node.args[0])}")
        else:
            return split
    body = "\n".join(f"    {line}" for line in lines)
    exec(f"def call_parts({', '.join(given)}):\n{body}", scope)
    made: Callable[..., Any] = scope["call_parts"]
    return made


def _spell(arg: Any) -> str:
    """An argument of a node in source form."""
    if isinstance(arg, torch.fx.Node):
        return arg.name
    if isinstance(arg, (tuple, list)):
        inside = ", ".join(map(_spell, arg))
        return f"[{inside}]" if isinstance(arg, list) else f"({inside},)" if arg else "()"
    return repr(arg)
