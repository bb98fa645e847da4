"""Results of operations on fake tensors, known by the operation and what its arguments are.

torch remembers them too, under a key that says more than is needed while no size is a symbol, and
that takes longer to make than most results. What is remembered here is new tensors: of operators
that write to nothing, share no memory and look at no data. Their dtype, sizes, strides and device
follow from those of the arguments. So do those of views, with the place where they begin in the
memory of the first argument (`Views`).

Tensors are remembered twice: of operators, as torch dispatches them (`Results`), and of whole calls
of functions in C (`Calls`), which spares the way down to the operators. A call is remembered where
no derivative is recorded and no mode of torch stands between the call and its operators.
"""

from __future__ import annotations

import functools
import math
from types import BuiltinFunctionType
from typing import Any

import torch

from suture.torch_private import fake_tensors, operators, tensor_parts, thread_state

_PLAIN = (int, float, bool, str, type(None), complex, torch.dtype, torch.device, torch.layout,
          torch.memory_format)  # fmt: skip
_ATTENTION = torch.nn.functional.scaled_dot_product_attention  # its strides are its backend's
_MOST_IN_VAIN = 4
_UNFIT = ("data_dependent_output", "dynamic_output_shape", "inplace_view")


class Unknown(Exception):
    """An argument of which more counts than what is compared."""


class Results:
    """What operators gave in one trace."""

    def __init__(self) -> None:
        self._known: dict[Any, Any] = {}
        self._fit: dict[Any, bool] = {}

    def fits(self, func: Any) -> bool:
        """Whether the result of an operator follows from what its arguments are."""
        found = self._fit.get(func)
        if found is None:
            found = self._fit[func] = _fits(func)
        return found

    def key(self, func: Any, args: Any, kwargs: Any) -> Any:
        """What the result depends on; raises Unknown where that cannot be said."""
        return (
            func,
            torch.get_default_dtype(),
            tuple(map(_described, args)),
            tuple((k, _described(v)) for k, v in kwargs.items()),
        )

    def find(self, mode: Any, key: Any) -> Any:
        """A new tensor like the one that was remembered, or a tuple of such; None if there is
        none."""
        known = self._known.get(key)
        if type(known) is list:
            return tuple([_made(mode, *one) for one in known])
        return None if known is None else _made(mode, *known)

    def remember(self, key: Any, args: Any, value: Any) -> None:
        """Remember a result, if it is a tensor that `find` can make again, or a tuple of such: each
        with memory of its own, whatever the schema says (`_unsafe_view`)."""
        values = value if type(value) is tuple else (value,)
        found = [_facts_of_new(one) for one in values]
        if None in found:
            return
        memory = [tensor_parts.storage_key(one) for one in values]
        for one in tensor_parts.pytree.tree_leaves(args):
            if isinstance(one, torch.Tensor):
                memory.append(tensor_parts.storage_key(one))
        own = memory[: len(values)]
        if len(set(own)) == len(own) and not set(own) & set(memory[len(own) :]):
            self._known[key] = found if type(value) is tuple else found[0]


def _facts_of_new(value: Any) -> Any:
    """What a tensor can be made again by that is no view and no part of its memory; None of
    another one."""
    if type(value) is not fake_tensors.FakeTensor or value.constant is not None:
        return None
    if tensor_parts.is_view(value):
        return None
    size, stride, offset = tuple(value.shape), value.stride(), value.storage_offset()
    if offset or not _are_known((*size, *stride)) or not _is_plain(value):
        return None
    if value.untyped_storage().nbytes() != span_of(size, stride) * value.element_size():
        return None
    return size, stride, value.dtype, value.fake_device


def _made(mode: Any, size: Any, stride: Any, dtype: Any, device: Any) -> Any:
    made = torch.empty_strided(size, stride, dtype=dtype, device="meta")
    return mode.make(made, device)


class Views(Results):
    """What operators gave that look at the memory of their first argument in another way. Autograd
    and version counters know of a view above the operator, however it is made."""

    def fits(self, func: Any) -> bool:
        found = self._fit.get(func)
        if found is None:
            found = self._fit[func] = _is_view_operator(func)
        return found

    def key(self, func: Any, args: Any, kwargs: Any) -> Any:
        # a view of a tensor that was made outside of inference mode was made outside of it too
        if torch.is_inference_mode_enabled() or args[0].is_inference():
            raise Unknown
        return super().key(func, args, kwargs)

    def find_in(self, mode: Any, key: Any, of: torch.Tensor) -> Any:
        """A view of `of` like the one that was remembered; None if there is none."""
        known = self._known.get(key)
        if known is None:
            return None
        size, stride, offset, dtype, device = known
        made = torch.empty_strided(size, stride, dtype=dtype, device="meta")
        made.set_(of.untyped_storage(), offset, size, stride)
        return mode.make(made, device)

    def remember(self, key: Any, args: Any, value: Any) -> None:
        """Remember a view, if it is a tensor that `find_in` can make again."""
        of = args[0][0]
        if type(value) is not fake_tensors.FakeTensor or value is of or value.constant is not None:
            return
        size, stride, offset = tuple(value.shape), value.stride(), value.storage_offset()
        if not _are_known((*size, *stride, offset)) or not _is_plain(value):
            return
        if tensor_parts.storage_key(value) == tensor_parts.storage_key(of):
            self._known[key] = (size, stride, offset, value.dtype, value.fake_device)


