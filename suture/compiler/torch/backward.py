"""`loss.backward()` inside of a region: part of the graph, where the engine stays among what the
region computed and the leaves that it reads.

The gradients are a node of torch.autograd.grad, and what the engine does with them at a leaf
follows: into a `.grad` that is there they are added in place; where there is none the leaf gets one
with memory of its own, laid out as the leaf is. Hooks of leaves run where the engine runs them
(`leaf_hooks.py`). Who else would see the engine run is guarded not to be there: process groups,
whose reducers wait for gradients unseen.
"""

from __future__ import annotations

import inspect
from collections import Counter
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from suture.breaks import Break, tensors
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.graph import OpFailed
from suture.compiler.graph.derivatives import Retained, saving
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Tensor
from suture.compiler.objects import tensor as tensor_values
from suture.compiler.torch import leaf_hooks
from suture.compiler.torch.derivatives import guard_reached, is_plain
from suture.compiler.torch.hooks import keep_hook
from suture.compiler.torch.tensor_methods import keep_attribute
from suture.compiler.torch.traced_hook import set_hook_
from suture.runtime.engine_warnings import warn_of_cycles
from suture.runtime.sources import pinned
from suture.torch_private import autograd_parts, tensor_parts

_METHOD = inspect.signature(torch.Tensor.backward)
_FUNCTION = inspect.signature(torch.autograd.backward)


@dataclass(frozen=True)
class _Call:
    """A call of backward(): the losses, what to start from, whether the graph is kept and whether
    gradients get one of their own, and the leaves that get gradients (None: all that are come
    to). `position` is that of the call."""

    losses: list[Tensor]
    starts: list[Tensor | None]
    keeps: bool
    creates: bool
    wanted: list[Tensor] | None
    position: Any


