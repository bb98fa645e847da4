"""Callables a rule names: marks for the compiler, modes, tensors made from numbers."""

from __future__ import annotations

from typing import Any

from suture.breaks import Break, calls
from suture.calls.table import special
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


@special("is_compiling")
def _is_compiling(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    return Constant(True)


@special("is_exporting", "is_other_tracing")
def _false(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    return Constant(False)


@special("no_tracing_state")
def _none(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    return Constant(None)


@special("is_tensor")
def _is_tensor(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    if target.__name__ == "is_tensor_like" and not isinstance(args[0], Tensor):
        return Constant(hasattr(args[0].python_type(), "__torch_function__"))
    return Constant(isinstance(args[0], Tensor))


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
    cond = args[0] if args else kwargs["cond"]
    if isinstance(cond, (Symbol, Tensor)):
        return tx.call_torch(target, [cond], {})
    if tx.truth(cond):
        return Constant(None)
    raise Break(calls.C_FUNCTION, function=target.__name__)


@special("annotate")
def _annotate(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    return args[1]


@special("mark_tensor")
def _mark_tensor(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    return Constant(None)
