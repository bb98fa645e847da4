"""Whether a graph break is an error, block by block. The tracer goes into this file: only
`switch` is known to it."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class _State(threading.local):
    errors: bool | None = None


_state = _State()


def breaks_are_errors() -> bool | None:
    """What the innermost `error_on_graph_break` around the caller says; None outside of any."""
    return _state.errors


def switch(errors: bool | None) -> bool | None:
    """Say it from here on; gives what was said before."""
    before, _state.errors = _state.errors, errors
    return before


class error_on_graph_break:  # noqa: N801  (used like a function, named as torch names it)
    """Decorator and context manager: inside, a graph break is an error (or is none again)."""

    def __init__(self, error: bool = True) -> None:
        self.error = error
        self._before: list[bool | None] = []

    def __enter__(self) -> None:
        self._before.append(switch(self.error))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        switch(self._before.pop())

    def __call__(self, fn: F) -> F:
        @functools.wraps(fn)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with error_on_graph_break(self.error):
                return fn(*args, **kwargs)

        return inside  # type: ignore[return-value]


_BEFORE = "_suture_before"


def enter_torchs(manager: Any) -> None:
    """`__enter__` of torch's manager under `install()`: what it says is said to suture. The
    manager keeps what was said before, each time it is entered."""
    manager.__dict__.setdefault(_BEFORE, []).append(switch(manager.error_on_graph_break))


def exit_torchs(
    manager: Any,
    kind: type[BaseException] | None,
    value: BaseException | None,
    traceback: TracebackType | None,
) -> None:
    """`__exit__` of torch's manager under `install()`."""
    switch(manager.__dict__[_BEFORE].pop())
