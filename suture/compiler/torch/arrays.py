"""NumPy: functions, methods and operators on arrays whose numbers live in the graph."""

from __future__ import annotations

import contextlib
import functools
import operator
import warnings
from typing import Any

import torch

from suture.breaks import Break, arrays, tensors
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.graph import arrays as nodes
from suture.compiler.language.attributes import MISSING, find_in_mro
from suture.compiler.language.conversions import wrap_known
from suture.compiler.language.operators import real_operator
from suture.compiler.objects import (
    Class,
    Constant,
    List,
    Object,
    Symbol,
    Tensor,
    Tuple,
    array,
)
from suture.compiler.objects.array import Array, numpy_dtype
from suture.compiler.objects.array_flat import Flat, set_flat
from suture.compiler.objects.bound_method import BoundMethod
from suture.compiler.objects.sequence import is_list_or_tuple
from suture.compiler.objects.wraps import WRAPPERS
from suture.compiler.torch.array_agreement import differs, has_other_numbers, of_one_kind
from suture.compiler.torch.array_layouts import as_numpy_lays_out
from suture.compiler.torch.array_memory import note_position, write_array
from suture.compiler.torch.array_tensors import (
    array_of_scalar,
    holds_scalar,
    is_scalar_alone,
    with_arrays,
)
from suture.torch_private import autograd_parts

_REDUCTIONS = frozenset(["sum", "prod", "max", "min", "mean", "amax", "amin", "argmax", "argmin"])
_MADE = frozenset((
    "array", "asarray", "zeros", "ones", "empty", "full", "arange", "linspace", "eye", "identity",
    "zeros_like", "ones_like", "full_like", "empty_like",
))  # fmt: skip
_WRITTEN_OUT = 4096  # elements of an array that a graph may hold as numbers
_COMPUTED = ("T", "real", "imag")
_PLAIN = {"iand": "and_", "ior": "or_"}
_SYMBOLS = {"lt": "<", "le": "<=", "eq": "==", "ne": "!=", "gt": ">", "ge": ">="}
_CHANGES = ("fill", "sort", "put", "resize")
with contextlib.suppress(ImportError):  # torch works without it; nothing here is called then
    import numpy

_NUMBERS = ("item", "tolist", "__int__", "__float__", "__index__", "__bool__")


