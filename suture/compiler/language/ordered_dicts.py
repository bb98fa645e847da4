"""OrderedDicts: how they are made, and their attributes."""

from __future__ import annotations

import collections

from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.language.attributes import MISSING, find_in_mro, no_attribute
from suture.compiler.language.instance_dict import dict_is_held
from suture.compiler.language.instance_fields import instance_value
from suture.compiler.models import handles
from suture.compiler.objects import ordered_dict
from suture.compiler.objects.methods import run_method
from suture.compiler.objects.ordered_dict import OrderedDict


@handles(collections.OrderedDict)
def _ordered_dict(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) > 1:
        abstract.refused(trace, collections.OrderedDict, args, kwargs)
    made = OrderedDict()
    run_method(trace, made, "update", *args, **kwargs)
    return made


@implements(ordered_dict.ordered_dict_attribute)
def ordered_dict_attribute(trace: Trace, obj: OrderedDict, name: str) -> Value:
    if name != "__class__":
        found = instance_value(trace, obj, name)
        if found is not None:
            return found
        if find_in_mro(collections.OrderedDict, name) is MISSING:
            return no_attribute(trace, obj, name)
    return abstract.container_attribute(trace, obj, name)


@implements(ordered_dict.takes_attribute)
def takes_attribute(trace: Trace, obj: OrderedDict, name: str) -> bool:
    hides = find_in_mro(collections.OrderedDict, name) is not MISSING
    return not hides and not dict_is_held(trace, obj)