class Calls(Results):
    """What calls of torch's functions and of tensors' methods gave in one trace. A target that has
    given nothing to remember several times, as one that gives views, is not described any more."""

    def __init__(self) -> None:
        super().__init__()
        self._vain: dict[Any, float] = {}  # how often each target has given nothing to remember

    def call_key(self, op: str, target: Any, args: Any, kwargs: Any) -> Any:
        """What the result of a call depends on, or None if it has to be made. Functions in C read
        their arguments and the modes that are looked at here; those in Python may read anything."""
        if not (op == "call_method" or _is_torchs(target)) or not args:
            return None
        if self._vain.get(target, 0) >= _MOST_IN_VAIN:
            return None
        first = args[0][0] if type(args[0]) in (list, tuple) and args[0] else args[0]
        if type(first) is not fake_tensors.FakeTensor or target is _ATTENTION or is_watched():
            return None
        if torch.is_grad_enabled() and _requires_grad((*args, *kwargs.values())):
            return None
        try:
            return (op, torch.is_inference_mode_enabled(), self.key(target, args, kwargs))
        except Unknown:
            return None

    def remember(self, key: Any, args: Any, value: Any) -> None:
        super().remember(key, args, value)
        target = key[2][0]
        if key in self._known:
            self._vain[target] = -math.inf  # it is worth it
        else:
            self._vain[target] = self._vain.get(target, 0) + 1


def _is_torchs(target: Any) -> bool:
    """Whether it is a function in C of torch, or of Python's operators."""
    return type(target) is BuiltinFunctionType and target.__module__ != "builtins"


def is_watched() -> bool:
    """Whether a mode may change what an operation gives, or wants to see each one."""
    return bool(
        thread_state.function_stack_length()
        or thread_state.is_any_autocast_enabled()
        or thread_state.functorch_level() is not None
        or thread_state.dispatch_stack_length()
    )


def _requires_grad(values: Any) -> bool:
    return any(
        _requires_grad(v) if type(v) in (list, tuple) else getattr(v, "requires_grad", False)
        for v in values
    )


def only_computes(func: Any) -> bool:
    """Whether an operator writes to nothing and looks at no data, whatever it gives."""
    if func is operators.device_of:
        return True
    return isinstance(func, operators.OpOverload) and _only_computes(func)


@functools.lru_cache(maxsize=4096)
def _only_computes(func: Any) -> bool:
    if func.namespace not in ("aten", "prims"):
        return False
    if operators.schema_of(func).is_mutable:
        return False
    return not any(getattr(torch.Tag, name) in func.tags for name in _UNFIT)


def span_of(size: tuple[int, ...], stride: tuple[int, ...]) -> int:
    """How many elements a tensor of such sizes and strides spans."""
    if 0 in size:
        return 0
    return 1 + sum((n - 1) * step for n, step in zip(size, stride))


def _fits(func: Any) -> bool:
    return len(_new_tensors(func)) == 1


@functools.lru_cache(maxsize=4096)
def gives_several(func: Any) -> bool:
    """Whether an operator gives several new tensors, as attention does."""
    return len(_new_tensors(func)) > 1


def _new_tensors(func: Any) -> list[Any]:
    """What the schema of an operator says of its results, if it does no more than to compute them,
    and they are new tensors; else nothing."""
    if not only_computes(func) or func.namespace != "aten":
        return []
    returns = list(operators.schema_of(func).returns)
    new = all(str(one.type) == "Tensor" and not one.alias_info for one in returns)
    return returns if new else []


def _is_view_operator(func: Any) -> bool:
    """Whether an operator gives one tensor, which is part of its first argument: not any part of
    the memory, of which the argument may have more here and less there."""
    if (
        not only_computes(func)
        or func.namespace != "aten"
        or func is torch.ops.aten.as_strided.default
    ):
        return False
    schema = operators.schema_of(func)
    if len(schema.returns) != 1 or str(schema.returns[0].type) != "Tensor":
        return False
    aliased = [i for i, argument in enumerate(schema.arguments) if argument.alias_info is not None]
    return aliased == [0] and schema.returns[0].alias_info is not None


def _described(value: Any) -> Any:
    kind = type(value)
    if kind is fake_tensors.FakeTensor:
        if value.constant is not None or not _is_plain(value):
            raise Unknown
        size, stride, offset = tuple(value.shape), value.stride(), value.storage_offset()
        if not _are_known((*size, *stride, offset)):
            raise Unknown
        return (size, stride, offset, value.dtype, value.fake_device)
    if kind is float:
        return (kind, repr(value))  # 0.0 and -0.0, and numbers that equal no other
    if kind in _PLAIN:
        return (kind, value)
    if kind is list or kind is tuple or kind is torch.Size:
        return (kind, *map(_described, value))
    raise Unknown


def _are_known(numbers: tuple[Any, ...]) -> bool:
    """Whether these are numbers, and none of them a symbol."""
    return _INTS.issuperset(map(type, numbers))


_INTS = frozenset({int})


def _is_plain(value: torch.Tensor) -> bool:
    """Whether a tensor is what its sizes, strides, dtype and device say, and nothing more."""
    return not (
        value.layout is not torch.strided
        or value.is_quantized
        or value.is_conj()
        or value.is_neg()
        or value.is_nested
    )
