"""torch.autograd.Function: one node that calls `apply`.

The node runs the program's own forward and backward: the eager backend calls them, and AOTAutograd
traces through them. That is sound only if they do nothing but compute with tensors and constants:
so both are traced once, for their guards and for what they change, and the traces thrown away.
"""

from __future__ import annotations

import functools
import types
from typing import Any

import torch

from suture.breaks import Break, autograd, calls, higher_order, tensors
from suture.calls.objects.attributes import MISSING
from suture.calls.subgraphs import trees
from suture.calls.table import handles
from suture.calls.tensor_classes.overrides import is_custom
from suture.calls.tensor_classes.subclasses import is_subclass
from suture.graph import OpFailed
from suture.variables import Class, Constant, Tensor, Tuple
from suture.variables.base import Mutable

_APPLY = torch.autograd.Function.__dict__["apply"].__func__


class Context(Mutable):
    """The `ctx` of a Function while its methods are traced."""

    __slots__ = ("attrs", "needs", "saved")

    stays_inside = True  # it means nothing outside of forward and backward

    def __init__(self, needs: Any) -> None:
        super().__init__(None)
        self.attrs: dict[str, Any] = {}
        self.saved: list[Any] = []
        self.needs = needs

    def python_type(self) -> type:
        return torch.autograd.function.FunctionCtx

    def describe(self) -> str:
        return "ctx"

    def getattr(self, tx: Any, name: str) -> Any:
        if name == "saved_tensors":
            return Tuple(list(self.saved))
        if name == "needs_input_grad":
            return self.needs
        if name in self.attrs:
            return self.attrs[name]
        if hasattr(type(self), "m_" + name):
            from suture.variables import BuiltinMethod

            return BuiltinMethod(self, name)
        return tx.raise_(AttributeError, f"'Backward' object has no attribute '{name}'")

    def setattr(self, tx: Any, name: str, value: Any) -> None:
        self.attrs[name] = value

    def m_save_for_backward(self, tx: Any, *tensors: Any) -> Any:
        self.saved = list(tensors)
        return Constant(None)

    def m_save_for_forward(self, tx: Any, *tensors: Any) -> Any:
        return Constant(None)

    def m_mark_dirty(self, tx: Any, *tensors: Any) -> Any:
        return Constant(None)

    def m_mark_non_differentiable(self, tx: Any, *tensors: Any) -> Any:
        return Constant(None)

    def m_set_materialize_grads(self, tx: Any, value: Any) -> Any:
        return Constant(None)

    def rebuild(self, emit: Any) -> str:
        raise Break(autograd.CONTEXT_ESCAPES, function="a Function")


@handles(_APPLY)
def _apply(tx: Any, args: Any, kwargs: Any) -> Any:
    cls, *given = args
    if kwargs or not isinstance(cls, Class):
        raise Break(calls.UNSUPPORTED_CALLABLE, callable="Function.apply", arguments="")
    name = cls.value.__name__
    for a in given:
        tx.proxy(a)  # refuses what a graph cannot hold
    if tx.asks:
        _refuse_asked(tx, given)
    ctx = Context(Tuple([Constant(_needs(a)) for a in given]))
    result = _traced(tx, cls, name, given, ctx)
    _trace_backward(tx, cls, name, ctx, result)
    flat = tuple(tx.proxy(a) for a in given)
    try:
        node, value = tx.graph.call("call_function", _target(cls.value), flat, {})
    except OpFailed as failed:
        raise tx.op_failure(failed, cls.value) from failed.cause
    made = tx.from_graph(node, value, list(given), {})
    return _with_classes(tx, made, result) if tx.asks else made


def _with_classes(tx: Any, made: Any, traced: Any) -> Any:
    """The results as the classes that forward gave them. At run time forward sees plain tensors, so
    none of them may have a say in operations."""
    if isinstance(made, Tensor) and isinstance(traced, Tensor):
        if traced.cls is not torch.Tensor and made.source is None and is_subclass(traced.cls):
            if is_custom(traced.cls):
                raise Break(tensors.SUBCLASS, tensor="a result", subclass=traced.cls.__name__)
            made.cls = traced.cls
    elif isinstance(made, Tuple) and isinstance(traced, Tuple):
        for one, other in zip(made.unpacked(tx), traced.unpacked(tx)):
            _with_classes(tx, one, other)
    return made


def _refuse_asked(tx: Any, given: list[Any]) -> None:
    for value in tx.overloaded(given):
        if isinstance(value, Tensor) and is_subclass(value.cls) and is_custom(value.cls):
            kind = value.cls.__name__
            raise Break(tensors.SUBCLASS, tensor=value.describe(), subclass=kind)


def _target(cls: Any) -> Any:
    """`cls.apply` as a function that a graph can name."""

    def apply(*args: Any) -> Any:
        return cls.apply(*args)

    apply.__name__ = apply.__qualname__ = f"apply_{cls.__name__}"
    return apply


