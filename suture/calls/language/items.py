"""Items, membership, lengths, and class patterns."""

from __future__ import annotations

import operator
import types
from typing import Any

from suture._core import type_name
from suture.breaks import Break, control_flow, objects
from suture.calls.objects.attributes import MISSING
from suture.calls.part import Part
from suture.variables import (
    Builtin,
    Class,
    Constant,
    Dict,
    Object,
    Opaque,
    Sequence,
    Slice,
    Symbol,
    Tensor,
    Tuple,
)


def _only_computes(fn: types.FunctionType) -> bool:
    """Whether the function is one of the library's that make types, or find members of enums."""
    return fn.__module__ in ("enum", "typing", "types", "typing_extensions")


class Items(Part):
    """The part of the tracer that reads and writes items."""

    def getitem(self, obj: Any, key: Any) -> Any:
        return self.finish(self.tail_getitem(obj, key))

    def tail_getitem(self, obj: Any, key: Any) -> Any:
        if isinstance(obj, Tensor):
            asked = self.special_override(obj, "__getitem__", [key]) if self.asks else None
            return asked if asked is not None else self.tensor_getitem(obj, key)
        if obj.is_constant() and type(obj) is not Tuple:
            return self._constant_getitem(obj, key)
        if isinstance(obj, Class):
            return self._class_getitem(obj, key)
        if isinstance(obj, Opaque):
            raise Break(objects.UNKNOWN_SUBSCRIPT, object=obj.describe(), key=key.describe())
        own = getattr(type(obj), "m___getitem__", None)
        if own is not None:
            return own(obj, self, key)
        if self.type_lookup(obj.python_type(), "__getitem__") is MISSING:
            kind = type_name(obj.python_type())
            return self.raise_(TypeError, f"'{kind}' object is not subscriptable")
        return self.call_type_method(obj, "__getitem__", [key], {})

    def dict_subscript(self, obj: Any, storage: Dict, key: Any) -> Any:
        """What dict.__getitem__ gives for an object of a class that may define __missing__."""
        missing = self.type_lookup(obj.cls, "__missing__")
        if not isinstance(missing, types.FunctionType):
            return storage.m___getitem__(self, key)
        found = storage.get(self, key)
        return found if found is not None else self.call_type_method(obj, "__missing__", [key], {})

    def _constant_getitem(self, obj: Any, key: Any) -> Any:
        if isinstance(key, (Object, Tensor)) and isinstance(obj.constant(), _SEQUENCES):
            if isinstance(key, Tensor) or self.has_index(key):
                key = Constant(self.integer(key))
        if isinstance(key, Slice) or key.is_constant() or isinstance(key, Symbol):
            value = obj.constant()
            return self.folded(lambda: value[self.constant_value(key)])
        return self.fold(operator.getitem, [obj, key], {})

    def _class_getitem(self, obj: Class, key: Any) -> Any:
        meta = type(obj.value)
        getter = self.type_lookup(meta, "__getitem__") if meta is not type else MISSING
        if getter is not MISSING:
            if isinstance(getter, types.FunctionType) and not _only_computes(getter):
                return self.tail_call(self.wrap(getter, None), [obj, key], {})
            return self.fold(operator.getitem, [obj, key], {})
        raw = self.type_lookup(obj.value, "__class_getitem__")
        own = raw.__func__ if isinstance(raw, classmethod) else None
        if isinstance(own, types.FunctionType) and not _only_computes(own):
            return self.tail_call(self.wrap(own, None), [obj, key], {})
        value = self.constant_value(key)
        return self.folded(lambda: obj.value[value])

    def setitem(self, obj: Any, key: Any, value: Any) -> None:
        if isinstance(obj, Tensor):
            asked = self.special_override(obj, "__setitem__", [key, value]) if self.asks else None
            if asked is None:
                self.tensor_setitem(obj, key, value)
            return
        self._item_method(obj, "__setitem__", [key, value], "item assignment", key)

    def delitem(self, obj: Any, key: Any) -> None:
        self._item_method(obj, "__delitem__", [key], "item deletion", key)

    def _item_method(self, obj: Any, method: str, args: list[Any], what: str, key: Any) -> None:
        own = getattr(type(obj), "m_" + method, None)
        if own is not None:
            own(obj, self, *args)
            return
        if isinstance(obj, Opaque):
            raise Break(objects.UNKNOWN_SUBSCRIPT, object=obj.describe(), key=key.describe())
        if self.type_lookup(obj.python_type(), method) is MISSING:
            self.raise_(
                TypeError, f"'{type_name(obj.python_type())}' object does not support {what}"
            )
        self.finish(self.call_type_method(obj, method, args, {}))

    def contains(self, container: Any, item: Any) -> Any:
        if container.is_constant() and item.is_constant():
            return self.fold(operator.contains, [container, item], {})
        if isinstance(container, Tensor):
            asked = self.special_override(container, "__contains__", [item]) if self.asks else None
            return (
                self.to_bool(asked) if asked is not None else self.tensor_contains(container, item)
            )
        if container.is_constant() and not isinstance(container.constant(), (str, bytes)):
            return Constant(any(self.same_or_equal(v, item) for v in self.unpack(container)))
        own = getattr(type(container), "m___contains__", None)
        if own is not None:
            return own(container, self, item)
        if isinstance(container, Opaque):
            raise Break(
                objects.UNKNOWN_OPERATOR,
                operator="in",
                operands=f"{item.describe()}, {container.describe()}",
            )
        cls = container.python_type()
        if self.type_lookup(cls, "__contains__") is not MISSING:
            return self.to_bool(
                self.finish(self.call_type_method(container, "__contains__", [item], {}))
            )
        if all(self.type_lookup(cls, m) is MISSING for m in ("__iter__", "__getitem__")):
            text = f"argument of type '{type_name(cls)}' is not iterable"
            return self.raise_(TypeError, text)
        for at in self.each(container):  # an iterator is left where the item was
            if self.same_or_equal(at, item):
                return Constant(True)
        return Constant(False)

    def sequence_compare(self, symbol: str, left: Any, right: Any) -> Any:
        """What `left.__eq__(right)` and its kin give for a list or a tuple."""
        right = self.builtin_part(right)
        done = None
        if isinstance(right, Sequence):
            done = self.compare_sequences(symbol, left, right)
        return Constant(NotImplemented) if done is None else done

    def index_of(self, key: Any, length: int, what: str) -> Any:
        """A key of a sequence as an int in range, or a slice of known ends."""
        if isinstance(key, Slice):
            return self._slice_ends(key)
        if key.is_constant() and isinstance(key.constant(), slice):
            return self._with_step(key.constant())
        if not self.has_index(key):
            kind = type_name(key.python_type())
            base = what.split()[0]
            if base == "deque":
                self.raise_(TypeError, f"sequence index must be integer, not '{kind}'")
            self.raise_(TypeError, f"{base} indices must be integers or slices, not {kind}")
        at = self._tensor_index(key) if self.is_tensor(key) else self.integer(key)
        if not -length <= at < length:
            self.raise_(IndexError, f"{what} index out of range")
        return at if at >= 0 else at + length

    def has_index(self, key: Any) -> bool:
        """Whether the value can be an index or a count."""
        if issubclass(key.python_type(), int):
            return True
        return (
            self.is_tensor(key) or self.type_lookup(key.python_type(), "__index__") is not MISSING
        )

    def _tensor_index(self, key: Any) -> int:
        """A tensor as an index of a Python sequence: its number must be known."""
        try:
            return self.integer(key)
        except Break as reason:
            raise Break(control_flow.INDEX_OF_TENSOR, tensor=key.describe()) from reason

    def _slice_ends(self, key: Slice) -> slice:
        try:
            ends = slice(*(self._slice_end(p) for p in key.parts))
        except Break as reason:
            bounds = ":".join(p.describe() for p in key.parts)
            raise Break(control_flow.TENSOR_SLICE, bounds=bounds) from reason
        return self._with_step(ends)

    def _with_step(self, ends: slice) -> slice:
        if ends.step == 0:
            self.raise_(ValueError, "slice step cannot be zero")
        return ends

    def _slice_end(self, part: Any) -> Any:
        if part.is_constant() and part.constant() is None:
            return None
        return self.integer(part)

    def length(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            asked = self.special_override(obj, "__len__", []) if self.asks else None
            return asked if asked is not None else self.tensor_length(obj)
        if obj.is_constant():
            return self.fold(len, [obj], {})
        if isinstance(obj, Object) and isinstance(obj.storage, Constant):
            if not isinstance(self.type_lookup(obj.cls, "__len__"), types.FunctionType):
                return self.length(obj.storage)
        own = getattr(type(obj), "m___len__", None)
        if own is not None:
            return own(obj, self)
        if self.type_lookup(obj.python_type(), "__len__") is MISSING:
            kind = type_name(obj.python_type())
            return self.raise_(TypeError, f"object of type '{kind}' has no len()")
        return self.finish(self.call_type_method(obj, "__len__", [], {}))

    def _match_args(self, cls: Class, count: int) -> tuple[str, ...] | None:
        """The attributes of positional patterns; None if the one pattern is the object itself."""
        name = cls.value.__name__
        allowed: Any = ()
        if self.type_lookup(cls.value, "__match_args__") is not MISSING:
            allowed = self.constant_value(self.getattr(cls, "__match_args__"))
            if type(allowed) is not tuple:
                kind = type_name(type(allowed))
                self.raise_(TypeError, f"{name}.__match_args__ must be a tuple (got {kind})")
        elif issubclass(cls.value, _SELF_MATCHING):
            allowed = None
        most = 1 if allowed is None else len(allowed)
        if count > most:
            plural = "" if most == 1 else "s"
            text = f"{name}() accepts {most} positional sub-pattern{plural} ({count} given)"
            self.raise_(TypeError, text)
        if allowed is None:
            return None
        for one in allowed[:count]:
            if type(one) is not str:
                kind = type_name(type(one))
                self.raise_(TypeError, f"__match_args__ elements must be strings (got {kind})")
        return tuple(allowed[:count])

    def match_class(self, subject: Any, cls: Any, count: int, names: tuple[str, ...]) -> Any:
        """MATCH_CLASS: the attributes a class pattern binds, or None."""
        if isinstance(cls, Opaque):
            raise Break(objects.UNKNOWN_OBJECT, operation="match", object=cls.describe())
        if not isinstance(cls, Class):
            return self.raise_(TypeError, "called match pattern must be a class")
        if not self.truth(self.call(Builtin(isinstance), [subject, cls], {})):
            return Constant(None)
        out = []
        if count:
            positional = self._match_args(cls, count)
            if positional is None:
                out.append(subject)
            else:
                names = (*positional, *names)
        seen: set[str] = set()
        for name in names:
            if name in seen:
                text = f"{cls.value.__name__}() got multiple sub-patterns for attribute {name!r}"
                return self.raise_(TypeError, text)
            seen.add(name)
            if not self.hasattr(subject, name):
                return Constant(None)
            out.append(self.getattr(subject, name))
        return Tuple(out)


_SEQUENCES = (range, str, bytes, tuple)
_SELF_MATCHING = (
    bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple
)  # fmt: skip
