"""Objects of C++ that a binding shows to Python: their properties read fields, as in types of C."""

from __future__ import annotations

import types
from typing import Any

from suture.torch_private import operators

_CLASS_OF_CLASSES = type(operators.FunctionSchema)


def is_field(raw: Any, cls: type) -> bool:
    """Whether a property of a class is a function of its binding, which runs no code of Python."""
    if type(cls) is not _CLASS_OF_CLASSES:
        return False
    getter = getattr(raw.fget, "__func__", raw.fget)  # some are bound like methods
    if type(getter) is not types.BuiltinFunctionType:
        return False
    return not isinstance(getter.__self__, (types.ModuleType, type))
