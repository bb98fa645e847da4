"""What compiled functions do when they would have to compile: `set_stance`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from suture.members import Members
from suture.torch_private import torchdynamo

_F = TypeVar("_F", bound=Callable[..., Any])

STANCES = (
    "default", "force_eager", "eager_on_recompile", "fail_on_recompile", "eager_then_compile",
    "aot_eager_then_compile",
)  # fmt: skip


class Stance(NamedTuple):
    """A stance, and the backend that all use instead of theirs, if there is one."""

    name: str
    backend: Any = None


_current = Stance("default")
_compiled: Members[Any] = Members()


def current() -> str:
    """The stance now; it holds for all threads. Without one of our own, torch's counts."""
    if _current.name != "default":
        return _current.name
    theirs = torchdynamo.stance()
    return theirs if theirs in STANCES else "default"


def register(compiled: Any) -> Any:
    """Let a compiled function follow `force_eager` and `force_backend`; gives it back."""
    _compiled.add(compiled)
    compiled.bypass = _current.name == "force_eager"
    if _current.backend is not None:
        _redirect(compiled, _current.backend)
    return compiled


def _apply(stance: Stance) -> Stance:
    global _current
    before, _current = _current, stance
    if "force_eager" in (before.name, stance.name):
        for compiled in _compiled:
            compiled.bypass = stance.name == "force_eager"
    if before.backend is not stance.backend:
        for compiled in _compiled:
            _redirect(compiled, stance.backend)
    return before


def _redirect(compiled: Any, backend: Any) -> None:
    """Let calls from now on run what `backend` compiled; None: the function's own backend."""
    unit = compiled.context
    if unit is None:
        return  # it is being freed
    own = unit.own or unit
    unit = own if backend is None else own.with_backend(backend)
    compiled.context, compiled.point = unit, unit.entry(compiled.function.__code__)


class set_stance:  # noqa: N801
    """Set what compiled functions do, from now on, for a `with` block or for a decorated function.

    default                 compile what is not compiled yet
    force_eager             call the plain functions
    eager_on_recompile      use what is compiled; run in the interpreter where nothing fits
    fail_on_recompile       use what is compiled; raise RecompileError where nothing fits
    eager_then_compile      run a function's first call in the interpreter, compile the second
    aot_eager_then_compile  compile a function's first call with aot_eager, then as it says

    With `force_backend` all compiled functions use that backend meanwhile; what they compiled with
    their own is there again afterwards.
    """

    def __init__(self, stance: str = "default", *, force_backend: Any = None) -> None:
        if stance not in STANCES:
            raise ValueError(f"no stance is called {stance!r}; there are {', '.join(STANCES)}")
        if force_backend is not None and stance != "default":
            raise RuntimeError("force_backend goes with the default stance only")
        self.stance = Stance(stance, force_backend)
        self._before = _apply(self.stance)

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
