"""Functions that can meet no tensor, found before anything of them is traced.

What a call can get hold of is read off its code: its arguments, the globals it names, the
attributes that any code it can run takes from those, and so on. Python's own library is taken at
its word, but for what hands out objects from nowhere (frames, pickles, modules by name). An array
of NumPy counts as a tensor, since graphs hold them too; and so does anything that is not
understood.

The answer decides what is traced, never what is computed. It is stricter than that of
`tensor_free`, which says where a region that has begun is cut: here a whole function is left to
Python, and with it all that it calls.
"""

from __future__ import annotations

import builtins
import sys
import types
import weakref
from collections.abc import Iterable
from typing import Any

import torch

from suture._core import Compiled
from suture.compiler.objects.lookup import (
    MISSING,
    UNTOLD,
    dict_of,
    find_in_mro,
    has_plain_keys,
    held_by,
    hides_dict,
)
from suture.compiler.outside.code_reads import (
    Read,
    cell_contents,
    imported,
    names_of,
    reads,
    taken,
)
from suture.compiler.outside.from_nowhere import (
    COMPUTING,
    DISPATCHING,
    FROM_NOWHERE,
    MODULES_FROM_NOWHERE,
    REFLECTING,
    TELLING,
    only_works,
    top,
)
from suture.compiler.outside.plain_guards import CONTAINERS, FEW, PlainGuards
from suture.runtime.guards import Guards
from suture.runtime.plain_values import SCALARS
from suture.runtime.sources import Source, slot

_MOST = 1_500  # values that are looked at, before a call is taken for one that meets tensors
_MANY = 256  # elements of a container that are looked at one by one
_HOLDING = (types.FrameType, types.TracebackType, weakref.ProxyType, weakref.CallableProxyType)
_RUNNING = {
    types.GeneratorType: types.GeneratorType.gi_running,
    types.CoroutineType: types.CoroutineType.cr_running,
    types.AsyncGeneratorType: types.AsyncGeneratorType.ag_running,
}
_MODULE_OF = vars(type)["__module__"].__get__
_MRO_OF = vars(type)["__mro__"].__get__
_CONTENTS_OF = vars(type)["__dict__"].__get__
_HEAP_TYPE = 1 << 9


class MayMeet(Exception):
    """A tensor may be met. `unread`: nothing of torch or NumPy was found, but something that says
    nothing of what it gives."""

    def __init__(self, unread: bool) -> None:
        super().__init__()
        self.unread = unread


def guards_of_plain(state: tuple[Any, ...], names: Iterable[str]) -> tuple[Guards, bool]:
    """For a function and the values of its parameters, which have these names: the guards under
    which a call meets no tensor either, and whether they say all that this depends on; it may
    depend on what classes and objects hold that change. Raises MayMeet if this call may meet
    one."""
    reach = _Reach()
    for at, (value, name) in enumerate(zip(state, names)):
        reach.value(value, slot(at, name))
    reach.finish()
    return reach.kept.guards, reach.kept.lasting


