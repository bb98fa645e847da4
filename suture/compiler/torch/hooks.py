"""Hooks on tensors: functions that the autograd engine calls in the backward pass.

A hook on a tensor that the region computes goes into the graph: it is traced on a gradient that
looks like the tensor, and a node sets what was traced as the hook. That is the same only if the
hook does nothing but compute, of what cannot change until it is called (`lasting_reads`), if nobody
keeps the handle and if the tensor stays inside, unless the graph must be whole. A hook on a leaf
that comes from outside is set when the region ends, whatever it does. The others Python sets.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.hooks import RemovableHandle

from suture.breaks import Break, autograd
from suture.compiler.core import Mutable, Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.models import handles
from suture.compiler.objects import BuiltinMethod, Constant, Tensor
from suture.compiler.objects.made_by_python import MadeByPython
from suture.compiler.objects.methods import method
from suture.compiler.torch import trees
from suture.compiler.torch.bodies import trace_body
from suture.compiler.torch.lasting_reads import reads_what_lasts
from suture.compiler.torch.subclasses import PLAIN
from suture.compiler.torch.traced_hook import set_hook_
from suture.torch_private import thread_state


class Handle(Mutable):
    """The handle of a hook on a leaf, which the variant sets; `position` is the call that does."""

    __slots__ = ("hook", "leaf", "method", "position", "removed")

    def __init__(self, leaf: Tensor, method: str, hook: Any, position: Any) -> None:
        super().__init__(None)
        self.position = position
        self.leaf = leaf
        self.method = method
        self.hook = hook
        self.removed = False

    def python_type(self) -> type:
        return RemovableHandle

    def describe(self) -> str:
        return "the handle of a hook"

    def getattr(self, trace: Trace, name: str) -> Value:
        return BuiltinMethod(self, name) if name == "remove" else super().getattr(trace, name)

    def rebuild(self, emit: Emitter) -> str:
        if not _takes_hooks(self.leaf.value):  # the region has detached it since
            raise MadeByPython(self.position, "a hook on a tensor that is detached later")
        made = f"{emit.value(self.leaf)}.{self.method}({emit.value(self.hook)})"
        name = str(emit.begin(self, made))
        if self.removed:
            emit.line(f"{name}.remove()")
        return name


@method(Handle, "remove")
def handle_remove(self: Handle, trace: Trace) -> Value:
    self.touch(trace)
    self.removed = True
    return Constant(None)


def keep_hook(handle: Any) -> None:
    """Called by variants so that a hook is set whose handle nobody keeps."""


def _on_leaf(trace: Trace, method: str, args: Any, kwargs: Any) -> Handle | None:
    """The handle of a hook on a leaf from outside; None for other tensors."""
    if len(args) != 2 or kwargs or not isinstance(args[0], Tensor) or args[0].source is None:
        return None
    tensor, hook = args
    real = tensor.example
    if real is None or tensor.cls not in PLAIN:
        return None
    position = (trace.frames[-1].code.code, trace.frames[-1].ip)
    if position in trace.region.plan.by_python:
        return None
    if not _takes_hooks(real) or not _takes_hooks(tensor.value):
        return None
    handle = Handle(tensor, method, hook, position)
    trace.effects.call(keep_hook, [handle], {})
    trace.graph.derivatives.hooked.append(tensor.value)
    return handle


def _takes_hooks(tensor: torch.Tensor) -> bool:
    """Whether a tensor is a leaf that gets a gradient."""
    return tensor.is_leaf and tensor.requires_grad


@handles("register_hook")
def _register_hook(trace: Trace, target: Any, args: Any, kwargs: Any) -> Value:
    tensor = args[0]
    refused = Break(autograd.TENSOR_HOOK, tensor=tensor.describe(), method=target.__name__)
    handle = _on_leaf(trace, target.__name__, args, kwargs)
    if handle is not None:
        return handle
    plain = target is torch.Tensor.register_hook and len(args) == 2 and not kwargs
    if not plain or not isinstance(tensor, Tensor) or tensor.source is not None:
        raise refused
    value = tensor.value
    if not value.requires_grad or value.is_leaf or not _handle_is_dropped(trace):
        raise refused
    position = (trace.frames[-1].code.code, trace.frames[-1].ip)
    if position in trace.region.plan.by_python or not reads_what_lasts(trace, args[1]):
        raise refused
    with torch.no_grad(), trace.graph.fake:
        grad = torch.empty_like(value)
    before = torch.is_grad_enabled()
    try:
        thread_state.set_grad_enabled(False)
        body = trace_body(trace, "register_hook", args[1], (trees.Leaf(0),), [tensor], [grad])
    except Break:
        raise refused from None
    finally:
        thread_state.set_grad_enabled(before)
    if len(body.values) > 1 or not _fits(body, value):
        raise refused
    held = trace.graph.held_module(body.module, "hook")
    nodes = torch.fx.map_arg((tensor.node, held, *body.lifted), trace.graph.levels.lift)
    trace.graph.node("call_function", set_hook_, nodes, {}, None)
    if not trace.region.whole:
        trace.graph.derivatives.note_hook(value, position)
    return Constant(None)


def _fits(body: Any, value: torch.Tensor) -> bool:
    """Whether a hook gives a gradient of its tensor, or None."""
    if not body.values:
        return isinstance(body.result, trees.NotInGraph) and body.result.variable.is_constant()
    made = body.values[0]
    plain = isinstance(body.result, trees.Leaf) and isinstance(made, torch.Tensor)
    return plain and made.shape == value.shape and made.dtype == value.dtype


def _handle_is_dropped(trace: Trace) -> bool:
    """Whether the program throws the handle away at once."""
    frame = trace.frames[-1]
    following = frame.code.instructions[frame.ip + 1 : frame.ip + 2]
    return bool(following) and following[0].op == "POP_TOP"