def _needs(variable: Any) -> bool:
    return isinstance(variable, Tensor) and bool(variable.value.requires_grad)


def _method(tx: Any, cls: Class, name: str) -> Any:
    raw = tx.type_lookup(cls.value, name)
    if not isinstance(raw, staticmethod):
        raise Break(calls.UNSUPPORTED_CALLABLE, callable=f"{cls.describe()}.{name}", arguments="")
    return tx.wrap(raw.__func__, None)


class _Trial:
    """Runs methods of a Function as one body: forward with its context, and keeps what it gave."""

    def __init__(self, calls_: Any) -> None:
        self.calls = calls_
        self.source = None
        self.result: Any = None

    def call(self, tx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        self.result = self.calls(args)
        return self.result


def _traced(tx: Any, cls: Class, name: str, given: list[Any], ctx: Context) -> Any:
    """Trace forward (and setup_context); gives what it returned."""
    forward = _method(tx, cls, "forward")
    setup = tx.type_lookup(cls.value, "setup_context")
    separate = setup is not MISSING and setup is not _NO_SETUP
    leaves: list[Any] = []
    structure = tuple(trees.flatten(tx, a, leaves) for a in given)

    def run(args: list[Any]) -> Any:
        before = torch.is_grad_enabled()
        # what the body switches is undone before this, should the trace end in it
        tx.restores.append(functools.partial(torch._C._set_grad_enabled, before))
        torch._C._set_grad_enabled(False)
        try:
            if not separate:
                return tx.call(forward, [ctx, *args], {})
            out = tx.call(forward, args, {})
            tx.call(_method(tx, cls, "setup_context"), [ctx, Tuple(list(args)), out], {})
            return out
        finally:
            torch._C._set_grad_enabled(before)

    trial = _Trial(run)
    body = tx.trace_body(name, trial, structure, leaves, [v.value for v in leaves])
    if body.lifted:
        raise Break(
            higher_order.BODY_BREAKS,
            operator=name,
            reason="forward uses a tensor that is no argument",
        )
    return trial.result


def _trace_backward(tx: Any, cls: Class, name: str, ctx: Context, result: Any) -> None:
    """Trace backward on gradients that look like the results."""
    raw = tx.type_lookup(cls.value, "backward")
    if raw is MISSING or raw is _NO_BACKWARD:
        raw = tx.type_lookup(cls.value, "vjp")
        if raw is MISSING or raw is _NO_VJP:
            return
    outputs = [result] if isinstance(result, Tensor) else list(tx.unpack(result))
    kept: list[Any] = []
    held = [trees.flatten(tx, v, kept) for v in (*ctx.saved, *ctx.attrs.values())]
    count = sum(isinstance(o, Tensor) for o in outputs)
    leaves = [*(o for o in outputs if isinstance(o, Tensor)), *kept]
    inner = _backward_of(raw)

    def run(args: list[Any]) -> Any:
        fresh = [trees.build(tx, s, args[count:]) for s in held]
        ctx.attrs = dict(zip(ctx.attrs, fresh[len(ctx.saved) :]))
        ctx.saved = fresh[: len(ctx.saved)]
        grads = iter(args[:count])
        given = [next(grads) if isinstance(o, Tensor) else Constant(None) for o in outputs]
        return tx.call(tx.wrap(inner, None), [ctx, *given], {})

    structure = tuple(trees.Leaf(i) for i in range(len(leaves)))
    with torch.no_grad(), tx.graph.fake:
        fakes = [v.value.detach() if isinstance(v, Tensor) else v.value for v in leaves]
    body = tx.trace_body(name, _Trial(run), structure, leaves, fakes)
    if body.lifted:
        raise Break(
            higher_order.BODY_BREAKS,
            operator=name,
            reason="backward uses a tensor that is not saved",
        )


def _backward_of(raw: Any) -> Any:
    """The function behind `backward`, without torch's `once_differentiable` around it."""
    fn = raw.__func__ if isinstance(raw, staticmethod) else raw
    wrapped = getattr(fn, "__wrapped__", None)
    if wrapped is not None and fn.__module__ == "torch.autograd.function":
        fn = wrapped
    if fn.__code__.co_name == "wrapper" and fn.__code__.co_filename == _FUNCTION_FILE:
        cells = [c.cell_contents for c in fn.__closure__ or ()]
        fn = next((c for c in cells if isinstance(c, types.FunctionType)), fn)
    return fn


_FUNCTION_FILE = torch.autograd.function.__file__
_NO_SETUP = torch.autograd.function._SingleLevelFunction.__dict__["setup_context"]
_NO_BACKWARD = torch.autograd.function._SingleLevelFunction.__dict__["backward"]
_NO_VJP = torch.autograd.function._SingleLevelFunction.__dict__.get("vjp")
