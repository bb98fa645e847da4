"""nn.Module: calling one without hooks is calling its forward."""

from __future__ import annotations

import types
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import torch
import torch.utils.checkpoint

from suture import _core
from suture.breaks import Break, calls, modules
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.language.instance_fields import instance_value
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Dict, Function, Object, ordered_dict
from suture.compiler.objects.hook_table import HookTable, is_hook_table
from suture.compiler.objects.lookup import has_plain_keys, is_builtin_method
from suture.compiler.outside.identity import is_same
from suture.compiler.outside.namespaces import load_global
from suture.runtime import sharded
from suture.torch_private import distributed_parts, tensor_parts
from suture.torch_private.replaced import is_modules_own

_HOOKS = ("_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_pre_hooks")
_GLOBAL_HOOKS = tuple("_global" + name for name in _HOOKS)
# Which hooks are called otherwise, by their numbers.
_BY_NUMBER = (
    "_forward_pre_hooks_with_kwargs",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
)
_HOOKS_OF_CALLS = _HOOKS[2:] + _BY_NUMBER
_NAMESPACE = torch.nn.modules.module.__dict__


def _module_call(fn: Any) -> Any:
    def handler(trace: Trace, args: Any, kwargs: Any) -> Any:
        module = args[0]
        if isinstance(module, Object) and _calls_as_torch_does(trace, module):
            if not _has_no_hooks(module.value):
                if (options := _composable_checkpoint(trace, module)) is not None:
                    return _checkpointed_call(trace, module, args[1:], {**kwargs, **options})
                _refuse_distributed(module)
                _refuse_moving_hooks(trace, module)
            if _is_plain(trace, module):
                forward = abstract.getattr(trace, module, "forward")
                return abstract.tail_call(trace, forward, args[1:], kwargs)
            _refuse_backward_hooks(trace, module)
        return abstract.inline(trace, Function(fn, abstract.pinned(trace, fn)), args, kwargs)

    return handler


for _fn, _name in (
    (torch.nn.Module.__call__, "_wrapped_call_impl"),
    (tensor_parts.module_call, "_call_impl"),
):
    if is_modules_own(_fn, _name):  # else it is traced, as the function of the program that it is
        handles(_fn)(_module_call(_fn))


def _calls_as_torch_does(trace: Trace, module: Object) -> bool:
    """Whether what nn.Module.__call__ calls is nn.Module's too."""
    found = abstract.type_lookup(trace, module.cls, "_call_impl")
    return is_modules_own(found, "_call_impl")


def _has_no_hooks(real: Any) -> bool:
    """Whether a module is called without hooks, DDP's among them: nothing that `_module_call` looks
    for in hooks can be there."""
    if not isinstance(real, torch.nn.Module) or distributed_parts.has_reducer(real):
        return False
    for name in _HOOKS_OF_CALLS:
        table = getattr(real, name, None)
        if type(table) is not OrderedDict or table:
            return False
    return True


def _refuse_distributed(module: Object) -> None:
    """Hooks of fully_shard gather the parameters before forward and free them behind it, outside of
    graphs. Python calls the module, hooks and all; its forward is compiled on its own, once for all
    modules of its class. DDP's reducer, in C++, prepares each forward the same way, also where
    hooks of replicate call it. Under a composable checkpoint nothing is compiled. Python's call is
    right for whatever hooks the module has, so nothing is guarded."""
    if not isinstance(module.value, torch.nn.Module):
        return
    if distributed_parts.has_reducer(module.value):
        held = module.value.module
        assert isinstance(held, torch.nn.Module)
        _compile_forward(held)
        raise _prepared("torch.nn.parallel", "DistributedDataParallel")
    for name in _HOOKS[2:]:
        for hook in getattr(module.value, name, {}).values():
            if distributed_parts.skipped_by_fsdp(hook):
                _compile_forward(module.value)
                why = "the program disables it: a hook of fully_shard"
                raise Break(calls.DISABLED, function=hook.__qualname__, reason=why)
            if distributed_parts.drives_reducer(hook):
                _compile_forward(module.value)
                raise _prepared("torch.distributed", "replicate")
    if distributed_parts.is_checkpointed(module.value):
        raise _run_again(module)


def _composable_checkpoint(trace: Trace, module: Object) -> dict[str, Value] | None:
    """The options of a composable `checkpoint`, if its hooks are all that the module has: such a
    call is one of torch.utils.checkpoint around its forward. The hooks are guarded. Whether they
    are switched off, which they are while the module is run again, is not: a checkpoint changes no
    number, so none can tell."""
    real = module.value
    if not isinstance(real, torch.nn.Module) or not distributed_parts.is_checkpointed(real):
        return None
    options = distributed_parts.checkpoint_options(real)
    if options is None or module.source is None:
        return None
    for name in _HOOKS[2:]:
        table = instance_value(trace, module, name)
        if table is None:
            return None
        for hook in abstract.unpack(trace, abstract.call_method(trace, table, "values")):
            hook = abstract.realize(trace, hook)
            if hook.source is None:
                return None
            abstract.fix(trace, hook.source, hook.real())
    for name in _HOOKS[:2]:
        table = instance_value(trace, module, name)
        if not isinstance(table, Dict) or table.truth(trace):
            return None
    out: dict[str, Value] = {"use_reentrant": Constant(False)}
    for name, value in options.items():
        plain = name != "context_fn"
        out[name] = Constant(value) if plain else Function(value, abstract.pinned(trace, value))
    return out


