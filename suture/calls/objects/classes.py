"""Calling a class: making instances."""

from __future__ import annotations

import collections
import enum
import types
from typing import Any

import torch

from suture import rules
from suture.breaks import Break, calls, objects
from suture.calls.objects.attributes import MISSING, find_in_mro
from suture.calls.part import Part
from suture.calls.table import handler_of
from suture.rules.wrapped import home
from suture.variables import Class, Constant, Deque, Dict, List, Object, Raise, Set, Tuple
from suture.variables.struct_tuple import StructTuple


class Classes(Part):
    """The part of the tracer that makes objects."""

    def call_class(self, cls: Class, args: list[Any], kwargs: dict[str, Any]) -> Any:
        real = cls.value
        handler = handler_of(real)
        if handler is not None:
            return self.handle(handler, real, args, kwargs)
        meta_call = self.type_lookup(type(real), "__call__") if type(real) is not type else None
        if isinstance(meta_call, types.FunctionType):
            if issubclass(real, enum.Enum):
                return self._member(real, args, kwargs)
            return self.tail_call(self.wrap(meta_call, None), [cls, *args], kwargs)
        if meta_call is not None and not isinstance(meta_call, types.WrapperDescriptorType):
            bound = self.finish(self.bind(meta_call, cls, type(real), "__call__"))
            return self.tail_call(bound, args, kwargs)  # of TypedDict: the class dict
        if home(real) == "torch.return_types" and len(args) == 1 and not kwargs:
            return StructTuple(real, self.elements(args[0]))
        verdict = rules.lookup(real)
        if verdict.kind is not rules.INLINE or verdict.target is not None:
            if not self._made_here(real):
                return self.by_verdict(verdict, real, cls, args, kwargs)
        return self.make_instance(cls, args, kwargs)

    def _member(self, real: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """`Level(2)`: the member, unless the program says itself what other values stand for."""
        known = len(args) == 1 and not kwargs and args[0].is_constant()
        known = known and args[0].python_type() is not slice  # which has no hash
        own = getattr(real._missing_, "__func__", None) is not enum.Enum._missing_.__func__  # type: ignore[attr-defined]
        if own and not (known and args[0].constant() in real._value2member_map_):
            if not issubclass(real, enum.Flag) or home(real._missing_) != "enum":
                raise Break(calls.C_FUNCTION, function=f"{real.__qualname__}._missing_")
        return self.fold(real, args, kwargs)

    def _made_here(self, real: type) -> bool:
        """Classes whose instances are plain enough to make whatever package they come from."""
        if issubclass(real, BaseException):
            return home(real) == "builtins"
        return real is collections.Counter

    def make_instance(self, cls: Class, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What type.__call__ does: __new__, then __init__."""
        real = cls.value
        if issubclass(real, torch.Tensor):
            return self.make_tensor_instance(cls, args, kwargs)
        if isinstance(find_in_mro(real, "__del__"), types.FunctionType):
            raise Break(objects.FINALIZED, type=real.__qualname__)
        if real.__flags__ & (1 << 7):  # it says itself that nobody makes instances
            return self.folded(real)
        new = self.type_lookup(real, "__new__")
        new = new.__func__ if isinstance(new, staticmethod) else new
        if isinstance(new, types.FunctionType):
            made = self.call(self.wrap(new, None), [cls, *args], kwargs)
            if not issubclass(made.python_type(), real):
                return made
        else:
            made = self.allocate(cls, new, args, kwargs)
        init = self.type_lookup(made.python_type(), "__init__")
        if isinstance(made, Raise):
            made.bare = isinstance(init, types.FunctionType)
        if isinstance(init, types.FunctionType):
            return self.call_init(made, self.wrap(init, None), args, kwargs)
        if init is object.__init__ or init is MISSING or isinstance(made, Raise):
            return made
        self.storage_init(made, init, args, kwargs)
        return made

    def call_init(self, made: Any, init: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Run __init__; the caller gets the object, not what __init__ returns."""
        pending = self.tail_call(init, [made, *args], kwargs)
        frame = getattr(pending, "frame", None)
        if frame is None or isinstance(pending, Object):
            return made
        frame.deliver = made
        return pending

    def allocate(self, cls: Class, new: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What a C __new__ does, for the types we know."""
        real = cls.value
        if issubclass(real, BaseException):
            return self._new_exception(real, args, kwargs)
        if new is object.__new__ or new is MISSING:
            if (args or kwargs) and find_in_mro(real, "__init__") is object.__init__:
                self.raise_(TypeError, f"{real.__name__}() takes no arguments")
            if real.__flags__ & (1 << 20):  # abstract
                return self.folded(lambda: object.__new__(real))
            return Object(None, real)
        storage = self.new_storage(real, args)
        if storage is None:
            raise Break(
                calls.UNSUPPORTED_CALLABLE,
                callable=cls.describe(),
                arguments=", ".join(a.describe() for a in args),
            )
        return Object(None, real, None, storage)

    def _new_exception(self, real: Any, args: list[Any], kwargs: dict[str, Any]) -> Raise:
        if issubclass(real, _CHECKED) and not (issubclass(real, OSError) and len(args) < 2):
            return self._checked_exception(real, args, kwargs)
        made = Raise(real, list(args))
        if kwargs and not isinstance(self.type_lookup(real, "__init__"), types.FunctionType):
            known = next((names for base, names in _FIELDS.items() if issubclass(real, base)), ())
            if any(name not in known for name in kwargs):
                return self.refused(real, args, kwargs)
            made.attrs.update(kwargs)
        return made

    def _checked_exception(self, real: type, args: list[Any], kwargs: dict[str, Any]) -> Raise:
        """One whose constructor looks at its arguments: Python makes it, unless its class is
        Python's own and they are known."""
        if kwargs or real.__flags__ & (1 << 9) or not self.all_known(args, kwargs):
            raise Break(
                calls.UNSUPPORTED_CALLABLE,
                callable=real.__name__,
                arguments=", ".join(a.describe() for a in args),
            )
        values = [a.constant() for a in args]
        held: list[Any] = []
        self.folded(lambda: held.append(real(*values)))
        made = Raise(type(held[0]), [Constant(a) for a in held[0].args])
        if len(held[0].args) != len(args):  # more than its arguments tell
            raise Break(calls.UNSUPPORTED_CALLABLE, callable=real.__name__, arguments="")
        return made

    def new_storage(self, real: type, args: list[Any]) -> Any:
        """The builtin part of a new object of a class that derives from a builtin type; None for
        classes in C, which make their objects themselves."""
        if not real.__flags__ & (1 << 9) and real not in _STORAGE:
            return None
        if issubclass(real, tuple):
            return Tuple(list(self.unpack(args[0])) if args else [])
        if issubclass(real, collections.OrderedDict):
            return Dict(None, None, collections.OrderedDict)
        if issubclass(real, collections.defaultdict):
            return Dict(None, None, collections.defaultdict)
        if issubclass(real, dict):
            return Dict()
        if issubclass(real, list):
            return List([])
        if issubclass(real, collections.deque):
            return Deque([])
        if issubclass(real, frozenset):
            if len(args) > 1:
                self._too_many(real, args)
            return Set(None, None, frozenset).m_union(self, *args)
        if issubclass(real, set):
            return Set()
        for base in (int, float, str, bytes, complex):
            if issubclass(real, base):
                values = [self.constant_value(a) for a in args]
                return self.folded(lambda: base(*values))  # noqa: B023 - called at once
        return None

    def _too_many(self, real: type, args: list[Any]) -> None:
        """What a set says to more than one argument."""
        text = f"{real.__name__} expected at most 1 argument, got {len(args)}"
        self.raise_(TypeError, text)

    def storage_init(self, made: Any, init: Any, args: list[Any], kwargs: Any) -> None:
        """The C __init__ of a container on the builtin part of an object."""
        storage = getattr(made, "storage", None)
        if isinstance(storage, Dict):
            if storage.kind is collections.defaultdict and args:
                storage.factory, args = args[0], args[1:]
            storage.m_update(self, *args, **kwargs)
        elif isinstance(storage, List) and storage.kind is list:
            if len(args) > 1 or kwargs:
                self.refused(list, args, kwargs)
            new = list(self.unpack(args[0])) if args else []
            storage.change(self)[:] = new
        elif isinstance(storage, List):
            if args:
                storage.m_extend(self, args[0])
        elif isinstance(storage, Set):
            if len(args) > 1:
                self._too_many(made.python_type(), args)
            if storage.kind is set:
                storage.m___init__(self, *args)
        elif not isinstance(storage, (Constant, Tuple)) and init is not object.__init__:
            raise Break(calls.UNSUPPORTED_CALLABLE, callable=made.describe(), arguments="")


# Builtin types that an object can have as its builtin part.
_STORAGE = frozenset(
    {
        tuple, list, dict, set, frozenset, collections.deque, collections.OrderedDict,
        collections.defaultdict, int, float, str, bytes, complex,
    }
)  # fmt: skip
# Exceptions whose constructors do more than keep their arguments.
_CHECKED = (OSError, BaseExceptionGroup, UnicodeError, SyntaxError)
# Keyword arguments that builtin exceptions take.
_FIELDS: dict[type, tuple[str, ...]] = {
    AttributeError: ("name", "obj"),
    NameError: ("name",),
    ImportError: ("name", "path"),
}