@handles("Tensor.backward")
def _backward(trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
    refused = Break(tensors.BACKWARD_CALL, call=f"{tensor.describe()}.backward()")
    options = _options(trace, _METHOD, [tensor, *args], kwargs, refused)
    return _differentiate(trace, options, [tensor], [options["gradient"]], refused)


@handles("autograd_backward")
def _backward_of_several(
    trace: Trace, target: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    refused = Break(tensors.BACKWARD_CALL, call="torch.autograd.backward()")
    options = _options(trace, _FUNCTION, args, kwargs, refused)
    losses = _listed(trace, options["tensors"])
    starts = _listed(trace, options["grad_tensors"])
    if not losses or _known(options["grad_variables"]) is not None:
        raise refused
    if starts is not None and len(starts) != len(losses):
        raise refused
    return _differentiate(trace, options, losses, starts or [None] * len(losses), refused)


def _options(
    trace: Trace, signature: inspect.Signature, args: list[Value], kwargs: Any, refused: Break
) -> dict[str, Any]:
    """The arguments of a call by name, where nothing but the call itself says what is done."""
    if _position(trace) in trace.region.plan.by_python or _is_watched(trace):
        raise refused
    try:
        given = signature.bind(*args, **kwargs)
    except TypeError:
        raise refused from None
    given.apply_defaults()
    return given.arguments


def _position(trace: Trace) -> Any:
    frame = trace.frames[-1]
    return frame.code.code, frame.ip


def _listed(trace: Trace, value: Any) -> list[Any] | None:
    """One tensor, or several, as a list; None for none."""
    if _known(value) is None:
        return None
    return [value] if isinstance(value, Tensor) else list(abstract.unpack(trace, value))


def _differentiate(
    trace: Trace, options: dict[str, Any], losses: list[Any], starts: list[Any], refused: Break
) -> Value:
    keeps, creates = _known(options["retain_graph"]), _known(options["create_graph"])
    if creates not in (False, True) or keeps not in (None, False, True):
        raise refused
    if creates and (keeps is False or not torch.is_grad_enabled()):
        raise refused
    starts = [None if _known(start) is None else start for start in starts]
    for loss, start in zip(losses, starts):
        if not is_plain(loss) or loss.value.grad_fn is None:
            raise refused
        if start is None and loss.value.numel() != 1:
            raise refused  # Python says what is wrong
        if start is not None and not _is_gradient_of(start, loss):
            raise refused
    wanted = _listed(trace, options["inputs"])
    if wanted is not None and not (wanted and all(_is_leaf(one) for one in wanted)):
        raise refused
    kept = bool(keeps or creates)
    _run(trace, _Call(losses, starts, kept, creates, wanted, _position(trace)), refused)
    return Constant(None)


def _is_leaf(value: Any) -> bool:
    return is_plain(value) and value.value.is_leaf and value.value.requires_grad


def _is_watched(trace: Trace) -> bool:
    """Whether more than tensors decides what the engine does, or sees it run."""
    if trace.modes.function_modes or len(trace.graph.levels.stack) > 1 or trace.modes.transforms:
        return True
    if trace.bodies:  # which leaves get a gradient is known when it runs
        return True
    groups = autograd_parts.process_groups
    return bool(groups and getattr(groups, autograd_parts.DEFAULT_GROUP, None) is not None)


def _known(value: Any) -> Any:
    """A default, or a constant of the program; else a value that is none of those asked for."""
    if not isinstance(value, Value):
        return value
    return value.constant() if value.is_constant() else value


def _is_gradient_of(start: Any, tensor: Tensor) -> bool:
    if not isinstance(start, Tensor) or not is_plain(start) or start.value.requires_grad:
        return False
    same = tuple(start.value.shape) == tuple(tensor.value.shape)
    return same and start.value.dtype == tensor.value.dtype


def _run(trace: Trace, call: _Call, refused: Break) -> None:
    derivatives = trace.graph.derivatives
    with trace.graph.fake:
        found = derivatives.reach_leaves([loss.value for loss in call.losses])
    reached = [fake for fake in found.leaves if _is_wanted(fake, call.wanted)]
    leaves = [_leaf(trace, fake) for fake in reached]
    if found.outside or not leaves or any(leaf is None for leaf in leaves):
        raise refused
    before = [leaf.getattr(trace, "grad") for leaf in leaves]
    if not all(_takes(leaf, grad, call.creates) for leaf, grad in zip(leaves, before)):
        raise refused
    if call.wanted is not None:
        with trace.graph.fake:  # the engine runs what leads there, and frees no more
            some = derivatives.reach([loss.value for loss in call.losses], reached)
        found.run = some.run
    freed = [] if call.keeps else saving(found.run)
    hooked = any(leaf_hooks.has_hooks(leaf) for leaf in leaves)
    if hooked and (call.creates or leaf_hooks.shows_leaf(trace, leaves)):
        raise refused
    with trace.graph.fake:
        kept = derivatives.retained_in(found)
    if kept and (hooked or call.creates or call.wanted is not None or _sets_hooks(trace)):
        raise refused
    inputs = [*leaves, *(one.tensor for one in kept)]
    with leaf_hooks.order_of_engine(leaves if hooked else []) as order:
        node, made = _gradients(trace, call, inputs, hooked, refused)
    if not all(_fits(leaf, value) for leaf, value in zip(inputs, made)):
        raise refused
    if any(value is None for value in made[len(leaves) :]):
        raise refused
    if hooked and sorted(order) != list(range(len(leaves))):
        raise refused  # a leaf without a gradient: whether hooks see that, only the engine knows
    _guard(trace, found, leaves)
    derivatives.note_freed(freed, call.position)
    for loss in call.losses:
        derivatives.losses[id(loss.value)] = (loss.value, call.position)
    if call.creates:
        trace.effects.call(warn_of_cycles, [], {})
    for number, one in enumerate(kept, len(leaves)):
        _retain(trace, one, trace.graph.getitem(node, number, made[number]), made[number])
    uses = _uses_of_storages(trace)
    for number in order if hooked else range(len(leaves)):
        leaf, value = leaves[number], made[number]
        if value is not None:
            new = abstract.from_value(trace, trace.graph.getitem(node, number, value), value)
            if call.creates:
                _accumulate_with_history(trace, leaf, before[number], new)
            elif hooked:
                assert isinstance(new, Tensor)
                _accumulate_with_hooks(trace, leaf, new, uses, refused)
            else:
                shared = uses[tensor_parts.storage_key(value)] > 1
                _accumulate(trace, leaf, before[number], new, shared)


def _is_wanted(fake: torch.Tensor, wanted: list[Tensor] | None) -> bool:
    return wanted is None or any(one.value is fake for one in wanted)


def _gradients(
    trace: Trace, call: _Call, leaves: list[Any], hooked: bool, refused: Break
) -> tuple[Any, Any]:
    """The node that computes the gradients of the leaves, and what it gives. Where they have hooks
    it does not call them."""
    nodes = tuple(abstract.proxy(trace, leaf) for leaf in leaves)
    losses = tuple(abstract.proxy(trace, loss) for loss in call.losses)
    starts = None
    if any(start is not None for start in call.starts):
        starts = tuple(abstract.proxy(trace, s) if s is not None else None for s in call.starts)
    options = {"retain_graph": call.keeps, "allow_unused": True}
    if call.creates:
        options["create_graph"] = True
    try:
        if hooked:
            past = autograd_parts.gradients_past_hooks
            given = (losses, nodes, starts, call.keeps)
            return trace.graph.call("call_function", past, given, {})
        return trace.graph.call(
            "call_function", torch.autograd.grad, (losses, nodes, starts), options
        )
    except OpFailed:
        raise refused from None


def _leaf(trace: Trace, fake: torch.Tensor) -> Any:
    """The value of a leaf that the region reads, or has made; None for one that gets a hook in the
    region. Those made here have none: to set one is left to Python."""
    made = trace.graph.derivatives.made.get(id(fake))
    if made is not None:
        return made if made.value is fake and _is_dense(fake) else None
    for entry in trace.graph.inputs:
        if entry.node.meta["val"] is not fake:
            continue
        known = trace.outside.known.get(id(entry.example))
        plain = not entry.made and entry.convert is None and entry.source is not None
        if not plain or known is None or type(known[1]) is not Tensor:
            return None
        if _gets_hook(trace, known[1]):
            return None
        return known[1] if known[1].value is fake and _is_dense(fake) else None
    return None


def _gets_hook(trace: Trace, leaf: Tensor) -> bool:
    """Whether the region has set a hook on a leaf: that is done when it ends."""
    return any(fn is keep_hook and args[0].leaf is leaf for fn, args, _ in trace.effects.calls)


def _is_dense(tensor: torch.Tensor) -> bool:
    """Whether the numbers of a tensor lie side by side: in whatever order where sizes are known,
    else row by row, whatever the sizes are."""
    order = list(zip(tensor.stride(), tensor.shape))
    if all(type(n) is int for pair in order for n in pair):
        order.sort()
    else:
        order.reverse()
    expected: Any = 1
    for stride, size in order:
        if not (_is_one(size) or statically_known_true(stride == expected)):
            return False
        expected = expected * size
    return True


def _is_one(size: Any) -> bool:
    return statically_known_true(size == 1)


def _takes(leaf: Tensor, grad: Any, creates: bool) -> bool:
    """Whether what is in `.grad` is nothing, or a plain tensor that can be added to: in place, if
    the sum gets no history."""
    if grad.is_constant():
        return grad.constant() is None
    plain = isinstance(grad, Tensor) and is_plain(grad)
    plain = plain and (creates or not grad.value.requires_grad)
    return bool(plain and grad.value.dtype == leaf.value.dtype)


def _fits(leaf: Tensor, value: Any) -> bool:
    """Whether a gradient is one that a graph can put into `.grad`, or none."""
    if value is None:
        return True
    return bool(value.layout is torch.strided and value.dtype == leaf.value.dtype)


def _guard(trace: Trace, found: Any, leaves: list[Any]) -> None:
    guard_reached(trace, found, [])
    for leaf in leaves:
        leaf_hooks.guard_none(trace, leaf)
    groups = autograd_parts.process_groups
    if groups:
        source = pinned(groups, "torch.distributed's groups").attr(autograd_parts.DEFAULT_GROUP)
        trace.guards.add(source, "is", None)


def _accumulate(trace: Trace, leaf: Tensor, grad: Any, new: Any, shared: bool) -> None:
    """What the engine does with the gradient of a leaf. `shared`: other tensors show its memory."""
    if isinstance(grad, Tensor):
        abstract.add_node(trace, "call_method", "add_", [grad, new], {})
        return
    if shared or not _is_laid_out(leaf.value, new.value):
        own = abstract.call_torch(trace, torch.empty_like, [leaf], {})
        new = abstract.add_node(trace, "call_method", "copy_", [own, new], {})
    tensor_values.tensor_set_attribute(trace, leaf, "grad", new)


def _accumulate_with_hooks(
    trace: Trace, leaf: Tensor, new: Tensor, uses: Counter[int], refused: Break
) -> None:
    """The same with the hooks of the leaf around it. What was in `.grad` is read now: a hook of
    another leaf may have changed it. A hook may keep the gradient it was given, or gives; the
    engine puts a copy into `.grad` then."""
    given = leaf_hooks.run_before(trace, leaf, new, refused)
    if not (isinstance(given, Tensor) and is_plain(given) and _fits(leaf, given.value)):
        raise refused
    if tuple(given.value.shape) != tuple(leaf.value.shape) or given.value.requires_grad:
        raise refused
    grad = abstract.finish(trace, leaf.getattr(trace, "grad"))
    if not _takes(leaf, grad, False):
        raise refused
    shared = leaf_hooks.runs_before(leaf) or uses[tensor_parts.storage_key(new.value)] > 1
    _accumulate(trace, leaf, grad, given, shared)
    leaf_hooks.run_after(trace, leaf, refused)


def _accumulate_with_history(trace: Trace, leaf: Tensor, grad: Any, new: Any) -> None:
    """The same where gradients can be differentiated: a sum, or a copy, that is a new tensor."""
    if isinstance(grad, Tensor):
        made = abstract.call_torch(trace, torch.add, [grad, new], {})
    else:
        own = abstract.call_torch(trace, torch.empty_like, [leaf], {})
        made = abstract.add_node(trace, "call_method", "copy_", [own, new], {})
    keep_attribute(trace, leaf, "grad", made)


def _sets_hooks(trace: Trace) -> bool:
    """Whether the graph has hooks on what it computes. torch.autograd.grad gives the gradient of
    such a tensor before they have seen it, if it is asked for others too."""
    return any(node.target is set_hook_ for node in trace.graph.graph.nodes)


def _retain(trace: Trace, one: Retained, node: Any, value: Any) -> None:
    """What the engine does at a tensor whose gradient is kept: a copy, or a sum, that is new."""
    new = abstract.from_value(trace, node, value)
    before = one.tensor.attrs["grad"]
    if isinstance(before, Tensor):
        made = abstract.call_torch(trace, torch.add, [before, new], {})
    else:
        layout: dict[str, Value] = {"memory_format": Constant(torch.contiguous_format)}
        made = abstract.call_torch(trace, torch.clone, [new], layout)
    one.tensor.attrs["grad"] = made
    one.passed = True


def _is_laid_out(leaf: torch.Tensor, grad: torch.Tensor) -> bool:
    """Whether the numbers of a gradient lie as those of its leaf do."""
    strides = zip(grad.stride(), leaf.stride(), leaf.shape)
    return all(
        statically_known_true(mine == theirs) for mine, theirs, size in strides if not _is_one(size)
    )


def _uses_of_storages(trace: Trace) -> Counter[int]:
    """How many tensors of the graph show each memory."""
    found: dict[int, torch.Tensor] = {}
    for node in trace.graph.graph.nodes:
        value = node.meta.get("example_value")
        for one in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(one, torch.Tensor) and one.layout is torch.strided:
                found[id(one)] = one
    return Counter(tensor_parts.storage_key(one) for one in found.values())
