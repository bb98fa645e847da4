"""What the identity of an object stood for, in a form that another process can compare.

A guard that requires one object lets the compiler take for granted what cannot change as long as it
is that object: a function's code, a class's bases, a tuple's items. What can change (a module's
attributes, a dict's items) has guards of its own. A fingerprint says the first; objects of which it
is not known what identity implies have none, and variants that depend on them are not kept.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import hashlib
import json
import operator
import random
import re
import struct
import sys
import threading
import types
import typing
import weakref
from typing import Any

import torch

from suture.runtime.store.literals import Unstorable, encode
from suture.torch_private import distributed_parts, dtensor_parts, tensor_parts, torchdynamo

_DIGESTS: weakref.WeakKeyDictionary[types.CodeType, str] = weakref.WeakKeyDictionary()
_DEPTH = 6  # of tuples in defaults and the like
_HEAP = 1 << 9
# Types of C whose objects can change as a whole, so that guards say what they hold.
_MUTABLE = (dict, list, set, collections.OrderedDict, collections.deque, object)
_VALUES = (int, float, complex, str, bytes, tuple, frozenset)
_DESCRIPTORS = (
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.ClassMethodDescriptorType,
)


def digest(data: Any) -> str:
    """A short name for JSON data."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def code_digest(code: types.CodeType) -> str:
    """What a code object does, without where it is in its file."""
    found = _DIGESTS.get(code)
    if found is None:
        found = _DIGESTS[code] = digest(
            [
                code.co_code.hex(),
                [_constant(one) for one in code.co_consts],
                list(code.co_names),
                list(code.co_varnames),
                list(code.co_freevars),
                list(code.co_cellvars),
                [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount],
                code.co_flags,
                code.co_name,
                code.co_qualname,
                code.co_exceptiontable.hex(),
            ]
        )
    return found


def _constant(value: Any) -> Any:
    if isinstance(value, types.CodeType):
        return {"code": code_digest(value)}
    if type(value) is tuple:
        return {"tuple": [_constant(one) for one in value]}
    return encode(value)


def fingerprint(value: Any, depth: int = 0) -> Any:
    """JSON that is equal for objects whose identity implies the same; raises Unstorable."""
    if depth > _DEPTH:
        raise Unstorable("an object nests too deep")
    try:
        return ["value", encode(value)]
    except Unstorable:
        pass
    kind = type(value)
    if isinstance(value, type):
        return _class(value)
    if kind is types.FunctionType:
        return _function(value, depth)
    if kind is types.CodeType:
        return ["code", code_digest(value)]
    if isinstance(value, types.ModuleType):
        of = [] if kind is types.ModuleType else [_class(kind)]
        # what is read of a module of that name is read of the one that is imported
        return ["module", value.__name__, module_named(value.__name__) is value, *of]
    if kind is types.BuiltinFunctionType or kind in _DESCRIPTORS:
        return _builtin(value, depth)
    if kind is types.MethodType:
        return ["method", *_each((value.__func__, value.__self__), depth)]
    if kind in (staticmethod, classmethod):
        return [kind.__name__, fingerprint(value.__func__, depth + 1)]
    if issubclass(kind, property):
        of = [] if kind is property else [_class(kind)]
        return ["property", *_each((value.fget, value.fset, value.fdel), depth), *of]
    if kind is types.CellType:
        return ["cell"]  # what is in it can change, and is guarded
    if kind is tuple:
        return ["tuple", *_each(value, depth)]
    if issubclass(kind, torch.Tensor):
        return ["tensor", *tensor_facts(value)]
    return _instance(value, depth)


def _each(values: Any, depth: int) -> list[Any]:
    return [fingerprint(one, depth + 1) for one in values]


# Groups of processes and their meshes never change. All that is read of them follows from these.
_FACTS = {"group": distributed_parts.facts_of_group, "mesh": distributed_parts.facts_of_mesh}
# Other objects that never change are read while tracing, without a guard for each fact: signatures
# and their parameters, fields of dataclasses, types as annotations say them; placements of tensors.
_READ_FREELY = frozenset({"inspect", "dataclasses", "typing", "torch._C._distributed_c10d"})
# Functions of NumPy, which are objects of its own: what they do belongs to its version.
_NUMPYS = frozenset({"ufunc", "_ArrayFunctionDispatcher"})
_FORM = type(typing.ClassVar)  # of annotations, without arguments


