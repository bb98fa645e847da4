"""nn.Module: calling one without hooks is calling its forward."""

from __future__ import annotations

from typing import Any

import torch

from suture.breaks import Break, calls, modules
from suture.calls.objects.attributes import MISSING
from suture.calls.table import handles
from suture.torch_private import tensor_parts
from suture.variables import Constant, Dict, Function, Object

_HOOKS = ("_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_pre_hooks")
_GLOBAL_HOOKS = tuple("_global" + name for name in _HOOKS)
_NAMESPACE = torch.nn.modules.module.__dict__


def _module_call(fn: Any) -> Any:
    def handler(tx: Any, args: Any, kwargs: Any) -> Any:
        module = args[0]
        if isinstance(module, Object):
            _refuse_moving_hooks(tx, module)
        if isinstance(module, Object) and _is_plain(tx, module):
            return tx.tail_call(tx.getattr(module, "forward"), args[1:], kwargs)
        if isinstance(module, Object):
            _refuse_backward_hooks(tx, module)
        return tx.inline(Function(fn, tx.pinned(fn)), args, kwargs)

    return handler


for _fn in (torch.nn.Module.__call__, tensor_parts.module_call):
    handles(_fn)(_module_call(_fn))


def _refuse_backward_hooks(tx: Any, module: Object) -> None:
    """Hooks that run in the backward belong to autograd, not to the graph."""
    for name in _HOOKS[:2]:
        tables = (tx.instance_value(module, name), tx.load_global(_NAMESPACE, "_global" + name))
        if any(isinstance(t, Dict) and t.truth(tx) for t in tables):
            raise Break(modules.BACKWARD_HOOKS, module=module.describe())


def _refuse_moving_hooks(tx: Any, module: Object) -> None:
    """Hooks that are set anew before each call have other numbers each time, which no guard can
    hold: Python calls the module, and what it calls is compiled on its own, unless all must be one
    graph. Another module in the same place has hooks of its own."""
    if tx.whole or module.source is None or not isinstance(module.value, torch.nn.Module):
        return
    for name in _HOOKS[2:]:
        for place, number in enumerate(getattr(module.value, name, ())):
            path = f"{module.source.path()}.{name}[{place}] of {id(module.value)}"
            if tx.history.dynamic_number(tx.plan, path, number, fixed=True):
                kind = type(module.value)
                raise Break(
                    calls.PYTHON_FUNCTION_RUN,
                    module=kind.__module__,
                    qualname=kind.__qualname__,
                    reason="its hooks are others in each call",
                )


def _is_plain(tx: Any, module: Object) -> bool:
    """No hooks, not compiled on its own: what Module._call_impl asks first."""
    compiled = tx.instance_value(module, "_compiled_call_impl")
    if compiled is MISSING:
        compiled = tx.getattr(module, "_compiled_call_impl")
    if not tx.same(compiled, Constant(None)):
        return False
    tables = [tx.instance_value(module, name) for name in _HOOKS]
    tables += [tx.load_global(_NAMESPACE, name) for name in _GLOBAL_HOOKS]
    return all(isinstance(t, Dict) and not t.truth(tx) for t in tables)
