"""Rows: how a table says that one named object has a verdict.

A table module is a list of calls of `inline`, `in_graph`, `run`, `constant`, `special`, each
with a reason. A row holds names only; nothing is imported to make one. Rows are resolved
against modules that are already loaded, so that a table may speak of `torch._dynamo` or
`numpy` without loading them.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from suture.rules.errors import ConflictingRules, UnknownName
from suture.rules.verdict import (
    CONSTANT,
    IN_GRAPH,
    INLINE,
    RUN,
    SPECIAL,
    Kind,
    Origin,
    Verdict,
    location,
)
from suture.torch_private.replaced import is_replaced

MISSING = object()


@dataclass(frozen=True, slots=True)
class Row:
    """One named object and its verdict. `module` is loaded (or not) by somebody else."""

    kind: Kind
    module: str
    attribute: str
    reason: str
    where: str
    handler: str = ""
    otherwise: Kind = RUN
    absent: str = ""  # why the name may be missing from the installed torch

    @property
    def name(self) -> str:
        return f"{self.module}.{self.attribute}"

    def verdict(self) -> Verdict:
        shown = self.handler or self.name
        return Verdict(
            self.kind,
            self.reason,
            f"named {self.name}",
            self.where,
            shown,
            otherwise=self.otherwise,
            origin=Origin.NAMED,
        )

    def find(self) -> Any:
        """The object, or MISSING. Imports nothing; the module must be loaded."""
        value: Any = sys.modules[self.module]
        for part in self.attribute.split("."):
            value = static_attribute(value, part)
            if value is MISSING:
                return MISSING
        return value


def static_attribute(owner: Any, name: str) -> Any:
    """The attribute of a module or class, a function out of its classmethod; or MISSING."""
    if isinstance(owner, type):
        for base in owner.__mro__:
            if name in base.__dict__:
                found = base.__dict__[name]
                return getattr(found, "__func__", found)
        return MISSING
    return getattr(owner, name, MISSING)


def split_name(dotted: str) -> tuple[str, str]:
    """("torch.Tensor", "split") -> module and attribute path; classes start upper case."""
    parts = dotted.split(".")
    cut = len(parts) - 1
    while cut > 1 and _is_class(parts[cut - 1]):
        cut -= 1
    return ".".join(parts[:cut]), ".".join(parts[cut:])


def _is_class(name: str) -> bool:
    """Foo and _Foo, but not _C and _VF, which are modules of torch."""
    return name[:1].isupper() or (name.lstrip("_")[:1].isupper() and not name.isupper())


_tables: list[Row] = []


def _rows(
    kind: Kind,
    names: str,
    because: str,
    handler: str = "",
    otherwise: Kind = RUN,
    absent: str = "",
) -> None:
    where = location(2)
    for name in names.split():
        module, attribute = split_name(name)
        _tables.append(Row(kind, module, attribute, because, where, handler, otherwise, absent))


def inline(names: str, *, because: str, absent: str = "") -> None:
    """The tracer goes into each of these (names separated by blanks)."""
    _rows(INLINE, names, because, absent=absent)


def in_graph(names: str, *, because: str, absent: str = "") -> None:
    """Each of these is one node of the graph."""
    _rows(IN_GRAPH, names, because, absent=absent)


def run(names: str, *, because: str, absent: str = "") -> None:
    """Python runs each of these: a graph break."""
    _rows(RUN, names, because, absent=absent)


def constant(names: str, *, because: str, absent: str = "") -> None:
    """Each of these is called while tracing, and its result is a constant."""
    _rows(CONSTANT, names, because, absent=absent)


def special(
    names: str, handler: str, *, because: str, otherwise: Kind = RUN, absent: str = ""
) -> None:
    """The calls room may have a handler for each of these, filed under `handler`; where it has
    none, `otherwise` holds."""
    _rows(SPECIAL, names, because, handler, otherwise, absent)


# Modules whose functions stand in for torch's under suture.install().
INSTALLERS = ("suture.install", "suture.switches.words")


class NamedTable:
    """Verdicts by the identity of the object, filled from rows as modules get loaded.

    Holds the objects themselves, so that an id always means the object it was filed under.
    Two rows on one object must say the same.
    """

    def __init__(self, rows: list[Row]) -> None:
        self._pending: dict[str, list[Row]] = {}
        self._entries: dict[int, tuple[Any, Row]] = {}
        for row in rows:
            self._pending.setdefault(row.module, []).append(row)

    def get(self, obj: Any) -> Row | None:
        """The row about exactly this object, or None."""
        self._resolve()
        entry = self._entries.get(id(obj))
        return entry[1] if entry is not None else None

    def rows(self) -> list[Row]:
        """The rows whose object was found so far."""
        self._resolve()
        return [row for _, row in self._entries.values()]

    def _resolve(self) -> None:
        ready = [module for module in self._pending if _is_loaded(module)]
        for module in ready:
            for row in self._pending.pop(module):
                self._file(row)

    def _file(self, row: Row) -> None:
        obj = row.find()
        if obj is MISSING:
            if row.absent:
                return
            raise UnknownName(row.name, row.where)
        if type(obj) is FunctionType and obj.__globals__.get("__name__") in INSTALLERS:
            obj = vars(obj)["__wrapped__"]  # what stands there now goes with uninstall()
        if row.module.partition(".")[0] == "torch" and is_replaced(obj):
            return  # what is known of torch's function says nothing of the program's
        other = self._entries.get(id(obj))
        if other is not None and (other[1].kind, other[1].handler) != (row.kind, row.handler):
            raise ConflictingRules(row.name, other[1].name, row, other[1])
        self._entries.setdefault(id(obj), (obj, row))

    def load_all(self) -> list[str]:
        """Import the module of every row; the names of modules that this Python lacks."""
        lacking = []
        for module in list(self._pending):
            try:
                importlib.import_module(module)
            except ImportError:
                lacking.append(module)
        self._resolve()
        return lacking


def _is_loaded(name: str) -> bool:
    """Whether a module is there and its body has run to the end."""
    module = sys.modules.get(name)
    return module is not None and not getattr(
        getattr(module, "__spec__", None), "_initializing", False
    )


TABLES = (
    "torch_run",
    "torch_constant",
    "torch_graph",
    "torch_inline",
    "torch_modes",
    "torch_special",
    "python_named",
)


def table_rows() -> list[Row]:
    """Every row of every table module, in the order of the files."""
    for table in TABLES:
        importlib.import_module(f"suture.rules.{table}")
    return list(_tables)
