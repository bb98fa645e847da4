"""Whether a number that changes is one of some known ones: one decision and not one for each.

`if step in (100, 200)`, `if self.index in self.skipped`: asked one after the other, each of the
numbers before the one that is found would be a relation of its own, and the number itself known
where it is found, so that there is a variant for each. Asked at once there are two.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.objects import Constant, List, Set, Symbol, Tuple

_MOST_MEMBERS = 64  # a guard that names more takes longer than it saves
_EXACT = 2**53  # up to here a float and the int that equals it are the same number
_LARGEST = 2**62
_NEVER_EQUAL = (str, bytes, type(None), type(Ellipsis))


@implements(abstract.is_among)
def is_among(trace: Trace, number: Value, container: Value) -> Value | None:
    assert isinstance(number, Symbol)
    value = number.value
    hint = getattr(value.node, "hint", None) if isinstance(value, torch.SymInt) else None
    if type(hint) is not int or trace.numbers.draws:
        return None
    held = _held(trace, container)
    members = _ints(held) if held is not None else None
    if members is None:
        return None
    tests = [value == member for member in sorted(members)]
    if not tests:
        return Constant(False)
    found = tests[0]
    for test in tests[1:]:
        found = found | test
    return Constant(bool(found))


def _held(trace: Trace, container: Value) -> Iterable[object] | None:
    """What a container of the builtin types holds, where all of that is known."""
    if isinstance(container, Set):
        items: Iterable[object] = container.entries.values()
    elif isinstance(container, (List, Tuple)) and container.python_type() in (list, tuple):
        if len(container.items) > _MOST_MEMBERS:
            return None
        items = container.unpacked(trace)
    elif container.is_constant() and type(container.constant()) in (tuple, frozenset, range):
        known = container.constant()
        return known if len(known) <= _MOST_MEMBERS else None
    else:
        return None
    if not all(isinstance(item, Constant) for item in items):
        return None
    return [item.constant() for item in items if isinstance(item, Constant)]


def _ints(held: Iterable[object]) -> set[int] | None:
    """The ints among these that some int may be equal to; None if a relation between symbols does
    not say what Python's comparison does, or there are too many."""
    found = set()
    for member in held:
        kind = type(member)
        if isinstance(member, float) and kind is float:
            if not member.is_integer():
                continue
            if abs(member) > _EXACT:
                return None
            found.add(int(member))
        elif isinstance(member, int) and kind in (int, bool):
            if abs(member) >= _LARGEST:
                return None
            found.add(int(member))
        elif kind not in _NEVER_EQUAL:
            return None
    return found if len(found) <= _MOST_MEMBERS else None
