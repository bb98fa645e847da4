"""torch.autograd.Function: one node that calls `apply`.

The node runs the program's own forward and backward: the eager backend calls them, and AOTAutograd
traces through them. That is sound only if they do nothing but compute with tensors and constants:
so both are traced once, for their guards and for what they change. Where they work with more, such
as objects or tensors of closures, the node runs the two traces instead.
"""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable, Sequence
from typing import Any

import torch

from suture import rules
from suture.breaks import Break, autograd, calls, higher_order, tensors
from suture.compiler import abstract
from suture.compiler.core import Mutable, Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.graph import OpFailed
from suture.compiler.language.attributes import MISSING
from suture.compiler.models import handles
from suture.compiler.objects import Class, Constant, Symbol, Tensor, Tuple
from suture.compiler.objects.methods import find_method, method
from suture.compiler.torch import trees
from suture.compiler.torch.bodies import Body, call_held, trace_body
from suture.compiler.torch.overrides import is_custom, overloaded
from suture.compiler.torch.replayed_functions import Plan, ReplayedFunction
from suture.compiler.torch.subclasses import is_subclass
from suture.compiler.torch.tensors import from_graph, op_failure
from suture.op_effects import MAY_DRAW, declare
from suture.torch_private import autograd_parts, thread_state

_APPLY = torch.autograd.Function.__dict__["apply"]
_APPLY = getattr(_APPLY, "__func__", _APPLY)  # newer releases have it in C


class Context(Mutable):
    """The `ctx` of a Function while its methods are traced."""

    __slots__ = ("attrs", "fixed", "needs", "refused", "saved")

    stays_inside = True  # it means nothing outside of forward and backward

    def __init__(self, needs: Value) -> None:
        super().__init__(None)
        self.attrs: dict[str, Value] = {}
        self.saved: list[Any] = []
        self.needs = needs
        self.fixed: tuple[Any, ...] = ()  # what is marked as not differentiable
        self.refused = ""  # why the traced methods alone cannot stand for the Function

    def python_type(self) -> type:
        return torch.autograd.function.FunctionCtx

    def describe(self) -> str:
        return "ctx"

    def getattr(self, trace: Trace, name: str) -> Value:
        if name == "saved_tensors":
            return Tuple(list(self.saved))
        if name == "needs_input_grad":
            return self.needs
        if name in self.attrs:
            return self.attrs[name]
        if find_method(type(self), name) is not None:
            from suture.compiler.objects import BuiltinMethod

            return BuiltinMethod(self, name)
        return abstract.raise_(
            trace, AttributeError, f"'Backward' object has no attribute '{name}'"
        )

    def setattr(self, trace: Trace, name: str, value: Value) -> None:
        self.attrs[name] = value

    def rebuild(self, emit: Emitter) -> str:
        raise Break(autograd.CONTEXT_ESCAPES, function="a Function")


@method(Context, "save_for_backward")
def context_save_for_backward(self: Context, trace: Trace, *tensors: Value) -> Value:
    self.saved = list(tensors)
    return Constant(None)


@method(Context, "save_for_forward")
def context_save_for_forward(self: Context, trace: Trace, *tensors: Value) -> Value:
    return Constant(None)


@method(Context, "mark_dirty")
def context_mark_dirty(self: Context, trace: Trace, *tensors: Value) -> Value:
    self.refused = "forward marks an argument as written to"
    return Constant(None)


@method(Context, "mark_non_differentiable")
def context_mark_non_differentiable(self: Context, trace: Trace, *tensors: Value) -> Value:
    self.fixed = tensors
    return Constant(None)


@method(Context, "set_materialize_grads")
def context_set_materialize_grads(self: Context, trace: Trace, value: Value) -> Value:
    self.refused = "backward is to see which gradients there are"
    return Constant(None)


