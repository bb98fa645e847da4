"""Subscripts of tensors with symbolic numbers in them.

torch's own subscript takes the value of a symbolic int and so makes it a constant; `select` does
not. `x[i, :, j]` becomes `x[:, :, :]` and one `select` for each symbol.
"""

from __future__ import annotations

import operator
from typing import Any

import torch

from suture.breaks import Break, calls
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.objects import Constant, List, Slice, Symbol, Tensor, Tuple
from suture.compiler.objects.array import Array
from suture.compiler.objects.tensor import known_tensor
from suture.compiler.torch.slot_overrides import override_of_slot

_WHOLE = slice(None)


@implements(abstract.tail_getitem, Tensor)
def tensor_getitem(trace: Trace, obj: Tensor, key: Value) -> Value:
    """A key of symbols selects without specialising them."""
    overridden = override_of_slot(trace, obj, "__getitem__", [key])
    if overridden is not None:
        return overridden
    at = _with_known(trace, _with_tensors(trace, key))
    found = _mapped_item(trace, obj, at) if trace.modes.mapped else None
    if found is None:
        found = _selected(trace, obj, at)
    return (
        found if found is not None else abstract.call_torch(trace, operator.getitem, [obj, at], {})
    )


@implements(abstract.set_item, Tensor)
def tensor_setitem(trace: Trace, obj: Tensor, key: Value, value: Value) -> None:
    if override_of_slot(trace, obj, "__setitem__", [key, value]) is not None:
        return
    if not _can_be_put(value, obj):
        raise Break(calls.ARGUMENT_OUTSIDE_GRAPH, function="__setitem__", argument="value")
    at = _with_known(trace, _with_tensors(trace, key))
    part = _selected(trace, obj, at)
    if part is not None:
        abstract.call_torch(trace, operator.setitem, [part, Constant(Ellipsis), value], {})
        return
    abstract.call_torch(trace, operator.setitem, [obj, at, value], {})


def _can_be_put(value: Value, tensor: Tensor) -> bool:
    """Whether torch takes a value for an item of a tensor of this dtype. It refuses some scalars of
    NumPy, which are plain numbers in a graph."""
    if not isinstance(value, Constant) or type(value.value).__module__ != "numpy":
        return True
    try:
        torch.zeros(1, dtype=tensor.value.dtype)[0] = value.value
    except TypeError:
        return False
    return True


def _mapped_item(trace: Trace, tensor: Tensor, key: Value) -> Value | None:
    """An item at numbers that may be other ones in each row; None if there are none, or more
    than numbers and index tensors."""
    keys = abstract.unpack(trace, key) if isinstance(key, Tuple) else [key]
    known = [isinstance(k, Tensor) or _is_constant(k, (int,)) for k in keys]
    if not all(known) or not any(_is_number(k) for k in keys):
        return None
    made = [
        k if isinstance(k, Tensor) else abstract.call_torch(trace, torch.tensor, [k], {})
        for k in keys
    ]
    return abstract.call_torch(trace, torch.ops.aten.index.Tensor, [tensor, List(made)], {})


def _selected(trace: Trace, tensor: Tensor, key: Any) -> Any:
    """The part of the tensor at a key with symbols; None if the key has none, or more than
    symbols, ints, slices, None and an ellipsis."""
    keys = abstract.unpack(trace, key) if isinstance(key, Tuple) else [key]
    if not trace.modes.mapped and any(_is_number(k) for k in keys):
        keys = [
            abstract.tensor_to_number(trace, k, "__index__") if _is_number(k) else k for k in keys
        ]
    if not any(_is_index(k) for k in keys) or not all(_is_basic(k) for k in keys):
        return None
    taken = sum(1 for k in keys if not _is_constant(k, (type(None), type(Ellipsis))))
    if taken > tensor.value.dim():
        return None
    rest, symbols, dim = [], [], 0
    for k in keys:
        if _is_index(k):
            symbols.append((dim, k))
            rest.append(Constant(_WHOLE))
            dim += 1
            continue
        rest.append(k)
        if _is_constant(k, (type(Ellipsis),)):
            dim += tensor.value.dim() - taken
        elif not _is_constant(k, (int,)):
            dim += 1
    part = tensor
    if any(r.is_constant() is False or r.constant() != _WHOLE for r in rest):
        part = known_tensor(abstract.call_torch(trace, operator.getitem, [tensor, Tuple(rest)], {}))
    for dim, symbol in reversed(symbols):
        part = known_tensor(
            abstract.call_torch(trace, torch.select, [part, Constant(dim), symbol], {})
        )
    return part


def _with_tensors(trace: Trace, key: object) -> Any:
    """Tensors for the arrays in a key. An array of several dimensions on its own is something
    else: torch takes its rows for the parts of a tuple."""
    if isinstance(key, Array):
        return key.tensor if key.tensor.value.dim() == 1 or _is_number(key.tensor) else key
    if not isinstance(key, Tuple):
        return key
    if not any(isinstance(k, Array) for k in abstract.unpack(trace, key)):
        return key
    return Tuple([k.tensor if isinstance(k, Array) else k for k in abstract.unpack(trace, key)])


def _with_known(trace: Trace, key: Any) -> Any:
    """Ints for the tensors in a key whose number is known: a compiler would take it from the
    data."""
    keys = abstract.unpack(trace, key) if isinstance(key, Tuple) else [key]
    if trace.modes.mapped or not any(_is_number(k) for k in keys):
        return key
    numbers = {i: abstract.known_number(trace, k) for i, k in enumerate(keys) if _is_number(k)}
    if all(number is None for number in numbers.values()):
        return key
    plain = [k if numbers.get(i) is None else Constant(numbers[i]) for i, k in enumerate(keys)]
    return Tuple(plain) if isinstance(key, Tuple) else plain[0]


def _is_index(key: Any) -> bool:
    return isinstance(key, Symbol) and key.python_type() is int


def _is_number(key: Any) -> bool:
    """A tensor that holds one int: as an index it is that int, not an index tensor."""
    if not isinstance(key, Tensor) or key.value.dim():
        return False
    return key.value.dtype in (torch.int64, torch.int32, torch.int16, torch.int8)


def _is_constant(key: Any, kinds: tuple[type, ...]) -> bool:
    return bool(key.is_constant()) and type(key.constant()) in kinds


def _is_basic(key: Any) -> bool:
    return (
        _is_index(key)
        or isinstance(key, Slice)
        or _is_constant(key, (int, slice, type(None), type(Ellipsis)))
    )