def _instance(value: Any, depth: int) -> Any:
    """An object of a class: its class, and the part of it that is a builtin value."""
    kind = type(value)
    if isinstance(value, enum.Enum):
        return ["enum", _class(kind), value.name]
    if kind is dict:
        home = globals_name(value)
        return ["globals", home] if home is not None else ["dict"]
    if value is distributed_parts.all_groups():
        return ["groups"]  # what is read of it has guards
    if kind is dataclasses.Field:
        return _field(value, depth)
    if value is dataclasses.MISSING:
        return ["missing"]
    if isinstance(value, _FORM):
        return ["form", repr(value)]
    if kind.__module__ in ("typing", "types") and hasattr(value, "__args__"):
        return ["form", repr(value), *_each(value.__args__, depth)]
    for what, facts in _FACTS.items():
        found = facts(value)
        if found is not None:
            return [what, found]
    if kind.__module__ == "numpy" and kind.__name__ in _NUMPYS:
        said = kind.__name__, getattr(value, "__module__", None), value.__name__
        return ["numpy", *said, sys.modules["numpy"].__version__]
    if kind.__module__.partition(".")[0] == "numpy" and kind.__name__ in ("finfo", "iinfo"):
        return ["numpy", kind.__name__, str(value.dtype)]
    if kind.__module__ in _READ_FREELY or _of_distributed(value):
        raise Unstorable(f"what a {kind.__name__} says is not kept")
    base = next(one for one in kind.__mro__ if not one.__flags__ & _HEAP)
    if kind in _PATTERNS:
        return ["pattern", encode(_PATTERNS[kind](value))]
    if base in _VALUES:
        plain = tuple(tuple.__iter__(value)) if base is tuple else base(value)
        return ["instance", _class(kind), fingerprint(plain, depth + 1)]
    if base not in _MUTABLE or any(map(_holds_more, kind.__mro__)):
        raise Unstorable(
            f"it is not known what the identity of a {kind.__module__}.{kind.__qualname__} implies"
        )
    return ["instance", _class(kind)]


# Objects of C that never change and say all that they are.
_PATTERNS: dict[type, Any] = {
    re.Pattern: lambda one: (one.pattern, one.flags),
    struct.Struct: lambda one: one.format,
    operator.itemgetter: lambda one: one.__reduce__()[1],
    operator.attrgetter: lambda one: one.__reduce__()[1],
}
# Classes of C whose objects are read piece by piece, with guards, or not at all.
_READ_IN_PIECES: tuple[type, ...] = (
    functools.partial,
    functools._lru_cache_wrapper,
    collections.deque,
    collections.defaultdict,
    random.Random.__bases__[0],
    threading.local,
    type(threading.Lock()),
    type(threading.RLock()),
)
_POINTER = struct.calcsize("P")


def _holds_more(cls: type) -> bool:
    """Whether objects of a class hold something in C that no attribute of theirs shows: they are
    larger than what Python puts into objects makes them."""
    base = cls.__base__
    if base is None or not cls.__flags__ & _HEAP or cls in _READ_IN_PIECES:
        return False
    body = vars(cls)
    members = [one for one in body.values() if type(one) is types.MemberDescriptorType]
    pointers = len(members) if "__slots__" in body else 0
    pointers += cls.__weakrefoffset__ > 0 and base.__weakrefoffset__ == 0
    # a negative offset counts from the end of an object of any size, or means a place before it
    own_dict = cls.__dictoffset__ > 0 or (cls.__dictoffset__ < 0 and cls.__itemsize__ > 0)
    pointers += own_dict and base.__dictoffset__ == 0
    return cls.__basicsize__ > base.__basicsize__ + pointers * _POINTER


def _of_distributed(value: Any) -> bool:
    """Whether an object of torch.distributed is read without guards: all but modules, such as those
    whose class `fully_shard` has replaced."""
    home = type(value).__module__
    return home.startswith("torch.distributed") and not isinstance(value, torch.nn.Module)


def _field(value: Any, depth: int) -> Any:
    """A field of a dataclass, with everything it says. What can change is not among it."""
    said = (value.type, value.default, value.default_factory, *value.metadata.values())
    for one in said:
        if isinstance(one, _MUTABLE[:-1]):
            raise Unstorable(f"a field says a {type(one).__qualname__}, which can change")
    flags = [value.init, value.repr, value.hash, value.compare, value.kw_only is True]
    kind = repr(value._field_type)
    return ["field", value.name, kind, flags, encode(tuple(value.metadata)), *_each(said, depth)]


def globals_name(namespace: dict[str, Any]) -> str | None:
    """The module whose globals these are, if they are those of a module."""
    # a module of Python's library may call itself by another name than it was imported by
    for name in (namespace.get("__name__"), getattr(namespace.get("__spec__"), "name", None)):
        home = module_named(name) if type(name) is str else None
        if home is not None and vars(home) is namespace:
            return name
    return None


def module_named(name: str) -> types.ModuleType | None:
    """A module that is imported, or a namespace of torch.ops, which is a module without import."""
    if name.startswith(_OPS):
        return vars(torch.ops).get(name.removeprefix(_OPS))
    return sys.modules.get(name)


_OPS = "torch.ops."


def _function(value: types.FunctionType, depth: int) -> Any:
    attributes = {
        name: _loosely(one, depth)
        for name, one in value.__dict__.items()
        if name != torchdynamo.DISABLED_SELF
    }
    return [
        "function",
        value.__module__,
        value.__qualname__,
        code_digest(value.__code__),
        [_loosely(one, depth) for one in value.__defaults__ or ()],
        {name: _loosely(one, depth) for name, one in (value.__kwdefaults__ or {}).items()},
        len(value.__closure__ or ()),
        attributes,
        _annotations(value),
        globals_name(value.__globals__),
    ]


