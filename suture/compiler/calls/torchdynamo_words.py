"""What programs say to TorchDynamo by a mark on an object."""

from __future__ import annotations

from suture.breaks import Break, calls
from suture.compiler.core import Value
from suture.compiler.language.attributes import MISSING, find_in_mro
from suture.compiler.objects import Object
from suture.compiler.objects.lookup import really_has

_FORBIDDEN = "_dynamo_forbidden"  # what torch._dynamo.forbid_in_graph sets


def refuse_forbidden(obj: Value) -> None:
    """An object, or one of a class, that the program forbids in graphs: Python calls it. Functions
    and classes have the verdict of the rules."""
    if not isinstance(obj, Object) or obj.value is None:
        return
    marked = find_in_mro(obj.cls, _FORBIDDEN) not in (MISSING, False)
    if marked or really_has(obj.value, _FORBIDDEN, slot=False):
        raise Break(calls.FORBIDDEN, function=obj.describe())
