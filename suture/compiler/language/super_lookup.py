"""super(): made, and its attributes looked up after a class in the order of inheritance."""

from __future__ import annotations

import types
from typing import Any

import torch

from suture._core import type_name
from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.language.attributes import MISSING
from suture.compiler.language.class_checks import says_its_class
from suture.compiler.objects import Class, Object, Opaque, Super, class_
from suture.torch_private import tensor_parts

_TENSOR_BASES = (torch.Tensor, tensor_parts.TensorBase)
_OF_CLASSES = (classmethod, types.ClassMethodDescriptorType)


def make_super(trace: Trace, sup: Value | None, cls: Any, obj: Any, given: bool = True) -> Value:
    """`super(cls, obj)`; `sup` is what the program calls super, None if that is certain. The
    program has `given` the arguments itself."""
    if sup is not None and not (isinstance(sup, Class) and sup.value is super):
        return abstract.call(trace, sup, [cls, obj] if given else [], {})
    if isinstance(cls, Opaque) or isinstance(obj, Opaque):
        raise Break(objects.UNKNOWN_OBJECT, operation="super", object=cls.describe())
    if not isinstance(cls, Class):
        kind = type_name(cls.python_type())
        return abstract.raise_(trace, TypeError, f"super() argument 1 must be a type, not {kind}")
    if obj is None or (obj.is_constant() and obj.constant() is None):
        raise Break(objects.UNKNOWN_OBJECT, operation="super", object=cls.describe())
    of_class = isinstance(obj, Class) and issubclass(obj.value, cls.value)
    if not of_class and not issubclass(obj.python_type(), cls.value):
        if isinstance(obj, Object) and says_its_class(trace, obj):
            raise Break(objects.UNKNOWN_OBJECT, operation="super", object=obj.describe())
        text = "super(type, obj): obj must be an instance or subtype of type"
        return abstract.raise_(trace, TypeError, text)
    return Super(cls.value, obj)


@implements(class_.super_attribute)
def super_attribute(trace: Trace, sup: Super, name: str) -> Value:
    owner = sup.owner
    of_class = isinstance(owner, Class) and not issubclass(owner.python_type(), sup.after)
    cls = owner.value if of_class else owner.python_type()
    mro = cls.__mro__
    if name == "__class__":  # the one attribute that is that of the super object itself
        return abstract.wrap(trace, super, None)
    for at in range(mro.index(sup.after) + 1, len(mro)):
        base = mro[at]
        _guard_place(trace, cls, at)
        raw = base.__dict__.get(name, MISSING)
        if raw is MISSING:
            abstract.type_lookup(trace, base, name)  # it may get one of its own
            continue
        if abstract.is_tensor(trace, owner) and base in _TENSOR_BASES:
            return abstract.base_tensor_attribute(trace, owner, base, name)
        if base.__flags__ & (1 << 8) == 0:
            source = abstract.pinned(trace, base).child("mro_attr", name)
            trace.guards.add(source, "is", raw)
        if of_class and not isinstance(raw, classmethod):
            return abstract.bind(trace, raw, None, cls, name, owner)
        if isinstance(owner, Class) and isinstance(raw, _OF_CLASSES):
            return abstract.bind(trace, raw, None, cls, name, owner)
        return abstract.bind(trace, raw, owner, cls, name)
    own = {"__self__": owner, "__self_class__": cls, "__thisclass__": sup.after}
    if name in own:
        found = own[name]
        return owner if found is owner else abstract.wrap(trace, found, None)
    return abstract.raise_(trace, AttributeError, f"'super' object has no attribute '{name}'")


def _guard_place(trace: Trace, cls: type, at: int) -> None:
    """Which class comes at a place in the order of inheritance: `__bases__` can be set."""
    if cls.__flags__ & (1 << 8) == 0 and id(cls) not in trace.guards.anew:
        order = abstract.pinned(trace, cls).attr("__mro__")
        trace.guards.add(order.index(at), "is", cls.__mro__[at])
