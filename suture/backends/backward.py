"""Backward graphs that are compiled when first needed: whose they are, how long it takes."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from typing import Any

from suture import events
from suture.torch_private.lazy_backward import Listener

_MOST = 4096
_points: dict[str, str] = {}  # compile id -> the point whose graph it is
_open = threading.local()


def expect(compile_id: Any, point: str) -> None:
    """A graph of this point was compiled under this id; its backward graph may follow."""
    if len(_points) >= _MOST:
        _points.clear()  # the time is still told, without the point
    _points[str(compile_id)] = point
    _listener.listen()


def _begin(compile_id: str) -> None:
    phase: AbstractContextManager[None] = events.phase("backward", _points.get(compile_id, ""))
    phase.__enter__()
    _open.phase = phase


def _end(compile_id: str) -> None:
    phase = getattr(_open, "phase", None)
    if phase is not None:
        _open.phase = None
        phase.__exit__(None, None, None)


_listener = Listener(_begin, _end)
