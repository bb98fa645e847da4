"""Checks on what a mark is set on, made where the mark is set, and again where it is used."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

from suture.rules import torch_names
from suture.rules.errors import RuleError, SignatureMismatch
from suture.rules.mark_table import describe, get_mark
from suture.rules.verdict import location_of
from suture.rules.wrapped import canonical, has_code

_NO_TENSORS = (str, bytes, bool, int, float, complex, set, frozenset)


def same_signature(
    original: Callable[..., Any], where: str, replacement: Callable[..., Any], at: str
) -> None:
    """Raise SignatureMismatch unless `replacement` takes what `original` takes.

    Names and kinds of parameters and defaults must be the same; annotations and the names of
    *args and **kwargs do not count. An original without a signature is not checked.
    """
    try:
        wanted = inspect.signature(original)
    except (ValueError, TypeError):
        return
    given = inspect.signature(replacement)
    if _takes_anything(wanted) or _takes_anything(given):
        return
    detail = _difference(wanted, given)
    if detail:
        raise SignatureMismatch(describe(original), where, describe(replacement), at, detail)


def _takes_anything(signature: inspect.Signature) -> bool:
    kinds = [p.kind for p in signature.parameters.values()]
    return kinds == [inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD]


def _difference(wanted: inspect.Signature, given: inspect.Signature) -> str:
    theirs, ours = _shape(wanted), _shape(given)
    if theirs == ours:
        return ""
    return f"it takes {given}, the original {wanted}"


def _shape(signature: inspect.Signature) -> list[tuple[Any, ...]]:
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        (p.kind,) if p.kind in variadic else (p.kind, p.name, _comparable(p.default))
        for p in signature.parameters.values()
    ]


def _comparable(default: Any) -> Any:
    """Defaults are the same if they are equal, or are sentinels of one type."""
    return default if type(default) in (int, float, str, bool, type(None), tuple) else type(default)


def returns_tensors(fn: Any, where: str) -> None:
    """Raise if the annotations of `fn` already say that it returns something that is no tree of
    tensors. Without annotations this is seen only at the first call."""
    target = canonical(fn)
    if not has_code(target):
        return
    try:
        returned = typing.get_type_hints(target).get("return")
    except Exception:
        return
    if returned in _NO_TENSORS or typing.get_origin(returned) in (set, frozenset):
        raise RuleError(
            f"allow_in_graph at {where}: {describe(fn)} ({location_of(target.__code__)}) returns "
            f"{getattr(returned, '__name__', returned)}; a node yields trees of tensors"
        )


def check_result(fn: Any, result: Any) -> None:
    """Raise if `result`, which a function marked allow_in_graph or nonstrict_trace returned, is
    no tree of tensors and numbers. The tracer calls this when it makes the node."""
    for leaf in torch_names.leaves(result):
        if not _is_leaf(leaf):
            raise RuleError(
                f"{_marked(fn)} returned {type(leaf).__name__}; a node yields tensors, "
                f"or lists, tuples and dicts of them (register other containers with "
                f"torch.utils._pytree)"
            )


def check_inputs(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise if an argument of a function marked nonstrict_trace is no pytree."""
    for leaf in torch_names.leaves((args, kwargs)):
        if not (_is_leaf(leaf) or isinstance(leaf, str)):
            raise RuleError(
                f"{_marked(fn)} was given {type(leaf).__name__}, which is no pytree; register "
                f"the type with torch.utils._pytree.register_pytree_node"
            )


def _is_leaf(leaf: Any) -> bool:
    return leaf is None or isinstance(leaf, torch_names.leaf_types())


def _marked(fn: Any) -> str:
    target = canonical(fn)
    mark = get_mark(target)
    at = f" ({location_of(target.__code__)})" if has_code(target) else ""
    how = f", marked {mark.name} at {mark.where}," if mark is not None else ""
    return f"{describe(fn)}{at}{how}"
