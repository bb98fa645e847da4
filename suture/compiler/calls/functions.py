"""Calling: Python functions, classes, C functions, by the verdict of the rules."""

from __future__ import annotations

import collections
import types
from collections.abc import Callable
from typing import Any

import torch

from suture import rules
from suture._core import type_name
from suture.breaks import Break, calls, contexts, control_flow, objects, python, tensors
from suture.bytecode import decode
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.calls import library_methods as library
from suture.compiler.calls import regions, unmodelled
from suture.compiler.calls.arguments import refused_function
from suture.compiler.calls.library_iterators import call_itertools, is_of_itertools
from suture.compiler.calls.torchdynamo_words import marked_object, refuse_forbidden
from suture.compiler.calls.warnings_in_folds import without_warnings
from suture.compiler.core import Trace, Value
from suture.compiler.language import templates
from suture.compiler.language.attributes import MISSING, find_in_mro
from suture.compiler.language.exceptions import native_exception
from suture.compiler.language.items import dict_subscript
from suture.compiler.models import Handler, model_named, model_of
from suture.compiler.objects import (
    Builtin,
    CalledIterator,
    Class,
    Constant,
    Dict,
    Function,
    Generator,
    List,
    MadeFunction,
    Raised,
    Tuple,
    builtin,
    constant,
    function,
)
from suture.compiler.objects import array as array_values
from suture.compiler.objects.foldable_calls import is_finite_iterator, refuse_callbacks
from suture.compiler.objects.methods import find_method
from suture.compiler.outside.hashes_read import call_is_made
from suture.compiler.outside.namespaces import looks_at_locals
from suture.rules import Verdict

_GENERATOR = 0x20
_COROUTINE = 0x80 | 0x200  # coroutine, async generator


_IN_PLACE = frozenset({"__iadd__", "__imul__", "__ior__"})  # they give the object itself


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
            if not python and _bound(trace, substitute, args, kwargs) is None:
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


def bind_arguments(trace: Trace, fn: Any, args: list[Value], kwargs: dict[str, Value]) -> list[Any]:
    """The arguments in the function's slots, as CPython binds them."""
    slots = _bound(trace, fn, args, kwargs)
    return slots if slots is not None else refused_function(trace, fn, args, kwargs)


def _bound(trace: Trace, fn: Any, args: list[Value], kwargs: dict[str, Value]) -> list[Any] | None:
    """The slots, or None if the arguments are not the function's."""
    code = fn.code
    names = code.co_varnames
    npos, nkw = code.co_argcount, code.co_kwonlyargcount
    slots: list[Any] = [None] * len(decode(code).localsplus)
    given = len(args)
    slots[: min(given, npos)] = args[:npos]
    at = npos + nkw
    if code.co_flags & 0x04:
        slots[at] = Tuple(args[npos:])
        at += 1
    elif given > npos:
        return None
    extra: dict[Any, tuple[Any, Any]] = {}
    if kwargs and not _bind_keywords(trace, fn, kwargs, slots, names, extra):
        return None
    if code.co_flags & 0x08:
        slots[at] = Dict(extra)
    if given < npos:
        first = npos - fn.default_count
        for i in range(given, npos):
            if slots[i] is None:
                if i < first:
                    return None
                slots[i] = fn.default(trace, i - first)
    for i in range(npos, npos + nkw):
        if slots[i] is None:
            slots[i] = fn.kwdefault(trace, names[i])
            if slots[i] is None:
                return None
    return slots


def _bind_keywords(
    trace: Trace, fn: Any, kwargs: dict[str, Value], slots: Any, names: Any, extra: Any
) -> bool:
    code = fn.code
    indices = {
        names[i]: i
        for i in range(code.co_posonlyargcount, code.co_argcount + code.co_kwonlyargcount)
    }
    for name, value in kwargs.items():
        i = indices.get(name)
        if i is not None:
            if slots[i] is not None:
                return False
            slots[i] = value
        elif code.co_flags & 0x08:
            extra[name] = (Constant(name), value)
        else:
            return False
    return True


# ---- everything else that is known by identity


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


