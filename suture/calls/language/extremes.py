"""max() and min()."""

from __future__ import annotations

from typing import Any

import torch

from suture.breaks import Break, control_flow
from suture.calls.table import handles
from suture.variables import Symbol, Tensor

# What max() says of nothing, in the words of this Python.
try:
    max(())
except ValueError as error:
    _EMPTY = str(error).replace("max", "{}", 1)


def _extreme(name: str, symbol: str) -> Any:
    def handler(tx: Any, args: Any, kwargs: Any) -> Any:
        items = tx.elements(args[0]) if len(args) == 1 else list(args)
        if not items:
            if "default" in kwargs:
                return kwargs["default"]
            return tx.raise_(ValueError, _EMPTY.format(name))
        key = kwargs.get("key")
        if key is not None and key.is_constant() and key.constant() is None:
            key = None
        if key is None and any(isinstance(i, Symbol) for i in items):
            return _symbol_extreme(tx, name, symbol, items)
        if key is None and tx.whole and all(_is_number(i) for i in items):
            return _tensor_extreme(tx, symbol, items)
        return _compared(tx, symbol, items, key)

    return handler


def _compared(tx: Any, symbol: str, items: list[Any], key: Any = None) -> Any:
    best, best_key = items[0], items[0] if key is None else tx.call(key, [items[0]], {})
    for item in items[1:]:
        item_key = item if key is None else tx.call(key, [item], {})
        if tx.truth(tx.compare(symbol, item_key, best_key)):
            best, best_key = item, item_key
    return best


def _is_number(item: Any) -> bool:
    if isinstance(item, Tensor):
        return bool(item.value.numel() == 1)
    return item.is_constant() and type(item.constant()) in (int, float, bool)


def _tensor_extreme(tx: Any, symbol: str, items: list[Any]) -> Any:
    """Where a break is no way out, the greater of two numbers in tensors is chosen in the graph,
    as a tensor of its own."""
    best = items[0]
    for item in items[1:]:
        better = tx.compare(symbol, item, best)
        if isinstance(better, Tensor):
            best = tx.call_torch(torch.where, [better, item, best], {})
        elif tx.truth(better):
            best = item
    return best


def _symbol_extreme(tx: Any, name: str, symbol: str, items: list[Any]) -> Any:
    """One node, which gives numbers of one kind; of several kinds the winner is to keep its own,
    unless it comes from data, so that nobody knows it yet."""
    if len({item.python_type() for item in items}) > 1:
        try:
            return _compared(tx, symbol, items)
        except Break as reason:
            if reason.type is not control_flow.UNBACKED_DECISION:
                raise
    target = torch.sym_max if name == "max" else torch.sym_min
    best = items[0]
    for item in items[1:]:
        best = tx.call_torch(target, [best, item], {})
    return best


handles(max)(_extreme("max", ">"))
handles(min)(_extreme("min", "<"))
