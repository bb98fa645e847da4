"""torch.profiler shows what suture compiled: a range `Torch-Compiled Region: function:line` around
each variant that runs. Run on torch 2.13 only.

Nothing is called around variants while no profiler runs.
"""

from __future__ import annotations

from typing import Any

import torch

from suture import _core

STARTS, STOPS = "_run_on_profiler_start", "_run_on_profiler_stop"
NAME = "Torch-Compiled Region"


def look() -> None:
    """A profiler has started."""
    _core.set_around(_enter, _leave)


def stop() -> None:
    """The profiler has stopped."""
    _core.set_around(None, None)


def _enter(point: Any, variant: Any) -> Any:
    if variant is _core.call_plainly or all(variant is not known for known in point.variants):
        return None  # the interpreter's, not compiled
    record = torch.autograd.profiler.record_function(f"{NAME}: {point.name}")
    record.__enter__()
    return record


def _leave(record: Any) -> None:
    if record is not None:
        record.__exit__(None, None, None)
