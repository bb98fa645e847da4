"""Names of objects, for people: "torch.manual_seed" to the object, and lists of names."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Iterator
from typing import Any

from suture.rules.errors import UnknownName


def resolve(name: str) -> Any:
    """The object a dotted name means ("torch.Tensor.add", "torch.Tensor#add"); imports its module.

    Raises UnknownName, with the nearest names that exist.
    """
    parts = name.replace("#", ".").split(".")
    if not all(part.isidentifier() for part in parts):
        raise UnknownName(repr(name))
    module, rest = _import_longest(parts)
    if module is None:
        raise UnknownName(name, known=[".".join((top, *parts[1:])) for top in _top_levels()])
    value: Any = module
    for done, part in enumerate(rest):
        missing = object()
        found = getattr(value, part, missing)
        if found is missing:
            prefix = ".".join(parts[: len(parts) - len(rest) + done])
            raise UnknownName(name, known=[f"{prefix}.{near}" for near in dir(value)])
        value = found
    return value


def _import_longest(parts: list[str]) -> tuple[types.ModuleType | None, list[str]]:
    module: types.ModuleType | None = None
    for end in range(1, len(parts) + 1):
        dotted = ".".join(parts[:end])
        if module is not None and hasattr(module, parts[end - 1]):
            inside = getattr(module, parts[end - 1])
            if not isinstance(inside, types.ModuleType):
                return module, parts[end - 1 :]
            module = inside
            continue
        try:
            module = importlib.import_module(dotted)
        except ImportError:
            return module, parts[end - 1 :] if module is not None else []
    return module, []


def _top_levels() -> list[str]:
    return sorted({name.partition(".")[0] for name in sys.modules})


def public_names(under: str) -> Iterator[tuple[str, Any]]:
    """(dotted name, object) of each callable that `under` shows, sorted by name.

    Names with an underscore in front, and modules, are left out; dunders of a class too.
    """
    space = resolve(under)
    for name in sorted(dir(space)):
        if name.startswith("_"):
            continue
        obj = getattr(space, name, None)
        if callable(obj) and not isinstance(obj, types.ModuleType):
            yield f"{under}.{name}", obj
