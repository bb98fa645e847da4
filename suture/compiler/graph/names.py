"""Names that go into a graph and into torch's shape environment."""

from __future__ import annotations

import re
from dataclasses import dataclass

from suture.torch_private import fake_tensors

_NOT_WORD = re.compile(r"[^0-9a-zA-Z]+")


def valid_name(path: str) -> str:
    """A placeholder name for a source path: "L['self'].fc.weight" -> "l_self_fc_weight"."""
    return _NOT_WORD.sub("_", path).strip("_").lower() or "value"


@dataclass(frozen=True)
class TorchName(fake_tensors.TorchSource):  # type: ignore[misc]
    """One of our sources as torch's shape environment wants to see it: a name."""

    path: str

    @property
    def _name_template(self) -> str:
        return self.path

    @property
    def name(self) -> str:
        return self.path

    def __hash__(self) -> int:
        return hash(self.path)

    def guard_source(self) -> object:
        return None

    def is_ephemeral(self) -> bool:
        return False