def _checkpointed_call(trace: Trace, module: Object, args: Any, kwargs: Any) -> Any:
    """One call of torch.utils.checkpoint. Where something in it cannot be captured Python runs the
    module with its hooks, and nothing below is compiled: it is run again as it is."""
    real = torch.utils.checkpoint.checkpoint
    assert isinstance(real, types.FunctionType)
    forward = abstract.getattr(trace, module, "forward")
    try:
        whole = Function(real, abstract.pinned(trace, real))
        return abstract.call(trace, whole, [forward, *args], kwargs)
    except Break:
        raise _run_again(module) from None


def _run_again(module: Object) -> Break:
    why = "its composable checkpoint runs the module again, uncompiled"
    return Break(calls.DISABLED, function=type(module.value).__qualname__, reason=why)


def _prepared(module: str, name: str) -> Break:
    why = "its reducer prepares each call"
    return Break(calls.PYTHON_FUNCTION_RUN, module=module, qualname=name, reason=why)


def _compile_forward(module: torch.nn.Module) -> None:
    """The forward of a module that Python calls is compiled when its frame starts."""
    code = sharded.compile_forward(module)
    if code is not None:
        _core.forget(code)  # what was said of its frames before


def _refuse_backward_hooks(trace: Trace, module: Object) -> None:
    """Hooks that run in the backward belong to autograd, not to the graph."""
    for name in _HOOKS[:2]:
        tables = (
            instance_value(trace, module, name),
            load_global(trace, _NAMESPACE, "_global" + name),
        )
        if any(isinstance(t, Dict) and t.truth(trace) for t in tables):
            raise Break(modules.BACKWARD_HOOKS, module=module.describe())


def _refuse_moving_hooks(trace: Trace, module: Object) -> None:
    """Hooks that are set anew before each call have other numbers each time. Where a call looks for
    the numbers in another table no guard can hold: Python calls the module, and what it calls is
    compiled on its own, unless all must be one graph. Another module in the same place has hooks of
    its own."""
    if trace.region.whole or module.source is None or not isinstance(module.value, torch.nn.Module):
        return
    if not any(getattr(module.value, name, None) for name in _BY_NUMBER):
        return
    for name in _HOOKS[2:]:
        for index, number in enumerate(getattr(module.value, name, ())):
            path = f"{module.source.path()}.{name}[{index}] of {id(module.value)}"
            if trace.region.history.dynamic_number(trace.region.plan, path, number, fixed=True):
                kind = type(module.value)
                raise Break(
                    calls.PYTHON_FUNCTION_RUN,
                    module=kind.__module__,
                    qualname=kind.__qualname__,
                    reason="its hooks are others in each call",
                )


def _is_plain(trace: Trace, module: Object) -> bool:
    """No hooks, not compiled on its own: what Module._call_impl tests first."""
    compiled = instance_value(trace, module, "_compiled_call_impl")
    if compiled is None and not _of_class_compiled_never(trace, module.cls):
        compiled = abstract.getattr(trace, module, "_compiled_call_impl")
    if compiled is not None and not is_same(trace, compiled, Constant(None)):
        return False
    tables: Sequence[Value | None] | None = _empty_tables(trace, module)
    if tables is None:
        tables = [instance_value(trace, module, name) for name in _HOOKS]
    for table in (*tables, *_global_tables(trace)):
        if type(table) is ordered_dict.OrderedDict and table.backing is None:
            if table.entries:
                return False
        elif not isinstance(table, Dict) or table.truth(trace):
            return False
    return True


def _of_class_compiled_never(trace: Trace, cls: type) -> bool:
    """Whether the class says None for all modules of it that hold nothing of their own."""
    asked = abstract.type_lookup(trace, cls, "__getattribute__")
    plain = is_builtin_method(asked, "__getattribute__")
    return plain and abstract.type_lookup(trace, cls, "_compiled_call_impl") is None


def _empty_tables(trace: Trace, module: Object) -> list[Value] | None:
    """The tables of hooks that a module holds, as `instance_value` gives them, if all are empty and
    none was met before; else None."""
    real, outside = module.value, trace.outside
    if not isinstance(real, torch.nn.Module) or module.attrs or trace.effects.globals:
        return None
    held = object.__getattribute__(real, "__dict__")
    known = outside.known.get(id(held))
    if (known is not None and getattr(known[1], "changed", True)) or not has_plain_keys(held):
        return None
    tables = [held.get(name) for name in _HOOKS]
    if len({id(table) for table in tables if id(table) not in outside.known}) < len(_HOOKS):
        return None
    touched = trace.effects.touched
    for table in tables:
        if type(table) is not OrderedDict or table:
            return None
        if touched and abstract.changed_owner(trace, table):
            return None
    made: list[Value] = []
    at = module.known_source.instance_dict()
    for name, table in zip(_HOOKS, tables):
        source = at.item(name)
        trace.guards.add(source, "type", OrderedDict)
        kind = HookTable if is_hook_table(table, source) else ordered_dict.OrderedDict
        value = kind(None, source, table)
        outside.known[id(table)] = (table, value)
        made.append(value)
    return made


def _global_tables(trace: Trace) -> list[Value]:
    """The tables of hooks that all modules have, looked up once as long as the region sets no
    global variable."""
    outside = trace.outside
    if trace.effects.globals or id(_NAMESPACE) in outside.known:
        return [load_global(trace, _NAMESPACE, name) for name in _GLOBAL_HOOKS]
    if outside.hook_tables is None:
        outside.hook_tables = [load_global(trace, _NAMESPACE, name) for name in _GLOBAL_HOOKS]
    return outside.hook_tables
