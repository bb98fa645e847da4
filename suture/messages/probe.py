"""Probes: functions that are given each variant before its first call, to count and time what it
runs.

A probe gets (point, variant) once, under the lock of compiling. Reports use it; without probes a
variant is exactly what the emitter wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from suture import _core
from suture.runtime.points import Variant

Probe = Callable[[_core.Point, Variant], None]
_probes: tuple[Probe, ...] = ()


def offer(point: _core.Point, variant: Variant) -> None:
    """Hand a fresh variant to every probe."""
    for probe in _probes:
        probe(point, variant)


@contextmanager
def probing(probe: Probe) -> Iterator[None]:
    """Let `probe` see the variants made during a `with` block."""
    global _probes
    _probes = (*_probes, probe)
    try:
        yield
    finally:
        _probes = tuple(one for one in _probes if one is not probe)
