"""Descriptors: what is in classes and answers for attributes of instances."""

from __future__ import annotations


def is_property(raw: object) -> bool:
    """A property, of the builtin type or of one that leaves to it what properties do."""
    kind = type(raw)
    return kind is property or (
        issubclass(kind, property)
        and (kind.__get__, kind.__set__) == (property.__get__, property.__set__)
    )