@handles(_APPLY)
def _apply(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    cls, *given = args
    if not isinstance(cls, Class):
        raise Break(calls.UNSUPPORTED_CALLABLE, callable="Function.apply", arguments="")
    if kwargs:
        given = _by_position(trace, cls, given, kwargs)
    if trace.modes.overridable_seen:
        _refuse_overridden(trace, given)
    if not all(_is_held(trace, a) for a in given):
        return _replay(trace, cls, given)
    if any(_holds_symbols(trace, a) for a in given):
        with contextlib.suppress(Break):  # then the program's own forward is the node
            return _replay(trace, cls, given)
    result = None
    if rules.lookup(cls.value).kind is not rules.IN_GRAPH:  # the program vouches for those
        ctx = Context(_needs_of(given))
        leaves: list[Any] = []
        structure = tuple(trees.flatten(trace, a, leaves) for a in given)
        forward, result = _trace_forward(trace, cls, ctx, structure, leaves)
        backward = _trace_backward(trace, cls, ctx, result)
        if forward.lifted or (backward is not None and backward.lifted):
            return _replay(trace, cls, given)
    flat = tuple(abstract.proxy(trace, a) for a in given)
    try:
        node, value = trace.graph.call("call_function", _target(cls.value), flat, {})
    except OpFailed as failed:
        raise op_failure(trace, failed, cls.value) from failed.cause
    made = from_graph(trace, node, value, list(given), {})
    return _with_classes(trace, made, result) if trace.modes.overridable_seen else made


def _by_position(trace: Trace, cls: Class, given: list[Any], kwargs: dict[str, Value]) -> list[Any]:
    """The arguments without their names, as torch hands them to forward; Break where it raises."""
    refused = Break(calls.UNSUPPORTED_CALLABLE, callable="Function.apply", arguments="")
    raw = abstract.type_lookup(trace, cls.value, "forward")
    if not isinstance(raw, staticmethod) or not takes_names():
        raise refused
    code = raw.__func__.__code__
    skipped = 0 if _has_setup(trace, cls) else 1
    names = code.co_varnames[skipped : code.co_argcount][len(given) :]
    wanted = names[: len(kwargs)]
    if set(wanted) != set(kwargs):
        raise refused
    return [*given, *(kwargs[name] for name in wanted)]


@functools.cache
def takes_names() -> bool:
    """Whether this torch takes arguments of `apply` by name."""

    def forward(ctx: Any, x: Any) -> Any:
        return x

    probe = autograd_parts.function_class("Probe", forward)
    try:
        probe.apply(x=0)
    except TypeError:
        return False
    return True


def _is_held(trace: Trace, variable: Value) -> bool:
    """Whether a graph can hold an argument as the program's forward gets it."""
    try:
        abstract.proxy(trace, variable)
    except Break:
        return False
    return True


def _holds_symbols(trace: Trace, variable: Value) -> bool:
    """Whether a number that changes is in an argument. The program's forward would ask torch for
    its value wherever it is an index, and be compiled again for each."""
    leaves: list[Any] = []
    trees.flatten(trace, variable, leaves)
    return any(isinstance(leaf, Symbol) for leaf in leaves)


def _replay(trace: Trace, cls: Class, given: list[Any]) -> Value:
    """One node that runs the traced forward and backward."""
    name = cls.value.__name__
    if trace.modes.overridable_seen or trace.modes.transforms:
        raise _refuse(name, "it works with more than tensors and constants")
    leaves = [a for a in given if isinstance(a, Tensor)]
    at = iter(range(len(leaves)))
    structure = tuple(
        trees.Leaf(next(at)) if isinstance(a, Tensor) else trees.NotInGraph(a) for a in given
    )
    ctx = Context(_needs_of(given))
    forward, result = _trace_forward(trace, cls, ctx, structure, leaves)
    shape, saved = forward.result[:2]
    outputs = [result] if isinstance(result, Tensor) else list(abstract.unpack(trace, result))
    if ctx.refused or not all(isinstance(o, Tensor) for o in outputs):
        raise _refuse(name, ctx.refused or "forward gives something else than tensors")
    backward = _trace_backward(trace, cls, ctx, result)
    plan = Plan(
        name,
        direct=len(leaves),
        lifted=len(forward.lifted),
        outputs=len(outputs),
        saved=sum(isinstance(s, trees.Leaf) for s in saved),
        grads=[] if backward is None else _gradients(name, given, backward.result),
        constant=[i for i, o in enumerate(outputs) if any(o is c for c in ctx.fixed)],
        once=_is_once(trace, cls),
    )
    lifted = [] if backward is None else backward.lifted
    module = ReplayedFunction(forward.module, backward and backward.module, plan)
    nodes = [leaf.node for leaf in leaves] + forward.lifted + lifted
    return trees.build(trace, shape, abstract.unpack(trace, call_held(trace, module, name, nodes)))


def _gradients(name: str, given: list[Any], found: Any) -> list[int | None]:
    """Which of the flat results of backward is the gradient of each tensor given to forward."""
    parts = found if isinstance(found, tuple) else (found,)
    if len(parts) < len(given):
        raise _refuse(name, "backward gives fewer gradients than forward has arguments")
    made: list[int | None] = []
    for part, value in zip(parts, given):
        if isinstance(value, Tensor):
            if not isinstance(part, trees.Leaf) and part.variable.constant() is not None:
                raise _refuse(name, "backward gives something else than tensors")
            made.append(part.index if isinstance(part, trees.Leaf) else None)
    return made


def _refuse(name: str, reason: str) -> Break:
    return Break(higher_order.BODY_BREAKS, operator=name, reason=reason)


def _with_classes(trace: Trace, made: object, traced: object) -> Any:
    """The results as the classes that forward gave them. At run time forward sees plain tensors, so
    none of them may have a say in operations."""
    if isinstance(made, Tensor) and isinstance(traced, Tensor):
        if traced.cls is not torch.Tensor and made.source is None and is_subclass(traced.cls):
            if is_custom(traced.cls):
                raise Break(tensors.SUBCLASS, tensor="a result", subclass=traced.cls.__name__)
            made.cls = traced.cls
    elif isinstance(made, Tuple) and isinstance(traced, Tuple):
        for one, other in zip(made.unpacked(trace), traced.unpacked(trace)):
            _with_classes(trace, one, other)
    return made


def _refuse_overridden(trace: Trace, given: list[Any]) -> None:
    for value in overloaded(trace, given):
        if isinstance(value, Tensor) and is_subclass(value.cls) and is_custom(value.cls):
            kind = value.cls.__name__
            raise Break(tensors.SUBCLASS, tensor=value.describe(), subclass=kind)


def _target(cls: Any) -> Any:
    """`cls.apply` as a function that a graph can name."""

    def apply(*args: Sequence[Value]) -> Any:
        made = cls.apply(*args)
        autograd_parts.note_kept(made)
        return made

    apply.__name__ = apply.__qualname__ = f"apply_{cls.__name__}"
    declare(apply, MAY_DRAW)  # its forward is one node here, whatever is in it
    return apply


def _needs_of(given: list[Any]) -> Tuple:
    return Tuple([Constant(_needs(a)) for a in given])


def _needs(variable: Any) -> bool:
    return isinstance(variable, Tensor) and bool(variable.value.requires_grad)


def _method(trace: Trace, cls: Class, name: str) -> Value:
    raw = abstract.type_lookup(trace, cls.value, name)
    if not isinstance(raw, staticmethod):
        raise Break(calls.UNSUPPORTED_CALLABLE, callable=f"{cls.describe()}.{name}", arguments="")
    return abstract.wrap(trace, raw.__func__, None)


class _Trial(Value):
    """Runs methods of a Function as one body: forward with its context, and keeps what it gave."""

    def __init__(self, calls_: Callable[[list[Value]], Value]) -> None:
        super().__init__()
        self.calls = calls_
        self.result: Value | None = None

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        result = self.result = self.calls(args)
        return result


def _has_setup(trace: Trace, cls: Class) -> bool:
    setup = abstract.type_lookup(trace, cls.value, "setup_context")
    return setup is not MISSING and setup is not _NO_SETUP


def _trace_forward(
    trace: Trace, cls: Class, ctx: Context, structure: object, leaves: list[Any]
) -> tuple[Body, Any]:
    """Trace forward (and setup_context): a body that gives what they return, save and keep in
    `ctx`; and what forward returned."""
    forward = _method(trace, cls, "forward")
    separate = _has_setup(trace, cls)
    results: list[Any] = []

    def run(args: list[Value]) -> Any:
        before = torch.is_grad_enabled()
        # what the body switches is undone before this, should the trace end in it
        trace.modes.restores.append(functools.partial(thread_state.set_grad_enabled, before))
        thread_state.set_grad_enabled(False)
        try:
            out = abstract.call(trace, forward, args if separate else [ctx, *args], {})
            if separate:
                abstract.call(
                    trace, _method(trace, cls, "setup_context"), [ctx, Tuple(list(args)), out], {}
                )
        finally:
            thread_state.set_grad_enabled(before)
        results.append(out)
        return Tuple([out, Tuple(list(ctx.saved)), Tuple(list(ctx.attrs.values()))])

    name = cls.value.__name__
    body = trace_body(trace, name, _Trial(run), structure, leaves, [v.value for v in leaves])
    return body, results[0]


def _trace_backward(trace: Trace, cls: Class, ctx: Context, result: object) -> Body | None:
    """Trace backward on gradients that look like the results, and what forward left for it: a body
    that takes both, in this order. None if there is no backward."""
    raw = _raw_backward(trace, cls)
    if raw is None:
        return None
    outputs = [result] if isinstance(result, Tensor) else list(abstract.unpack(trace, result))
    kept: list[Any] = []
    held = [trees.flatten(trace, v, kept) for v in (*ctx.saved, *ctx.attrs.values())]
    count = sum(isinstance(o, Tensor) for o in outputs)
    leaves = [*(o for o in outputs if isinstance(o, Tensor)), *kept]
    inner = _backward_of(raw)

    def run(args: list[Value]) -> Any:
        fresh = [trees.build(trace, s, args[count:]) for s in held]
        ctx.attrs = dict(zip(ctx.attrs, fresh[len(ctx.saved) :]))
        ctx.saved = fresh[: len(ctx.saved)]
        grads = iter(args[:count])
        given = [next(grads) if isinstance(o, Tensor) else Constant(None) for o in outputs]
        return abstract.call(trace, abstract.wrap(trace, inner, None), [ctx, *given], {})

    structure = tuple(trees.Leaf(i) for i in range(len(leaves)))
    with torch.no_grad(), trace.graph.fake:
        fakes = [v.value.detach() if isinstance(v, Tensor) else v.value for v in leaves]
    body: Body = trace_body(trace, cls.value.__name__, _Trial(run), structure, leaves, fakes)
    return body


def _raw_backward(trace: Trace, cls: Class) -> Any:
    """What the class has as `backward` or `vjp`, unbound; None if neither is its own."""
    raw = abstract.type_lookup(trace, cls.value, "backward")
    if raw is MISSING or raw is _NO_BACKWARD:
        raw = abstract.type_lookup(trace, cls.value, "vjp")
        if raw is MISSING or raw is _NO_VJP:
            return None
    return raw


def _is_once(trace: Trace, cls: Class) -> bool:
    raw = _raw_backward(trace, cls)
    fn = raw.__func__ if isinstance(raw, staticmethod) else raw
    return raw is not None and _backward_of(raw) is not fn


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
_NO_SETUP = autograd_parts.SingleLevelFunction.__dict__["setup_context"]
_NO_BACKWARD = autograd_parts.SingleLevelFunction.__dict__["backward"]
_NO_VJP = autograd_parts.SingleLevelFunction.__dict__.get("vjp")
