"""Who wants to hold each variant in hand before its first call, to count and time what it runs.

A probe gets (point, data, variant) once, under the lock of compiling. Reports use it; without
probes a variant is exactly what the emitter wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Probe = Callable[[Any, Any, Any], None]
_probes: tuple[Probe, ...] = ()


def offer(point: Any, data: Any, variant: Any) -> None:
    """Hand a fresh variant to every probe."""
    for probe in _probes:
        probe(point, data, variant)


@contextmanager
def probing(probe: Probe) -> Iterator[None]:
    """Let `probe` see the variants made during a `with` block."""
    global _probes
    _probes = (*_probes, probe)
    try:
        yield
    finally:
        _probes = tuple(one for one in _probes if one is not probe)
