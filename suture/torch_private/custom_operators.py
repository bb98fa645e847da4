"""Operators that a program defines with torch.library.custom_op: what tracing sees of them."""

from __future__ import annotations

from typing import Any

import torch

from suture.torch_private.table import Topic, is_missing

NAMES = Topic(
    __name__,
    "keeping graphs that call operators of the program",
    "2.11-2.15",
    {
        "definitions": "torch._library.custom_ops.OPDEFS",
        "CustomOpDef": "torch._library.custom_ops.CustomOpDef",
    },
)
# What a graph has of an operator, beyond its call: results of the first, both sides of autograd,
# how it is mapped. Kernels are looked up by name when the graph runs.
_TRACED = ("_abstract_fn", "_setup_context_fn", "_backward_fn", "_vmap_fn")


def __getattr__(name: str) -> Any:
    return NAMES.get(name)


def overload_of(value: Any) -> torch._ops.OpOverload | None:
    """The overload that calling an operator runs if its arguments say no other; None if the value
    is no operator."""
    made = NAMES.get("CustomOpDef")
    if not is_missing(made) and isinstance(value, made):
        value = value._opoverload
    if isinstance(value, torch._ops.OpOverloadPacket):
        value = getattr(value, value.overloads()[0])
    return value if isinstance(value, torch._ops.OpOverload) else None


def path_of(op: torch._ops.OpOverload) -> str:
    """Its dotted name below torch.ops."""
    return str(op)


def traced_parts(op: torch._ops.OpOverload) -> tuple[list[str], dict[str, Any]] | None:
    """What graphs were made of where they call an operator: texts, and functions of the program by
    their role. None for operators that custom_op did not make, or that have more to them: of those
    it cannot be told."""
    known = NAMES.get("definitions")
    made = None if is_missing(known) else known.get(f"{op.namespace}::{op._opname}")
    if made is None or made._opoverload is not op or len(op.overloadpacket.overloads()) != 1:
        return None
    if made._torch_dispatch_fns or op.py_kernels:
        return None
    casts = [
        f"{name}={value!r}" for name, value in vars(made).items() if name.startswith("_autocast")
    ]
    texts = [str(op._schema), *sorted(map(str, op.tags)), *sorted(casts)]
    return texts, {name: getattr(made, name) for name in _TRACED}
