"""Backward graphs that are compiled when first needed: whose they are, how long it takes."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import Any

from suture import events
from suture.torch_private import input_asserts, kernel_libraries, vector_isa
from suture.torch_private.lazy_backward import Listener
from suture.torch_private.table import loaded

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
    around = ExitStack()
    around.enter_context(events.phase("backward", _points.get(compile_id, "")))
    if compile_id in _points and loaded("torch._inductor.cpu_vec_isa") is not None:
        around.enter_context(vector_isa.first_alone())
        around.enter_context(kernel_libraries.together())
        around.enter_context(input_asserts.known_inputs(True))
    _open.around = around


def _end(compile_id: str) -> None:
    around = getattr(_open, "around", None)
    if around is not None:
        _open.around = None
        around.close()


_listener = Listener(_begin, _end)
