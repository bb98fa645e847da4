"""What programs say to TorchDynamo by a mark on an object."""

from __future__ import annotations

from suture import rules
from suture.breaks import Break, calls
from suture.compiler.core import Trace, Value
from suture.compiler.language.attributes import MISSING, find_in_mro
from suture.compiler.objects import Object
from suture.compiler.objects.lookup import really_has
from suture.rules.verdict import Verdict

_FORBIDDEN = "_dynamo_forbidden"  # what torch._dynamo.forbid_in_graph sets


def refuse_forbidden(obj: Value) -> None:
    """An object, or one of a class, that the program forbids in graphs: Python calls it. Functions
    and classes have the verdict of the rules."""
    if not isinstance(obj, Object) or obj.value is None:
        return
    marked = find_in_mro(obj.cls, _FORBIDDEN) not in (MISSING, False)
    if marked or really_has(obj.value, _FORBIDDEN, slot=False):
        raise Break(calls.FORBIDDEN, function=obj.describe())


def marked_object(trace: Trace, obj: Value) -> Verdict | None:
    """The verdict on a callable object that the program, or torch, allows as one node; None without
    that mark. The object is guarded by identity, as the mark is on it alone."""
    if not isinstance(obj, Object) or obj.value is None:
        return None
    verdict = rules.mark_of(obj.value)
    if verdict is None or verdict.kind is not rules.IN_GRAPH:
        return None
    if obj.source is not None:
        trace.guards.add(obj.source, "is", obj.value)
    return verdict
