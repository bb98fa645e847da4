"""A caller: the way into one compiled graph, and its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch

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
    """Always legal: whatever the backend gave, with all that it puts around the graph."""

    def follow(self, put: Callable[[Run], None]) -> None:
        """It never changes."""
        put(self.run)
