"""`options={"guard_filter_fn": f}`: the program says which guards are kept.

`f` gets one entry for each guard, with the attributes of torch's entries, and gives back a bool for
each. Which values those attributes have is the table below: the guards are suture's own, and each
has the type of torch's guard that checks the same. What the program drops is its own risk, as in
torch: a variant then runs on states that it was not made for.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from suture.errors import UserError

# Kinds of guards by torch's names; the rest are checks of the object's type or layout.
TYPES = {
    "is": "ID_MATCH",
    "weak": "ID_MATCH",
    "type": "TYPE_MATCH",
    "int": "TYPE_MATCH",
    "float": "TYPE_MATCH",
    "bool": "TYPE_MATCH",
    "equals": "EQUALS_MATCH",
    "len": "SEQUENCE_LENGTH",
    "keys": "DICT_KEYS_MATCH",
    "no_key": "DICT_CONTAINS",
    "no_attr": "HASATTR",
    "no_mro_attr": "HASATTR",
    "exists": "HASATTR",
    "tensor": "TENSOR_MATCH",
    "same": "DUPLICATE_INPUT",
    "distinct": "DUPLICATE_INPUT",
    "expr": "SHAPE_ENV",
    "expr_py": "SHAPE_ENV",
    "torch_state": "GLOBAL_STATE",
    "truth": "BOOL_MATCH",
    "unbound": "NONE_MATCH",
}


@dataclass(frozen=True)
class Source:
    """Where a guarded value comes from, as torch's filters ask."""

    name: str
    module: Any  # the innermost nn.Module on the way to the value
    module_is_torchs: bool

    def is_unspecialized_nn_module(self) -> bool:
        return self.module is not None

    def is_unspecialized_builtin_nn_module(self) -> bool:
        return self.module_is_torchs


@dataclass(frozen=True)
class OrigGuard:
    """The guard behind an entry."""

    name: str
    source: Source
    text: str


@dataclass(frozen=True)
class Entry:
    """One guard, as the program's function sees it."""

    name: str
    has_value: bool
    value: object
    guard_type: str
    derived_guard_types: tuple[str, ...]
    is_global: bool
    orig_guard: OrigGuard


def kept(
    choose: Callable[[Sequence[Entry]], Sequence[bool]], guards: list[Any], state: tuple[Any, ...]
) -> list[Any]:
    """Those of the guards that the program's function keeps. UserError if it does not answer."""
    values: dict[Any, Any] = {}
    answers = choose([entry(guard, state, values) for guard in guards])
    if not hasattr(answers, "__len__") or len(answers) != len(guards):
        raise UserError(
            f"guard_filter_fn was given {len(guards)} guards and must give back a list of as many"
            " bools"
        )
    if not all(type(answer) is bool for answer in answers):
        raise UserError("guard_filter_fn must give back bools")
    return [guard for guard, keep in zip(guards, answers) if keep]


def entry(guard: Any, state: tuple[Any, ...], values: dict[Any, Any]) -> Entry:
    """The entry of one guard; `values` remembers what was read for the others."""
    source = guard.source
    name = source.path() if source is not None else ""
    found = _read(source, state, values) if source is not None else _NOTHING
    module = _module_on_the_way(source, state, values)
    torchs = module is not None and type(module).__module__.startswith("torch.nn.")
    kind = TYPES.get(guard.kind, guard.kind.upper())
    return Entry(
        name,
        found is not _NOTHING,
        None if found is _NOTHING else found,
        kind,
        (kind,),
        source is not None and _is_global(source),
        OrigGuard(name, Source(name, module, torchs), guard.text()),
    )


def _is_global(source: Any) -> bool:
    """Whether the value hangs below the globals of a module: not below an argument."""
    root = source.root()
    if root.kind == "const":
        return True
    return any(at.kind == "attr" and at.arg == "__globals__" for at in _way(source))


def _way(source: Any) -> list[Any]:
    """The sources from the root to this one."""
    sources = []
    while source is not None:
        sources.append(source)
        source = source.base
    return sources[::-1]


def _module_on_the_way(source: Any, state: tuple[Any, ...], values: dict[Any, Any]) -> Any:
    """The last nn.Module at or above the source, unless a tensor of it that is an argument."""
    found = None
    for step in _way(source):
        value = _read(step, state, values)
        if issubclass(type(value), torch.nn.Module):
            found = value
    return found


_NOTHING = object()


def _read(source: Any, state: tuple[Any, ...], values: dict[Any, Any]) -> Any:
    """The value at a source; _NOTHING where reading it would run code of the program."""
    if source not in values:
        values[source] = _read_anew(source, state, values)
    return values[source]


def _read_anew(source: Any, state: tuple[Any, ...], values: dict[Any, Any]) -> Any:
    if source.base is None:
        return state[source.arg] if source.kind == "slot" else source.arg
    base = _read(source.base, state, values)
    if base is _NOTHING:
        return _NOTHING
    try:
        if source.kind == "pick":
            index = _read(source.arg, state, values)
            return base[index] if type(base) in (list, tuple, dict) else _NOTHING
        return _step(source, base)
    except (AttributeError, LookupError, TypeError, ValueError):
        return _NOTHING


def _step(source: Any, base: Any) -> Any:
    match source.kind:
        case "attr":
            return _attribute(base, source.arg)
        case "dict":
            return object.__getattribute__(base, "__dict__")
        case "item" | "index" | "getitem" if type(base) in (dict, list, tuple):
            return base[source.arg]
        case "key" if type(base) is dict:
            return list(base)[source.arg]
        case "cell":
            return base.cell_contents
        case "type":
            return type(base)
        case "closure":
            return base.__closure__[source.arg]
        case "default":
            return base.__defaults__[source.arg]
        case "kwdefault":
            return base.__kwdefaults__[source.arg]
        case "code":
            return base.__code__
    return _NOTHING


def _attribute(base: Any, name: str) -> Any:
    """An attribute, of modules also their parameters, buffers and modules; runs no property."""
    if issubclass(type(base), torch.nn.Module):
        for held in ("_parameters", "_buffers", "_modules"):
            found = base.__dict__.get(held, {})
            if name in found:
                return found[name]
    found = inspect.getattr_static(base, name)
    if hasattr(type(found), "__get__") and not isinstance(found, type):
        return getattr(base, name) if type(found).__name__ in _HARMLESS else _NOTHING
    return found


_HARMLESS = frozenset({"function", "member_descriptor", "getset_descriptor"})
