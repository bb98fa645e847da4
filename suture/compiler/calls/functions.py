"""Calling: Python functions, classes, C functions, by the verdict of the rules."""

from __future__ import annotations

import types
from typing import Any

from suture import rules
from suture._core import type_name
from suture.breaks import Break, calls, control_flow, objects, python, tensors
from suture.bytecode import decode
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.calls import library_methods as library
from suture.compiler.calls import regions, unmodelled
from suture.compiler.calls.binding import bind_arguments, slots_of
from suture.compiler.calls.builtin_methods import builtin_method, call_descriptor
from suture.compiler.calls.library_iterators import call_itertools, is_of_itertools
from suture.compiler.calls.torchdynamo_words import marked_object, refuse_forbidden
from suture.compiler.calls.unread import has_unread, looked_at
from suture.compiler.core import Trace, Value
from suture.compiler.language.attributes import MISSING, find_in_mro
from suture.compiler.models import Handler, model_named, model_of
from suture.compiler.objects import (
    Builtin,
    Class,
    Function,
    Generator,
    List,
    MadeFunction,
    builtin,
    function,
)
from suture.compiler.objects import array as array_values
from suture.compiler.objects.methods import find_method
from suture.compiler.outside.namespaces import looks_at_locals
from suture.rules import Verdict

_GENERATOR = 0x20
_COROUTINE = 0x80 | 0x200  # coroutine, async generator


