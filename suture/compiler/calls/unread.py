"""Arguments that nobody has looked at yet.

A call of a Python function that is traced puts its arguments into the variables of a frame. What
the function does not look at needs no guard: such an argument may be passed as it is, a `Lazy`,
down to where somebody reads it. Any other call gets values.
"""

from __future__ import annotations

import types
from typing import Any

import torch

from suture import rules
from suture.compiler import abstract
from suture.compiler.core import Held, Lazy, Trace, Value
from suture.compiler.models import model_of
from suture.compiler.objects import Function, MadeFunction, Method, Object
from suture.compiler.outside.namespaces import looks_at_locals

_CALL = torch.nn.Module.__call__
_TABLES = tuple(name for name in vars(torch.nn.Module()) if name.endswith("_hooks"))
_OF_TORCH = "torch."
_LAYERS = "torch.nn.modules."


def has_unread(args: Any) -> bool:
    """Whether nobody has looked at one of these yet."""
    return Lazy in map(type, args)


def looked_at(trace: Trace, args: Any) -> list[Value]:
    """The arguments as values."""
    return [abstract.realize(trace, value) for value in args]


def passed_to(trace: Trace, fn: Value, args: list[Held]) -> list[Any]:
    """The arguments as a call of `fn` may get them: values, unless it can do without."""
    if not has_unread(args) or takes_unread(fn):
        return args
    return looked_at(trace, args)


def takes_unread(fn: Value) -> bool:
    """Whether a call of `fn` only puts its arguments into the variables of a frame."""
    if type(fn) is Method:
        fn = fn.fn
    if type(fn) is MadeFunction:
        return True
    if type(fn) is Function:
        return _is_inlined(fn.fn)
    if type(fn) is Object and isinstance(fn.value, torch.nn.Module) and not fn.attrs:
        return _calls_forward(fn.value)
    return False


def _is_inlined(real: types.FunctionType) -> bool:
    """Whether a function is traced as it is. Those of torch's that are no layers are not counted:
    a tensor among their arguments may take them over."""
    module = str(real.__module__)
    if module.startswith(_OF_TORCH) and not module.startswith(_LAYERS):
        return False
    if model_of(real) is not None or model_of(real.__code__) is not None or looks_at_locals(real):
        return False
    verdict = rules.lookup(real)
    return verdict.kind is rules.INLINE and verdict.target is None


def _calls_forward(module: torch.nn.Module) -> bool:
    """Whether a call of a module is one of its forward, and that is traced as it is."""
    if type(module).__call__ is not _CALL or any(getattr(module, n, True) for n in _TABLES):
        return False
    forward = vars(module).get("forward", type(module).forward)
    return type(forward) is types.FunctionType and _is_inlined(forward)
