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


def overload_of(value: Any) -> Any:
    """The one overload of an operator that custom_op made; the value itself if it is none."""
    made = NAMES.get("CustomOpDef")
    return value._opoverload if not is_missing(made) and isinstance(value, made) else value


def traced_parts(op: torch._ops.OpOverload) -> tuple[list[str], dict[str, Any]] | None:
    """What graphs were made of where they call an operator: texts, and functions of the program by
    their role. None for operators that custom_op did not make, or that have more to them: of those
    it cannot be told."""
    known = NAMES.get("definitions")
    made = None if is_missing(known) else known.get(f"{op.namespace}::{op._opname}")
    if made is None or made._opoverload is not op or made._torch_dispatch_fns or op.py_kernels:
        return None
    casts = [
        f"{name}={value!r}" for name, value in vars(made).items() if name.startswith("_autocast")
    ]
    texts = [str(op._schema), *sorted(map(str, op.tags)), *sorted(casts)]
    return texts, {name: getattr(made, name) for name in _TRACED}