@implements(abstract.tail_call)
def tail_call(trace: Trace, fn: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    given = list(args)
    done = fn.call(trace, given, kwargs)
    if done is None:
        return call_type_method(trace, fn, "__call__", given, kwargs)
    return done


@implements(abstract.call)
def call_and_finish(trace: Trace, fn: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return abstract.finish(trace, tail_call(trace, fn, args, kwargs))


@implements(abstract.tail_call_method)
def tail_call_method(
    trace: Trace, obj: Value, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    done = obj.call_method(trace, name, args, kwargs)
    if done is not None:
        return done
    method = find_method(type(obj), name)
    if method is not None:
        return builtin_method(trace, method, obj, name, args, kwargs)
    return tail_call(trace, abstract.getattr(trace, obj, name), args, kwargs)


@implements(abstract.call_method)
def call_method(trace: Trace, obj: Value, name: str, *args: Value) -> Value:
    return abstract.finish(trace, tail_call_method(trace, obj, name, list(args), {}))


@implements(abstract.call_type_method)
def call_type_method(
    trace: Trace, obj: Any, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    cls = obj.python_type()
    raw = abstract.type_lookup(trace, cls, name)
    if raw is MISSING:
        what = "is not callable" if name == "__call__" else f"has no {name}"
        return abstract.raise_(trace, TypeError, f"'{type_name(cls)}' object {what}")
    if name == "__call__":
        refuse_forbidden(obj)
        verdict = marked_object(trace, obj)
        if verdict is not None:
            return by_verdict(trace, verdict, obj.value, obj, args, kwargs)
    bound = abstract.finish(trace, abstract.bind(trace, raw, obj, cls, name))
    return tail_call(trace, bound, args, kwargs)


# ---- Python functions


@implements(function.call_function)
def call_function(trace: Trace, fn: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if type(fn) is MadeFunction:
        return inline(trace, fn, args, kwargs)
    real = fn.fn
    if looks_at_locals(real) and not trace.region.whole:
        raise Break(python.FRAME_ACCESS, call=f"{real.__qualname__}()")
    handler = model_of(real)
    if handler is not None:
        return abstract.handle(trace, handler, real, args, kwargs)
    overridden = abstract.call_override(trace, real, fn, args, kwargs)
    if overridden is not None:
        return overridden
    by_code = model_of(real.__code__)
    if by_code is not None:
        return by_code(trace, fn, args, kwargs)
    verdict = rules.lookup(real)
    if verdict.kind is rules.INLINE and verdict.target is None:
        return inline(trace, fn, args, kwargs)
    return by_verdict(trace, verdict, real, fn, args, kwargs)


@implements(abstract.by_verdict)
def by_verdict(
    trace: Trace, verdict: Verdict, real: Any, fn: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    kind, target = verdict.kind, verdict.target
    if has_unread((*args, *kwargs.values())):
        args, kwargs = looked_at(trace, args), dict(zip(kwargs, looked_at(trace, kwargs.values())))
    if kind is rules.SPECIAL:
        handler = model_named(verdict.name)
        if handler is not None:
            return handler(trace, real, args, kwargs)
        kind = rules.INLINE if target is not None else verdict.otherwise
    if kind is rules.CONSTANT:
        if verdict.name == "assume_constant_result":
            return regions.assumed_constant(trace, real, args, kwargs)
        if target is None or all_known(trace, args, kwargs):
            return abstract.fold_torch(trace, real, args, kwargs)
        kind = rules.INLINE
    if kind is rules.IN_GRAPH:
        binding = verdict.origin is rules.Origin.TORCH_BINDING
        if trace.modes.overridable_seen:
            abstract.refuse_in_graph(trace, real, args, kwargs)
        if binding and real.__name__.startswith(_SWITCHES):
            raise Break(calls.C_FUNCTION, function=real.__name__)
        try:
            made = abstract.call_torch(trace, target if target is not None else real, args, kwargs)
            if binding and not args and not kwargs and _says_constants(trace, made):
                abstract.guard_setting(trace, real)  # a setting of torch
            return made
        except Break as reason:
            has_body = verdict.origin is rules.Origin.TORCH_FUNCTION and target is None
            if not (has_body and reason.type in _INSIDE):
                raise
            return inline(trace, fn, args, kwargs)  # what it gets, a graph cannot hold
    if kind is rules.INLINE:
        if target is not None and target is not real:
            substitute = abstract.wrap(trace, target, None)
            python = isinstance(real, types.FunctionType) or not isinstance(substitute, Function)
            if not python and slots_of(trace, substitute, args, kwargs) is None:
                return abstract.refused(trace, real, args, kwargs)  # in its own words
            if is_of_itertools(real):
                return call_itertools(trace, real, substitute, args, kwargs)
            return tail_call(trace, substitute, args, kwargs)
        if isinstance(real, types.FunctionType):
            return inline(trace, fn, args, kwargs)
    if verdict.origin is rules.Origin.NUMPY:
        done = array_values.call_numpy(trace, real, args, kwargs)
        if done is not None:
            return done
    raise unmodelled.reason(real, verdict, args)


def _says_constants(trace: Trace, made: Value) -> bool:
    """Whether a function of torch has given a constant, or a list of such."""
    if isinstance(made, List):
        return all_known(trace, made.unpacked(trace), {})
    return made.is_constant()


@implements(abstract.all_known)
def all_known(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> bool:
    return all(v.is_constant() for v in (*args, *kwargs.values()))


@implements(abstract.inline)
def inline(trace: Trace, fn: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    code = fn.code
    if len(trace.frames) > trace.region.inline_limit:
        raise Break(calls.INLINE_DEPTH, function=fn.describe(), depth=str(len(trace.frames)))
    if fn.source is not None:
        trace.guards.add(fn.source.child("code"), "is", code)
    slots = bind_arguments(trace, fn, args, kwargs)
    frame = abstract.new_frame(trace, decode(code), fn, slots)
    if code.co_flags & (_GENERATOR | _COROUTINE):
        if code.co_flags & _COROUTINE:
            return refuse_async(trace, code.co_name)
        made = Generator(frame)
        made.position = trace.handling.making
        return made
    return abstract.pending(trace, frame)


@implements(builtin.call_builtin)
def call_builtin(trace: Trace, fn: Builtin, args: list[Value], kwargs: dict[str, Value]) -> Value:
    real = fn.value
    overridden = abstract.call_override(trace, real, fn, args, kwargs)
    if overridden is not None:
        return overridden
    if isinstance(real, types.MethodWrapperType):  # bound to its object
        args = [abstract.wrap(trace, real.__self__, None), *args]
        real = find_in_mro(real.__objclass__, real.__name__)  # a derived class may differ
    handler = model_of(real)
    if handler is None and isinstance(getattr(real, "__self__", None), type):
        # a class method in C, taken off its class: each time it is another object
        handler = model_of(find_in_mro(real.__self__, real.__name__))
        args = [abstract.wrap(trace, real.__self__, None), *args] if handler is not None else args
    if handler is not None:
        return abstract.handle(trace, handler, real, args, kwargs)
    owner = getattr(real, "__objclass__", None)
    if owner is not None and args and not isinstance(real, types.MethodWrapperType):
        found = call_descriptor(trace, real, owner, args, kwargs)
        if found is not None:
            return found
    if isinstance(real, types.ClassMethodDescriptorType) and args and isinstance(args[0], Class):
        real, args = getattr(args[0].value, real.__name__), args[1:]
    done = library.static_method(trace, real, args, kwargs)
    if done is not None:
        return done
    verdict = rules.lookup(real)
    return by_verdict(trace, verdict, real, fn, args, kwargs)


@implements(abstract.has_visible_effects)
def has_visible_effects(trace: Trace) -> bool:
    touched = trace.effects.touched.values()
    return bool(trace.effects.globals) or any(v.source is not None for v in touched)


def rule_of(trace: Trace, real: object) -> Handler | None:
    """A handler for a method of tensors that is more than a node, or None."""
    verdict = rules.lookup(real)
    if verdict.kind is rules.IN_GRAPH and verdict.target is None:
        return None
    return lambda trace, args, kwargs: by_verdict(
        trace, verdict, real, abstract.wrap(trace, real, None), args, kwargs
    )


def refuse_async(trace: Trace, what: str) -> Value:
    raise Break(python.ASYNC, instruction=what, function=trace.frames[-1].code.code.co_qualname)


# Breaks of a torch function in Python that may be further in, or not there, if it is traced.
_INSIDE = (
    calls.ARGUMENT_OUTSIDE_GRAPH,
    objects.UNKNOWN_OBJECT,
    control_flow.UNBACKED_DECISION,
    tensors.DATA_DEPENDENT_OP,
)


# C functions of torch that change the process and not a tensor.
_SWITCHES = ("_set_", "set_", "_push_", "_pop_", "_enter_", "_exit_", "_register_", "_clear_")
