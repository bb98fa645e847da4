"""`out=`: tensors that an operation fills, and resizes if they have another shape."""

from __future__ import annotations

from typing import Any

from suture.breaks import Break, tensor_methods
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.graph.arrays import array_function
from suture.compiler.objects import Tensor
from suture.compiler.objects.sequence import Sequence
from suture.torch_private.tensor_parts import is_view


def refuse_resize(
    trace: Trace, op: str, target: Any, args: list[Value], kwargs: dict[str, Value]
) -> None:
    """Python runs what would resize a tensor that others can see: one from outside, or a view.
    A graph says of its inputs, once and for all, how large they are. NumPy resizes nothing: what it
    fills may be larger, and is filled by broadcasting."""
    if target is array_function:
        return
    given = kwargs["out"]
    listed = given.unpacked(trace) if isinstance(given, Sequence) else [given]
    outputs = [o for o in listed if isinstance(o, Tensor) and not _is_private(o)]
    if not outputs:
        return
    rest = {name: value for name, value in kwargs.items() if name != "out"}
    found = abstract.fake_result(trace, op, target, args, rest)
    made = list(found) if isinstance(found, (tuple, list)) else [found]
    shapes = [tuple(m.shape) for m in made if hasattr(m, "shape")]
    for output in outputs:
        if tuple(output.value.shape) not in shapes:
            raise Break(tensor_methods.RESIZE, tensor=output.describe())


def _is_private(tensor: Tensor) -> bool:
    """Whether nobody else looks at the memory: it was made here, and is no view."""
    return tensor.source is None and not is_view(tensor.value) and tensor.value.numel() == 0
