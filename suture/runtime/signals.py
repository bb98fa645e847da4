"""Signals while something is compiled: what their handlers raise arrives whole, and nothing is left
half done.

An exception of a handler, of a program's own timeout for instance, is no failure of the code that
it comes up in: neither of torch nor of suture, which handle failures of theirs. In the midst of an
import it leaves modules behind that are neither there nor not; in the midst of a trace, a mode of
torch that nobody leaves. So it waits: while a region is traced until the next instruction of the
program (`arrive`), while a backend compiles (`promptly`) for no more than the end of an import.
"""

from __future__ import annotations

import inspect
import itertools
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

from suture.errors import RaisedWhileCompiling

_LATER = 0.02  # seconds
_IMPORTING = "<frozen importlib._bootstrap>"
_SIGNALS: frozenset[int] = frozenset(signal.valid_signals())

_Handles = Callable[[int, FrameType | None], Any]

# What handlers have raised and nobody has seen, in the order in which it came.
waiting: list[BaseException] = []


class _Carrier(KeyboardInterrupt):
    """Carries what a handler raised past all code that handles exceptions: none of it takes an
    interrupt for its own."""


class _Main:
    """What the main thread, the only one that gets signals, does."""

    compiles = False
    promptly = False


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside, what handlers of signals raise waits as said above. It leaves the block as
    RaisedWhileCompiling. A handler that the block sets stays."""
    if _Main.compiles or not _is_main():
        yield
        return
    try:
        with ExitStack() as stack:
            for number in _SIGNALS:
                before = signal.getsignal(number)
                if callable(before):  # neither ignored nor the system's own
                    stack.enter_context(_replaced(number, before))
            _Main.compiles = True
            yield
    except _Carrier:
        pass  # what it stands for waits
    finally:
        _Main.compiles = False
        if waiting:
            raised = waiting[0]
            waiting.clear()
            raise RaisedWhileCompiling(raised)


@contextmanager
def promptly() -> Iterator[None]:
    """Inside, which may take minutes, what handlers raise waits for the end of an import only."""
    if not (_Main.compiles and _is_main()):
        yield
        return
    arrive()
    before, _Main.promptly = _Main.promptly, True
    try:
        yield
    finally:
        _Main.promptly = before
    arrive()


def arrive() -> None:
    """Nothing is half done: what waits may be raised."""
    if waiting and _is_main():
        raise _Carrier


@contextmanager
def _replaced(number: int, handler: _Handles) -> Iterator[None]:
    ours = _Handler(handler)
    signal.signal(number, ours)
    try:
        yield
    finally:
        if signal.getsignal(number) is ours:
            signal.signal(number, handler)


class _Handler:
    """Calls another handler, and keeps what it raises."""

    def __init__(self, handler: _Handles) -> None:
        self.handler = handler
        self._again = False  # the signal is one of ours, and the handler was called

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if not self._again:
            try:
                self.handler(number, frame)
            except BaseException as raised:
                waiting.append(raised)
        self._again = False
        if not (waiting and _Main.promptly):
            return
        if not _is_importing(frame):
            raise _Carrier
        timer = threading.Timer(_LATER, self._send, (number,))
        timer.daemon = True
        timer.start()

    def _send(self, number: int) -> None:
        if waiting:
            self._again = True
            signal.raise_signal(number)  # the main thread handles it


def is_of_handler(error: BaseException) -> bool:
    """Whether a handler of a signal raised an exception: a frame of its traceback was given the
    number of a signal and the frame that called it."""
    at = error.__traceback__
    while at is not None:
        frame = at.tb_frame
        if frame.f_back is not None and _is_given(frame, frame.f_back):
            return True
        at = at.tb_next
    return False


def _is_given(frame: FrameType, caller: FrameType) -> bool:
    code = frame.f_code
    given = [frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount]]
    if code.co_flags & inspect.CO_VARARGS:
        given += frame.f_locals.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount], ())
    pairs = itertools.pairwise(given)
    return any(two is caller and isinstance(one, int) and one in _SIGNALS for one, two in pairs)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == _IMPORTING:
            return True
        frame = frame.f_back
    return False


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
