"""What code can reach among real objects, read loosely.

The globals and attributes that code names count, and what the functions among those name in turn.
Python's own library and NumPy are taken for code that makes no tensors. The reading may be wrong
either way, so it may decide where a region ends, and nothing that is computed. A stricter one, for
whole functions, is `plain_functions`.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import sys
import types
from typing import Any

import torch

from suture._core import Compiled
from suture.compiler.objects.lookup import (
    MISSING,
    UNTOLD,
    dict_of,
    find_in_mro,
    hides_dict,
    static_attribute,
)
from suture.compiler.outside.code_reads import cell_contents, imported, names_of, reads, taken
from suture.compiler.outside.from_nowhere import top
from suture.rules.wrapped import home

_MOST = 400  # codes and objects looked at, before a call is taken for one that meets tensors
_FEW = 64  # elements of a container that are looked at
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), range, slice, torch.Size)
_DESCRIBE = (torch.dtype, torch.device, torch.layout, torch.memory_format)
# What a module tells of itself without its tensors.
_STRUCTURE = (
    "children", "named_children", "modules", "named_modules", "get_submodule",
    "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
    "training", "__class__", "__dict__",
)  # fmt: skip


class Reach:
    """What a call can reach. Each method gives False once that may be a tensor. `arrays`: those of
    NumPy are none."""

    def __init__(self, arrays: bool) -> None:
        self.arrays = arrays
        self.seen: dict[int, Any] = {}
        self.names: set[str] = set()
        self.objects: list[Any] = []  # whose attributes count only if some code names them

    def is_new(self, value: object) -> bool:
        if id(value) in self.seen:
            return False
        self.seen[id(value)] = value
        return True

    def finish(self) -> bool:
        """Follow the attributes that the code names, until nothing new turns up."""
        done: set[tuple[int, str]] = set()
        while len(self.seen) < _MOST:
            left = [(o, n) for o in self.objects for n in self.names if (id(o), n) not in done]
            if not left:
                return True
            for obj, name in left:
                done.add((id(obj), name))
                if not self._attribute(obj, name):
                    return False
        return False

    def _attribute(self, obj: Any, name: str) -> bool:
        found: Any = static_attribute(obj, name)
        if found is UNTOLD:
            return False
        found = None if found is MISSING else found
        module = issubclass(type(obj), torch.nn.Module)
        if module and name in _STRUCTURE:
            return True
        if module and found is None:
            parts = (obj._parameters, obj._buffers, obj._modules)
            return not any(part.get(name) is not None for part in parts)
        kind = type(found)
        if issubclass(kind, property):
            found = found.fget
        elif issubclass(kind, (staticmethod, classmethod)):
            found = found.__func__
        elif kind in (types.MemberDescriptorType, types.GetSetDescriptorType):
            return issubclass(type(obj), type) or self.value(_field(found, obj))
        return self.value(found)

    def value(self, value: Any) -> bool:
        """Whether this real value leads to no tensor. Only its type is asked what it is: its
        class may answer for `__class__` with code."""
        kind = type(value)
        if kind in _PLAIN or kind in _DESCRIBE:
            return True
        if not self.is_new(value):
            return True
        if len(self.seen) > _MOST:
            return False
        if issubclass(kind, types.MethodType):
            return self.value(value.__func__) and self.value(value.__self__)
        if issubclass(kind, types.FunctionType):
            return self._function(value)
        if kind is Compiled:
            return self.value(value.function)
        if issubclass(kind, types.BuiltinFunctionType) and not home(value):
            return self.value(value.__self__)
        if issubclass(kind, types.ModuleType):
            return _is_foreign(_name_of(value))
        if issubclass(kind, type):
            return self._class(value)
        if kind in (list, tuple, set, frozenset, dict):
            inner = value.values() if kind is dict else value
            return all(self.value(v) for v in itertools.islice(inner, _FEW))
        if issubclass(kind, (torch.Tensor, types.GeneratorType)):
            return False
        if _MODULE_OF(kind) == "numpy" and kind.__name__ == "ndarray":
            return self.arrays
        if issubclass(kind, functools.partial):
            return self.value((value.func, value.args, value.keywords))
        if find_in_mro(kind, "__next__") is not MISSING:
            return self._iterator(value)
        if callable(value) and not _is_foreign(home(value)):
            called = find_in_mro(kind, "__call__")
            if not issubclass(type(called), types.FunctionType) or not self.value(called):
                return False
        return _is_foreign(_MODULE_OF(kind)) or self.object(value)

    def _iterator(self, value: object) -> bool:
        """The iterators of Python itself say what is left."""
        if _MODULE_OF(type(value)) not in ("builtins", "_collections"):
            return False
        try:
            return self.value(value.__reduce__()[1])
        except (TypeError, RuntimeError):  # one that refuses to go on says nothing
            return False

    def object(self, value: object) -> bool:
        kind = type(value)
        if _is_torch(_MODULE_OF(kind)) and not issubclass(kind, torch.nn.Module):
            return False
        if hides_dict(kind):
            return False
        self.objects.append(value)
        return True

    def _function(self, fn: types.FunctionType) -> bool:
        where = home(fn)
        if _is_foreign(where) or _is_torch(where):
            return not _is_torch(where)
        cells = [cell_contents(c) for c in fn.__closure__ or ()]
        parts = [*cells, *(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()]
        return self.code(fn.__code__, fn.__globals__) and all(self.value(v) for v in parts)

    def _class(self, cls: type) -> bool:
        if issubclass(cls, (torch.Tensor, torch.nn.Module)):
            return True  # asked about, in isinstance
        if _is_torch(_MODULE_OF(cls)):
            return False
        if _is_foreign(_MODULE_OF(cls)):
            return True
        self.objects.append(cls)
        if getattr(cls, "__mro__", None) is None:
            return False  # its metaclass is about to make it
        return all(self._attribute(cls, name) for name in ("__new__", "__init__", "__post_init__"))

    def code(self, code: types.CodeType, namespace: dict[str, Any]) -> bool:
        """The globals that a code names, each followed through the attributes taken from it."""
        if not self.is_new(code):
            return True
        names = names_of(code)
        self.names |= names.attributes
        if not all(self._global(namespace, load) for load in names.loads):
            return False
        if not all(self._import(namespace, *one) for one in names.imports):
            return False
        inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
        return all(self.code(c, namespace) for c in inner)

    def _global(self, namespace: dict[str, Any], load: tuple[str, ...]) -> bool:
        *_, read = reads(namespace, load)
        if read.value is MISSING:  # of a module: it raises
            return read.module is not None or self.value(vars(builtins).get(read.name))
        return read.value is not UNTOLD and self.value(read.value)

    def _import(
        self, namespace: dict[str, Any], name: str, level: int, parts: tuple[str, ...]
    ) -> bool:
        """A module that is not loaded yet may be anything."""
        name, module = imported(namespace, name, level)
        if module is None or not parts:
            return module is not None and self.value(module)
        found = (taken(name, module, part).value for part in parts)
        return all(v is MISSING or (v is not UNTOLD and self.value(v)) for v in found)


def _field(descriptor: Any, obj: object) -> Any:
    """What a slot or a field in C holds; None if nothing."""
    try:
        return descriptor.__get__(obj)
    except Exception:  # it is empty, or not for this object
        return None


def _name_of(module: types.ModuleType) -> Any:
    """The name of a module, which has none before it is initialized."""
    return (dict_of(module) or {}).get("__name__")


# Where a class comes from, without asking its metaclass, which is the program's.
_MODULE_OF = vars(type)["__module__"].__get__


def _is_torch(module: object) -> bool:
    return top(module) == "torch"


def _is_foreign(module: object) -> bool:
    """Python's own library and NumPy: no tensor is made there."""
    return top(module) == "numpy" or top(module) in sys.stdlib_module_names
