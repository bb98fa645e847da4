"""super(): made, and its attributes looked up behind a class in the order of inheritance."""

from __future__ import annotations

import types
from typing import Any

import torch

from suture._core import type_name
from suture.breaks import Break, objects
from suture.calls.objects.attributes import MISSING
from suture.calls.part import Part
from suture.torch_private import tensor_parts
from suture.variables import Class, Opaque, Super

_TENSOR_BASES = (torch.Tensor, tensor_parts.TensorBase)
_OF_CLASSES = (classmethod, types.ClassMethodDescriptorType)


class SuperLookup(Part):
    """The part of the tracer that answers super()."""

    def make_super(self, sup: Any, cls: Any, obj: Any, given: bool = True) -> Any:
        """`super(cls, obj)`; `sup` is what the program calls super, None if that is certain. The
        program has `given` the arguments itself."""
        if sup is not None and not (isinstance(sup, Class) and sup.value is super):
            return self.call(sup, [cls, obj] if given else [], {})
        if isinstance(cls, Opaque) or isinstance(obj, Opaque):
            raise Break(objects.UNKNOWN_OBJECT, operation="super", object=cls.describe())
        if not isinstance(cls, Class):
            kind = type_name(cls.python_type())
            return self.raise_(TypeError, f"super() argument 1 must be a type, not {kind}")
        if obj is None or (obj.is_constant() and obj.constant() is None):
            raise Break(objects.UNKNOWN_OBJECT, operation="super", object=cls.describe())
        of_class = isinstance(obj, Class) and issubclass(obj.value, cls.value)
        if not of_class and not issubclass(obj.python_type(), cls.value):
            text = "super(type, obj): obj must be an instance or subtype of type"
            return self.raise_(TypeError, text)
        return Super(cls.value, obj)

    def super_attribute(self, sup: Super, name: str) -> Any:
        """`super().name`."""
        owner = sup.owner
        of_class = isinstance(owner, Class) and not issubclass(owner.python_type(), sup.after)
        cls = owner.value if of_class else owner.python_type()
        mro = cls.__mro__
        for base in mro[mro.index(sup.after) + 1 :]:
            raw = base.__dict__.get(name, MISSING)
            if raw is MISSING:
                continue
            if self.is_tensor(owner) and base in _TENSOR_BASES:
                return self.base_tensor_attribute(owner, base, name)
            if base.__flags__ & (1 << 8) == 0:
                source = self.pinned(base).child("mro_attr", name)
                self.guards.add(source, "is", raw)
            if of_class and not isinstance(raw, classmethod):
                return self.bind(raw, None, cls, name, owner)
            if isinstance(owner, Class) and isinstance(raw, _OF_CLASSES):
                return self.bind(raw, None, cls, name, owner)
            return self.bind(raw, owner, cls, name)
        return self.raise_(AttributeError, f"'super' object has no attribute '{name}'")
