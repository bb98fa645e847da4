"""Ctrl-C while something is compiled: never in the middle of an import.

The first compilation imports much of torch. An exception that leaves an import half done leaves
modules behind that are neither there nor not, and some of them cannot be imported again. So an
interrupt that arrives in an import is sent again a little later, until it arrives outside of one.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_LATER = 0.02  # seconds
_IMPORTING = "<frozen importlib._bootstrap>"


@contextmanager
def outside_imports() -> Iterator[None]:
    """Inside, SIGINT reaches its handler only while nothing is imported. Of the main thread only:
    no other gets signals. A handler that the block sets stays."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if not callable(before):  # ignored, or not Python's
        yield
        return
    ours = _Handler(before)
    signal.signal(signal.SIGINT, ours)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is ours:
            signal.signal(signal.SIGINT, before)


class _Handler:
    """Calls another handler, unless the interrupted code is part of an import."""

    def __init__(self, handler: Any) -> None:
        self.handler = handler

    def __call__(self, number: int, frame: FrameType | None) -> Any:
        if not _is_importing(frame):
            return self.handler(number, frame)
        again = threading.Timer(_LATER, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()
        return None


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == _IMPORTING:
            return True
        frame = frame.f_back
    return False
