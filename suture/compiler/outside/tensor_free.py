"""Calls that can meet no tensor.

A break inside a function that gets no tensor and names nothing of torch cuts a program into pieces
that hold nothing for a graph: drawing random indices, choosing a size, planning which blocks look
at which. Python runs such a call as a whole, at one break.

What a function can reach is read off its code: the globals and attributes it names, and what the
functions among those name in turn. The answer decides where a region is cut, never what is
computed, so it may be wrong either way; what is not understood counts as something that can meet
a tensor.
"""

from __future__ import annotations

import builtins
import functools
import importlib.util
import itertools
import sys
import types
from typing import Any

import torch

from suture._core import UNBOUND, Compiled
from suture.bytecode import decode
from suture.bytecode.language import is_lazy_import
from suture.compiler.core import Trace
from suture.compiler.objects import (
    NULL,
    Builtin,
    Cell,
    Class,
    Constant,
    Dict,
    Enumerate,
    Function,
    GrowingDeque,
    GrowingList,
    GrowingTuple,
    Lazy,
    List,
    ListIterator,
    MadeFunction,
    Method,
    Module,
    Object,
    OfType,
    RangeIterator,
    SequenceIterator,
    Set,
    Slice,
    Symbol,
    Tuple,
    Zip,
)
from suture.compiler.objects.array import Array
from suture.compiler.objects.lookup import (
    MISSING,
    UNTOLD,
    dict_of,
    find_in_mro,
    hides_dict,
    static_attribute,
)
from suture.compiler.objects.real_iterators import Real
from suture.rules.substitutes import breaks_as_a_whole
from suture.rules.wrapped import home

_MOST = 400  # codes and objects looked at, before a call is taken for one that meets tensors
_FEW = 64  # elements of a container that are looked at
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), range, slice, torch.Size)
_DESCRIBE = (torch.dtype, torch.device, torch.layout, torch.memory_format)


_ANYTHING = Lazy(torch, None)


def whole_substitute(trace: Trace, depth: int) -> tuple[int, bool] | None:
    """The outermost of the frames below `depth` that run a substitute which Python replaces by
    what it stands for, as `tensor_free_frame` gives it."""
    for index in range(1, depth):
        frame = trace.frames[index]
        if frame.call is not None and breaks_as_a_whole(frame.code.code):
            return index, True
    return None


def tensor_free_frame(trace: Trace, depth: int) -> tuple[int, bool] | None:
    """The outermost of the frames below `depth` that can meet no tensor, as its place in the
    list of frames, and whether that goes for its whole call or for the rest of it only."""
    for index in range(1, depth):
        frame = trace.frames[index]
        if frame.call is not None and _can_meet_none(trace, [frame.fn, *frame.call[1]]):
            return index, True
        if _can_meet_none(trace, _rest(trace, index, depth)):
            return index, False
    return None


def _can_meet_none(trace: Trace, parts: list[Any]) -> bool:
    """Arrays that come in from Python behind a break were made by NumPy; those that the
    compiled function itself got are the program's data."""
    return is_tensor_free(parts, arrays=trace.region.chain[0].index > 0)


def _rest(trace: Trace, index: int, depth: int) -> list[Any]:
    """What a frame still holds before the instruction that runs now."""
    frame, slots = trace.frames[index], ()
    at = frame.ip
    if index + 1 < depth:
        inner = trace.frames[index + 1]
        if inner.call is None:
            return [_ANYTHING]
        at, slots = at - 1, inner.call[1]
    if frame.generator is not None or frame.resumed:
        return [_ANYTHING]
    live = [frame.locals[i] for i in frame.code.live(at)]
    return [frame.fn, *live, *frame.stack, *slots]


def is_tensor_free(parts: list[Any], arrays: bool = True) -> bool:
    """Whether code that gets hold of these values, a function among them, can meet no tensor.
    `arrays`: those that exist are none."""
    reach = _Reach(arrays)
    given = (v for v in parts if v is not None and v is not NULL)
    return all(reach.argument(v) for v in given) and reach.finish()


