"""What compiled functions do when they would have to compile: `set_stance`."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from suture.torch_private import torchdynamo

_F = TypeVar("_F", bound=Callable[..., Any])

STANCES = (
    "default", "force_eager", "eager_on_recompile", "fail_on_recompile", "eager_then_compile",
)  # fmt: skip

_current = "default"
_compiled: weakref.WeakSet[Any] = weakref.WeakSet()


def current() -> str:
    """The stance now; it holds for all threads. Without one of our own, torch's counts."""
    if _current != "default":
        return _current
    theirs = torchdynamo.stance()
    return theirs if theirs in STANCES else "default"


def register(compiled: Any) -> Any:
    """Let a compiled function follow `force_eager`; gives it back."""
    _compiled.add(compiled)
    compiled.bypass = _current == "force_eager"
    return compiled


def _apply(stance: str) -> str:
    global _current
    before, _current = _current, stance
    if "force_eager" in (before, stance):
        for compiled in list(_compiled):
            compiled.bypass = stance == "force_eager"
    return before


class set_stance:  # noqa: N801
    """Set what compiled functions do, from now on, for a `with` block or for a decorated function.

    default             compile what is not compiled yet
    force_eager         call the plain functions
    eager_on_recompile  use what is compiled; run in the interpreter where nothing fits
    fail_on_recompile   use what is compiled; raise RecompileError where nothing fits
    eager_then_compile  run in the interpreter on the first call, compile on the second
    """

    def __init__(self, stance: str = "default") -> None:
        if stance not in STANCES:
            raise ValueError(f"no stance is called {stance!r}; there are {', '.join(STANCES)}")
        self.stance = stance
        self._before = _apply(stance)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        _apply(self._before)

    def __call__(self, fn: _F) -> _F:
        _apply(self._before)

        @functools.wraps(fn)
        def with_stance(*args: Any, **kwargs: Any) -> Any:
            before = _apply(self.stance)
            try:
                return fn(*args, **kwargs)
            finally:
                _apply(before)

        return with_stance  # type: ignore[return-value]
