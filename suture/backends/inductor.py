"""The default backend: torch's Inductor, with `mode` and `options` as torch.compile takes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import torch

from suture.backends.registry import register_backend
from suture.backends.scaled_sums import without_factors
from suture.torch_private import compilers


class Inductor:
    """Inductor with one set of options.

    The options are checked when this is made, by torch itself, so a wrong one is an error of
    `suture.compile` and not of the first call. Where there is nothing to check, Inductor is not
    imported before the first graph comes. Equal if mode, options, dynamic and name are.
    """

    __name__ = "inductor"

    def __init__(
        self,
        mode: str | None = None,
        options: dict[str, Any] | None = None,
        dynamic: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._key = (mode or "default", dict(options or {}), dynamic, name)
        self._made: Callable[..., Any] | None = None
        if options or (mode or "default") != "default":
            self._made = self._make()

    def _make(self) -> Callable[..., Any]:
        mode, options, dynamic, name = self._key
        return compilers.inductor_wrapper(mode, options, dynamic, name)

    def __call__(self, gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        if self._made is None:
            self._made = self._make()
        without_factors(gm)
        compiled: Callable[..., Any] = self._made(gm, list(inputs))
        return compiled

    def is_default(self) -> bool:
        """Whether it was asked for without mode and options."""
        return self._key[0] == "default" and not self._key[1]

    def asked(self) -> list[Any] | None:
        """Mode and options as JSON; None if one of them is no plain value."""
        asked = [self._key[0], [list(pair) for pair in sorted(self._key[1].items())]]
        try:
            same = json.loads(json.dumps(asked, allow_nan=False))
        except (TypeError, ValueError):
            return None
        return asked if same == asked else None

    def options(self) -> dict[str, Any]:
        """The settings of Inductor that mode and options stand for."""
        return dict(getattr(self._made, "config", None) or {})

    def records_cuda_graphs(self) -> bool:
        """Whether graphs may be run as CUDA graphs."""
        return compilers.inductor_cuda_graphs(getattr(self._made, "config", None))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Inductor) and self._key == other._key

    def __hash__(self) -> int:
        return hash((self._key[0], self._key[2], self._key[3]))

    def reset(self) -> None:
        """Drop what Inductor keeps between calls (its CUDA graphs)."""
        reset = getattr(self._made, "reset", None)
        if reset is not None:
            reset()


@register_backend("inductor")
def inductor(
    gm: torch.fx.GraphModule,
    inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
) -> Callable[..., Any]:
    """Compile one graph with Inductor."""
    return Inductor(mode, options)(gm, inputs)
