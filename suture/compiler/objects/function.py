"""Functions: real ones, those made while tracing, bound methods, partials, C functions."""

from __future__ import annotations

import types
from collections.abc import Hashable
from typing import Any

from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.abstract import declared
from suture.compiler.core import Mutable, Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects import cell as cells
from suture.compiler.objects import real_object
from suture.compiler.objects.bound_method import CallMethod
from suture.compiler.objects.builtin import Builtin
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.dict_ import Dict
from suture.compiler.objects.real_object import Pair, RealIdentity
from suture.compiler.objects.tuple_ import Tuple
from suture.runtime.sources import Source


class Function(Value):
    """A Python function that exists. `attrs` holds attributes set on it while tracing."""

    __slots__ = ("fn",)

    def __init__(self, fn: types.FunctionType, source: Source | None = None) -> None:
        super().__init__(source)
        self.fn = fn

    def as_constant(self, trace: Trace) -> Any:
        return self.real()

    def python_type(self) -> type:
        return types.FunctionType

    def real(self) -> Any:
        return self.fn

    def identity(self) -> Hashable:
        return RealIdentity(self.fn)

    def as_proxy(self) -> Any:
        return self.fn

    def describe(self) -> str:
        return self.fn.__qualname__

    @property
    def code(self) -> types.CodeType:
        return self.fn.__code__

    @property
    def globals(self) -> dict[str, Any]:
        return self.fn.__globals__

    def cell(self, trace: Trace, i: int) -> Value:
        """The i-th free variable's cell."""
        assert self.fn.__closure__ is not None  # a code with free variables has one
        source = self.source.child("closure", i) if self.source is not None else None
        return cells.wrap_cell(trace, self.fn.__closure__[i], source)

    def defaults(self, trace: Trace) -> list[Any]:
        values = self.fn.__defaults__ or ()
        if self.source is None:
            return [
                abstract.wrap(trace, v, abstract.pinned(trace, self.fn).child("default", i))
                for i, v in enumerate(values)
            ]
        return [
            abstract.wrap(trace, v, self.source.child("default", i)) for i, v in enumerate(values)
        ]

    def default(self, trace: Trace, i: int) -> Value:
        values = self.fn.__defaults__ or ()
        base = self.source if self.source is not None else abstract.pinned(trace, self.fn)
        return abstract.wrap(trace, values[i], base.child("default", i))

    @property
    def default_count(self) -> int:
        return len(self.fn.__defaults__ or ())

    def kwdefault(self, trace: Trace, name: str) -> Value | None:
        values = self.fn.__kwdefaults__ or {}
        if name not in values:
            return None
        base = self.source if self.source is not None else abstract.pinned(trace, self.fn)
        return abstract.wrap(trace, values[name], base.child("kwdefault", name))

    def kwdefault_names(self) -> list[str]:
        return list(self.fn.__kwdefaults__ or ())

    def getattr(self, trace: Trace, name: str) -> Value:
        return real_object.object_attribute(trace, self, self.fn, name)

    def setattr(self, trace: Trace, name: str, value: Value) -> None:
        real_object.object_set_attribute(trace, self, self.fn, name, value)

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return call_function(trace, self, args, kwargs)

    def rebuild(self, emit: Emitter) -> str:
        return str(emit.constant(self.fn, self.fn.__name__))