class _Reach:
    """What a call can get hold of. Raises MayMeet once that leads to torch or NumPy; `finish` does
    if some of it cannot be read."""

    def __init__(self) -> None:
        self.kept = PlainGuards()
        self.unread = False
        self.seen: dict[int, Any] = {}
        self.names: set[str] = set()  # attributes that code takes from objects
        self.reflecting = False  # some code takes any
        # Of attributes, those of modules and functions too, and where they are at the next call.
        self.tables: list[tuple[Any, Source | None]] = []
        self.objects: list[Any] = []  # of classes of the program
        self.work: list[tuple[Any, Source | None]] = []

    def value(self, value: Any, source: Source | None) -> None:
        self.work.append((value, source))

    def values(self, values: Iterable[Any]) -> None:
        self.work += [(value, None) for value in values]

    def finish(self) -> None:
        """Look at all there is to look at, and at the attributes that code names."""
        done: set[tuple[int, str]] = set()
        while self.work:
            while self.work:
                self._look(*self.work.pop())
            for at, (table, source) in enumerate(self.tables):
                names = table if self.reflecting and type(table) is not _Slots else self.names
                for name in names:
                    if (at, name) not in done and name in table:
                        done.add((at, name))
                        self._held(table[name], None if source is None else source.item(name))
            if self.reflecting:
                self.values(part for obj in self.objects for part in held_by(obj))
                self.objects.clear()
        if self.unread:
            raise MayMeet(unread=True)

    def _is_new(self, value: object) -> bool:
        if id(value) in self.seen:
            return False
        self.seen[id(value)] = value
        if len(self.seen) > _MOST:
            raise MayMeet(unread=False)
        return True

    # ---- values by their kind

    def _look(self, value: Any, source: Source | None) -> None:
        """Only its type is asked what a value is: its class may answer for it with code."""
        kind = type(value)
        if kind in SCALARS:
            self.kept.same_type(kind, source)
            return
        if source is not None and kind in CONTAINERS:
            parts = self.kept.contents(value, kind, source)
            if parts is not None:
                self.work += parts
                return
        if source is not None and source.root().kind == "slot" and self._is_plain(value, kind):
            if self._is_new(value):
                self._instance(value, kind, self.kept.attributes(value, kind, source))
                return
        self.kept.same(value, source)
        if self._is_new(value):
            self._follow(value, kind, source)

    def _follow(self, value: Any, kind: type, source: Source | None) -> None:
        """What the value leads to."""
        if issubclass(kind, types.FunctionType):
            self._function(value, source)
        elif issubclass(kind, type):
            self._class(value)
        elif issubclass(kind, types.ModuleType):
            self._module(value)
        elif kind in CONTAINERS:
            self._container(value)
        elif issubclass(kind, types.BuiltinFunctionType):
            self._builtin(value)
        elif kind is Compiled:
            self.value(value.function, None)
        elif issubclass(kind, weakref.ReferenceType):
            self.kept.lasting = False
            self.value(weakref.ref.__call__(value), None)
        elif kind in _RUNNING:
            self._generator(value)
        elif issubclass(kind, _HOLDING):
            self.unread = True
        elif kind in _DESCRIPTORS:
            self.value(value.__objclass__, None)
        elif kind in (property, staticmethod, classmethod, types.MethodType):
            self.kept.lasting = False
            self._held(value, None)
        else:
            self._instance(value, kind, None)

    def _is_plain(self, value: Any, kind: type) -> bool:
        """An object of the program that may be made anew for each call: with few attributes in a
        dictionary, which guards can compare, and nothing else."""
        if _is_of_library(kind) or _is_in_c(kind) or hides_dict(kind):
            return False
        if any(_is_of_library(base) for base in _MRO_OF(kind)[:-1]):
            return False
        table = dict_of(value)
        return table is not None and len(table) <= FEW and has_plain_keys(table)

    def _container(self, value: Any) -> None:
        if not value and type(value) in (tuple, frozenset):
            return
        self.kept.lasting = False
        parts: list[Any] = [[*value.keys()], [*value.values()]] if type(value) is dict else [value]
        for part in parts:
            if not set(map(type, part)) <= SCALARS:
                if len(part) > _MANY:
                    raise MayMeet(unread=False)
                self.values(part)

    def _generator(self, value: Any) -> None:
        """One that does not run holds its function and its variables."""
        self.kept.lasting = False
        held = held_by(value)
        running = _RUNNING[type(value)].__get__(value)
        self.unread |= running or types.FunctionType not in map(type, held)
        self.values(held)

    def _module(self, module: types.ModuleType) -> None:
        table = dict_of(module) or {}
        name = table.get("__name__")
        if top(name) in COMPUTING:
            raise MayMeet(unread=False)
        library = top(name) in sys.stdlib_module_names
        if type(module) is not types.ModuleType or ("__getattr__" in table and not library):
            self.unread = True
        self.unread |= top(name) in MODULES_FROM_NOWHERE
        self.kept.lasting &= library
        self._table(table, None)

    def _builtin(self, value: Any) -> None:
        owner = value.__self__
        if owner is None or isinstance(owner, types.ModuleType):
            self._of_library(value.__module__, value.__name__)
        else:
            self.value(owner, None)

    def _of_library(self, module: object, name: object) -> None:
        """Code in C, or of Python's own library."""
        if top(module) in COMPUTING:
            raise MayMeet(unread=False)
        self.unread |= not only_works(module, name)

    def _instance(self, value: Any, kind: type, table: Source | None) -> None:
        """An object: all that it holds, if code of the library, which names nothing here, works on
        it; else the attributes that are named. `table`: where those are at the next call."""
        if _MODULE_OF(kind) in _KEEPING and kind.__name__ in _STORES:
            self.unread = True
        if kind is object:
            return
        self.value(kind, None)
        if any(_is_of_library(base) and base is not object for base in _MRO_OF(kind)):
            held = held_by(value)
            self.kept.lasting &= all(part is kind for part in held)
            self.values(held)
            return
        self.kept.lasting = False
        if hides_dict(kind) or _is_in_c(kind):
            self.unread = True
            return
        self.objects.append(value)
        self._table(dict_of(value) or {}, table)
        self.tables.append((_Slots(value, kind), None))

    def _held(self, value: Any, source: Source | None) -> None:
        """What is found under a name: the functions of a property, or the value itself."""
        kind = type(value)
        if kind is property:
            self.values((value.fget, value.fset, value.fdel))
        elif kind in (staticmethod, classmethod):
            self.value(value.__func__, None)
        elif kind is types.MethodType:
            self.kept.same(value, source)
            self.values((value.__func__, value.__self__))
        elif kind not in _DESCRIPTORS:  # what those give is asked of the objects
            self.value(value, source)

    def _table(self, table: Any, source: Source | None) -> None:
        if has_plain_keys(table):
            self.tables.append((table, source))
        else:
            self.unread = True

    # ---- code

    def _class(self, cls: type) -> None:
        """A class: its methods may be run by what gets one of its objects. Of one that derives from
        a class of the library, which may have hundreds, those that the library's class knows of and
        those that code names."""
        if issubclass(cls, (torch.Tensor, torch.nn.Module)):
            raise MayMeet(unread=False)
        if _is_of_library(cls) or _is_in_c(cls):
            self._of_library(_MODULE_OF(cls), cls.__name__)
            return
        if any(top(_MODULE_OF(base)) in COMPUTING for base in _MRO_OF(cls) or ()):
            raise MayMeet(unread=False)
        self.kept.lasting = False
        if _MRO_OF(cls) is None:  # its metaclass is about to make it
            self.unread = True
            return
        self.value(type(cls), None)
        theirs = [base for base in _MRO_OF(cls) if _is_of_library(base)]
        known = {name for base in theirs if not _is_in_c(base) for name in _CONTENTS_OF(base)}
        if any(f"{_MODULE_OF(base)}.{base.__name__}" in DISPATCHING for base in theirs):
            known.clear()
        for base in theirs:
            self.value(base, None)
        for base in _MRO_OF(cls):
            if base not in theirs:
                self._methods(_CONTENTS_OF(base), known)

    def _methods(self, contents: Any, known: set[str]) -> None:
        """Those of a class. `known`: the names that classes of the library above it have; all
        methods count if there are none."""
        self._table(contents, None)
        for name, held in contents.items():
            if not known or name in known or (name.startswith("__") and name.endswith("__")):
                self._held(held, None)

    def _function(self, fn: types.FunctionType, source: Source | None) -> None:
        home = fn.__globals__.get("__name__")
        if top(home) in COMPUTING:
            raise MayMeet(unread=False)
        for at, cell in enumerate(fn.__closure__ or ()):
            self.kept.lasting &= source is not None
            held = None if source is None else source.child("closure", at).cell()
            self.value(cell_contents(cell), held)
        for default in (*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()):
            self.value(default, None)
        if fn.__dict__:
            self.kept.lasting = False
            self._table(fn.__dict__, None)
        if top(home) in sys.stdlib_module_names:
            self._of_library(home, fn.__name__)
        else:
            self._code(fn.__code__, fn.__globals__)

    def _code(self, code: types.CodeType, namespace: dict[str, Any]) -> None:
        if not self._is_new(code):
            return
        if not has_plain_keys(namespace):
            self.unread = True
            return
        found = names_of(code)
        self.unread |= not found.attributes.isdisjoint(TELLING)
        self.names |= found.attributes
        self.reflecting |= found.computed or not found.attributes.isdisjoint(REFLECTING)
        for load in found.loads:
            self.reflecting |= load[0] in REFLECTING
            self._global(namespace, load)
        for name, level, parts in found.imports:
            self.reflecting |= not REFLECTING.isdisjoint(parts)
            self._import(*imported(namespace, name, level), parts)
        for const in code.co_consts:
            if type(const) is types.CodeType:
                self._code(const, namespace)

    def _global(self, namespace: dict[str, Any], load: tuple[str, ...]) -> None:
        """A global that code names, or what it takes from a module."""
        value, source = None, None
        for read in reads(namespace, load):
            if read.module is not None:
                self.kept.same(read.module, source)
                self._of_module(read)
            if read.value is UNTOLD:
                self.unread = True
                return
            if read.value is MISSING:  # of a module: it raises
                if read.module is None:
                    self.kept.no_global(namespace, read.name)
                    self.value(vars(builtins).get(read.name), None)
                return
            value, source = read.value, self.kept.root(read.table).item(read.name)
        self.value(value, source)

    def _of_module(self, read: Read) -> None:
        """What code takes from a module."""
        home = read.table.get("__name__")
        if top(home) in COMPUTING:
            raise MayMeet(unread=False)
        self.unread |= type(read.module) is not types.ModuleType
        self.unread |= f"{home}.{read.name}" in FROM_NOWHERE

    def _import(self, name: str, module: Any, parts: tuple[str, ...]) -> None:
        """What an import inside of a function gives. A module that is not loaded yet may be
        anything, unless it is the library's."""
        self.kept.lasting &= top(name) in sys.stdlib_module_names
        if module is None:
            if top(name) not in sys.stdlib_module_names:
                raise MayMeet(unread=False)
            self._of_library(name, "")
            return
        if not parts:
            self.values((sys.modules.get(top(name)), module))
        for part in parts:
            read = taken(name, module, part)
            self._of_module(read)
            if read.value is UNTOLD:
                self.unread = True
            elif read.value is not MISSING:
                self.value(read.value, None)


class _Slots:
    """The attributes of an object that are in slots of its class."""

    def __init__(self, of: object, kind: type) -> None:
        self.of, self.kind = of, kind

    def __contains__(self, name: str) -> bool:
        return type(find_in_mro(self.kind, name)) is types.MemberDescriptorType

    def __getitem__(self, name: str) -> Any:
        try:
            return find_in_mro(self.kind, name).__get__(self.of)
        except AttributeError:  # it is empty
            return None


# Objects that give what they do not hold: it depends on the thread, or on the context.
_KEEPING = ("_contextvars", "_thread", "_asyncio", "_threading_local")
_STORES = frozenset({"ContextVar", "Context", "_local", "local", "Future", "Task"})
_DESCRIPTORS = (
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
)


def _is_of_library(cls: type) -> bool:
    return top(_MODULE_OF(cls)) in sys.stdlib_module_names


def _is_in_c(cls: type) -> bool:
    return not cls.__flags__ & _HEAP_TYPE or "__module__" not in _CONTENTS_OF(cls)
