"""Wrapped callables find their function: what an object calls when it is called."""

from __future__ import annotations

import functools
import sys
import types
import warnings
from typing import Any

from suture.rules.verdict import SPECIAL, Origin, Verdict, location

_HERE = location(0)
_LRU = type(functools.lru_cache(lambda: None))
_warned: set[str] = set()


class CachedFunctionWarning(UserWarning):
    """A function under `functools.lru_cache` was traced: its cache is not looked at."""


def canonical(obj: Any) -> Any:
    """The object that rules are written about: a bound method's function, a bound C method's
    descriptor, a staticmethod's or classmethod's function. Anything else comes back as it is."""
    if isinstance(obj, types.MethodType):
        return canonical(obj.__func__)
    if isinstance(obj, (staticmethod, classmethod)):
        return obj.__func__
    if isinstance(obj, (types.BuiltinFunctionType, types.MethodWrapperType)):
        owner = getattr(obj, "__self__", None)
        if owner is None or isinstance(owner, types.ModuleType):
            return obj
        return _descriptor(owner, obj.__name__) or obj
    return obj


def _descriptor(owner: Any, name: str) -> Any:
    """What defines a C method of `owner`; a class that is being made has no bases yet."""
    bases = owner.__mro__ if isinstance(owner, type) else None
    for base in (*(bases or ()), *type(owner).__mro__):
        found = base.__dict__.get(name)
        if found is not None:
            return found
    return None


def inner(obj: Any) -> tuple[Any, str] | None:
    """(what is called in the end, how it was wrapped), or None if `obj` wraps nothing."""
    if isinstance(obj, _LRU):
        _warn_cached(obj)
        return obj.__wrapped__, "functools.lru_cache"
    if isinstance(obj, (functools.singledispatchmethod, functools.partialmethod)):
        return obj.func, type(obj).__name__
    return _compiled(obj) or _disabled_by_torch(obj) or _scripted(obj) or _tagged(obj)


def _compiled(obj: Any) -> tuple[Any, str] | None:
    """A function that suture or torch compiled: inside a trace it is its original."""
    core: Any = sys.modules.get("suture._core")
    if core is not None and isinstance(obj, core.Compiled):
        return obj.function, "suture.compile"
    attributes = getattr(obj, "__dict__", None)
    if not attributes or "_torchdynamo_orig_callable" not in attributes:
        return None
    original = attributes["_torchdynamo_orig_callable"]
    if attributes.get("_torchdynamo_disable") and not is_torchs_own_limit(original):
        return None  # a mark, which the rules on marks speak about
    return original, "torch.compile"


def is_torchs_own_limit(original: Any) -> bool:
    """Whether a disabled function is one that torch itself disables because TorchDynamo cannot
    trace it: optimizers make their state there, and drop gradients."""
    home = getattr(original, "__module__", None) or ""
    return home.startswith("torch.optim.") and getattr(original, "__name__", "") in _LIMITS


_LIMITS = ("_init_group", "zero_grad")


def _disabled_by_torch(obj: Any) -> tuple[Any, str] | None:
    """A function around which torch puts, when it is imported, one that disables TorchDynamo."""
    original = getattr(obj, "__wrapped__", None)
    if home(obj) != "torch._compile" or not is_torchs_own_limit(original):
        return None
    return original, "torch's own disabling"


def _scripted(obj: Any) -> tuple[Any, str] | None:
    attributes = getattr(obj, "__dict__", None) or {}
    original = attributes.get("_torchdynamo_inline")
    if original is None and type(obj).__name__ in ("ScriptFunction", "ScriptMethod"):
        original = getattr(obj, "_torchdynamo_inline", None)
    if original is None and "__script_if_tracing_wrapper" in attributes:
        original = attributes.get("__original_fn")
    return None if original is None else (original, "torch.jit")


def _tagged(obj: Any) -> tuple[Any, str] | None:
    """nn.Module.__init__ and __setstate__, around which torch._dynamo, when it is first used, puts
    a function that notes each new module for its own purposes."""
    if type(obj) is not types.FunctionType or not obj.__closure__:
        return None
    if obj.__module__ != "torch._dynamo.mutation_guard":
        return None
    names = dict(zip(obj.__code__.co_freevars, obj.__closure__, strict=True))
    original = names.get("init") or names.get("setstate")
    return None if original is None else (original.cell_contents, "torch._dynamo's tags")


def _warn_cached(obj: Any) -> None:
    name = f"{obj.__module__}.{obj.__qualname__}"
    if name in _warned or name.startswith("torch."):
        return
    _warned.add(name)
    warnings.warn(
        f"{name} is cached by functools.lru_cache; it is traced without its cache, so a result "
        "that the cache held is computed again",
        CachedFunctionWarning,
        stacklevel=4,
    )


def partial_verdict(obj: Any) -> Verdict | None:
    """The verdict on a `functools.partial` object, whose function is the target."""
    if isinstance(obj, functools.partial):
        reason = "a function with some arguments filled in; the rules are asked about the function"
        return Verdict(
            SPECIAL, reason, "wrapped partial", _HERE, "partial", obj.func, origin=Origin.PARTIAL
        )
    return None


def call_method(obj: Any) -> Any:
    """The `__call__` of a callable object's class, or None for functions and classes."""
    if isinstance(obj, type) or has_code(obj):
        return None
    method = _descriptor(obj, "__call__")
    method = getattr(method, "__func__", method)
    return method if has_code(method) else None


def has_code(obj: Any) -> bool:
    """Whether `obj` is a function written in Python. An object of the program is asked nothing:
    its class may compute attributes."""
    kind = type(obj)
    if issubclass(kind, types.MethodType):
        return has_code(obj.__func__)
    if not any("__code__" in base.__dict__ for base in kind.__mro__):
        return False
    return isinstance(getattr(obj, "__code__", None), types.CodeType)


def can_be_traced(obj: Any) -> bool:
    """Whether tracing into `obj` is possible at all: Python code, or a class made in Python."""
    if isinstance(obj, type):
        return bool(obj.__flags__ & _HEAP_TYPE) and not _made_in_c(obj)
    return has_code(obj)


_HEAP_TYPE = 1 << 9


def _made_in_c(cls: type) -> bool:
    return "__module__" not in cls.__dict__ or (
        "__init__" not in cls.__dict__ and str(type(cls).__module__).startswith("pybind11")
    )


C_CALLABLES = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
)


def home(obj: Any) -> str:
    """The module whose code runs when `obj` is called; "" if nobody knows.

    For a function that is where its code was compiled, not `__module__`: `functools.wraps`
    copies the latter from the function inside. For an object it is where its class is.
    """
    if has_code(obj):
        module = getattr(obj, "__globals__", {}).get("__name__")
        return module or getattr(obj, "__module__", None) or ""
    if not isinstance(obj, (type, *C_CALLABLES)):
        obj = type(obj)
    if not isinstance(obj, type):
        obj = getattr(obj, "__objclass__", obj)
    try:
        module = getattr(obj, "__module__", None)
    except Exception:  # of the program's own code
        return ""
    return module if isinstance(module, str) else ""


def kernel_verdict(obj: Any) -> Verdict | None:
    """The verdict on a triton kernel, which is launched and not called."""
    kind = type(obj)
    if str(kind.__module__).partition(".")[0] == "triton" and kind.__name__ in _KERNELS:
        reason = "a triton kernel: launched by the graph"
        return Verdict(
            SPECIAL, reason, "triton kernel", _HERE, "triton_kernel", origin=Origin.TRITON_KERNEL
        )
    return None


_KERNELS = ("JITFunction", "Autotuner", "Heuristics")
