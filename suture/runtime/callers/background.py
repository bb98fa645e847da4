"""A graph that runs its operations one by one until its compiled form is ready."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from suture.runtime.callers.caller import Caller, Run, Wrapped


class Background(Caller):
    """`run` is the graph as it was captured, until the thread that compiles calls `ready` or
    `failed`. A call that is under way then ends as it began."""

    kind = "background"
    why = "its operations one by one, until it is compiled"

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._lock = threading.Lock()
        self._compiled: Caller | None = None

    def follow(self, put: Callable[[Run], None]) -> None:
        """`put` gets what is to be called, now and when it becomes another one."""
        with self._lock:
            if self._compiled is None:
                self._followers.append(put)
                put(self.run)
            else:
                self._compiled.follow(put)

    def ready(self, compiled: Any) -> None:
        """From the next call on, the compiled graph is called, on whatever way it chooses."""
        caller = compiled if isinstance(compiled, Caller) else Wrapped(compiled)
        with self._lock:
            self._compiled = caller
            self.told = f"{caller.describe()}; compiled in the background"
            for put in (self._take, *self._followers):
                caller.follow(put)
            self._followers.clear()

    def _take(self, run: Run) -> None:
        self.run = run

    def failed(self, error: BaseException) -> None:
        """From the next call on, the error is raised that compiling ended with."""

        def run(*args: Any) -> Any:
            raise error

        self.ready(run)
