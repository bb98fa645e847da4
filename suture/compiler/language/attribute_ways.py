"""Ways to attributes: what a look-up has asked of a class, for the next object of that class.

A look-up of an attribute asks the class several things, each of them guarded, before and after it
looks into the object's own dict. Layers are many objects of few classes. Where only the dict is
left to ask, that is noted by class and name for as long as the trace runs, and objects that come
later are only looked into: all that was asked of the class is guarded already.
"""

from __future__ import annotations

from types import FunctionType

from suture.compiler.core import Trace
from suture.compiler.objects.lookup import MISSING
from suture.torch_private.replaced import is_modules_own


def way_of(trace: Trace, cls: type, name: str) -> object:
    """What is behind the object's own dict: a function of the class; None: the tables of a module;
    MISSING if no way was noted."""
    return trace.outside.attribute_ways.get((id(cls), name), MISSING)


def note_way(trace: Trace, cls: type, name: str) -> None:
    """Note the way of a look-up by object.__getattribute__ that was made, if it is one of the two.
    A descriptor that comes before the object's dict is none."""
    asked = trace.outside.type_lookups
    held, getter = asked.get((id(cls), name)), asked.get((id(cls), "__getattr__"))
    if held is None:
        return
    if type(held[0]) is FunctionType:
        trace.outside.attribute_ways[(id(cls), name)] = held[0]
    elif held[0] is MISSING and getter and is_modules_own(getter[0], "__getattr__"):
        trace.outside.attribute_ways[(id(cls), name)] = None
