"""Functions under functools.lru_cache: their cache is the program's, and counts what it is asked.

Python calls such a function, as a break, unless nobody can see the difference: the function
computes a number or a text of its arguments and of nothing else. Then it is traced, and the variant
calls the cached function as often as the program does. The answer of a function of an installed
package is taken from its cache, if it is there.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
import types
from typing import Any

from suture.breaks import Break, calls
from suture.bytecode import decode
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Object
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
        if not (trace.region.whole or _is_of_a_library(real)):
            raise Break(calls.C_FUNCTION, function=f"the cache around {real.__qualname__}")
        return _without_cache(trace, cached, given, kwargs)
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