def _loosely(value: Any, depth: int) -> Any:
    """What hangs on a function and has guards of its own where it was read: its kind is enough
    where more is not known."""
    if depth < 2:
        try:
            return fingerprint(value, depth + 1)
        except Unstorable:
            pass
    return ["some", type(value).__module__, type(value).__qualname__]


def _builtin(value: Any, depth: int) -> Any:
    owner = getattr(value, "__self__", None)
    if isinstance(owner, types.ModuleType):
        of: Any = ["module", owner.__name__]
    elif isinstance(owner, type):
        of = ["class", owner.__module__, owner.__qualname__]
    elif owner is None:
        home = getattr(value, "__objclass__", None)
        of = ["class", home.__module__, home.__qualname__] if home is not None else None
    elif type(owner).__module__.startswith("pybind11"):
        of = "pybind11"  # the record of the function itself
    else:
        of = fingerprint(owner, depth + 1)
    name = getattr(value, "__qualname__", value.__name__)
    return ["builtin", type(value).__name__, getattr(value, "__module__", None), name, of]


def _class(value: type) -> Any:
    """A class: its name and bases, and for those of the program what is in its body. Whoever
    changes a class that was looked at here changes what guards look at as well: reads of class
    attributes are guarded one by one."""
    found = _CLASSES.get(value)
    if found is None:
        found = _CLASSES[value] = ["class", digest(_lines(value))]
    return found


_CLASSES: weakref.WeakKeyDictionary[type, Any] = weakref.WeakKeyDictionary()


def _lines(value: type) -> list[Any]:
    lines = []
    for base in value.__mro__:
        line: list[Any] = [base.__module__, base.__qualname__, base.__flags__ & _KEPT_FLAGS]
        if base.__flags__ & _HEAP and not is_versioned(base.__module__):
            line.append(type(base).__qualname__)
            line.append({name: _in_body(one) for name, one in sorted(base.__dict__.items())})
            line.append(_annotations(base))
            if issubclass(base, enum.Enum):
                line.append(_members(base))
        lines.append(line)
    return lines


# Of a type's flags those that say what it is, not what the interpreter has found out about it.
_KEPT_FLAGS = (1 << 9) | (1 << 10) | (0xFF << 24)


def _in_body(value: Any) -> Any:
    if isinstance(value, (staticmethod, classmethod)):
        value = value.__func__
    if isinstance(value, property):
        return [_in_body(one) for one in (value.fget, value.fset, value.fdel)]
    if isinstance(value, types.FunctionType):
        return code_digest(value.__code__)
    try:
        return encode(value)
    except Unstorable:
        return [type(value).__module__, type(value).__qualname__]


def _annotations(value: Any) -> Any:
    """What a class or a function says of its fields or arguments, which is read as a whole."""
    later = getattr(value, "__annotate__", None)  # from Python 3.14 on: what computes it
    if isinstance(later, types.FunctionType):
        return code_digest(later.__code__)
    is_class = isinstance(value, type)
    said = vars(value).get("__annotations__") if is_class else value.__annotations__
    return [[n, _loosely(one, 0)] for n, one in said.items()] if type(said) is dict else None


def _members(kind: type[enum.Enum]) -> list[Any]:
    """The members of an enum in their order, with the values by which they are found; aliases say
    whose they are. What else hangs on a member has guards where it was read."""
    return [[n, m.name, _loosely(m._value_, 0)] for n, m in kind.__members__.items()]


def is_versioned(module: Any) -> bool:
    """Whether the module's code is that of a release which the key of the cache names."""
    top = str(module).partition(".")[0]
    return top in ("torch", "suture") or (top in sys.stdlib_module_names and top != "__main__")


def tensor_facts(value: torch.Tensor) -> list[Any]:
    """What the identity of a tensor implies."""
    sizes, strides = list(value.shape), list(value.stride())
    names = sorted(getattr(value, "__dict__", ()))  # of attributes that the program put there
    found = [*compared_facts(value), sizes, strides, value.storage_offset(), value.is_leaf, names]
    if dtensor_parts.is_plain(value):
        spread = dtensor_parts.identity_facts(value)
        if spread is None:
            raise Unstorable("a DTensor says more than where it is")
        found += [spread, tensor_facts(dtensor_parts.local_of(value))]
    return found


def compared_facts(value: torch.Tensor) -> list[Any]:
    """What a guard on a tensor compares, sizes and strides aside."""
    spread = dtensor_parts.is_plain(value)  # its parts have guards of their own
    if type(value) not in (torch.Tensor, torch.nn.Parameter) and not spread:
        raise Unstorable(f"a tensor of the class {type(value).__qualname__}")
    if value.layout is not torch.strided:
        raise Unstorable(f"a tensor of the layout {value.layout}")
    return [
        type(value).__name__,
        str(value.dtype),
        [value.device.type, value.device.index],
        [value.requires_grad, value.is_conj(), value.is_neg(), value.is_inference()],
        str(tensor_parts.dispatch_keys(value)),
        *([isinstance(value, torch.nn.Parameter)] if spread else []),
    ]
