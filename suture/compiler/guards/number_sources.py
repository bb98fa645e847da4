"""Sources of numbers: what a symbol was read from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from suture.runtime.sources import Source


@dataclass(slots=True, eq=False)
class NumberSource:
    """Where the number behind a symbolic value is read: `kind` "size", "stride" or
    "storage_offset" of the tensor at `source`, or "int" or "float": the number there itself."""

    source: Source
    kind: str
    dim: int
    value: Any
    mark: Any = None  # the range the user gave, of a size marked dynamic

    def text(self) -> str:
        path = self.source.path()
        if self.kind in ("int", "float"):
            return path
        return f"{path}.{self.kind}({self.dim if self.kind != 'storage_offset' else ''})"

    def key(self) -> tuple[Source, str, int]:
        return (self.source, self.kind, self.dim)
