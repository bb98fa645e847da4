"""What torch logs of operations that fail on fake tensors.

While tracing, such a failure is the program's own exception, which it may handle, or a break, which
is reported in suture's words. torch's own text and traceback of it would only repeat that.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator

_LOGGER = "torch._subclasses.fake_tensor"
_this_thread = threading.local()


class _WhileTracing(logging.Filter):
    """Lets nothing of an error through that comes while this thread traces."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno < logging.ERROR or not getattr(_this_thread, "tracing", 0)


logging.getLogger(_LOGGER).addFilter(_WhileTracing())


@contextlib.contextmanager
def unlogged_failures() -> Iterator[None]:
    """Inside, torch logs nothing of operations that fail on fake tensors, in this thread."""
    before = getattr(_this_thread, "tracing", 0)
    _this_thread.tracing = before + 1
    try:
        yield
    finally:
        _this_thread.tracing = before
