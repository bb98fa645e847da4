"""Functions under functools.lru_cache: their cache is the program's, and counts what it is asked.

Python calls such a function, as a break, unless nobody can see the difference: the function
computes a number or a text of its arguments and of nothing else. Then it is traced, and the variant
calls the cached function as often as the program does. The answer of a function of an installed
package is taken from its cache, if it is there and a constant; else the function is traced if it
computes what it gives of its arguments alone.
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
import sysconfig
import types
from typing import Any

import torch

from suture.breaks import Break, calls
from suture.bytecode import decode
from suture.compiler import abstract
from suture.compiler.core import Mutable, Trace, Value
from suture.compiler.effects import Answer
from suture.compiler.models import handles
from suture.compiler.objects import Class, Constant, Function, Object, Symbol, Tuple
from suture.runtime.guards import Guard
from suture.runtime.predicates import SameAnswer, has_answer, is_literal

_PACKAGES = tuple(sysconfig.get_path(name) + os.sep for name in ("purelib", "platlib"))


@handles(functools._lru_cache_wrapper.__call__)
def _cached_call(trace: Trace, args: Any, kwargs: Any) -> Any:
    cached, given = args[0], args[1:]
    real = cached.value if isinstance(cached, Object) else None
    if real is None or cached.source is None or type(real) is not functools._lru_cache_wrapper:
        raise Break(calls.C_FUNCTION, function=cached.describe())
    wrapped: Any = real.__wrapped__
    steady = all(_never_changes(trace, wrapped, a) for a in (*given, *kwargs.values()))
    if not steady or not _is_pure(wrapped):
        kept = _from_cache(trace, cached, given, kwargs) if _is_installed(wrapped) else None
        if kept is not None:
            return kept
        if trace.region.whole or _is_of_a_library(real):
            return _without_cache(trace, cached, given, kwargs)
        if _is_installed(wrapped):
            return _answer(trace, cached, given, kwargs)
        raise Break(calls.C_FUNCTION, function=f"the cache around {real.__qualname__}")
    abstract.fix(trace, cached.source, real)
    found = abstract.call(trace, abstract.wrap(trace, wrapped, None), given, kwargs)
    if not found.is_constant():
        raise Break(calls.C_FUNCTION, function=f"the cache around {real.__qualname__}")
    trace.effects.call(real, list(given), dict(kwargs))
    return found


def _without_cache(
    trace: Trace, cached: Object, args: list[Value], kwargs: dict[str, Value]
) -> Any:
    """A function of a library, or one in a graph that must be whole. With known arguments it is
    called for real, and the guard calls it again. With others, or where the world is not yet what
    the program has made of it, its function is traced."""
    known = all(a.is_constant() for a in (*args, *kwargs.values()))
    if not known or abstract.has_visible_effects(trace):
        return abstract.tail_call(
            trace, abstract.wrap(trace, cached.value.__wrapped__, None), args, kwargs
        )
    values = [abstract.constant_value(trace, a) for a in args]
    named = {k: abstract.constant_value(trace, v) for k, v in kwargs.items()}
    abstract.fix(trace, cached.known_source, cached.value)
    from suture.compiler.calls.library_methods import fold_with_guard

    return fold_with_guard(trace, cached.source, cached.value, values, named)


def _from_cache(
    trace: Trace, cached: Object, args: list[Value], kwargs: dict[str, Value]
) -> Constant | None:
    """The answer of a function of a package, `is_torch_available()` say, if it is in its cache: the
    function does not run then, without a compiler either. The guard takes it from there again, so
    that of the package's cache only the count of hits may differ."""
    if not all(a.is_constant() for a in (*args, *kwargs.values())):
        return None
    if trace.effects.calls:  # of functions that Python has yet to run: one may clear the cache
        return None
    values = [abstract.constant_value(trace, a) for a in args]
    named = {k: abstract.constant_value(trace, v) for k, v in kwargs.items()}
    if not all(is_literal(v) for v in (*values, *named.values())):
        return None
    if not has_answer(cached.value, values, named):
        return None
    result = cached.value(*values, **named)
    if not is_literal(result) or cached.source is None:
        return None
    abstract.fix(trace, cached.source, cached.value)
    trace.guards.add(cached.source, "truth", SameAnswer(values, named, result, cached=True))
    return Constant(result)


