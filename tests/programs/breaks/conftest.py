"""No program of these may run for ever: a loop that is never left fails its test.

What counts is the time of the processor: on a busy machine, or where torch is imported for the
first time, a program may take long. One that waits for ever is ended by pytest's
faulthandler_timeout.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from types import FrameType

import pytest

SECONDS = 60


@pytest.fixture(autouse=True)
def _time_limit() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"the program computed for more than {SECONDS} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)
