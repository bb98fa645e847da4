"""torch's operations, read from the installed torch.

Nothing is imported or computed before `operations()` is asked for the first time.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from suture.rules.verdict import CONSTANT, IN_GRAPH, SPECIAL, Origin, Verdict, location
from suture.torch_private import operators, tensor_parts

# Modules in C that hold operations on tensors, and modules in C that hold everything else.
OPERATION_MODULES = ("_nn", "_fft", "_linalg", "_special", "_sparse", "_nested")
BINDING_MODULES = ("_cpu", "_cudnn", "_itt", "_verbose", "_te", "_jit_tree_views", "_autograd")

# How a C function that reads the state of the process is named.
GETTERS = ("_get_", "_is_", "_has_", "get_", "is_", "has_")

C_METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType, types.BuiltinFunctionType)

_HERE = location(0)

# One verdict per kind of name; the name itself is filled in when it is asked for.
OPERATION = Verdict(
    IN_GRAPH,
    "an operation of torch: one node",
    "torch operation",
    _HERE,
    origin=Origin.TORCH_OPERATION,
)
FUNCTIONAL = Verdict(
    IN_GRAPH,
    "a function of torch that takes tensors: one node, its body is the backend's",
    "torch function",
    _HERE,
    origin=Origin.TORCH_FUNCTION,
)
METHOD = Verdict(
    IN_GRAPH,
    "a method of Tensor written in C: one node",
    "Tensor method",
    _HERE,
    origin=Origin.TENSOR_METHOD,
)
BINDING = Verdict(
    IN_GRAPH,
    "a C function of torch: a node where it yields tensors, otherwise a break",
    "torch C function",
    _HERE,
    origin=Origin.TORCH_BINDING,
)
SETTING = Verdict(
    CONSTANT,
    "reads a setting of torch: folded, and guarded",
    "torch setting",
    _HERE,
    origin=Origin.TORCH_SETTING,
)
OVERLOAD = Verdict(
    IN_GRAPH, "an operator of torch.ops: one node", "operator", _HERE, origin=Origin.OPERATOR
)
HIGHER_ORDER = Verdict(
    SPECIAL,
    "an operator that takes functions: its bodies become subgraphs",
    "higher order operator",
    _HERE,
    origin=Origin.OPERATOR,
)


class Operations:
    """Objects of torch that go into the graph, by identity, with name and verdict."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[Any, str, Verdict]] = {}

    def add(self, obj: Any, name: str, verdict: Verdict) -> None:
        """File `obj`, unless it is filed already under a name that was found first."""
        self._entries.setdefault(id(obj), (obj, name, verdict))

    def get(self, obj: Any) -> Verdict | None:
        entry = self._entries.get(id(obj))
        return replace(entry[2], name=entry[1]) if entry is not None else None


@functools.cache
def operations() -> Operations:
    """The table, built once; public names first, so that a verdict shows what people write."""
    import torch

    found = Operations()
    for prefix, space in _operation_spaces(torch):
        for name, obj in _builtins(space):
            found.add(obj, f"{prefix}.{name}", OPERATION)
    for name, obj in _functionals(torch):
        found.add(obj, name, FUNCTIONAL)
    for name, obj in _tensor_methods(torch):
        found.add(obj, f"torch.Tensor.{name}", METHOD)
    for prefix, space in _binding_spaces(torch):
        for name, obj in _builtins(space):
            found.add(obj, f"{prefix}.{name}", SETTING if name.startswith(GETTERS) else BINDING)
    return found


def _operation_spaces(torch: Any) -> Iterator[tuple[str, Any]]:
    for name in ("fft", "linalg", "special"):
        yield f"torch.{name}", getattr(torch, name)
    yield "torch.nn.functional", torch.nn.functional
    yield "torch", operators.functions_in_c
    for name in OPERATION_MODULES:
        if hasattr(operators.bindings, name):
            yield f"torch._C.{name}", getattr(operators.bindings, name)
    yield "torch._VF", operators.functions_with_defaults


