"""The thread in which backends compile while the program runs (`config.background_compile`).

There is one at a time, and it ends when there is nothing left to do. A process that ends waits for
the graph that is being compiled, and leaves the others out.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator

import torch

from suture.inference_mode import switch
from suture.runtime import torch_state
from suture.runtime.unit import COMPILING

_log = logging.getLogger("suture.backends")
Job = Callable[[], None]
_waiting: deque[Job] = deque()
_changed = threading.Condition()
_thread: threading.Thread | None = None


def submit(job: Job) -> None:
    """Have `job` run in the thread, after those that were submitted before. It raises nothing."""
    global _thread
    with _changed:
        _waiting.append(job)
        if _thread is None or not _thread.is_alive():  # it is gone in a process that was forked
            _thread = threading.Thread(target=_work, name="suture background")
            _thread.start()


def wait(timeout: float | None = None) -> bool:
    """Wait until nothing is being compiled in the background; whether that came before `timeout`
    seconds had passed."""
    with _changed:
        return _changed.wait_for(lambda: _thread is None or not _thread.is_alive(), timeout)


def _work() -> None:
    global _thread
    COMPILING.on = True  # code that compilers run is not compiled
    while True:
        with _changed:
            if not _waiting or not threading.main_thread().is_alive():
                _waiting.clear()
                _thread = None
                _changed.notify_all()
                return
            job = _waiting.popleft()
        job()


class Settings:
    """The settings of torch that a graph was captured under, for another thread."""

    def __init__(self) -> None:
        self.modes = torch.is_inference_mode_enabled(), torch.is_grad_enabled()
        self.device = torch.cuda.current_device() if torch.cuda.is_initialized() else None
        self.all = self._read()

    def _read(self) -> tuple[object, ...]:
        return tuple(reader() for reader in torch_state.READERS)

    def still_hold(self) -> bool:
        """Whether this thread sees what the other one saw: some settings are the process's."""
        return self._read() == self.all

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """The settings that a thread has of its own, in a block."""
        before = torch.is_inference_mode_enabled(), torch.is_grad_enabled()
        device = contextlib.nullcontext() if self.device is None else torch.cuda.device(self.device)
        switch(*self.modes)
        try:
            with device:
                yield
        finally:
            switch(*before)