class MadeFunction(Mutable):
    """A function made while tracing: a lambda, a nested def, a comprehension."""

    __slots__ = (
        "annotate",
        "annotations",
        "attrs",
        "closure",
        "code",
        "default_values",
        "fields",
        "globals",
        "kwdefaults",
        "name",
        "qualname",
    )
    value = None  # it does not exist yet

    def __init__(
        self,
        code: types.CodeType,
        namespace: dict[str, Any],
        closure: list[cells.Cell],
        defaults: list[Value],
        kwdefaults: dict[str, Value],
        annotations: Value | None = None,
    ) -> None:
        super().__init__(None)
        self.code = code
        self.globals = namespace
        self.closure = closure
        self.default_values = defaults
        self.kwdefaults = kwdefaults
        self.annotations = annotations
        self.annotate: Any = None  # from 3.14 on: a function that computes them, instead
        self.attrs: dict[str, Value] = {}  # what is in its __dict__
        self.fields: dict[str, Value] = {}  # __name__ and the like, where they were set

    def python_type(self) -> type:
        return types.FunctionType

    def describe(self) -> str:
        return self.code.co_qualname

    def cell(self, trace: Trace, i: int) -> Value:
        return self.closure[i]

    def default(self, trace: Trace, i: int) -> Value:
        return self.default_values[i]

    @property
    def default_count(self) -> int:
        return len(self.default_values)

    def kwdefault(self, trace: Trace, name: str) -> Value | None:
        return self.kwdefaults.get(name)

    def kwdefault_names(self) -> list[str]:
        return list(self.kwdefaults)

    def getattr(self, trace: Trace, name: str) -> Value:
        if name == "__annotations__" and self.annotated_later():
            raise Break(objects.UNKNOWN_ATTRIBUTE, object=self.describe(), attribute=name)
        if name in self.attrs or name in self.fields:
            return self.fields[name] if name in self.fields else self.attrs[name]
        if name in ("__name__", "__qualname__"):
            return Constant(getattr(self.code, "co_" + name.strip("_")))
        if name == "__code__":
            return abstract.wrap(trace, self.code, None)
        if name == "__defaults__":
            return Tuple(self.default_values) if self.default_values else Constant(None)
        if name == "__kwdefaults__":
            if not self.kwdefaults:
                return Constant(None)
            return Dict({k: (Constant(k), v) for k, v in self.kwdefaults.items()})
        if name == "__closure__":
            return Tuple(self.closure) if self.closure else Constant(None)
        if name == "__module__":
            return Constant(self.globals.get("__name__"))
        if name == "__doc__":
            consts = self.code.co_consts
            return Constant(consts[0] if consts and isinstance(consts[0], str) else None)
        if name == "__globals__":
            return abstract.wrap(trace, self.globals, abstract.pinned(trace, self.globals))
        if name == "__dict__":
            return abstract.instance_dict(trace, self)
        if name == "__annotations__":
            if self.annotations is None:
                self.annotations = Dict()
            return self.annotations
        if name == "__annotate__" and name in _FIELDS:
            return Constant(None) if self.annotate is None else self.annotate
        if name == "__type_params__" and hasattr(types.FunctionType, name):
            return Constant(())
        if name == "__class__":
            return abstract.wrap(trace, types.FunctionType, None)
        if name == "__call__":
            return CallMethod(self)
        if name == "__get__":
            return MadeFunctionGet(self)
        if hasattr(types.FunctionType, name):
            raise Break(objects.UNKNOWN_ATTRIBUTE, object=self.describe(), attribute=name)
        return abstract.raise_(
            trace, AttributeError, f"'function' object has no attribute '{name}'"
        )

    def setattr(self, trace: Trace, name: str, value: Value) -> None:
        if name == "__code__" and self._fits(value):
            self._set_code(trace, value.real())
            return
        if name == "__dict__" or name in _FIXED_FIELDS:
            raise Break(
                objects.MUTATION_OF_UNKNOWN, operation=f"set {name}", object=self.describe()
            )
        self.touch(trace)
        if name == "__annotations__":
            self.annotate = None
            self.fields.pop("__annotate__", None)
        elif name == "__annotate__" and name in _FIELDS:
            self.annotate = self.annotations = None
            self.fields.pop("__annotations__", None)
        (self.fields if name in _FIELDS else self.attrs)[name] = value

    def _fits(self, code: Value) -> bool:
        """Whether a value is a code object that takes the cells of this function."""
        real = code.value if isinstance(code, Builtin) else None
        return isinstance(real, types.CodeType) and len(real.co_freevars) == len(self.closure)

    def _set_code(self, trace: Trace, code: types.CodeType) -> None:
        """Its name and its docstring stay those of the code it was made of."""
        self.touch(trace)
        for name in ("__name__", "__qualname__", "__doc__"):
            if name not in self.fields:
                self.fields[name] = self.getattr(trace, name)
        self.code = code

    def annotated_later(self) -> bool:
        """Whether the annotations are what a function will say that has not been asked yet."""
        annotate = self.fields.get("__annotate__", self.annotate)
        return annotate is not None and not annotate.is_constant()

    def delattr(self, trace: Trace, name: str) -> None:
        if name not in self.attrs:
            abstract.raise_(trace, AttributeError, name)
        self.touch(trace)
        del self.attrs[name]

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return call_function(trace, self, args, kwargs)

    def rebuild(self, emit: Emitter) -> str:
        new = [c for c in self.closure if c.source is None and not emit.is_made(c)]
        for cell in new:  # filled below: a cell may hold this function
            cell.begin(emit)
        made = "{}({}, {}, {}, None, {})".format(
            emit.constant(types.FunctionType, "Function"),
            emit.constant(self.code, "code"),
            emit.constant(self.globals, "globals"),
            repr(self.code.co_name),
            "(" + "".join(emit.value(c) + ", " for c in self.closure) + ")"
            if self.closure
            else "None",
        )
        name = str(emit.begin(self, made))
        for cell in new:
            cell.write_back(emit, emit.value(cell))
        if self.default_values:
            emit.line(f"{name}.__defaults__ = {emit.value(Tuple(self.default_values))}")
        if self.kwdefaults:
            inner = ", ".join(f"{k!r}: {emit.value(v)}" for k, v in self.kwdefaults.items())
            emit.line(f"{name}.__kwdefaults__ = {{{inner}}}")
        if self.annotate is not None:
            emit.line(f"{name}.__annotate__ = {emit.value(self.annotate)}")
        if self.annotations is not None:
            emit.line(f"{name}.__annotations__ = {emit.value(self.annotations)}")
        for attr, value in (*self.fields.items(), *self.attrs.items()):
            put = emit.constant(setattr, "put_attribute")
            emit.line(f"{put}({name}, {attr!r}, {emit.value(value)})")
        return name


