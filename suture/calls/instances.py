"""Facts about real instances."""

from __future__ import annotations

from typing import Any


def has_dict(cls: type) -> bool:
    """Whether instances of a class have attributes beside its slots."""
    return cls.__dictoffset__ != 0


def really_has(value: Any, name: str, slot: bool) -> bool:
    """Whether a real object holds the attribute itself, in a slot or in its dict."""
    if slot:
        return hasattr(value, name)
    return name in getattr(value, "__dict__", {})
