"""isinstance and issubclass, as CPython decides: by class, by `__class__`, by the metaclass."""

from __future__ import annotations

import abc
import types
from typing import Any

from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.language.abstract_classes import guard_abstract
from suture.compiler.models import handles
from suture.compiler.objects import Class, Constant, Object, Opaque, Raised, Tensor, Tuple
from suture.compiler.objects.lookup import MISSING, find_in_mro, has_dict
from suture.compiler.objects.weakref import WeakProxy

# Where metaclasses come from whose checks only compute: they are asked while tracing.
_KNOWN = ("abc", "typing", "typing_extensions", "torch", "numpy", "enum")


@handles(isinstance)
def _isinstance(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    obj, classes = args
    return Constant(_instance_of(trace, obj, classes))


@handles(issubclass)
def _issubclass(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    cls, classes = args
    return Constant(_subclass_of(trace, cls, classes))


def _several(trace: Trace, classes: Value) -> list[Any] | None:
    """The classes of a tuple, None if it is no tuple."""
    part = abstract.builtin_part(trace, classes)
    return part.unpacked(trace) if isinstance(part, Tuple) else None


def _real_class(trace: Trace, classes: Any, operation: str) -> Any:
    try:
        if isinstance(classes, Opaque):
            raise LookupError
        return classes.constant() if classes.is_constant() else classes.real()
    except LookupError:
        what = classes.describe()
        raise Break(objects.UNKNOWN_OBJECT, operation=operation, object=what) from None


def _union(kind: Any) -> tuple[Any, ...] | None:
    if type(kind) is not types.UnionType or not all(isinstance(a, type) for a in kind.__args__):
        return None
    return tuple(type(None) if a is None else a for a in kind.__args__)


def _check_of(kind: type, name: str) -> Any:
    """The method of the metaclass that decides; None if that is plain inheritance."""
    found = find_in_mro(type(kind), name)
    return None if found is getattr(type, name) else found


def _is_known(check: Any) -> bool:
    module = getattr(check, "__module__", None) or ""
    return not isinstance(check, types.FunctionType) or module.split(".")[0] in _KNOWN


# ---- isinstance


def _instance_of(trace: Trace, obj: object, classes: Value) -> bool:
    if isinstance(obj, WeakProxy) and _instance_of(trace, obj.target(trace), classes):
        return True
    several = _several(trace, classes)
    if several is not None:
        return any(_instance_of(trace, obj, one) for one in several)
    kind = _real_class(trace, classes, "isinstance")
    union = _union(kind)
    if union is not None:
        return any(
            _instance_of_one(trace, obj, abstract.wrap(trace, one, None), one) for one in union
        )
    return _instance_of_one(trace, obj, classes, kind)


def _instance_of_one(trace: Trace, obj: Any, variable: Any, kind: Any) -> bool:
    cls = obj.python_type()
    if cls is kind:
        return True
    check = _check_of(kind, "__instancecheck__")
    if check is None:
        return issubclass(cls, kind) or _claims(trace, obj, kind)
    if isinstance(obj, Tensor) and isinstance(kind, type):
        example = obj.example if obj.example is not None else obj.value
        return isinstance(example, kind) or issubclass(cls, kind)
    if check is MISSING:
        if hasattr(kind, "__bases__"):
            raise Break(objects.UNKNOWN_OBJECT, operation="isinstance", object=variable.describe())
        return bool(abstract.folded(trace, lambda: isinstance(object(), kind)).constant())
    if not _is_known(check):
        return bool(
            abstract.truth(
                trace, abstract.call(trace, abstract.wrap(trace, check, None), [variable, obj], {})
            )
        )
    return _checked_by_library(trace, obj, kind)


def _checked_by_library(trace: Trace, obj: Any, kind: Any) -> bool:
    """What the library's abstract classes, typing or torch say."""
    cls = obj.python_type()
    if getattr(kind, "_is_protocol", False):
        return _checked_by_protocol(trace, obj, kind)
    if isinstance(kind, abc.ABCMeta):
        guard_abstract(trace, cls, kind)
    try:
        real = obj.real()
    except LookupError:
        return bool(abstract.folded(trace, lambda: bool(issubclass(cls, kind))).constant())
    return bool(abstract.folded(trace, lambda: bool(isinstance(real, kind))).constant())


def _checked_by_protocol(trace: Trace, obj: Any, kind: type) -> bool:
    """A protocol looks at the object's own attributes too, which only Python knows, unless the
    class says yes already."""
    cls = obj.python_type()
    try:
        said: bool | None = bool(issubclass(cls, kind))
    except TypeError:  # one with data members, or one that is asked nothing
        said = None
    if said is None or (not said and has_dict(cls)):
        raise Break(objects.UNKNOWN_OBJECT, operation="isinstance", object=obj.describe())
    guard_abstract(trace, cls, kind)
    return said


def says_its_class(trace: Trace, obj: Object) -> bool:
    """Whether code of the program answers for `obj.__class__`."""
    raw = abstract.type_lookup(trace, obj.cls, "__class__")
    if not isinstance(raw, types.GetSetDescriptorType) and raw is not MISSING:
        return True
    asked = abstract.type_lookup(trace, obj.cls, "__getattribute__")
    return isinstance(asked, types.FunctionType)


def _claims(trace: Trace, obj: object, kind: type) -> bool:
    """Whether `obj.__class__` says it is a `kind` though its type is not."""
    if not isinstance(obj, Object):
        return False
    if not says_its_class(trace, obj):
        return False
    try:
        said = abstract.getattr(trace, obj, "__class__")
    except Raised as raised:
        if issubclass(raised.exception.python_type(), AttributeError):
            return False
        raise
    return isinstance(said, Class) and said.value is not obj.cls and issubclass(said.value, kind)


# ---- issubclass


def _subclass_of(trace: Trace, cls: Value, classes: Value) -> bool:
    several = _several(trace, classes)
    if several is not None:
        return any(_subclass_of(trace, cls, one) for one in several)
    kind = _real_class(trace, classes, "issubclass")
    union = _union(kind)
    if union is not None:
        return any(
            _subclass_of_one(trace, cls, abstract.wrap(trace, one, None), one) for one in union
        )
    return _subclass_of_one(trace, cls, classes, kind)


def _subclass_of_one(trace: Trace, cls: Value, variable: Value, kind: Any) -> bool:
    check = _check_of(kind, "__subclasscheck__")
    if check is not None and check is not MISSING and not _is_known(check):
        return bool(
            abstract.truth(
                trace, abstract.call(trace, abstract.wrap(trace, check, None), [variable, cls], {})
            )
        )
    real = _real_class(trace, cls, "issubclass")
    if isinstance(real, type) and isinstance(kind, abc.ABCMeta):
        said = bool(abstract.folded(trace, lambda: issubclass(real, kind)).constant())
        guard_abstract(trace, real, kind)
        return said
    if hasattr(real, "__bases__") != isinstance(real, type) or (
        check is MISSING and hasattr(kind, "__bases__")
    ):
        raise Break(objects.UNKNOWN_OBJECT, operation="issubclass", object=cls.describe())
    return bool(abstract.folded(trace, lambda: issubclass(real, kind)).constant())