def reached_without_tensors(parts: list[Any]) -> list[Any] | None:
    """What code that gets hold of these values can look at; None if tensors may be among it."""
    reach = _Reach(arrays=False)
    free = all(reach.argument(v) for v in parts) and reach.finish()
    return list(reach.seen.values()) if free else None


def state_is_tensor_free(state: tuple[Any, ...]) -> bool:
    """The same for a function and its arguments as they really are."""
    return is_tensor_free([Lazy(v, None) for v in state if v is not UNBOUND])


class _Reach:
    """What a call can reach. Each method gives False once that may be a tensor."""

    def __init__(self, arrays: bool) -> None:
        self.arrays = arrays
        self.seen: dict[int, Any] = {}
        self.names: set[str] = set()
        self.objects: list[Any] = []  # whose attributes count only if some code names them

    def _is_new(self, value: object) -> bool:
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

    # ---- abstract values

    def argument(self, value: Any) -> bool:
        """A value that the code holds itself; a module is asked only for what the code names."""
        real = value.value if type(value) in (Lazy, Object) else None
        if issubclass(type(real), torch.nn.Module) and self._is_new(real):
            changed = _values(value.attrs) if type(value) is Object else []
            return self._object(real) and all(self.variable(v) for v in changed)
        return self.variable(value)

    def variable(self, value: Any) -> bool:
        kind = type(value)
        if kind is Lazy:
            return self.value(value.value)
        if kind is OfType:
            return True
        if kind in (Constant, Symbol, RangeIterator, Builtin, Class, Module, Real):
            return kind in (Symbol, RangeIterator) or self.value(value.value)
        if not self._is_new(value):
            return True
        look = _VARIABLES.get(kind)
        if look is not None:
            return all(self.variable(v) for v in look(value) if v is not None)
        if kind is Function:
            return self.value(value.fn)
        if kind is MadeFunction:
            return self._made_function(value)
        if kind is Object:
            return self._object_variable(value)
        if kind is not Array:
            return False
        return self.arrays if value.source is not None else _made_of_constants(value.tensor.node)

    def _made_function(self, fn: MadeFunction) -> bool:
        parts = [*fn.closure, *fn._defaults, *fn.kwdefaults.values()]
        return self._code(fn.code, fn.globals) and all(self.variable(v) for v in parts)

    def _object_variable(self, obj: Object) -> bool:
        if obj.storage is not None or any(not self.variable(v) for v in _values(obj.attrs)):
            return False
        return self.value(obj.value if obj.value is not None else obj.cls)

    # ---- real values

    def value(self, value: Any) -> bool:
        """Whether this real value leads to no tensor. Only its type is asked what it is: its
        class may answer for `__class__` with code."""
        kind = type(value)
        if kind in _PLAIN or kind in _DESCRIBE:
            return True
        if not self._is_new(value):
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
        return _is_foreign(_MODULE_OF(kind)) or self._object(value)

    def _iterator(self, value: object) -> bool:
        """The iterators of Python itself say what is left."""
        if _MODULE_OF(type(value)) not in ("builtins", "_collections"):
            return False
        try:
            return self.value(value.__reduce__()[1])
        except (TypeError, RuntimeError):  # one that refuses to go on says nothing
            return False

    def _object(self, value: object) -> bool:
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
        cells = [_contents(c) for c in fn.__closure__ or ()]
        parts = [*cells, *(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()]
        return self._code(fn.__code__, fn.__globals__) and all(self.value(v) for v in parts)

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

    def _code(self, code: types.CodeType, namespace: dict[str, Any]) -> bool:
        """The globals that a code names, each followed through the attributes taken from it."""
        if not self._is_new(code):
            return True
        instructions = decode(code).instructions
        at = 0
        while at < len(instructions):
            inst = instructions[at]
            at += 1
            if inst.op in _ATTRIBUTES:
                self.names.add(str(inst.val))
            if inst.op == "IMPORT_NAME":
                found = _imported(instructions, inst.index, namespace)
            elif inst.op in ("LOAD_GLOBAL", "LOAD_NAME"):
                found = namespace.get(inst.val, vars(builtins).get(inst.val))
            else:
                continue
            while at < len(instructions) and instructions[at].op == "PUSH_NULL":
                at += 1
            while issubclass(type(found), types.ModuleType) and instructions[at].op in _ATTRIBUTES:
                found = _taken(found, str(instructions[at].val))
                at += 1
            if is_lazy_import(found) or not self.value(found):
                return False
        inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
        return all(self._code(c, namespace) for c in inner)


_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
# What a module tells of itself without its tensors.
_STRUCTURE = (
    "children", "named_children", "modules", "named_modules", "get_submodule",
    "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
    "training", "__class__", "__dict__",
)  # fmt: skip
_VARIABLES: dict[type, Any] = {
    GrowingDeque: lambda v: v.items if v.loaded() else v.added,
    GrowingList: lambda v: (
        v.items if v.loaded() else [*v.added, *(n for _, _, n in v.put.values())]
    ),
    GrowingTuple: lambda v: v.items if v.loaded() else v.added,
    List: lambda v: v.items,
    Tuple: lambda v: v.items,
    Dict: lambda v: [Lazy(v.backing, None), *(value for _, value in v.entries.values())],
    Set: lambda v: v.entries.values(),
    Slice: lambda v: v.parts,
    Cell: lambda v: (v.contents,),
    Method: lambda v: (v.fn, v.owner),
    SequenceIterator: lambda v: (v.of,),
    ListIterator: lambda v: v.items,
    Enumerate: lambda v: (v.part,),
    Zip: lambda v: v.parts,
}


def _imported(instructions: Any, at: int, namespace: dict[str, Any]) -> Any:
    """What an import statement gives: the module, or a list of what is taken from it. A module
    that is not loaded yet may be anything."""
    level, inst = instructions[at - 2].val, instructions[at]
    name = "." * level + str(inst.val)
    if level:
        name = importlib.util.resolve_name(name, str(namespace.get("__package__") or "?"))
    module = sys.modules.get(name, torch)
    names = itertools.takewhile(
        lambda i: i.op in ("IMPORT_FROM", "STORE_FAST", "STORE_DEREF"), instructions[at + 1 :]
    )
    taken = [_taken(module, i.val) for i in names if i.op == "IMPORT_FROM"]
    return taken or module


def _taken(module: Any, name: str) -> Any:
    """What a module holds under a name; what only its code can tell may be anything."""
    found = static_attribute(module, name)
    if found is UNTOLD:
        return torch
    if found is not MISSING:
        return found
    loads = type(module) is not types.ModuleType or "__getattr__" in (dict_of(module) or {})
    return torch if loads else None


def _values(attrs: dict[str, Any]) -> list[Any]:
    from suture.compiler.objects import DELETED

    return [v for v in attrs.values() if v is not DELETED]


def _made_of_constants(node: torch.fx.Node) -> bool:
    """Whether an array is computed from numbers alone."""
    left, seen = [node], set()
    while left:
        at = left.pop()
        if at.op in ("placeholder", "get_attr"):
            return False
        fresh = [n for n in at.all_input_nodes if n not in seen]
        seen.update(fresh)
        left += fresh
    return True


def _field(descriptor: Any, obj: object) -> Any:
    """What a slot or a field in C holds; None if nothing."""
    try:
        return descriptor.__get__(obj)
    except Exception:  # it is empty, or not for this object
        return None


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _name_of(module: types.ModuleType) -> Any:
    """The name of a module, which has none before it is initialized."""
    return (dict_of(module) or {}).get("__name__")


# Where a class comes from, without asking its metaclass, which is the program's.
_MODULE_OF = vars(type)["__module__"].__get__


def _is_torch(module: object) -> bool:
    return str(module).partition(".")[0] == "torch"


def _is_foreign(module: object) -> bool:
    """Python's own library and NumPy: no tensor is made there."""
    top = str(module).partition(".")[0]
    return top == "numpy" or top in sys.stdlib_module_names
