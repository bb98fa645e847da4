"""References to objects that each process makes anew, and which kinds may be written where."""

from __future__ import annotations

import sys
import types
from typing import Any

from suture import _core
from suture.bytecode import decode as decode_code
from suture.runtime.checks import AfterCheck, RowsWatch, Watch
from suture.runtime.crossings import Crossing
from suture.runtime.interpret import AfterFailure, hooks_on_saved
from suture.runtime.operations import OPERATIONS
from suture.runtime.predicates import Predicate, formula
from suture.runtime.reads import Asked, NthHook, RawItem
from suture.runtime.store.found_objects import FOUND
from suture.runtime.store.references import (
    Kind,
    Reading,
    Writing,
    read_frames,
    write,
    write_frames,
)
from suture.runtime.store.stand_ins import MadeFrames, MadeOperation, WarningRegistry

# ---- objects of the runtime


def _write_point(to: Writing, value: Any) -> list[Any] | None:
    if type(value) is not _core.Point:
        return None
    data = value.data
    return [write_frames(data.chain, to.code), data.interpret_only, data.raises]


def _read_point(of: Reading, frames: Any, interpret_only: bool, raises: bool) -> Any:
    return of.unit.point(read_frames(of, frames), bool(interpret_only), bool(raises))


_POINT = Kind("point", _write_point, _read_point)


def _write_after_failure(to: Writing, value: Any) -> list[Any] | None:
    return [value.writes] if type(value) is AfterFailure else None


_AFTER_FAILURE = Kind(
    "failed",
    _write_after_failure,
    lambda of, writes: AfterFailure(of.chain, bool(writes), hooks_on_saved),
)


def _write_after_check(to: Writing, value: Any) -> list[Any] | None:
    return [] if type(value) is AfterCheck else None


def _read_after_check(of: Reading) -> AfterCheck:
    made = of.checks = AfterCheck(of.chain)
    return made


_AFTER_CHECK = Kind("after_check", _write_after_check, _read_after_check)


def _write_watch(to: Writing, value: Any) -> list[Any] | None:
    if type(value) is not Watch:
        return None
    return [to.code(value.position[0]), value.position[1]]


def _read_watch(of: Reading, code: Any, index: int) -> Watch:
    made = of.watch = Watch((of.code(code), int(index)))
    return made


_WATCH = Kind("watch", _write_watch, _read_watch)


def _write_rows(to: Writing, value: Any) -> list[Any] | None:
    if type(value) is not RowsWatch:
        return None
    return [to.code(value.position[0]), value.position[1], value.count]


def _read_rows(of: Reading, code: Any, index: int, count: int) -> Watch:
    made = of.watch = RowsWatch((of.code(code), int(index)), int(count))
    return made


_ROWS = Kind("rows", _write_rows, _read_rows)


def _write_operation(to: Writing, value: Any) -> list[Any] | None:
    if type(value) is not MadeOperation:
        return None
    return [value.name, to.code(value.code), value.index]


def _read_operation(of: Reading, name: str, code: Any, index: int) -> Any:
    return OPERATIONS[name].make(decode_code(of.code(code)).instructions[index])


_OPERATION = Kind("operation", _write_operation, _read_operation)


def _write_synthetic(to: Writing, value: Any) -> list[Any] | None:
    if type(value) is not MadeFrames:
        return None
    return [[to.code(code), write(to, space, OBJECT), at] for code, space, at in value.positions]


def _read_synthetic(of: Reading, *frames: Any) -> Any:
    return _core.SyntheticFrames(
        tuple((of.code(code), of.ref(space), int(at)) for code, space, at in frames)
    )


_SYNTHETIC = Kind("frames", _write_synthetic, _read_synthetic)


def _write_registry(to: Writing, value: Any) -> list[Any] | None:
    return [write(to, value.namespace, OBJECT)] if type(value) is WarningRegistry else None


_REGISTRY = Kind(
    "registry",
    _write_registry,
    lambda of, space: of.ref(space).setdefault("__warningregistry__", {}),
)


def _write_module(to: Writing, value: Any) -> list[Any] | None:
    return [value.__name__] if type(value) is types.ModuleType else None


_MODULE = Kind("module", _write_module, lambda of, name: sys.modules[name])


# ---- what is made of other objects


# Objects of ours that are kept by their parts: predicates of guards, readers of sources, nodes.
_REMADE: dict[str, Any] = {
    one.__name__: one for one in (*Predicate.__subclasses__(), RawItem, NthHook, Asked, Crossing)
}


def _write_made(to: Writing, value: Any) -> list[Any] | None:
    kind = type(value)
    if _REMADE.get(kind.__name__) is not kind:
        return None
    return [kind.__name__, *(write(to, one, PART) for one in value.parts())]


_MADE = Kind(
    "made",
    _write_made,
    lambda of, name, *parts: _REMADE[name].remade(*(of.ref(one) for one in parts)),
)


def _write_crossing(to: Writing, value: Any) -> list[Any] | None:
    return _write_made(to, value) if type(value) is Crossing else None


def _write_formula(to: Writing, value: Any) -> list[Any] | None:
    is_formula = type(value) is types.FunctionType and "formula" in value.__dict__
    return list(value.formula) if is_formula else None


_FORMULA = Kind("formula", _write_formula, lambda of, text, count: formula(str(text), int(count)))


def _write_list(to: Writing, value: Any) -> list[Any] | None:
    return [write(to, one, PART) for one in value] if type(value) is list else None


_LIST = Kind("list", _write_list, lambda of, *items: [of.ref(one) for one in items])


def _write_tuple(to: Writing, value: Any) -> list[Any] | None:
    return [write(to, one, PART) for one in value] if type(value) is tuple else None


def _read_tuple(of: Reading, *items: Any) -> tuple[Any, ...]:
    return tuple(of.ref(one) for one in items)


_TUPLE = Kind("tuple", _write_tuple, _read_tuple)


def _write_objects(to: Writing, value: Any) -> list[Any] | None:
    """A tuple of objects that are found again: one that the program can see has a guard, or is
    built anew in each call, so that nobody can tell which one this is."""
    return [write(to, one, _OBJECTS_SCOPE) for one in value] if type(value) is tuple else None


_OBJECTS = Kind("objects", _write_objects, _read_tuple)


def _write_dict(to: Writing, value: Any) -> list[Any] | None:
    if type(value) is not dict or not all(type(name) is str for name in value):
        return None
    return [{name: write(to, one, PART) for name, one in value.items()}]


_DICT = Kind(
    "dict", _write_dict, lambda of, items: {name: of.ref(one) for name, one in items.items()}
)

# ---- which kinds may be written where

OBJECT = (_AFTER_FAILURE, _AFTER_CHECK, _ROWS, _WATCH, _POINT, *FOUND)
_OBJECTS_SCOPE = (*OBJECT, _OBJECTS)
# A constant of a variant.
CONSTANT = (_OPERATION, _SYNTHETIC, _REGISTRY, *_OBJECTS_SCOPE)
# What a predicate is made of.
PART = (_MADE, _FORMULA, *OBJECT, _LIST, _TUPLE, _DICT)
# A global of the function that torch.fx writes.
GRAPH_GLOBAL = (_MODULE, Kind(_MADE.name, _write_crossing, _MADE.read), *OBJECT)

KINDS = {kind.name: kind for kind in (*GRAPH_GLOBAL, *CONSTANT, *PART)}
