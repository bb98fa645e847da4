"""torch.inference_mode: switched by nodes of the graph, like grad mode.

A block that the program is in when a region ends gets an object of our own to leave it by.
"""

from __future__ import annotations

import functools

import torch

from suture.breaks import Break, contexts
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.language.attribute_writes import set_attr
from suture.compiler.language.classes import instance_of
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Object
from suture.inference_mode import set_inference, switch
from suture.torch_private import thread_state

_SET_GRAD = thread_state.set_grad_enabled
# AOTAutograd of older versions does not know tensors that it meets first in inference mode.
_IN_GRAPHS = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 13)


class InferenceBlock:
    """What a torch.inference_mode that was entered in a region leaves its block by: the modes that
    held before it."""

    inference: bool
    grad: bool

    def __exit__(self, *exc: Value) -> None:
        switch(self.inference, self.grad)


def switch_inference(trace: Trace, inference: bool, grad: bool) -> None:
    before = torch.is_inference_mode_enabled(), torch.is_grad_enabled()
    pairs = (set_inference, inference, before[0]), (_SET_GRAD, grad, before[1])
    for setter, wanted, was in pairs:
        trace.graph.node("call_function", setter, (wanted,), {}, None)
        trace.graph.resets.setdefault((setter, ()), (was,))
        trace.modes.changed.append((setter, (wanted,)))
    trace.effects.note_change()
    trace.modes.restores.append(functools.partial(switch, *before))
    switch(inference, grad)


@handles(torch.inference_mode.__enter__)
def _enter(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if not _IN_GRAPHS:
        raise Break(contexts.MODE_UNSUPPORTED, mode="torch.inference_mode")
    manager = args[0]
    wanted = abstract.truth(trace, abstract.getattr(trace, manager, "mode"))
    block = abstract.finish(trace, instance_of(trace, InferenceBlock, [], {}))
    set_attr(trace, block, "inference", Constant(torch.is_inference_mode_enabled()))
    set_attr(trace, block, "grad", Constant(torch.is_grad_enabled()))
    set_attr(trace, manager, "_inference_mode_context", block)
    switch_inference(trace, wanted, not wanted)
    return Constant(None)


@handles(torch.inference_mode.__exit__)
def _exit(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    block = abstract.getattr(trace, args[0], "_inference_mode_context")
    if not isinstance(block, Object) or block.cls is not InferenceBlock:
        raise Break(contexts.MODE_UNSUPPORTED, mode="torch.inference_mode")  # Python entered it
    before = [
        abstract.truth(trace, abstract.getattr(trace, block, name))
        for name in ("inference", "grad")
    ]
    switch_inference(trace, *before)
    return Constant(None)
