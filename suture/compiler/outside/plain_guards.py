"""What has to stay as it is for a function to meet no tensor at later calls either.

Guards are about types of arguments, about which objects globals and closures hold, and about what
containers and objects among the arguments hold. What would take too many guards has none; then the
guards do not last: they do not say all that the answer depends on.
"""

from __future__ import annotations

from typing import Any

from suture.compiler.objects.lookup import dict_of
from suture.runtime.guards import Guards
from suture.runtime.plain_values import begins_with_scalars, holds_scalars
from suture.runtime.sources import Source, pinned

CONTAINERS = frozenset({list, tuple, set, frozenset, dict})
FEW = 16  # elements of a container, or attributes, that are guarded one by one
_LARGE = 64  # elements that one guard looks at
_GUARDS = 64  # then containers are not guarded one by one any more
_KEYS = frozenset({str, int, bool, type(None)})

Part = tuple[Any, Source | None]


class PlainGuards:
    """The guards of one answer. `lasting`: whether they say all that it depends on. Where a method
    takes a source, that is where the value is read at the next call."""

    def __init__(self) -> None:
        self.guards = Guards()
        self.lasting = True
        self._roots: dict[int, Source] = {}

    def root(self, table: dict[str, Any]) -> Source:
        """Where the globals of a module are."""
        if id(table) not in self._roots:
            self._roots[id(table)] = pinned(table, f"{table.get('__name__')}.__dict__")
        return self._roots[id(table)]

    def same(self, value: Any, source: Source | None) -> None:
        """The same object has to be there the next time."""
        if source is None:
            return
        if type(value).__weakrefoffset__:
            self.guards.add(source, "weak", value)
        else:
            self.guards.add(source, "is", value)

    def same_type(self, kind: type, source: Source | None) -> None:
        if source is not None:
            self.guards.add(source, "type", kind)

    def no_global(self, table: dict[str, Any], name: str) -> None:
        self.guards.add(self.root(table), "no_key", name)

    def contents(self, value: Any, kind: type, source: Source) -> list[Part] | None:
        """Guard what a container holds. Gives the parts that are to be looked at; None if that
        takes too many guards, and there are none."""
        if holds_scalars(value):
            large = len(value) > _LARGE
            self.lasting = self.lasting and not large
            self.guards.add(source, "type", kind)
            self.guards.add(source, "truth", begins_with_scalars if large else holds_scalars)
            return []
        if len(value) > FEW or len(self.guards.entries) > _GUARDS:
            return None
        if kind is dict and _KEYS.issuperset(map(type, value)):
            self.guards.add(source, "type", kind)
            self.guards.add(source, "keys", tuple(value))
            return [(part, source.item(key)) for key, part in value.items()]
        if kind is list or kind is tuple:
            self.guards.add(source, "type", kind)
            self.guards.add(source, "len", len(value))
            return [(part, source.index(at)) for at, part in enumerate(value)]
        return None

    def attributes(self, value: Any, kind: type, source: Source) -> Source:
        """Guard which attributes an object has in its dict; gives where that is."""
        table = source.instance_dict()
        self.guards.add(source, "type", kind)
        self.guards.add(table, "keys", tuple(dict_of(value) or ()))
        return table
