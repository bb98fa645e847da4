"""Callables a rule names: marks for the compiler, modes, tensors made from numbers."""

from __future__ import annotations

from typing import Any

import torch

from suture import rules
from suture.breaks import Break, calls
from suture.calls.table import special
from suture.torch_private import operators
from suture.variables import Constant, Symbol, Tensor


@special("graph_break")
def _graph_break(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    given = args[0] if args else kwargs.get("msg", Constant(""))
    raise Break(calls.GRAPH_BREAK_CALL, reason=str(tx.constant_value(given)))


@special("skip_frame")
def _skip_frame(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    given = args[0] if args else kwargs.get("msg", Constant(""))
    raise Break(
        calls.SKIP_FRAME,
        function=tx.frames[-1].code.code.co_qualname,
        reason=str(tx.constant_value(given)),
    )


@special("become_module")
def _become_module(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    """A lazy module sees its first input; all later calls find another module."""
    tx.initializes = True
    verdict = rules.lookup(target)
    raise Break(
        calls.PYTHON_FUNCTION_RUN,
        module=target.__module__,
        qualname=target.__qualname__,
        reason=verdict.reason,
    )


@special("is_compiling")
def _is_compiling(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    return Constant(not _asks_for_nested(tx))


def _asks_for_nested(tx: Any) -> bool:
    """Whether TransformerEncoder asks, which takes another way if nobody compiles: with nested
    tensors, at whose padded places zeros come out. It does so only without gradients; a whole
    graph cannot go that way."""
    frame = tx.frames[-1]
    if frame.code.code is not torch.nn.TransformerEncoder.forward.__code__ or tx.whole:
        return False
    encoder = tx.realize(frame.locals[0])
    layer = getattr(getattr(encoder, "value", None), "layers", [None])[0]
    if not torch.is_grad_enabled() or layer is None:
        return True
    src = tx.realize(frame.locals[1])
    given = [*layer.parameters(), getattr(src, "value", None)]
    return not any(getattr(t, "requires_grad", False) for t in given)


@special("is_exporting", "is_other_tracing")
def _false(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    return Constant(False)


@special("no_tracing_state", "foreign_setting")
def _none(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    return Constant(None)


@special("is_tensor")
def _is_tensor(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    if target.__name__ == "is_tensor_like" and not isinstance(args[0], Tensor):
        return Constant(hasattr(args[0].python_type(), "__torch_function__"))
    return Constant(isinstance(args[0], Tensor))


@special("is_tensor_like")
def _is_tensor_like(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    (of,) = args
    return Constant(isinstance(of, Tensor) or tx.hasattr(of, "__torch_function__"))


@special("is_storage")
def _is_storage(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    return Constant(False)


@special("numel")
def _numel(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    return tx.tensor_method(args[0], "numel", [], {})


@special("size")
def _size(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    from suture.variables import Size

    return Size(tx.elements(args[0]) if args else [])


@special("check")
def _check(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    at = 1 if target.__name__.endswith("_with") else 0  # behind the type of the error
    cond = args[at] if len(args) > at else kwargs.get("cond", kwargs.get("condition"))
    if isinstance(cond, Tensor):
        return tx.call_torch(operators.check_tensor_all if at else target, [cond], {})
    if isinstance(cond, (Constant, Symbol)) and _expect_true(tx, target, [cond], {}).constant():
        return Constant(None)
    return tx.inline(tx.wrap(target, None), args, kwargs)  # which raises


@special("expect_true")
def _expect_true(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    """Whether a condition holds; one on data is checked when the graph runs."""
    (cond,) = args
    try:
        return Constant(tx.truth(cond))
    except Break:
        if not isinstance(cond, Symbol):
            raise
    tx.call_torch(operators.check, [cond], {})
    return Constant(True)


@special("annotate")
def _annotate(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    return args[1]


@special("mark_tensor")
def _mark_tensor(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    return Constant(None)
