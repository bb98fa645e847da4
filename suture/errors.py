"""The exceptions that suture lets a user see; `suture.exc` is the same set under torch's name.

Each class is at the same time one of torch._dynamo.exc's, where torch has one for the situation,
so that `except torch._dynamo.exc.Unsupported` also catches `suture.exc.Unsupported`. Importing
torch._dynamo takes about as long as importing torch, so it is not imported here: the classes get
their torch bases when the first of these exceptions is made (docs/decisions/0002). From the
outside the class objects never change: what was imported early is what is raised later.

Faults of suture itself are `InternalError`; everything else says what the user can change.
Breaks of the tracer (suture.breaks) are not here: they are an ordinary part of tracing.
"""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Iterable
from typing import Any, Self

from suture.torch_private import is_missing, torchdynamo

_joined = False


def join_torch() -> None:
    """Give the classes of this file their torch bases; imports torch._dynamo. Does it once.

    Where torch._dynamo cannot be imported the classes stay as they are: the error that is about
    to be raised matters more than its bases.
    """
    global _joined
    if _joined:
        return
    _joined = True
    theirs = torchdynamo.errors
    if is_missing(theirs):
        return
    for cls, name in _TORCH_BASES.items():
        base = getattr(theirs, name, None)
        if base is not None and base not in cls.__mro__:
            cls.__bases__ = (*cls.__bases__, base)
    shapes = importlib.import_module("torch.fx.experimental.symbolic_shapes")
    if shapes.ConstraintViolationError not in ConstraintViolation.__mro__:
        ConstraintViolation.__bases__ = (UserError, shapes.ConstraintViolationError)


class _Base(RuntimeError):
    """Root of the family. CPython lets a class change its bases only if its first one is an
    ordinary class, which RuntimeError is not."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        join_torch()
        return super().__new__(cls, *args)


class SutureError(_Base):
    """Base of all: a message, and the attributes that handlers written for torch's read.

    `msg` is the message; `real_stack` the user's stack as frame summaries, where one is known.
    Instances survive pickling; an attribute that cannot be pickled arrives as its repr.
    """

    # Attributes that torch's own handlers set or read on what they catch.
    real_stack: Any = None
    skip_frame = False
    logged = False
    frame_exec_strategy: Any = None
    _torch_dynamo_tracer_output: Any = None

    def __init__(self, message: str = "") -> None:
        # Not super(): torch's constructors count what they make in torch's own statistics.
        Exception.__init__(self, message)
        self.msg = message

    def __reduce__(self) -> tuple[Any, ...]:
        state = {name: _picklable(value) for name, value in self.__dict__.items()}
        return _rebuild, (type(self), self.args, state)

    def __str__(self) -> str:
        return self.msg


def _picklable(value: Any) -> Any:
    try:
        pickle.dumps(value)
    except Exception:
        return repr(value)
    return value


def _rebuild(cls: type[SutureError], args: tuple[Any, ...], state: dict[str, Any]) -> SutureError:
    made = cls.__new__(cls, *args)
    Exception.__init__(made, *args)
    made.__dict__.update(state)
    return made


class Unsupported(SutureError):
    """A graph break where none is allowed (`fullgraph=True`).

    `number` and `type` are the break's entry in the registry ("GB0170", "Data-dependent
    branching"); `gb_type` is the type under torch's name. `fields` are the break's own.
    `eager_may_raise`: what broke is an operation that failed on fake tensors, so the program most
    likely raises an error of its own there, which is then the one to be seen.
    """

    category: str | None = None

    def __init__(
        self,
        message: str,
        *,
        number: str = "",
        type: str = "",
        fields: dict[str, Any] | None = None,
        real_stack: Any = None,
        eager_may_raise: bool = False,
    ) -> None:
        super().__init__(message)
        self.eager_may_raise = eager_may_raise
        self.number = number
        self.type = type
        self.gb_type = type
        self.fields = dict(fields or {})
        self.real_stack = real_stack


class BackendFailed(SutureError):
    """A backend raised, or gave back something that cannot be called.

    The message names the backend, the function, the graph and its source lines, and ends in
    `hint` where the cause is known. `inner_exception` is what the backend raised; it is the
    `__cause__` too. The next call of the function tries again.
    """

    first_useful_frame: Any = None

    def __init__(
        self,
        backend_name: str,
        inner_exception: BaseException | str,
        *,
        function: str = "",
        graph: str = "",
        lines: Iterable[str] = (),
        hint: str = "",
    ) -> None:
        self.backend_name = backend_name
        self.inner_exception = inner_exception
        self.function = function
        self.graph = graph
        self.lines = tuple(lines)
        self.hint = hint
        super().__init__("\n".join(self._text()))

    def _text(self) -> Iterable[str]:
        what = self.graph or "a graph"
        whose = f" of {self.function}" if self.function else ""
        yield f"backend {self.backend_name!r} failed on {what}{whose}"
        for line in self.lines:
            yield f"  {line}"
        inner = self.inner_exception
        yield inner if isinstance(inner, str) else f"{type(inner).__name__}: {inner}"
        if self.hint:
            yield self.hint


class InvalidBackend(SutureError):
    """The backend given is not a callable and not the name of a known backend."""


class RecompileError(SutureError):
    """A call would have compiled again where the stance forbids it (`fail_on_recompile`)."""


class RecompileLimitExceeded(SutureError):
    """With `fullgraph=True`: the point has all the variants it may have and none fits."""


class RanksDiffer(SutureError):
    """Ranks that must agree are at other points, compiled something else, or did not come."""


class UserError(SutureError):
    """The program asks for something that is not possible as written, such as a dimension marked
    dynamic that the code makes constant. The message says what to change."""

    error_type: Any = None

    @property
    def message(self) -> str:
        """The message, under the second name torch gives it."""
        return self.msg


class ConstraintViolation(UserError):
    """A size that the user marked dynamic is made constant, or narrower than promised. It is a
    ConstraintViolationError of torch too."""


class RaisedWhileCompiling(SutureError):
    """Carries what a function of the program raised that runs while compiling (comptime, or the
    handler of a signal) to where the program is called, which raises it again. Programs never see
    the carrier."""

    def __init__(self, raised: BaseException) -> None:
        super().__init__(str(raised))
        self.raised = raised


class InternalError(SutureError):
    """A fault of suture itself; never the user's doing. Worth a report."""


class UnsupportedVersion(SutureError):
    """This Python or this torch is not one that suture works with; the message names those."""


_TORCH_BASES: dict[type[SutureError], str] = {
    SutureError: "TorchDynamoException",
    Unsupported: "Unsupported",
    BackendFailed: "BackendCompilerFailed",
    InvalidBackend: "InvalidBackend",
    RecompileError: "RecompileError",
    RecompileLimitExceeded: "FailOnRecompileLimitHit",
    UserError: "UserError",
    InternalError: "InternalTorchDynamoError",
}

__all__ = [
    "BackendFailed",
    "ConstraintViolation",
    "InternalError",
    "InvalidBackend",
    "RanksDiffer",
    "RecompileError",
    "RecompileLimitExceeded",
    "SutureError",
    "Unsupported",
    "UnsupportedVersion",
    "UserError",
]
