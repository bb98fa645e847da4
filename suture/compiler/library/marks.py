"""Callables a rule names: marks for the compiler, modes, tensors made from numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from suture import rules
from suture.breaks import Break, calls
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.language.attributes import has_attr
from suture.compiler.language.iteration import elements_of
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Symbol, Tensor
from suture.torch_private import operators


@handles("graph_break")
def _graph_break(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    given = args[0] if args else kwargs.get("msg", Constant(""))
    if _is_of_optimizers(trace) and _is_needless(trace):
        return Constant(None)
    raise Break(calls.GRAPH_BREAK_CALL, reason=_reason(trace, given))


def _is_of_optimizers(trace: Trace) -> bool:
    """Whether torch's optimizers ask for the break, around a step. They do so for compilers that
    take the step for part of a graph with a derivative to come."""
    return bool(trace.frames[-1].fn.globals.get("__name__") == "torch.optim.optimizer")


def _is_needless(trace: Trace) -> bool:
    """Whether the step may be part of the graph. One that has run backward() itself has no
    derivative to come, and they say that it needs no break. Of any other graph it is known when it
    is done: if it has one, the region is traced again, and breaks here."""
    derivatives, frame = trace.graph.derivatives, trace.frames[-1]
    position = (frame.code.code, frame.ip)
    if position in trace.region.plan.by_python:
        return False
    if not derivatives.losses and _has_work(trace):
        derivatives.steps.append(position)
    return True


def _has_work(trace: Trace) -> bool:
    """Whether the graph has something that autograd follows, or writes: in front of that a break
    would change nothing."""
    made = (node.meta.get("example_value") for node in trace.graph.graph.nodes)
    followed = any(value.requires_grad for value in made if isinstance(value, torch.Tensor))
    return followed or trace.graph.writes()


@handles("skip_frame")
def _skip_frame(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    given = args[0] if args else kwargs.get("msg", Constant(""))
    raise Break(
        calls.SKIP_FRAME,
        function=trace.frames[-1].code.code.co_qualname,
        reason=_reason(trace, given),
    )


def _reason(trace: Trace, given: Value) -> str:
    """What the program says about a break that it asks for."""
    return str(abstract.constant_value(trace, given)) or "no reason is given"


@handles("initialise_lazy_module")
def _initialise_lazy_module(
    trace: Trace, target: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A lazy module sees its first input; all later calls find another module."""
    trace.region.initializes = True
    verdict = rules.lookup(target)
    raise Break(
        calls.PYTHON_FUNCTION_RUN,
        module=target.__module__,
        qualname=target.__qualname__,
        reason=verdict.reason,
    )


@handles("is_compiling")
def _is_compiling(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    return Constant(not _asks_for_nested(trace))


def _asks_for_nested(trace: Trace) -> bool:
    """Whether TransformerEncoder calls, which takes another way if nobody compiles: with nested
    tensors, at whose padded places zeros come out. It does so only without gradients; a whole
    graph cannot go that way."""
    frame = trace.frames[-1]
    if frame.code.code is not torch.nn.TransformerEncoder.forward.__code__ or trace.region.whole:
        return False
    encoder = abstract.realize_local(trace, frame.locals[0])
    layer = getattr(getattr(encoder, "value", None), "layers", [None])[0]
    if not torch.is_grad_enabled() or layer is None:
        return True
    src = abstract.realize_local(trace, frame.locals[1])
    given = [*layer.parameters(), getattr(src, "value", None)]
    return not any(getattr(t, "requires_grad", False) for t in given)


@handles("is_exporting", "is_other_tracing")
def _false(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    return Constant(False)


@handles("no_tracing_state")
def _none(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    return Constant(None)


@handles("is_tensor")
def _is_tensor(trace: Trace, target: Any, args: Any, kwargs: dict[str, Value]) -> Value:
    if target.__name__ == "is_tensor_like" and not isinstance(args[0], Tensor):
        return Constant(hasattr(args[0].python_type(), "__torch_function__"))
    return Constant(isinstance(args[0], Tensor))


@handles("is_tensor_like")
def _is_tensor_like(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    (of,) = args
    return Constant(isinstance(of, Tensor) or has_attr(trace, of, "__torch_function__"))


@handles("is_storage")
def _is_storage(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    return Constant(False)


@handles("numel")
def _numel(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    return abstract.tensor_method(trace, args[0], "numel", [], {})


@handles("size")
def _size(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    from suture.compiler.objects import Size

    return Size(elements_of(trace, args[0]) if args else [])


@handles("check")
def _check(trace: Trace, target: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    at = 1 if target.__name__.endswith("_with") else 0  # behind the type of the error
    cond = args[at] if len(args) > at else kwargs.get("cond", kwargs.get("condition"))
    if isinstance(cond, Tensor):
        return abstract.call_torch(trace, operators.check_tensor_all if at else target, [cond], {})
    if isinstance(cond, (Constant, Symbol)) and _expect_true(trace, target, [cond], {}).constant():
        return Constant(None)
    return abstract.inline(trace, abstract.wrap(trace, target, None), args, kwargs)  # which raises


@handles("expect_true")
def _expect_true(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """Whether a condition holds; one on data is checked when the graph runs."""
    (cond,) = args
    try:
        return Constant(abstract.truth(trace, cond))
    except Break:
        if not isinstance(cond, Symbol):
            raise
    abstract.call_torch(trace, operators.check, [cond], {})
    return Constant(True)


@handles("annotate")
def _annotate(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    return args[1]


@handles("mark_tensor")
def _mark_tensor(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    return Constant(None)
