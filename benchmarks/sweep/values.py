"""What a model gave, flattened, and where two such records differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

Record = list[tuple[str, Any]]
RELATIVE, ABSOLUTE = 1e-4, 1e-5
_PLAIN = (bool, int, float, complex, str, type(None))


def record(**parts: Any) -> Record:
    """Every tensor (copied) and plain value in `parts`, with the place it was found at."""
    out: Record = []
    for name, part in parts.items():
        for place, value in _walk(part, name, set()):
            copied = value.detach().clone() if isinstance(value, torch.Tensor) else value
            out.append((place, copied))
    return out


def leaves(value: Any) -> Iterator[tuple[str, Any]]:
    """(place, leaf) of every tensor and plain value in an output."""
    return _walk(value, "out", set())


def _walk(value: Any, place: str, above: set[int]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (torch.Tensor, *_PLAIN)):
        yield place, value
        return
    if id(value) in above or isinstance(value, (type, torch.nn.Module)):
        return
    above = above | {id(value)}
    if hasattr(value, "keys") and hasattr(value, "__getitem__"):
        for key in list(value.keys()):
            yield from _walk(value[key], f"{place}[{key!r}]", above)
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from _walk(item, f"{place}[{i}]", above)
    elif _is_state(value):
        for key, item in sorted(vars(value).items()):
            yield from _walk(item, f"{place}.{key}", above)


def _is_state(value: Any) -> bool:
    """Caches and the like: objects of the model libraries, but not their settings."""
    home = type(value).__module__
    known = home.startswith(("transformers.", "diffusers.")) and "configuration" not in home
    return known and hasattr(value, "__dict__")


def difference(wanted: Record, got: Record) -> str | None:
    """The first place where two records differ, in words; None if they agree."""
    places, others = [p for p, _ in wanted], [p for p, _ in got]
    if places != others:
        odd = sorted(set(places) ^ set(others))
        return f"other places: {', '.join(odd[:3])}"
    for (place, a), (_, b) in zip(wanted, got):
        found = _unlike(a, b)
        if found:
            return f"{place}: {found}"
    return None


def _unlike(a: Any, b: Any) -> str | None:
    if not (isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)):
        same = type(a) is type(b) and (a == b or (a != a and b != b))
        return None if same else f"{a!r:.60} and {b!r:.60}"
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype} {tuple(a.shape)} and {b.dtype} {tuple(b.shape)}"
    if a.is_floating_point() or a.is_complex():
        if torch.allclose(a, b, rtol=RELATIVE, atol=ABSOLUTE, equal_nan=True):
            return None
        return f"differ by up to {(a - b).abs().max().item():.3g}"
    return None if torch.equal(a, b) else "the integers differ"