def call_descriptor(
    trace: Trace, real: Any, owner: type, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """`list.append(x, 1)`: a method descriptor called with its object; None if its object has no
    such method here."""
    obj, name = args[0], real.__name__
    if isinstance(real, types.ClassMethodDescriptorType):
        return library.class_method(trace, real, args, kwargs)
    if abstract.is_tensor(trace, obj):
        return abstract.tensor_descriptor(trace, real, obj, args[1:], kwargs)
    storage = getattr(obj, "storage", None)
    if name == "__getitem__" and isinstance(storage, Dict) and len(args) == 2 and not kwargs:
        return dict_subscript(trace, obj, storage, args[1])
    for target in (storage, obj):
        if target is not None and find_method(type(target), name) is not None:
            if _differs(target, owner, name, target is storage):
                return None
            done = tail_call_method(trace, target, name, args[1:], kwargs)
            return obj if done is storage and name in _IN_PLACE else done
    value = storage if isinstance(storage, Constant) and owner is not object else obj
    if value.is_constant() and isinstance(value.constant(), owner):
        return constant_method(trace, value, name, args[1:], kwargs)
    return None


@implements(abstract.has_visible_effects)
def has_visible_effects(trace: Trace) -> bool:
    touched = trace.effects.touched.values()
    return bool(trace.effects.globals) or any(v.source is not None for v in touched)


@implements(abstract.builtin_method)
def builtin_method(
    trace: Trace,
    method: Handler,
    obj: Value,
    name: str,
    args: list[Value],
    kwargs: dict[str, Value],
) -> Value:
    try:
        _check_signature(method, args, kwargs)
    except TypeError:
        return abstract.refused_method(trace, obj.python_type(), name, args, kwargs)
    return method(obj, trace, *args, **kwargs)


@implements(constant.constant_method)
def constant_method(
    trace: Trace, owner: Value, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    value = owner.constant()
    if name in ("__enter__", "__exit__"):
        if isinstance(value, torch.device):
            return abstract.device_block(trace, owner, name)
        raise Break(contexts.UNKNOWN_MANAGER, manager=owner.describe())
    if name == "__iter__" and not args and not kwargs:
        return abstract.iterate(trace, owner)
    if name == "join" and len(args) == 1 and type(value) in (str, bytes):
        items = abstract.unpack(trace, args[0])
        made = templates.joined_by(trace, value, items) if type(value) is str else None
        if made is not None:
            return made
        parts = [abstract.constant_value(trace, p) for p in items]
        return folded(trace, lambda: value.join(parts))
    if name == "format" and type(value) is str:
        made = templates.formatted(trace, value, args, kwargs)
        if made is not None:
            return made
    method = getattr(value, name)
    return fold_call(trace, method, args, kwargs)


@implements(abstract.fold)
def fold_call(trace: Trace, real: object, args: list[Value], kwargs: dict[str, Value]) -> Value:
    made = abstract.computed_number(trace, real, args) if not kwargs else None
    if made is not None:
        return made
    values = [abstract.constant_value(trace, a) for a in args]
    named = {k: abstract.constant_value(trace, v) for k, v in kwargs.items()}
    return call_now(trace, real, values, named)


@implements(abstract.call_now)
def call_now(trace: Trace, real: Any, values: list[Any], named: dict[str, Any]) -> Value:
    refuse_callbacks(real, [*values, *named.values()])
    call_is_made(trace, real, [*values, *named.values()])
    if is_finite_iterator(real) and not named:
        held: list[Any] = []
        folded(trace, lambda: held.extend(real(*values)))
        kind = type(real(*values))
        return CalledIterator([abstract.known(trace, v) for v in held], kind, real, values)
    if isinstance(real, types.FunctionType):
        return folded(trace, lambda: without_warnings(real, values, named))
    return folded(trace, lambda: real(*values, **named))


@implements(abstract.folded)
def folded(trace: Trace, thunk: Callable[[], Any]) -> Value:
    try:
        value = thunk()
    except (KeyboardInterrupt, SystemExit, Break, Raised):
        raise
    except BaseException as error:
        raise Raised(native_exception(trace, error)) from None
    return abstract.known(trace, value)


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


# Methods that make another object of the very class of theirs.
_KEEP_CLASS: dict[type, frozenset[str]] = {
    collections.OrderedDict: frozenset({"copy", "__or__", "__ror__"}),
    collections.defaultdict: frozenset({"copy", "__copy__", "__or__", "__ror__"}),
    collections.deque: frozenset({"copy", "__copy__", "__add__", "__mul__", "__rmul__"}),
}
_OF_DICT = (collections.OrderedDict, collections.defaultdict)


def _differs(target: object, owner: type, name: str, derived: bool) -> bool:
    """Whether the method of `owner` does something else than that of our container: it makes an
    object of a derived class, or goes round what a class derived from dict does."""
    kind = getattr(target, "kind", None)
    if derived and name in _KEEP_CLASS.get(kind, ()):  # type: ignore[arg-type]
        return True
    return owner is dict and kind in _OF_DICT and name in kind.__dict__


# C functions of torch that change the process and not a tensor.
_SWITCHES = ("_set_", "set_", "_push_", "_pop_", "_enter_", "_exit_", "_register_", "_clear_")

_SIGNATURES: dict[Any, tuple[int, int | None, frozenset[str] | None]] = {}


def _check_signature(method: Any, args: list[Value], kwargs: dict[str, Value]) -> None:
    """Raise TypeError unless `method(obj, tx, *args, **kwargs)` binds."""
    known = _SIGNATURES.get(method)
    if known is None:
        code = method.__code__
        need = code.co_argcount - len(method.__defaults__ or ()) - 2
        most = None if code.co_flags & 0x04 else code.co_argcount - 2
        names = code.co_varnames[2 : code.co_argcount + code.co_kwonlyargcount]
        known = (need, most, None if code.co_flags & 0x08 else frozenset(names))
        _SIGNATURES[method] = known
    need, most, names_ = known
    if len(args) < need and not kwargs:
        raise TypeError(
            f"expected at least {need} argument{'s' if need != 1 else ''}, got {len(args)}"
        )
    if most is not None and len(args) > most:
        raise TypeError(
            f"expected at most {most} argument{'s' if most != 1 else ''}, got {len(args)}"
        )
    if names_ is not None and not names_.issuperset(kwargs):
        raise TypeError("takes no keyword arguments")
