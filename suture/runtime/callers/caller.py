"""A caller: the way into one compiled graph, and its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

from suture.runtime.modes import without_autocast

Run = Callable[..., Any]


@dataclass(frozen=True)
class Situation:
    """What a caller may look at before it says that it is legal.

    `wrapped` is what the backend gave back, `inputs` the example inputs. The modes are those in
    which the graph is compiled; the guards of its variant require them at each call.
    """

    wrapped: Run
    inputs: tuple[Any, ...]
    grad: bool

    @classmethod
    def now(cls, wrapped: Run, inputs: Sequence[Any]) -> Situation:
        """The situation in which a graph was just compiled."""
        return cls(wrapped, tuple(inputs), torch.is_grad_enabled())

    def derives(self) -> bool:
        """Whether autograd would follow an operation on the inputs."""
        tensors = (one for one in self.inputs if isinstance(one, torch.Tensor))
        return self.grad and any(one.requires_grad for one in tensors)


class Caller:
    """Calls one compiled graph: inputs in, tuple or list of outputs out.

    `run` is what does it. It may change after the first call; who keeps it instead of
    this object follows (`follow`).
    """

    kind: ClassVar[str] = "wrapped"
    why: ClassVar[str] = "as the backend gave it"

    def __init__(self, run: Run) -> None:
        self.run = run
        self.description = ""  # more than `kind` says, once it is known
        self._followers: list[Callable[[Run], None]] = []

    def __call__(self, *args: Any) -> Any:
        return self.run(*args)

    def describe(self) -> str:
        """Which way it is, for people."""
        return self.description or f"{self.kind}: {self.why}"

    def follow(self, put: Callable[[Run], None]) -> None:
        """`put` gets what is to be called, now and when it changes."""
        self._followers.append(put)
        put(self.run)

    def switch_to(self, run: Run) -> None:
        """From the next call on, this is called."""
        self.run = run
        for put in self._followers:
            put(run)
        self._followers.clear()


class Wrapped(Caller):
    """Always legal: whatever the backend gave, with all that it puts around the graph. `facts` is
    what AOTAutograd told of it, if it was asked."""

    facts: Any = None

    def follow(self, put: Callable[[Run], None]) -> None:
        """It never changes."""
        put(self.run)


class Around(Caller):
    """Another caller, with something around each run of it: what `wrap` makes of the run."""

    def __init__(self, inner: Caller, wrap: Callable[[Run], Run]) -> None:
        super().__init__(inner.run)
        self.inner, self.wrap = inner, wrap
        inner.follow(self._take)

    def _take(self, run: Run) -> None:
        self.run = self.wrap(run)
        for put in self._followers:  # they stay: the inner one may change more than once
            put(self.run)

    def describe(self) -> str:
        """The way is the inner one's."""
        return self.inner.describe()


class WithoutAutocast(Around):
    """For graphs that were compiled while autocast was on: it is off while they run, since their
    casts are in them."""

    def __init__(self, inner: Caller) -> None:
        super().__init__(inner, without_autocast)


class Before(Around):
    """For graphs that end before the views that the program takes of their results: `behind` takes
    those, of the results and of the inputs at the places `inputs`."""

    def __init__(self, inner: Caller, behind: Any, inputs: tuple[int, ...]) -> None:
        super().__init__(inner, lambda run: followed(run, behind.forward, inputs))
        self.behind, self.inputs = behind, inputs


def followed(run: Run, behind: Run, inputs: tuple[int, ...]) -> Run:
    """What a graph and the views after it give, together."""
    if not inputs:
        return lambda *args: behind(*run(*args))

    def both(*args: Any) -> Any:
        return behind(*run(*args), *[args[i] for i in inputs])

    return both


def innermost(caller: Caller) -> Caller:
    """The caller of the graph itself."""
    while isinstance(caller, Around):
        caller = caller.inner
    return caller
