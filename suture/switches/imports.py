"""Doing something to a module when the program imports it, without importing it for that."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def when_imported(name: str, do: Callable[[ModuleType], None]) -> Callable[[], None]:
    """Call `do` with the module: now if it is there, else right after its import. The result ends
    the waiting."""
    found = sys.modules.get(name)
    if found is not None:
        do(found)
        return lambda: None
    waiting = _Waiting(name, do)
    sys.meta_path.insert(0, waiting)
    return waiting.end


class _Waiting:
    """A finder of one module, which leaves finding to the others and hears when it was run."""

    def __init__(self, name: str, do: Callable[[ModuleType], None]) -> None:
        self.name = name
        self.do = do

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        self.end()
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self.do)  # type: ignore[assignment]
        return spec

    def end(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)


class _Loader:
    """A loader that does what it always does, and then one thing more."""

    def __init__(self, loader: Any, do: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._do = do

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._do(module)
