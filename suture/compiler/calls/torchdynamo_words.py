"""What programs say to TorchDynamo by a mark on an object, or in calls to its tracer."""

from __future__ import annotations

import logging
from typing import Any

from suture.breaks import Break, calls
from suture.compiler.core import Value
from suture.compiler.language.attributes import MISSING, find_in_mro
from suture.compiler.objects import Object
from suture.compiler.objects.lookup import really_has

_log = logging.getLogger("suture.rules")
_told: set[str] = set()

_FORBIDDEN = "_dynamo_forbidden"  # what torch._dynamo.forbid_in_graph sets
_COMPTIME = "torch._dynamo.comptime"


def refuse_forbidden(obj: Value) -> None:
    """An object, or one of a class, that the program forbids in graphs: Python calls it. Functions
    and classes have the verdict of the rules."""
    if not isinstance(obj, Object) or obj.value is None:
        return
    marked = find_in_mro(obj.cls, _FORBIDDEN) not in (MISSING, False)
    if marked or really_has(obj.value, _FORBIDDEN, slot=False):
        raise Break(calls.FORBIDDEN, function=obj.describe())


def tell_comptime(real: Any) -> None:
    """Name once what is asked of TorchDynamo's tracer, which does not run: as in eager, the call
    prints and breaks nothing."""
    if real.__module__ == _COMPTIME and not _told:
        _told.add(real.__qualname__)
        _log.warning(
            "%s.%s talks to TorchDynamo's tracer, which does not run; instead: the call does what "
            "it does in eager, see GB0030",
            _COMPTIME,
            real.__qualname__.removeprefix("_Comptime.").partition(".<locals>")[0],
        )