@implements(array.call_numpy)
def call_numpy(
    trace: Trace, real: object, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    name = _numpy_name(real)
    if name is None:
        return None
    if (name in ("array", "asarray") or name.endswith("_like")) and _begins_with_tensor(args):
        args = [abstract.tensor_method(trace, args[0], "numpy", [], {}), *args[1:]]
    elif args and (name in _REDUCTIONS or name in ("array", "asarray")):
        args = [with_arrays(trace, args[0]), *args[1:]]
    if name in ("array", "asarray") and not kwargs and is_scalar_alone(args):
        return array_of_scalar(trace, args[0])
    if name in ("array", "asarray") and not kwargs and holds_scalar(trace, args[:1]):
        made = _fold_numpy(trace, real, name, args, kwargs)
        if made is not None:
            return made
    if name not in _MADE and not any(_holds_array(trace, v) for v in (*args, *kwargs.values())):
        return _fold_numpy(trace, real, name, args, kwargs)
    if isinstance(real, numpy.ufunc) and len(args) > real.nin:
        args, kwargs = args[: real.nin], {**kwargs, "out": Tuple(args[real.nin :])}
    kwargs, out = _array_to_fill(trace, name, kwargs)
    if not nodes.counterpart(name) or has_other_numbers(name, [*args, *kwargs.values()]):
        raise Break(tensors.NUMPY_UNSUPPORTED, function=f"numpy.{name}")
    given = args if name in _OF_SEQUENCES else [_joined(trace, a, name) for a in args]
    made = _array_node(trace, nodes.array_function, [Constant(name), *given], kwargs, name)
    made = _as_numpy_holds(made, name) if out is None else out
    if differs(real, args, kwargs, made):  # type: ignore[arg-type]
        raise Break(tensors.NUMPY_UNSUPPORTED, function=f"numpy.{name} of these arguments")
    return made if out is not None else as_numpy_lays_out(trace, real, args, kwargs, made)  # type: ignore[arg-type]


def _joined(trace: Trace, value: Any, name: str) -> Any:
    """A list of arrays as the array that NumPy makes of it. torch's NumPy would make it of numbers
    of Python, which have no dtype."""
    if isinstance(value, Array) or not _holds_array(trace, value):
        return value
    items = [_joined(trace, v, name) for v in value.unpacked(trace)]
    if not of_one_kind(items):
        raise Break(tensors.NUMPY_UNSUPPORTED, function=f"numpy.{name} of unlike arrays")
    return _array_node(trace, nodes.array_function, [Constant("stack"), List(items)], {}, name)


_JOINING = ("concatenate", "stack", "hstack", "vstack", "dstack", "column_stack", "row_stack")
_OF_SEQUENCES = frozenset([*_JOINING, "ix_", "einsum"])


def _as_numpy_holds(made: Any, name: str) -> Any:
    """Several results in the container that NumPy gives them in: that differs from torch's, and
    between releases of NumPy."""
    kind = _containers().get(name) if isinstance(made, (List, Tuple)) else None
    return made if kind is None else (List if kind is list else Tuple)(list(made.items))


@functools.cache
def _containers() -> dict[str, type]:
    line, square = numpy.zeros(2), numpy.zeros((2, 2, 2))
    found = {name: getattr(numpy, name)(line, line) for name in _OF_SEVERAL}
    found |= {name: getattr(numpy, name)(square, 2) for name in _SPLITS}
    return {name: type(result) for name, result in found.items()} | {
        "gradient": type(numpy.gradient(square))
    }


_OF_SEVERAL = ("meshgrid", "broadcast_arrays", "atleast_1d", "atleast_2d", "atleast_3d")
_SPLITS = ("split", "array_split", "hsplit", "vsplit", "dsplit")


def _array_to_fill(
    trace: Trace, name: str, kwargs: dict[str, Value]
) -> tuple[dict[str, Any], Array | None]:
    """The array that a function of NumPy writes its result to, and gives; None if none."""
    out = kwargs.get("out")
    if isinstance(out, Tuple) and len(out.items) == 1:
        (out,) = out.unpacked(trace)
        kwargs = {**kwargs, "out": out}
    if out is None or (out.is_constant() and out.constant() is None):
        return kwargs, None
    if not isinstance(out, Array) or out.is_scalar or name in ("modf", "frexp", "divmod"):
        raise Break(arrays.ARRAY_METHOD, method=name)
    write_array(trace, out, name)
    return kwargs, out


def _fold_numpy(
    trace: Trace, real: Any, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """A function of numbers, called now: it gives a scalar, or an array that is made of what it
    gave; None if it is something else."""
    known = name in _REDUCTIONS or isinstance(real, numpy.ufunc) or nodes.counterpart(name)
    if not known or not all(is_number(trace, v) for v in (*args, *kwargs.values())):
        return None
    values = [abstract.constant_value(trace, v) for v in args]
    named = {k: abstract.constant_value(trace, v) for k, v in kwargs.items()}
    try:
        result = real(*values, **named)
    except Exception:
        return None
    if type(result) is numpy.ndarray and result.ndim and result.dtype.kind in "biuf":
        if result.size > _WRITTEN_OUT:
            return None
        asked = [Constant("array"), wrap_known(trace, result.tolist())]
        return _array_node(trace, nodes.array_function, asked, _dtype_argument(result), name)
    return Constant(result) if type(result) in WRAPPERS and result == result else None


@implements(array.array_method)
def array_method(
    trace: Trace, array: Array, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    if name in _NUMBERS and not args and not kwargs:
        if array.number is not None and name in ("item", "tolist"):
            return array.number
        return abstract.tensor_method(trace, array.tensor, name, [], {})
    if name == "item" and not kwargs:
        return _item(trace, array, args)
    if not nodes.has_method(name) or has_other_numbers(name, [array, *args, *kwargs.values()]):
        raise Break(arrays.ARRAY_METHOD, method=name)
    target = nodes.array_method
    if name in _CHANGES:
        write_array(trace, array, name)
        target = nodes.array_method_
    made = _array_node(trace, target, [array, Constant(name), *args], kwargs, name)
    if target is not nodes.array_method:
        return made
    real = getattr(array.python_type(), name)
    if differs(real, [array, *args], kwargs, made):
        raise Break(arrays.ARRAY_METHOD, method=name)
    return as_numpy_lays_out(trace, real, [array, *args], kwargs, made)  # type: ignore[no-any-return]


def _item(trace: Trace, array: Array, args: list[Value]) -> Value:
    """`array.item(3)` counts all elements, `array.item(1, 2)` is an index, as `array.item((1, 2))`
    is."""
    if len(args) == 1 and args[0].python_type() is not tuple:
        array = array_method(trace, array, "ravel", [], {})  # type: ignore[assignment]
    key = args[0] if len(args) == 1 else Tuple(list(args))
    picked = array_operator(trace, "getitem", array, key)
    if not isinstance(picked, Array) or not picked.is_scalar:
        raise Break(arrays.ARRAY_METHOD, method="item")
    return number_in(trace, picked)


@implements(array.number_in)
def number_in(trace: Trace, array: Array) -> Value:
    if array.number is not None:
        return array.number
    return abstract.tensor_to_number(trace, array.tensor, "item")


@implements(array.array_operator)
def array_operator(trace: Trace, name: str, *operands: Value) -> Value | None:
    if any(isinstance(o, Tensor) for o in operands):
        plain = [_scalar_operand(trace, o, name) for o in operands]
        return abstract.call_torch(trace, getattr(operator, name), plain, {})
    made = _array_operator(trace, name, *operands)
    numbers = [_number_behind(o) for o in operands]
    if name in _SYMBOLS and None not in numbers:
        assert isinstance(made, Array)
        made.number = abstract.compare(trace, _SYMBOLS[name], *numbers)
    return made


def _scalar_operand(trace: Trace, operand: Value, name: str) -> Value:
    """An operand next to a tensor, to which a scalar of NumPy is a number."""
    if isinstance(operand, Array) and (not operand.is_scalar or name.startswith("i")):
        raise Break(tensors.NUMPY_UNSUPPORTED, function=f"numpy's {name} of a tensor")
    return number_in(trace, operand) if isinstance(operand, Array) else operand


def _array_operator(trace: Trace, name: str, *operands: Value) -> Value:
    first = operands[0]
    changes = name.startswith("i") and name != "invert"
    if changes and isinstance(first, Array) and first.is_scalar:
        name, changes = _PLAIN.get(name, name[1:]), False  # scalars never change
    if changes and isinstance(first, Array):
        write_array(trace, first, f"__{name}__")
    dtype = _result_dtype(name, operands)
    if dtype is None or has_other_numbers(name, list(operands)):
        raise Break(tensors.NUMPY_UNSUPPORTED, function=f"numpy's {name} of these operands")
    if name == "truediv" and dtype == numpy.float64:  # torch divides integers in float32
        operands = tuple(_as_doubles(trace, o) for o in operands)
    if name in ("sub", "isub"):  # torch subtracts no truth values, also not from numbers
        operands = tuple(_without_truths(trace, o, dtype) for o in operands)
    operands = tuple(_as_number(o) for o in operands)  # the dtype of the result is looked at below
    target = nodes.array_operator_ if changes else nodes.array_operator
    views = name == "getitem" and _has_ellipsis(trace, operands[1])
    if views and isinstance(first, Array) and first.is_scalar:  # an array of a copy
        raise Break(tensors.NUMPY_UNSUPPORTED, function="numpy's getitem of a scalar")
    made = _array_node(trace, target, [Constant(name), *operands], {}, name)
    if views and isinstance(made, Array):
        made.is_view = True
    if isinstance(made, Array) and isinstance(first, Array) and made.tensor is first.tensor:
        return first
    if isinstance(made, Array) and numpy_dtype(made.tensor.value) != dtype:
        raise Break(tensors.NUMPY_UNSUPPORTED, function=f"numpy's {name} of these operands")
    if changes or views:
        return made
    return as_numpy_lays_out(trace, real_operator(name), operands, {}, made)  # type: ignore[no-any-return]


def _has_ellipsis(trace: Trace, key: Value) -> bool:
    """Whether a key gives a view even where it names one element."""
    parts = key.unpacked(trace) if isinstance(key, Tuple) else [key]
    known = [part.value for part in parts if isinstance(part, Constant)]
    return any(v is Ellipsis or (isinstance(v, tuple) and Ellipsis in v) for v in known)


def _as_number(operand: Value) -> Value:
    """A known scalar of NumPy as the number of Python that it is."""
    known = isinstance(operand, Constant) and isinstance(operand.value, numpy.generic)
    return Constant(operand.constant().item()) if known else operand


def _as_doubles(trace: Trace, operand: Value) -> Value:
    if not isinstance(operand, Array) or operand.tensor.value.dtype.is_floating_point:
        return operand
    return _converted(trace, operand, "float64")


def _without_truths(trace: Trace, operand: Value, dtype: Any) -> Value:
    if not isinstance(operand, Array) or operand.tensor.value.dtype is not torch.bool:
        return operand
    return _converted(trace, operand, dtype.name)


def _converted(trace: Trace, operand: Value, dtype: str) -> Value:
    asked = [operand, Constant("astype"), Constant(dtype)]
    return _array_node(trace, nodes.array_method, asked, {}, "astype")


@implements(array.array_store)
def array_store(trace: Trace, array: Array, key: Value, value: Value) -> Value:
    write_array(trace, array, "__setitem__")
    _array_node(trace, nodes.array_setitem_, [array, key, value], {}, "__setitem__")
    return Constant(None)


@implements(array.array_attribute)
def array_attribute(trace: Trace, array: Array, name: str) -> Value:
    value = array.tensor.value
    if name == "shape":
        return Tuple(list(abstract.tensor_shape(trace, array.tensor).items))
    if name == "size":
        return abstract.tensor_method(trace, array.tensor, "numel", [], {})
    if name == "ndim":
        return Constant(value.dim())
    if name == "dtype":
        return abstract.wrap(trace, numpy_dtype(value), None)
    if name == "itemsize":
        return Constant(numpy_dtype(value).itemsize)
    if name == "nbytes":
        return abstract.torch_attribute(trace, array.tensor, "nbytes")
    if name == "strides" and (array.source is not None or _is_of_input(array)):
        return _strides(array)
    if name == "flat":
        return Flat(array)
    if name == "__class__":
        return abstract.wrap(trace, array.python_type(), None)
    if name in _COMPUTED:
        made = _array_node(trace, nodes.array_attribute, [array, Constant(name)], {}, name)
        if isinstance(made, Array):
            made.is_view = not array.is_scalar
        return made
    found = find_in_mro(array.python_type(), name)
    if found is None:
        return Constant(None)
    if found is MISSING:
        kind = f"{array.python_type().__module__}.{array.python_type().__name__}"
        return abstract.raise_(trace, AttributeError, f"'{kind}' object has no attribute '{name}'")
    if callable(found):
        return BoundMethod(array, name)
    raise Break(arrays.ARRAY_ATTRIBUTE, attribute=name)


@implements(array.array_set_attribute)
def array_set_attribute(trace: Trace, array: Array, name: str, value: Value) -> None:
    if name != "flat":
        raise Break(arrays.ARRAY_ATTRIBUTE, attribute=name)
    set_flat(trace, array, value)


def _is_of_input(array: Array) -> bool:
    """Whether it is the array of a tensor from outside, with that one's layout."""
    node = array.tensor.node
    if node.target is not autograd_parts.data_of:
        return False
    base = node.args[0]
    return isinstance(base, torch.fx.Node) and base.op == "placeholder"


def _strides(array: Array) -> Value:
    """Of an array from outside, whose layout is guarded; that of a result is torch's business."""
    value = array.tensor.value
    strides = value.stride()
    if not all(type(stride) is int for stride in strides):
        raise Break(arrays.ARRAY_ATTRIBUTE, attribute="strides")
    return Tuple([Constant(stride * value.element_size()) for stride in strides])


def _array_node(
    trace: Trace, target: object, args: list[Value], kwargs: dict[str, Value], name: str
) -> Value:
    frame = trace.frames[-1]
    position = (frame.code.code, frame.ip)
    if position in trace.region.plan.by_python:
        raise Break(arrays.ARRAY_METHOD, method=name)
    plain = [_array_argument(trace, a, name) for a in args]
    named = {k: _array_argument(trace, v, name) for k, v in kwargs.items()}
    made = abstract.call_torch(trace, target, plain, named)
    note_position(made, position)
    return _as_arrays(trace, made)


def _array_argument(trace: Trace, value: Value, name: str) -> Value:
    """Tensors for arrays, names for dtypes; a tensor itself is not NumPy's business."""
    if isinstance(value, Array):
        return value.tensor
    if is_list_or_tuple(value):
        return value.made_like([_array_argument(trace, v, name) for v in value.unpacked(trace)])
    if isinstance(value, (Class, Object)):
        dtype = _dtype_name(value)
        if dtype is not None:
            return Constant(dtype)
    if isinstance(value, Tensor):
        raise Break(tensors.NUMPY_UNSUPPORTED, function=f"numpy's {name} of a tensor")
    if isinstance(value, Constant) and isinstance(value.value, numpy.generic):
        if name not in ("getitem", "__setitem__"):  # its dtype would count, a number's does not
            raise Break(tensors.NUMPY_UNSUPPORTED, function=f"numpy's {name} of a scalar")
        return Constant(value.value.item())
    return value


def _begins_with_tensor(args: list[Value]) -> bool:
    return bool(args) and isinstance(args[0], Tensor)


def _dtype_argument(result: Any) -> dict[str, Any]:
    return {"dtype": Constant(str(result.dtype.name))}


def _result_dtype(name: str, operands: Any) -> Any:
    """The dtype that NumPy's own operator gives for such operands; None where it refuses them, or
    they are nothing that arrays are combined with."""
    if name == "getitem":
        return numpy_dtype(operands[0].tensor.value)
    samples = [_sample(o) for o in operands]
    if any(s is None for s in samples):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = getattr(operator, name)(*samples)
    except Exception:
        return None
    return getattr(result[0] if isinstance(result, tuple) else result, "dtype", None)


def _sample(operand: Any) -> Any:
    """A value of the operand's kind: what NumPy makes of its kind it makes of all."""
    if isinstance(operand, Array):
        dtype = numpy_dtype(operand.tensor.value)
        dims = operand.tensor.value.dim()
        return dtype.type(1) if operand.is_scalar else numpy.ones((1,) * dims, dtype)
    if isinstance(operand, Symbol):
        return operand.python_type()(1)
    if isinstance(operand, Constant) and isinstance(operand.value, (int, float, complex)):
        return operand.value
    if isinstance(operand, Constant) and isinstance(operand.value, numpy.generic):
        return operand.value
    return None


def _number_behind(operand: Any) -> Any:
    """The number of Python that an operand is, if it is one from outside, or a constant."""
    if isinstance(operand, Array):
        return operand.number
    known = isinstance(operand, Symbol) or (
        isinstance(operand, Constant) and type(operand.value) in (int, float)
    )
    return operand if known else None


def is_number(trace: Trace, value: Value) -> bool:
    """Whether a value is a known number, or a list, tuple or size of them."""
    if isinstance(value, Constant):
        return isinstance(value.value, (bool, int, float, numpy.generic, tuple, type(None)))
    return isinstance(value, (List, Tuple)) and all(
        is_number(trace, v) for v in value.unpacked(trace)
    )


def _as_arrays(trace: Trace, result: Value) -> Value:
    if isinstance(result, Tensor):
        return Array(result)
    if type(result) is List or type(result) is Tuple:
        return type(result)([_as_arrays(trace, i) for i in result.unpacked(trace)])
    return result


def _holds_array(trace: Trace, value: Any) -> bool:
    if isinstance(value, Array):
        return True
    return is_list_or_tuple(value) and any(_holds_array(trace, v) for v in value.unpacked(trace))


def _dtype_name(value: Any) -> str | None:
    try:
        real = value.real()
    except LookupError:
        return None
    if isinstance(real, numpy.dtype):
        return str(real.name)
    if isinstance(real, type) and issubclass(real, (numpy.generic, bool, int, float, complex)):
        return str(numpy.dtype(real).name)
    return None


def _numpy_name(real: object) -> str | None:
    """How NumPy calls the function: "sin", "linalg.norm"."""
    name = getattr(real, "__name__", "")
    if getattr(numpy, name, None) is real:
        return str(name)
    for room in ("linalg", "fft"):
        if getattr(getattr(numpy, room), name, None) is real:
            return f"{room}.{name}"
    return None
