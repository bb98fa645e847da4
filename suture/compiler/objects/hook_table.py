"""The tables in which a module has its hooks, by numbers that nobody chose.

torch numbers hooks in the order in which they are registered, so that two modules of one class have
hooks with other numbers, and hooks that are set anew before each call have others each time. Who
calls the hooks in their order, as Module.__call__ does, cannot tell. So a table that is unpacked
whole is guarded by how many hooks there are, and each hook is found by its place; whatever else is
asked of a table, or a number of it, guards the numbers as the keys of any dict.
"""

from __future__ import annotations

import collections
from typing import Any

from suture.compiler.core import Lazy, Trace
from suture.compiler.objects.constant import Unread
from suture.compiler.objects.ordered_dict import OrderedDict
from suture.runtime.reads import NthHook
from suture.runtime.sources import Source

_NAMES = ("_forward_hooks", "_forward_pre_hooks")
_MOST = 16  # each place is found by counting


def is_hook_table(value: Any, source: Source) -> bool:
    """Whether a dict is one of the tables of hooks that a module holds."""
    if (
        source.kind != "item"
        or source.arg not in _NAMES
        or type(value) is not collections.OrderedDict
    ):
        return False
    return len(value) <= _MOST and all(type(number) is int for number in value)


class HookTable(OrderedDict):
    """A module's hooks, from outside."""

    __slots__ = ()

    def truth(self, trace: Trace) -> bool | None:
        if self.backing is None:
            return super().truth(trace)
        trace.guards.add(self.source, "len", len(self.backing))
        return bool(self.backing)

    def in_order(self, trace: Trace) -> list[tuple[Any, Any]] | None:
        """Numbers and hooks in the order in which they run, by their places; None where the table
        was read otherwise, or changed."""
        if self.backing is None or self.entries or self.changed:
            return None
        trace.guards.add(self.source, "len", len(self.backing))
        pairs = []
        for place, (number, hook) in enumerate(self.backing.items()):
            at = self.known_source.call(NthHook(place, True))
            key = Unread(number, at, lambda: self.load(trace))
            pairs.append((key, Lazy(hook, self.known_source.call(NthHook(place, False)))))
        return pairs
