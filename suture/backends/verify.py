"""config.verify: what a backend made of a graph, compared with the graph run as it is.

For its first calls a compiled graph is run twice, once operation by operation on copies of its
inputs. Results and inputs that were written to are compared; the first difference is reported with
the operation and the user's line it comes from.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from typing import Any

import torch
import torch.fx

from suture.errors import SutureError
from suture.torch_private import autograd_parts

_log = logging.getLogger("suture.verify")
_RELATIVE, _ABSOLUTE = 1e-3, 1e-4
_DERIVATIVES = (torch.autograd.grad, autograd_parts.gradients_past_hooks)
_CALLS = 3  # so many calls of each graph are compared


class Mismatch(SutureError):
    """A compiled graph gave something else than its operations do."""


def verified(
    compiled: Callable[..., Any], module: torch.fx.GraphModule, name: str, strict: bool
) -> Callable[..., Any]:
    """`compiled`, watched for its first calls. A difference is logged, with `strict` raised."""
    left = _CALLS
    derives = any(node.target in _DERIVATIVES for node in module.graph.nodes)

    def call(*args: Any) -> Any:
        nonlocal left
        if left <= 0:
            return compiled(*args)
        left -= 1
        copies = [_copy(a, derives) for a in args]
        state = torch.get_rng_state()
        with torch.set_grad_enabled(derives and torch.is_grad_enabled()):
            wanted = _flat(torch.fx.Interpreter(module).run(*copies))
        torch.set_rng_state(state)
        got = compiled(*args)
        difference = _difference(module, wanted, _flat(got), copies, args)
        if difference is not None:
            text = f"{name}: the backend's graph differs from its operations: {difference}"
            if strict:
                raise Mismatch(text)
            _log.warning("%s", text)
        return got

    return call


def _copy(value: Any, derives: bool) -> Any:
    """A copy of an input. Where the graph `derives`, it has a history as the input has: a leaf is
    copied to a leaf, which may be written to where the input may."""
    if not isinstance(value, torch.Tensor):
        return value
    copy = value.detach().clone(memory_format=torch.preserve_format)
    if not derives or not value.requires_grad:
        return copy
    copy.requires_grad_()
    return copy if value.is_leaf else copy.view_as(copy)


def _flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _difference(
    module: torch.fx.GraphModule, wanted: list[Any], got: list[Any], copies: Any, args: Any
) -> str | None:
    """Where results or written inputs differ, in the user's terms; None if nowhere."""
    output = next(n for n in module.graph.nodes if n.op == "output")
    nodes = _flat(output.args[0])
    if len(wanted) != len(got):
        return f"{len(got)} results instead of {len(wanted)}"
    for node, a, b in zip(nodes, wanted, got):
        text = unlike(a, b)
        if text is not None:
            return f"{text} in {origin_of(node)}"
    names = [n for n in module.graph.nodes if n.op == "placeholder"]
    for node, a, b in zip(names, copies, args):
        text = unlike(a, b)
        if text is not None:
            return f"{text} in what input {node.name} holds afterwards"
    return None


def unlike(a: Any, b: Any) -> str | None:
    """How `b` differs from `a`, which is right; None if it does not."""
    if type(a) is float and type(b) is float:  # read from tensors that are close
        near = math.isclose(a, b, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE) or (a != a and b != b)
        return None if near else f"{b!r} instead of {a!r}"
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return None if a is b or a == b else f"{b!r} instead of {a!r}"
    if a.is_nested and b.is_nested:  # each has lengths of its own, though they are the same
        pieces = zip(a.unbind(), b.unbind())
        return next((found for pair in pieces if (found := unlike(*pair))), None)
    try:
        torch.testing.assert_close(
            b.detach(), a.detach(), equal_nan=True, rtol=_RELATIVE, atol=_ABSOLUTE
        )
    except AssertionError as error:
        return str(error).splitlines()[0].rstrip(".")
    return None


def origin_of(node: Any) -> str:
    """An operation of a graph with the user's line."""
    if not isinstance(node, torch.fx.Node):
        return "a result"
    lines = str(node.meta.get("stack_trace", "")).strip().splitlines()
    line = " ".join(part.strip() for part in lines[-2:])
    return f"{node.name} ({node.target}), {line}" if line else f"{node.name} ({node.target})"
