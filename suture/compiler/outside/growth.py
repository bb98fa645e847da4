"""What the region itself changes will be different at the next call: symbols at once.

A region that reads `self.step` and writes `self.step + 1`, or reads a cache and writes a longer
one, says so while it is traced; there is no need to wait for the second value. So does a region
that ends where it began, one turn of a loop later. A container to which each turn of a loop that
breaks adds something is never the same twice: after a few lengths the body of the loop does without
looking into it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from suture.breaks import Break, objects
from suture.compiler.capture import Exit
from suture.compiler.core import Trace
from suture.compiler.objects import Constant, Dict, List, Object, Symbol, Tensor
from suture.compiler.objects.growing import GrowingDeque, GrowingList
from suture.compiler.outside.turns import leave_iterators, next_turn
from suture.compiler.plan import Retry
from suture.runtime.sources import Source

_MOST_LENGTHS = 3  # of a container that grows in a loop; then the loop's body knows none


def is_unstable(
    trace: Trace, source: Source | None, form: object, most: int = _MOST_LENGTHS
) -> bool:
    """Whether what is there takes another form each time the region is reached, so that the
    region had better know nothing of it. A break would be an error: then it is known."""
    if source is None or trace.region.whole or not trace.region.history.is_resumed():
        return False
    return bool(trace.region.history.is_unstable(source.path(), form, most))


def unstable_value(trace: Trace, source: Source) -> Break:
    """Why such a thing is not looked into."""
    grown = f"{source.path()}, which is different each time"
    return Break(objects.UNKNOWN_OBJECT, operation="this", object=grown)


def growth(trace: Trace, exit: Exit) -> Retry | None:
    """Tell the history which sources this region changes; if that is news, trace once more."""
    again = next_turn(trace, exit)
    learned = leave_iterators(trace, again)
    from_zero = False
    replaced = set()
    for source, value in (*_written(trace), *again):
        path = source.path()
        if value is None or getattr(value, "source", None) is source:
            continue
        replaced.add(id(source))
        news = trace.region.history.replaces_object(path)
        if isinstance(value, Tensor) and value.cls is torch.Tensor:
            shape = [n if isinstance(n, int) else None for n in value.value.shape]
            before = trace.region.history.writes_tensor(trace.region.plan, path, shape)
            news |= bool(before)
            from_zero |= any(n in (0, 1) for n in before)
        elif isinstance(value, Symbol):
            news |= trace.region.history.writes_number(
                trace.region.plan, path, value.python_type(), None
            )
        elif isinstance(value, Constant) and type(value.value) in (int, float):
            number = value.value
            news |= trace.region.history.writes_number(
                trace.region.plan, path, type(number), number
            )
        if news:
            learned.append(path)
    for entry in trace.graph.inputs:
        if id(entry.source) in replaced:
            entry.owner = None  # the module holds another one at the next call
    if not learned:
        return None
    plan = trace.region.plan.having(from_zero=trace.region.plan.from_zero or from_zero)
    return Retry(plan, f"the region itself changes {', '.join(learned)}")


def _written(trace: Trace) -> Iterator[tuple[Any, Any]]:
    """(source, new value) of what changed in objects that exist outside."""
    value: Any
    for changed in list(trace.effects.touched.values()):
        source = changed.source
        if source is None:
            continue
        if isinstance(changed, (GrowingDeque, GrowingList)) and not changed.loaded():
            if isinstance(changed, GrowingList):
                for index, (_, _, value) in changed.put.items():
                    yield source.pick(index), value
                yield source.call(len), Constant(len(changed.outside) + len(changed.added))
            continue
        if isinstance(changed, Object):
            for name, value in changed.attrs.items():
                yield source.instance_dict().item(name), value
                yield source.attr(name), value
        elif isinstance(changed, List) and changed.python_type() is list:
            for i, value in enumerate(changed.items):
                yield source.index(i), value
        elif isinstance(changed, Dict) and changed.entries is not None:
            for key, value in changed.entries.values():
                if key.is_constant() and type(key.constant()) in (str, int):
                    yield source.item(key.constant()), value
