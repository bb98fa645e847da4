"""Scalar factors of operations as multiplications of their own.

AOTAutograd takes a symbolic float only where it can put a tensor in its place. It can for `x * f`,
not for `torch.add(x, y, alpha=f)`: so where a backend has refused a float, `x + y * f` is captured.
"""

from __future__ import annotations

from typing import Any

from suture.calls.part import Part
from suture.variables import List, Symbol, Tensor, Tuple

# Operation without a trailing underscore -> the keyword of its factor. It applies to the second
# argument, a tensor or a list of tensors.
_FACTORS = {
    "add": "alpha", "sub": "alpha", "subtract": "alpha", "_foreach_add": "alpha",
    "_foreach_sub": "alpha", "addcmul": "value", "addcdiv": "value",
}  # fmt: skip


class Spreading(Part):
    """The part of the tracer that writes factors out."""

    def spread_factor(self, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """(args, kwargs) with a symbolic factor multiplied into the argument it applies to."""
        name = target if isinstance(target, str) else getattr(target, "__name__", "")
        keyword = _FACTORS.get(name.rstrip("_"))
        factor = kwargs.get(keyword) if keyword is not None else None
        if not isinstance(factor, Symbol) or factor.python_type() is not float or len(args) < 2:
            return args, kwargs
        scaled = self._scaled(args[1], factor)
        if scaled is None:
            return args, kwargs
        rest = {k: v for k, v in kwargs.items() if k != keyword}
        return [args[0], scaled, *args[2:]], rest

    def _scaled(self, value: Any, factor: Symbol) -> Any:
        if isinstance(value, Tensor) and value.value.is_floating_point():
            return self.binary("mul", value, factor)
        if isinstance(value, (List, Tuple)):
            items = [self._scaled(item, factor) for item in self.unpack(value)]
            return None if any(i is None for i in items) else List(items)
        return None
