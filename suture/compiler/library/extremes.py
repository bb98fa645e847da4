"""max() and min()."""

from __future__ import annotations

from typing import Any

import torch

from suture.breaks import Break, control_flow
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.language.iteration import elements_of
from suture.compiler.models import handles
from suture.compiler.objects import Symbol, Tensor
from suture.compiler.torch.float_symbols import keeps_data

# What max() says of nothing, in the words of this Python.
try:
    max(())
except ValueError as error:
    _EMPTY = str(error).replace("max", "{}", 1)


def _extreme(name: str, symbol: str) -> Any:
    def handler(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        items = elements_of(trace, args[0]) if len(args) == 1 else list(args)
        if not items:
            if "default" in kwargs:
                return kwargs["default"]
            return abstract.raise_(trace, ValueError, _EMPTY.format(name))
        key = kwargs.get("key")
        if key is not None and key.is_constant() and key.constant() is None:
            key = None
        if key is None and any(isinstance(i, Symbol) for i in items):
            return _symbol_extreme(trace, name, symbol, items)
        if key is None and trace.region.whole and all(_is_number(i) for i in items):
            return _tensor_extreme(trace, symbol, items)
        return _compared(trace, symbol, items, key)

    return handler


def _compared(trace: Trace, symbol: str, items: list[Value], key: Value | None = None) -> Value:
    best, best_key = (
        items[0],
        items[0] if key is None else abstract.call(trace, key, [items[0]], {}),
    )
    for item in items[1:]:
        item_key = item if key is None else abstract.call(trace, key, [item], {})
        if abstract.truth(trace, abstract.compare(trace, symbol, item_key, best_key)):
            best, best_key = item, item_key
    return best


def _is_number(item: Value) -> bool:
    if isinstance(item, Tensor):
        return bool(item.value.numel() == 1)
    return item.is_constant() and type(item.constant()) in (int, float, bool)


def _tensor_extreme(trace: Trace, symbol: str, items: list[Value]) -> Value:
    """Where a break is no way out, the greater of two numbers in tensors is chosen in the graph,
    as a tensor of its own."""
    best = items[0]
    for item in items[1:]:
        better = abstract.compare(trace, symbol, item, best)
        if isinstance(better, Tensor):
            best = abstract.call_torch(trace, torch.where, [better, item, best], {})
        elif abstract.truth(trace, better):
            best = item
    return best


def _symbol_extreme(trace: Trace, name: str, symbol: str, items: list[Value]) -> Value:
    """One node, which gives numbers of one kind; of several kinds the winner is to keep its own,
    unless it comes from data, so that nobody knows it yet."""
    if len({item.python_type() for item in items}) > 1:
        try:
            return _compared(trace, symbol, items)
        except Break as reason:
            if reason.type is not control_flow.UNBACKED_DECISION:
                raise
    target = torch.sym_max if name == "max" else torch.sym_min
    best = items[0]
    for item in items[1:]:
        keeps_data(trace, target, best, item)
        best = abstract.call_torch(trace, target, [best, item], {})
    return best


handles(max)(_extreme("max", ">"))
handles(min)(_extreme("min", "<"))
