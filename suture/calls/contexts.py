"""Context managers and torch's modes.

torch's own managers (no_grad, autocast...) are plain Python around a few C functions that switch
a mode. They are inlined; only the switches are special: each becomes a node of the graph, is done
for real while tracing so that fake tensors see it, and is noted so that the emitter can bring the
modes to the same state at a break.
"""

from __future__ import annotations

import types
from typing import Any

import torch

from suture.breaks import Break, contexts
from suture.calls.attributes import MISSING
from suture.calls.part import Part
from suture.variables import Constant, Function, Method


class Contexts(Part):
    """The part of the tracer that enters blocks and switches modes."""

    def with_methods(self, manager: Any) -> tuple[Any, Any]:
        """The bound __enter__ and __exit__ of a manager, looked up on its type."""
        cls = manager.python_type()
        found = []
        for name in ("__enter__", "__exit__"):
            raw = self.type_lookup(cls, name)
            if raw is MISSING:
                if hasattr(type(manager), "m_" + name):
                    found.append(self.getattr(manager, name))
                    continue
                self.raise_(
                    TypeError,
                    f"'{cls.__name__}' object does not support the context manager protocol",
                )
            if not isinstance(raw, types.FunctionType):
                raise Break(contexts.UNKNOWN_MANAGER, manager=manager.describe())
            found.append(Method(Function(raw, self.pinned(raw)), manager))
        return found[0], found[1]

    def set_mode(self, setter: Any, args: list[Any], restore: Any) -> Any:
        """Switch a mode: in the graph, for real, and at a break. `restore` undoes it when the
        trace is over."""
        values = [self.constant_value(a) for a in args]
        self.graph.node("call_function", setter, tuple(values), {}, None)
        self.effects.count += 1
        self.restores.append(restore)
        setter(*values)
        self.modes.append((setter, tuple(values)))
        return Constant(None)

    def set_grad_enabled(self, value: Any) -> Any:
        before = torch.is_grad_enabled()
        if self.constant_value(value) == before:
            return Constant(None)
        setter = torch._C._set_grad_enabled
        return self.set_mode(setter, [value], lambda: setter(before))
