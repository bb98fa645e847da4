"""torch.inference_mode: switched by nodes of the graph, like grad mode.

A block that the program is in when a region ends gets an object of our own to leave it by.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from suture.breaks import Break, contexts
from suture.calls.part import Part
from suture.calls.table import handles
from suture.inference_mode import set_inference, switch
from suture.torch_private import thread_state
from suture.variables import Constant, Object

_SET_GRAD = thread_state.set_grad_enabled
# AOTAutograd of older versions does not know tensors that it meets first in inference mode.
_IN_GRAPHS = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 13)


class InferenceBlock:
    """What a torch.inference_mode that was entered in a region leaves its block by: the modes that
    held before it."""

    inference: bool
    grad: bool

    def __exit__(self, *exc: Any) -> None:
        switch(self.inference, self.grad)


class Inference(Part):
    """The part of the tracer that switches inference mode."""

    def set_inference(self, inference: bool, grad: bool) -> None:
        before = torch.is_inference_mode_enabled(), torch.is_grad_enabled()
        pairs = (set_inference, inference, before[0]), (_SET_GRAD, grad, before[1])
        for setter, wanted, was in pairs:
            self.graph.node("call_function", setter, (wanted,), {}, None)
            self.graph.resets.setdefault((setter, ()), (was,))
            self.modes.append((setter, (wanted,)))
        self.effects.note_change()
        self.restores.append(functools.partial(switch, *before))
        switch(inference, grad)


@handles(torch.inference_mode.__enter__)
def _enter(tx: Any, args: Any, kwargs: Any) -> Any:
    if not _IN_GRAPHS:
        raise Break(contexts.MODE_UNSUPPORTED, mode="torch.inference_mode")
    manager = args[0]
    wanted = tx.truth(tx.getattr(manager, "mode"))
    block = tx.finish(tx.make_instance(tx.wrap(InferenceBlock, None), [], {}))
    tx.setattr(block, "inference", Constant(torch.is_inference_mode_enabled()))
    tx.setattr(block, "grad", Constant(torch.is_grad_enabled()))
    tx.setattr(manager, "_inference_mode_context", block)
    tx.set_inference(wanted, not wanted)
    return Constant(None)


@handles(torch.inference_mode.__exit__)
def _exit(tx: Any, args: Any, kwargs: Any) -> Any:
    block = tx.getattr(args[0], "_inference_mode_context")
    if not isinstance(block, Object) or block.cls is not InferenceBlock:
        raise Break(contexts.MODE_UNSUPPORTED, mode="torch.inference_mode")  # Python entered it
    before = [tx.truth(tx.getattr(block, name)) for name in ("inference", "grad")]
    tx.set_inference(*before)
    return Constant(None)
