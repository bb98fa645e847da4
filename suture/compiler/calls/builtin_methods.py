"""Methods of builtin types: bound ones, and descriptors called with their object."""

from __future__ import annotations

import collections
import types
from typing import Any

from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.calls import library_methods as library
from suture.compiler.calls.folding import constant_method
from suture.compiler.core import Trace, Value
from suture.compiler.language.items import dict_subscript
from suture.compiler.models import Handler
from suture.compiler.objects import Constant, Dict
from suture.compiler.objects.methods import find_method

_IN_PLACE = frozenset({"__iadd__", "__imul__", "__ior__"})  # they give the object itself
# Methods that make another object of the very class of theirs.
_KEEP_CLASS: dict[type, frozenset[str]] = {
    collections.OrderedDict: frozenset({"copy", "__or__", "__ror__"}),
    collections.defaultdict: frozenset({"copy", "__copy__", "__or__", "__ror__"}),
    collections.deque: frozenset({"copy", "__copy__", "__add__", "__mul__", "__rmul__"}),
}
_OF_DICT = (collections.OrderedDict, collections.defaultdict)
_SIGNATURES: dict[Any, tuple[int, int | None, frozenset[str] | None]] = {}


def call_descriptor(
    trace: Trace, real: Any, owner: type, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """`list.append(x, 1)`: a method descriptor called with its object; None if its object has no
    such method here."""
    obj, name = args[0], real.__name__
    if isinstance(real, types.ClassMethodDescriptorType):
        return library.class_method(trace, real, args, kwargs)
    if abstract.is_tensor(trace, obj):
        return abstract.tensor_descriptor(trace, real, obj, args[1:], kwargs)
    storage = getattr(obj, "storage", None)
    if name == "__getitem__" and isinstance(storage, Dict) and len(args) == 2 and not kwargs:
        return dict_subscript(trace, obj, storage, args[1])
    for target in (storage, obj):
        if target is not None and find_method(type(target), name) is not None:
            if _differs(target, owner, name, target is storage):
                return None
            done = abstract.tail_call_method(trace, target, name, args[1:], kwargs)
            return obj if done is storage and name in _IN_PLACE else done
    value = storage if isinstance(storage, Constant) and owner is not object else obj
    if value.is_constant() and isinstance(value.constant(), owner):
        return constant_method(trace, value, name, args[1:], kwargs)
    return None


@implements(abstract.builtin_method)
def builtin_method(
    trace: Trace,
    method: Handler,
    obj: Value,
    name: str,
    args: list[Value],
    kwargs: dict[str, Value],
) -> Value:
    try:
        _check_signature(method, args, kwargs)
    except TypeError:
        return abstract.refused_method(trace, obj.python_type(), name, args, kwargs)
    return method(obj, trace, *args, **kwargs)


def _differs(target: object, owner: type, name: str, derived: bool) -> bool:
    """Whether the method of `owner` does something else than that of our container: it makes an
    object of a derived class, or goes round what a class derived from dict does."""
    kind = getattr(target, "kind", None)
    if derived and name in _KEEP_CLASS.get(kind, ()):  # type: ignore[arg-type]
        return True
    return owner is dict and kind in _OF_DICT and name in kind.__dict__


def _check_signature(method: Any, args: list[Value], kwargs: dict[str, Value]) -> None:
    """Raise TypeError unless `method(obj, tx, *args, **kwargs)` binds."""
    known = _SIGNATURES.get(method)
    if known is None:
        code = method.__code__
        need = code.co_argcount - len(method.__defaults__ or ()) - 2
        most = None if code.co_flags & 0x04 else code.co_argcount - 2
        names = code.co_varnames[2 : code.co_argcount + code.co_kwonlyargcount]
        known = (need, most, None if code.co_flags & 0x08 else frozenset(names))
        _SIGNATURES[method] = known
    need, most, names_ = known
    if len(args) < need and not kwargs:
        raise TypeError(
            f"expected at least {need} argument{'s' if need != 1 else ''}, got {len(args)}"
        )
    if most is not None and len(args) > most:
        raise TypeError(
            f"expected at most {most} argument{'s' if most != 1 else ''}, got {len(args)}"
        )
    if names_ is not None and not names_.issuperset(kwargs):
        raise TypeError("takes no keyword arguments")
