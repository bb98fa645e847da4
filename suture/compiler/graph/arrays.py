"""NumPy in a graph: each call is a node that runs torch's own NumPy on the tensors behind arrays.

Tensors stand for arrays in the arguments and in the results. Functions that change an array end
in an underscore, as operations of torch do: a graph that only calls those is run all the same.
"""

from __future__ import annotations

import operator
from typing import Any

import torch

from suture.torch_private import tensor_parts


def array_function(name: str, *args: Any, **kwargs: Any) -> Any:
    """`numpy.<name>(*args, **kwargs)`."""
    if name == "linspace" and all(type(a) in _NUMBERS for a in (*args, *kwargs.values())):
        return _linspace(*args, **kwargs)
    found = tensor_parts.torch_numpy
    for part in name.split("."):
        found = getattr(found, part)
    if kwargs.get("out") is not None:
        args = tuple(_apart(a, kwargs["out"]) for a in args)
    made = _tensors(found(*_arrays(args), **_arrays(kwargs)))
    if name in _STATISTICS and _gives_one(name, args, kwargs):
        made = made.reshape(())  # torch gives an array of one element
    return _own(made, args) if name in _COPIES else made


_NUMBERS = (int, float, torch.SymInt, torch.SymFloat)


def _linspace(start: float, stop: float, num: int = 50) -> torch.Tensor:
    """As NumPy computes it: torch counts the second half from the end, which rounds otherwise."""
    if num < 2:
        return torch.linspace(start, stop, num, dtype=torch.float64)
    made = torch.arange(num, dtype=torch.float64) * ((stop - start) / (num - 1)) + start
    made[-1] = stop
    return made


_STATISTICS = {"median": 1, "percentile": 2, "quantile": 2}  # where the axis is an argument


def _gives_one(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a statistic is one number of a whole array."""
    at = _STATISTICS[name]
    axis = args[at] if len(args) > at else kwargs.get("axis")
    asked = args[1] if len(args) > 1 else kwargs.get("q")
    several = name != "median" and not isinstance(asked, (int, float))
    return axis is None and not several and not kwargs.get("keepdims")


def array_method(array: torch.Tensor, name: str, *args: Any, **kwargs: Any) -> Any:
    """`array.<name>(*args, **kwargs)`."""
    made = _tensors(getattr(_arrays(array), name)(*_arrays(args), **_arrays(kwargs)))
    return _own(made, (array,)) if name in _COPIES else made


def array_attribute(array: torch.Tensor, name: str) -> Any:
    """`array.<name>`."""
    return _tensors(getattr(_arrays(array), name))


def array_operator(name: str, *operands: Any) -> Any:
    """An operator of Python, by its name in the operator module."""
    made = _tensors(getattr(operator, name)(*_arrays(operands)))
    return _own(made, operands) if name in _COPIES or _picks_one(name, operands, made) else made


def _picks_one(name: str, operands: tuple[Any, ...], made: Any) -> bool:
    """Whether an index gives a number, which a later change of the array does not change. With an
    ellipsis it gives an array."""
    if name != "getitem" or made.dim():
        return False
    keys = operands[1] if isinstance(operands[1], tuple) else operands[1:]
    return not any(key is Ellipsis for key in keys)


def array_setitem_(array: torch.Tensor, key: Any, value: Any) -> None:
    """`array[key] = value`."""
    _arrays(array)[_arrays(key)] = _arrays(_apart(value, array))


def array_operator_(name: str, *operands: Any) -> Any:
    """The same for an operator that changes its first operand, such as `iadd`."""
    return array_operator(name, operands[0], *(_apart(o, operands[0]) for o in operands[1:]))


def array_method_(array: torch.Tensor, name: str, *args: Any, **kwargs: Any) -> Any:
    """A method that changes the array."""
    return array_method(array, name, *args, **kwargs)


def counterpart(name: str) -> bool:
    """Whether torch's NumPy has a function of that name."""
    found: Any = tensor_parts.torch_numpy
    for part in name.split("."):
        found = getattr(found, part, None)
    return callable(found)


def has_method(name: str) -> bool:
    """Whether torch's arrays have a method of that name."""
    return callable(getattr(tensor_parts.torch_numpy.ndarray, name, None))


_COPIES = frozenset({"flatten", "astype", "pos", "positive"})  # torch may give the array itself


def _own(made: Any, given: tuple[Any, ...]) -> Any:
    """A result that has memory of its own, as NumPy gives it."""
    memories = [tensor_parts.storage_key(t) for t in given if isinstance(t, torch.Tensor)]
    return made.clone() if tensor_parts.storage_key(made) in memories else made


def _apart(value: Any, written: Any) -> Any:
    """An operand as it is before `written` changes, of which it may show a part: NumPy looks for
    that, and torch does not."""
    if not isinstance(value, torch.Tensor) or value is written:
        return value
    shared = tensor_parts.storage_key(value) == tensor_parts.storage_key(written)
    return value.clone() if shared else value


def _arrays(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return tensor_parts.torch_numpy.ndarray(value)
    if isinstance(value, slice):
        return slice(_arrays(value.start), _arrays(value.stop), _arrays(value.step))
    return _mapped(_arrays, value)


def _tensors(value: Any) -> Any:
    if isinstance(value, tensor_parts.torch_numpy.ndarray):
        return value.tensor
    return _mapped(_tensors, value)


def _mapped(fn: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return {k: fn(v) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)(fn(v) for v in value)
    return value
