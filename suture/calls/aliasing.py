"""Which inputs are one object, and which must not become one.

Objects that were told apart while tracing are assumed to be different at every call: where the
region changes one of them, or asks whether two are one, another call may not pass one object twice.
"""

from __future__ import annotations

from suture.calls.part import Part
from suture.variables import Tensor
from suture.variables.base import Mutable

_FEW = 12  # so many tensors are always told apart; more of them only where one is changed


class Aliasing(Part):
    """The part of the tracer that guards the identities of inputs."""

    def guard_aliasing(self) -> None:
        """Require that inputs which were different objects stay so. Called once, at the end."""
        tensors, others, fixed = [], [], []
        for _, variable in self._known.values():
            source = getattr(variable, "source", None)
            if source is None:
                continue
            if source.kind == "const" or self.is_fixed(source):
                if isinstance(variable, Mutable):
                    fixed.append((source, type(variable)))
                continue
            if isinstance(variable, Tensor):
                tensors.append(source)
            elif isinstance(variable, Mutable):
                others.append((source, type(variable)))
        if len(tensors) > 1 and (len(tensors) <= _FEW or self.graph.writes()):
            self.guards.add(None, "distinct", tuple(tensors))
        if any(v.source is not None for v in self.effects.touched.values()):
            for kind in {k for _, k in others}:
                same = tuple(s for s, k in (*others, *fixed) if k is kind)
                if len(same) > 1:
                    self.guards.add(None, "distinct", same)