def _binding_spaces(torch: Any) -> Iterator[tuple[str, Any]]:
    yield "torch", torch
    yield "torch._C", operators.bindings
    for name in BINDING_MODULES:
        if hasattr(operators.bindings, name):
            yield f"torch._C.{name}", getattr(operators.bindings, name)


def _builtins(space: Any) -> Iterator[tuple[str, Any]]:
    for name in dir(space):
        if name.startswith("__") and name.endswith("__") and not _is_operator_name(name):
            continue
        obj = getattr(space, name, None)
        if isinstance(obj, types.BuiltinFunctionType) and _of_torch(obj):
            yield name, obj


def _is_operator_name(name: str) -> bool:
    return name in ("__and__", "__or__", "__xor__", "__lshift__", "__rshift__")


def _of_torch(obj: types.BuiltinFunctionType) -> bool:
    return (obj.__module__ or "torch").partition(".")[0] == "torch"


def _functionals(torch: Any) -> Iterator[tuple[str, Any]]:
    """Python functions that torch lets tensor subclasses override, and torch.nn.functional."""
    functional = torch.nn.functional
    for name, obj in vars(functional).items():
        own = getattr(obj, "__module__", None) == functional.__name__
        if own and isinstance(obj, types.FunctionType) and not name.startswith("_"):
            yield f"torch.nn.functional.{name}", obj
    for space, functions in torch.overrides.get_overridable_functions().items():
        if isinstance(space, type) or getattr(space, "__name__", "") == "Tensor":
            continue
        prefix = getattr(space, "__name__", type(space).__name__)
        for obj in functions:
            if isinstance(obj, types.FunctionType):
                yield f"{prefix}.{obj.__name__}", obj


def _tensor_methods(torch: Any) -> Iterator[tuple[str, Any]]:
    for name in dir(torch.Tensor):
        if name in ("__new__", "__init__", "__class__"):
            continue
        obj = getattr(torch.Tensor, name)
        if isinstance(obj, C_METHODS):
            yield name, obj


def operator_verdict(obj: Any) -> Verdict | None:
    """The verdict on an object of torch.ops (of torch itself or of a custom library), or None."""
    if isinstance(obj, operators.HigherOrderOperator):
        alike = any(base.__name__ == "BaseHOP" for base in type(obj).__mro__)  # they differ in name
        name = "base_hop" if alike else operators.name_of(obj)
        return replace(HIGHER_ORDER, name=f"higher_order.{name}")
    if isinstance(obj, (operators.OpOverload, operators.OpOverloadPacket)):
        return replace(OVERLOAD, name=f"torch.ops.{obj!s}")
    return None


def custom_operator(obj: Any) -> Any:
    """The OpOverload that a `torch.library.custom_op` object calls, or None."""
    return operators.overload_of(obj) if isinstance(obj, operators.CustomOpDef) else None


def missing_fake(op: Any) -> str:
    """What to write so that an operator of a custom library gets a fake kernel; "" if it has one.

    In: an OpOverload or OpOverloadPacket. Out: lines of Python for a hint.
    """
    if isinstance(op, operators.OpOverloadPacket):
        op = getattr(op, op.overloads()[0])
    name = operators.schema_of(op).name
    keys = ("Meta", "CompositeImplicitAutograd", "CompositeExplicitAutograd")
    if any(operators.has_kernel(op.name(), key) for key in keys):
        return ""
    if operators.fake_kernels.find(name).fake_impl.kernel is not None:
        return ""
    arguments = ", ".join(argument.name for argument in operators.schema_of(op).arguments)
    return (
        f'@torch.library.register_fake("{name}")\n'
        f"def _({arguments}):\n"
        f"    return torch.empty_like(...)  # shape and dtype of the result"
    )


def leaves(tree: Any) -> list[Any]:
    """The leaves of a pytree, as torch flattens it."""
    leaves_of: list[Any] = tensor_parts.pytree.tree_leaves(tree)
    return leaves_of


@functools.cache
def leaf_types() -> tuple[type, ...]:
    """What may be a leaf of the arguments and results of a node: values and constants."""
    import torch

    numbers = (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool, int, float, complex)
    return (*numbers, torch.dtype, torch.device, torch.layout, torch.memory_format, torch.nn.Module)
