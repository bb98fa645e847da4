"""Calling a class: making instances."""

from __future__ import annotations

import collections
import enum
import types
from typing import Any

import torch

from suture import rules
from suture.breaks import Break, calls, objects
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.language.attributes import MISSING, find_in_mro
from suture.compiler.language.exception_groups import new_group
from suture.compiler.language.iteration import elements_of
from suture.compiler.models import model_of
from suture.compiler.objects import (
    Class,
    Constant,
    Deque,
    Dict,
    List,
    Object,
    Raise,
    Set,
    Tuple,
    class_,
)
from suture.compiler.objects.methods import run_method
from suture.compiler.objects.struct_tuple import StructTuple
from suture.rules.wrapped import home


@implements(class_.call_class)
def call_class(trace: Trace, cls: Class, args: list[Value], kwargs: dict[str, Value]) -> Value:
    real = cls.value
    handler = model_of(real)
    if handler is not None:
        return abstract.handle(trace, handler, real, args, kwargs)
    meta_call = (
        abstract.type_lookup(trace, type(real), "__call__") if type(real) is not type else None
    )
    if isinstance(meta_call, types.FunctionType):
        if issubclass(real, enum.Enum):
            return _member(trace, real, args, kwargs)
        return abstract.tail_call(
            trace, abstract.wrap(trace, meta_call, None), [cls, *args], kwargs
        )
    if meta_call is not None and not isinstance(meta_call, types.WrapperDescriptorType):
        bound = abstract.finish(trace, abstract.bind(trace, meta_call, cls, type(real), "__call__"))
        return abstract.tail_call(trace, bound, args, kwargs)  # of TypedDict: the class dict
    if home(real) == "torch.return_types" and len(args) == 1 and not kwargs:
        return StructTuple(real, elements_of(trace, args[0]))
    verdict = rules.lookup(real)
    if verdict.kind is not rules.INLINE or verdict.target is not None:
        if not _made_here(trace, real):
            return abstract.by_verdict(trace, verdict, real, cls, args, kwargs)
    return make_instance(trace, cls, args, kwargs)