def _answer(trace: Trace, cached: Object, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """What a function of a package gives, from its code: it has to compute that of its arguments
    alone, change nothing and make no operation. What it makes may neither be changed afterwards nor
    leave the region, where it would not be the object that the cache holds (`emit/answers.py`)."""
    real = cached.value
    refusal = Break(calls.C_FUNCTION, function=f"the cache around {real.__qualname__}")
    frame = trace.frames[-1]
    position = (frame.code.code, frame.ip)
    given = (*args, *kwargs.values())
    if position in trace.region.plan.by_python or not all(_is_key(trace, a) for a in given):
        raise refusal
    key = (real, len(args), tuple(kwargs), tuple(_name(trace, a) for a in given))
    for answer in trace.effects.answers:
        if answer.key == key:
            known: Value = answer.value
            return known
    began, changes = Mutable.births, len(trace.effects.log)
    guards, made = len(trace.guards.entries), len(trace.graph.graph.nodes)
    found = abstract.call(trace, abstract.wrap(trace, real.__wrapped__, None), args, kwargs)
    nodes = itertools.islice(trace.graph.graph.nodes, made, None)
    if (
        any(born <= began for born in trace.effects.log[changes:])
        or any(isinstance(n.meta.get("example_value"), torch.Tensor) for n in nodes)
        or not all(map(_lasts, trace.guards.entries[guards:]))
    ):
        raise refusal
    abstract.fix(trace, cached.known_source, real)
    span = (began, Mutable.births)
    trace.effects.answers.append(Answer(key, found, span, len(trace.effects.log), position))
    return found


def _name(trace: Trace, value: Value) -> Any:
    """What an argument is known by in a cache while tracing."""
    if isinstance(value, Tuple):
        return tuple(_name(trace, abstract.realize(trace, item)) for item in value.items)
    if value.is_constant():
        real = abstract.constant_value(trace, value)
        return type(real), real
    return id(value), value  # which is kept, so that its id stays its own


def _is_key(trace: Trace, value: Value) -> bool:
    """Whether a value has a hash that its cache could know it by: numbers, texts, tuples of such,
    and objects that are equal to themselves only."""
    if isinstance(value, Tuple):
        return all(_is_key(trace, abstract.realize(trace, item)) for item in value.items)
    if isinstance(value, Object):
        return bool(abstract.type_lookup(trace, value.cls, "__hash__") is object.__hash__)
    return isinstance(value, (Symbol, Class, Function)) or (
        value.is_constant() and type(abstract.constant_value(trace, value)) is not slice
    )


def _lasts(guard: Guard) -> bool:
    """Whether what was read is now what it was when the cache got its answer. Arguments are part of
    the key, and classes, functions and their defaults are taken to stay as they are. A global is,
    if no function of its module sets it."""
    at = guard.source
    if at is None or guard.kind in _ABOUT_NAMES or isinstance(guard.arg, _DEFINED):
        return True
    while at.base is not None:
        if at.kind in ("code", "default", "kwdefault", "closure"):
            return True
        if at.base.kind == "const" and type(at.base.arg) is dict:
            return at.kind == "item" and not _is_set(at.base.arg, at.arg)
        at = at.base
    return at.kind == "slot"


_ABOUT_NAMES = frozenset({"type", "exists", "no_key", "no_attr", "no_mro_attr"})
_DEFINED = (
    type,
    types.CodeType,
    types.FunctionType,
    types.ModuleType,
    types.BuiltinFunctionType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    staticmethod,
    classmethod,
    property,
)


def _is_set(namespace: dict[str, Any], name: str) -> bool:
    """Whether a function of a module sets this global, or the module is not a file's."""
    home = namespace.get("__name__")
    codes: list[types.CodeType] = []
    for value in list(namespace.values()):
        if getattr(value, "__module__", None) == home:
            functions = vars(value).values() if isinstance(value, type) else (value,)
            codes += [f.__code__ for f in functions if isinstance(f, types.FunctionType)]
    while codes:
        code = codes.pop()
        codes += [part for part in code.co_consts if isinstance(part, types.CodeType)]
        if name in code.co_names and ("STORE_GLOBAL", name) in _stores(code):
            return True
    return False


def _stores(code: types.CodeType) -> set[tuple[str, Any]]:
    return {(inst.op, inst.val) for inst in decode(code).instructions if inst.op == "STORE_GLOBAL"}


def _is_installed(wrapped: object) -> bool:
    """Whether a function is of an installed package, and none of the program's own."""
    code = getattr(wrapped, "__code__", None)
    return code is not None and code.co_filename.startswith(_PACKAGES)


def _is_of_a_library(real: object) -> bool:
    """Whether the cache is one that programs do not look at."""
    top = (real.__module__ or "").partition(".")[0]
    return top in sys.stdlib_module_names or top in ("torch", "numpy", "sympy")


def _never_changes(trace: Trace, wrapped: types.FunctionType, variable: Any) -> bool:
    """Whether an argument is a constant, or an object from outside that the function does not look
    at, such as the one whose method it is."""
    if isinstance(variable, Constant):
        return type(variable.value) is not slice  # which has no hash
    if not isinstance(variable, Object) or variable.source is None or _reads_arguments(wrapped):
        return False
    return bool(abstract.type_lookup(trace, variable.cls, "__hash__") is object.__hash__)


def _reads_arguments(fn: types.FunctionType) -> bool:
    return any(i.op.startswith("LOAD_FAST") for i in decode(fn.__code__).instructions)


def _is_pure(fn: object) -> bool:
    """Whether a function computes with its arguments, constants and functions of Python that do
    nothing else, and calls nothing that might be seen to run."""
    if type(fn) is not types.FunctionType or fn.__code__.co_flags & _MAKES_SOMETHING:
        return False
    for inst in decode(fn.__code__).instructions:
        if inst.op == "LOAD_GLOBAL":
            if inst.val in fn.__globals__ or inst.val not in _PURE:
                return False
        elif inst.op not in _COMPUTES and not inst.op.startswith(_STEPS):
            return False
    return True


_MAKES_SOMETHING = 0x20 | 0x80 | 0x100 | 0x200  # generators and coroutines
_PURE = frozenset(
    {"abs", "bool", "complex", "divmod", "float", "int", "len", "max", "min", "pow", "range",
     "round", "str", "sum", "tuple"}
)  # fmt: skip
_STEPS = (
    "JUMP",
    "POP_JUMP",
    "LOAD_CONST",
    "LOAD_FAST",
    "STORE_FAST",
    "RETURN",
    "RESUME",
    "PUSH_NULL",
)
_COMPUTES = frozenset(
    {"BINARY_OP", "COMPARE_OP", "COMPARE_TEST", "IS_OP", "CONTAINS_OP", "TO_BOOL",
     "UNARY_NEGATIVE", "UNARY_NOT", "UNARY_INVERT", "UNARY_POSITIVE", "BINARY_SUBSCR",
     "BINARY_SLICE", "BUILD_TUPLE", "CALL", "GET_ITER", "FOR_ITER", "POP_TOP", "COPY", "SWAP",
     "UNPACK_SEQUENCE", "CONVERT_VALUE", "FORMAT_VALUE", "BUILD_STRING", "BUILD_SLICE"}
)  # fmt: skip
