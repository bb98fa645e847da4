"""Operators that programs define: which code a graph that calls them was made with.

A graph calls an operator by name, so its kernels may be others in the next process. What was traced
may not: the function that tells the shape of its results, and those of its derivative. They ran as
plain Python while the graph was made, with whatever they call, so their digest goes through the
functions and constants that they name.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterator
from typing import Any

import torch

from suture.runtime.store.fingerprints import code_digest, digest, is_versioned
from suture.runtime.store.literals import Unstorable, encode
from suture.torch_private import custom_operators

# Namespaces of torch itself, whose operations belong to its version.
TORCHS = frozenset({
    "aten", "mkldnn", "mkl", "inductor", "prims", "quantized", "_quantized", "_c10d_functional",
    "higher_order", "rngprims", "profiler", "_dtensor", "_c10d_functional_autograd", "fsdp",
    "flex_lib", "debugprims",
})  # fmt: skip
_MOST = 400  # things that the functions of one operator may name, all together


def find(path: str) -> Any:
    """The operator of a dotted name below torch.ops; AttributeError if there is none."""
    return functools.reduce(getattr, path.split("."), torch.ops)


def operator_digest(path: str) -> str:
    """What graphs that call the operator were made of; raises Unstorable if that is not known, and
    LookupError if there is no such operator."""
    try:
        op = custom_operators.overload_of(find(path))
    except AttributeError as error:
        raise LookupError(f"there is no operator torch.ops.{path}") from error
    return digest(_Walk().operator(op))


class _Walk:
    """Goes through what functions name, each once."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self.kept: list[Any] = []  # so that ids stay their own

    def operator(self, op: Any) -> Any:
        if getattr(op, "namespace", None) in TORCHS:
            return ["torch's", str(op)]
        known = None if op is None else custom_operators.traced_parts(op)
        if known is None:
            raise Unstorable(
                f"the graph calls {op}, and it cannot be told what tracing depends on:"
                " torch.library.custom_op has not made it"
            )
        texts, functions = known
        return [texts, {name: self.value(one) for name, one in functions.items()}]

    def value(self, value: Any) -> Any:
        """What an object says that the functions name."""
        try:
            return encode(value)
        except Unstorable:
            pass
        if id(value) in self.numbers:
            return ["again", self.numbers[id(value)]]
        self.numbers[id(value)] = len(self.numbers)
        self.kept.append(value)
        if len(self.numbers) > _MOST:
            raise Unstorable("the functions of an operator name too much")
        return self._described(value)

    def _described(self, value: Any) -> Any:
        home = getattr(value, "__module__", None)
        if isinstance(value, types.FunctionType):
            home = value.__globals__.get("__name__")  # functools.wraps gives it another's module
        named = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        if isinstance(value, types.ModuleType):
            return ["module", value.__name__]
        if is_versioned(home) and isinstance(named, str) and "<locals>" not in named:
            return ["named", home, named]
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.MethodType):
            return [self.value(value.__func__), self.value(value.__self__)]
        if isinstance(value, types.BuiltinFunctionType) and isinstance(
            value.__self__, types.ModuleType
        ):
            return ["named", value.__self__.__name__, value.__name__]
        op = custom_operators.overload_of(value)
        if op is not None:
            return self.operator(op)
        kind = type(value)
        raise Unstorable(
            f"a function of an operator names an object of {kind.__module__}.{kind.__qualname__}"
        )

    def _function(self, fn: types.FunctionType) -> Any:
        imported = [name for name in _imported(fn.__code__) if not is_versioned(name)]
        if imported:
            raise Unstorable(f"a function of an operator imports {imported[0]!r} when it runs")
        return [
            code_digest(fn.__code__),
            self.value(fn.__defaults__),
            {name: self.value(one) for name, one in (fn.__kwdefaults__ or {}).items()},
            [self._in_cell(cell) for cell in fn.__closure__ or ()],
            [[name, self.value(one)] for name, one in _named(fn)],
        ]

    def _in_cell(self, cell: types.CellType) -> Any:
        try:
            return self.value(cell.cell_contents)
        except ValueError:
            return "empty"


def _named(fn: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """The globals that a function names, and of modules of the program what it may read there."""
    names = sorted(_names(fn.__code__))
    for name in names:
        if name not in fn.__globals__:
            continue
        yield name, fn.__globals__[name]
        yield from _within(name, fn.__globals__[name], names, set())


def _within(path: str, value: Any, names: list[str], seen: set[int]) -> Iterator[tuple[str, Any]]:
    """What may be read of a module of the program by these names, and of modules in it."""
    if not isinstance(value, types.ModuleType) or is_versioned(value.__name__) or id(value) in seen:
        return
    seen.add(id(value))
    for name in names:
        if name in vars(value):
            yield f"{path}.{name}", vars(value)[name]
            yield from _within(f"{path}.{name}", vars(value)[name], names, seen)


def _imported(code: types.CodeType) -> Iterator[str]:
    """The modules that a code object and those inside it import. What is imported relative to a
    module has no name of a package that has a version."""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME":
            yield str(instruction.argval)
    for one in code.co_consts:
        if type(one) is types.CodeType:
            yield from _imported(one)


def _names(code: types.CodeType) -> set[str]:
    """Names of globals and attributes in a code object and those inside it."""
    inner = (_names(one) for one in code.co_consts if type(one) is types.CodeType)
    return set(code.co_names).union(*inner)