# Fields of a function that are not in its __dict__.
_FIELDS = frozenset({"__name__", "__qualname__", "__doc__", "__module__", "__annotations__"})
if hasattr(types.FunctionType, "__type_params__"):  # from 3.12 on
    _FIELDS |= {"__type_params__"}
if hasattr(types.FunctionType, "__annotate__"):  # from 3.14 on
    _FIELDS |= {"__annotate__"}
_FIXED_FIELDS = frozenset({"__code__", "__defaults__", "__kwdefaults__", "__class__"})


class MadeFunctionGet(Value):
    """`fn.__get__` of a function made while tracing."""

    __slots__ = ("fn",)

    def __init__(self, fn: MadeFunction) -> None:
        super().__init__(None)
        self.fn = fn

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        owner = args[0]
        if owner.is_constant() and owner.constant() is None:
            return self.fn
        return Method(self.fn, owner)

    def rebuild(self, emit: Emitter) -> str:
        return f"{emit.value(self.fn)}.__get__"


# What binding a descriptor of each of these types gives.
_BOUND_KINDS: dict[type, type] = {
    types.MethodDescriptorType: types.BuiltinMethodType,
    types.ClassMethodDescriptorType: types.BuiltinMethodType,
    types.WrapperDescriptorType: types.MethodWrapperType,
}


def bound(fn: Any, owner: Any) -> Any:
    """`fn`, found in a class, bound to an object, or to a class if it is a class's method."""
    if isinstance(fn, types.ClassMethodDescriptorType):
        return fn.__get__(None, owner)
    if type(fn) in _BOUND_KINDS:
        return fn.__get__(owner, type(owner))
    if not callable(fn):  # a property below a classmethod, where that does not ask it
        return classmethod(fn).__get__(None, owner)
    return types.MethodType(fn, owner)


class Method(Value):
    """A bound method: `fn` (a function or other callable) with `owner` as first argument."""

    __slots__ = ("fn", "owner")

    def __init__(self, fn: Value, owner: Value, source: Source | None = None) -> None:
        super().__init__(source)
        self.fn = fn
        self.owner = owner

    def python_type(self) -> type:
        return _BOUND_KINDS.get(type(getattr(self.fn, "value", None)), types.MethodType)

    def real(self) -> Any:
        return bound(self.fn.real(), self.owner.real())

    def describe(self) -> str:
        return self.fn.describe()

    def identity(self) -> Hashable:
        return Pair(self.fn.identity(), self.owner.identity())

    def getattr(self, trace: Trace, name: str) -> Value:
        if name == "__self__":
            return self.owner
        if name == "__func__":
            return self.fn
        if name == "__call__":
            return CallMethod(self)
        if name == "__class__":
            return abstract.wrap(trace, self.python_type(), None)
        return abstract.getattr(trace, self.fn, name)

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return abstract.tail_call(trace, self.fn, [self.owner, *args], kwargs)

    def rebuild(self, emit: Emitter) -> str:
        told = getattr(self.fn, "value", None)
        plain = self.python_type() is types.MethodType and not isinstance(told, property)
        method = emit.constant(types.MethodType if plain else bound, "Method")
        return f"{method}({emit.value(self.fn)}, {emit.value(self.owner)})"


# ---- declared here, as in `abstract`: other rooms have the bodies


@declared
def call_function(trace: Trace, fn: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Call a Python function as the rules say."""