def _member(trace: Trace, real: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`Level(2)`: the member, unless the program says itself what other values stand for."""
    known = len(args) == 1 and not kwargs and args[0].is_constant()
    known = known and args[0].python_type() is not slice  # which has no hash
    own = getattr(real._missing_, "__func__", None) is not enum.Enum._missing_.__func__  # type: ignore[attr-defined]
    if own and not (known and args[0].constant() in real._value2member_map_):
        if not issubclass(real, enum.Flag) or home(real._missing_) != "enum":
            raise Break(calls.C_FUNCTION, function=f"{real.__qualname__}._missing_")
    return abstract.fold(trace, real, args, kwargs)


def _made_here(trace: Trace, real: type) -> bool:
    """Classes whose instances are plain enough to make whatever package they come from."""
    if issubclass(real, BaseException):
        return home(real) == "builtins"
    return real is collections.Counter


def instance_of(trace: Trace, real: type, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A new instance of a class that the compiler names itself."""
    cls = abstract.wrap(trace, real, None)
    assert isinstance(cls, Class)
    return make_instance(trace, cls, args, kwargs)


def make_instance(trace: Trace, cls: Class, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """What type.__call__ does: __new__, then __init__."""
    real = cls.value
    if issubclass(real, torch.Tensor):
        return abstract.make_tensor_instance(trace, cls, args, kwargs)
    if isinstance(find_in_mro(real, "__del__"), types.FunctionType):
        raise Break(objects.FINALIZED, type=real.__qualname__)
    if real.__flags__ & (1 << 7):  # it says itself that nobody makes instances
        return abstract.folded(trace, real)
    new = abstract.type_lookup(trace, real, "__new__")
    new = new.__func__ if isinstance(new, staticmethod) else new
    if isinstance(new, types.FunctionType):
        made = abstract.call(trace, abstract.wrap(trace, new, None), [cls, *args], kwargs)
        if not issubclass(made.python_type(), real):
            return made
    else:
        made = allocate(trace, cls, new, args, kwargs)
    init = abstract.type_lookup(trace, made.python_type(), "__init__")
    if isinstance(made, Raise):
        made.bare = isinstance(init, types.FunctionType)
    if isinstance(init, types.FunctionType):
        return call_init(trace, made, abstract.wrap(trace, init, None), args, kwargs)
    if init is object.__init__ or init is MISSING or isinstance(made, Raise):
        return made
    storage_init(trace, made, init, args, kwargs)
    return made


def call_init(
    trace: Trace, made: Value, init: Value, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """Run __init__; the caller gets the object, not what __init__ returns."""
    pending = abstract.tail_call(trace, init, [made, *args], kwargs)
    frame = getattr(pending, "frame", None)
    if frame is None or isinstance(pending, Object):
        return made
    frame.deliver = made
    return pending


def allocate(
    trace: Trace, cls: Class, new: object, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """What a C __new__ does, for the types we know."""
    real = cls.value
    if issubclass(real, BaseException):
        return _new_exception(trace, real, args, kwargs)
    if new is object.__new__ or new is MISSING:
        if (args or kwargs) and find_in_mro(real, "__init__") is object.__init__:
            abstract.raise_(trace, TypeError, f"{real.__name__}() takes no arguments")
        if real.__flags__ & (1 << 20):  # abstract
            return abstract.folded(trace, lambda: object.__new__(real))
        return Object(None, real)
    storage = new_storage(trace, real, args)
    if storage is None:
        raise Break(
            calls.UNSUPPORTED_CALLABLE,
            callable=cls.describe(),
            arguments=", ".join(a.describe() for a in args),
        )
    return Object(None, real, None, storage)


def _new_exception(trace: Trace, real: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if real in (ExceptionGroup, BaseExceptionGroup):
        return new_group(trace, real, args, kwargs)
    if issubclass(real, _CHECKED) and not (issubclass(real, OSError) and len(args) < 2):
        return _checked_exception(trace, real, args, kwargs)
    made = Raise(real, list(args))
    if kwargs and not isinstance(abstract.type_lookup(trace, real, "__init__"), types.FunctionType):
        known = next((names for base, names in _FIELDS.items() if issubclass(real, base)), ())
        if any(name not in known for name in kwargs):
            return abstract.refused(trace, real, args, kwargs)
        made.attrs.update(kwargs)
    return made


def _checked_exception(
    trace: Trace, real: type, args: list[Value], kwargs: dict[str, Value]
) -> Raise:
    """One whose constructor looks at its arguments: Python makes it, unless its class is
    Python's own and they are known."""
    if kwargs or real.__flags__ & (1 << 9) or not abstract.all_known(trace, args, kwargs):
        raise Break(
            calls.UNSUPPORTED_CALLABLE,
            callable=real.__name__,
            arguments=", ".join(a.describe() for a in args),
        )
    values = [a.constant() for a in args]
    held: list[Any] = []
    abstract.folded(trace, lambda: held.append(real(*values)))
    made = Raise(type(held[0]), [Constant(a) for a in held[0].args])
    if len(held[0].args) != len(args):  # more than its arguments tell
        raise Break(calls.UNSUPPORTED_CALLABLE, callable=real.__name__, arguments="")
    return made


def new_storage(trace: Trace, real: type, args: list[Value]) -> Value | None:
    """The builtin part of a new object of a class that derives from a builtin type; None for
    classes in C, which make their objects themselves."""
    if not real.__flags__ & (1 << 9) and real not in _STORAGE:
        return None
    if issubclass(real, tuple):
        return Tuple(list(abstract.unpack(trace, args[0])) if args else [])
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
            _too_many(trace, real, args)
        return run_method(trace, Set(None, None, frozenset), "union", *args)
    if issubclass(real, set):
        return Set()
    for base in (int, float, str, bytes, complex):
        if issubclass(real, base):
            values = [abstract.constant_value(trace, a) for a in args]
            return abstract.folded(trace, lambda: base(*values))  # noqa: B023 - called at once
    return None


def _too_many(trace: Trace, real: type, args: list[Value]) -> None:
    """What a set says to more than one argument."""
    text = f"{real.__name__} expected at most 1 argument, got {len(args)}"
    abstract.raise_(trace, TypeError, text)


def storage_init(
    trace: Trace, made: Any, init: object, args: list[Value], kwargs: dict[str, Value]
) -> None:
    """The C __init__ of a container on the builtin part of an object."""
    storage = getattr(made, "storage", None)
    if storage is not None:
        abstract.init_storage(trace, storage, made, args, kwargs)
    elif init is not object.__init__:
        raise Break(calls.UNSUPPORTED_CALLABLE, callable=made.describe(), arguments="")


@implements(abstract.init_storage)
def _init_nothing(
    trace: Trace, storage: Value, made: Value, args: list[Value], kwargs: dict[str, Value]
) -> None:
    raise Break(calls.UNSUPPORTED_CALLABLE, callable=made.describe(), arguments="")


@implements(abstract.init_storage, Constant, Tuple)
def _init_constant(
    trace: Trace, storage: Value, made: Value, args: list[Value], kwargs: dict[str, Value]
) -> None:
    """What `__new__` has made is complete."""


@implements(abstract.init_storage, Dict)
def _init_dict(
    trace: Trace, storage: Dict, made: Value, args: list[Value], kwargs: dict[str, Value]
) -> None:
    if storage.kind is collections.defaultdict and args:
        storage.factory, args = args[0], args[1:]
    run_method(trace, storage, "update", *args, **kwargs)


@implements(abstract.init_storage, List)
def _init_list(
    trace: Trace, storage: List, made: Value, args: list[Value], kwargs: dict[str, Value]
) -> None:
    if len(args) > 1 or kwargs:
        abstract.refused(trace, list, args, kwargs)
    new = list(abstract.unpack(trace, args[0])) if args else []
    storage.change(trace)[:] = new


@implements(abstract.init_storage, Deque)
def _init_deque(
    trace: Trace, storage: Deque, made: Value, args: list[Value], kwargs: dict[str, Value]
) -> None:
    if len(args) > 2 or not kwargs.keys() <= {"iterable", "maxlen"}:
        abstract.refused(trace, collections.deque, args, kwargs)
    limit = args[1] if len(args) > 1 else kwargs.get("maxlen", Constant(None))
    known = abstract.constant_value(trace, limit)
    length = abstract.folded(trace, lambda: collections.deque(maxlen=known).maxlen).constant()
    given = args[0] if args else kwargs.get("iterable")
    storage.start(trace, [], length)
    if given is not None:
        run_method(trace, storage, "extend", given)


@implements(abstract.init_storage, Set)
def _init_set(
    trace: Trace, storage: Set, made: Value, args: list[Value], kwargs: dict[str, Value]
) -> None:
    if len(args) > 1:
        _too_many(trace, made.python_type(), args)
    if storage.kind is set:
        run_method(trace, storage, "__init__", *args)


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
