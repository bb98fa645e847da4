"""Parameters and buffers of modules that are arguments.

Which module comes in may differ from call to call, so they are read at each call. A module that
comes in again gets a copy of the variant that holds them (see `runtime.binding`).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch

PARAMETERS = "parameters"  # the name of the reader in a variant


class Parameters:
    """Called with the modules at `owners` (sources of arguments), gives the tensors at `sources`.

    `source` is the text of the function `read` that does it, `names` the constants in it. `bind`,
    if set, is called with the modules and their tensors when they come in again.
    """

    __slots__ = ("_read", "_seen", "bind", "names", "owners", "source", "sources")

    def __init__(
        self, owners: tuple[Any, ...], sources: tuple[Any, ...], source: str, names: dict[str, Any]
    ) -> None:
        self.owners = owners
        self.sources = sources
        self.source = source
        self.names = names
        namespace = dict(names)
        exec(compile(source, "<suture parameters>", "exec", dont_inherit=True), namespace)
        self._read = namespace["read"]
        self._seen: dict[int, tuple[Any, int]] = {}  # by id of the first module: how often
        self.bind: Callable[[tuple[Any, ...], tuple[Any, ...]], None] | None = None

    def copy(self) -> Parameters:
        """Another reader of the same sources, which has seen no module."""
        return Parameters(self.owners, self.sources, self.source, self.names)

    def __call__(self, *modules: torch.nn.Module) -> tuple[Any, ...]:
        found: tuple[Any, ...] = self._read(*modules)
        if self.bind is not None:
            self._note(modules, found)
        return found

    def _note(self, modules: tuple[Any, ...], found: tuple[Any, ...]) -> None:
        first = modules[0]
        before, times = self._seen.get(id(first), (None, 0))
        if before is None or before() is not first:
            if len(self._seen) >= _MOST_SEEN:
                self._seen.clear()
            before, times = weakref.ref(first), 0
        self._seen[id(first)] = (before, times + 1)
        if times == 1 and self.bind is not None:
            self.bind(modules, found)


_MOST_SEEN = 64
