"""The arguments of guards: how each kind of guard is written, and read against a state.

Adding a kind of guard is one row of `ARGUMENTS` and one example in
`tests/runtime/store/test_round_trips.py`.
"""

from __future__ import annotations

import collections
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import torch

from suture import _core
from suture.runtime.contexts import SameContext
from suture.runtime.guards import Guard
from suture.runtime.predicates import SameMesh
from suture.runtime.sources import Source
from suture.runtime.store.fingerprints import compared_facts, fingerprint
from suture.runtime.store.literals import Unstorable, decode, encode
from suture.runtime.store.made_objects import PART
from suture.runtime.store.references import Unfit, write
from suture.runtime.store.source_paths import SourceReading, SourceWriting
from suture.torch_private import distributed_parts, dtensor_parts, tensor_parts


class GuardWriting(SourceWriting, Protocol):
    """What is known while guards are written."""

    def value(self, source: Source) -> Any:
        """What is at a source now."""
        ...

    def know(self, value: Any) -> None:
        """The guard that is being written knows this object."""
        ...

    def know_key(self, value: Any) -> None:
        """A guard on the keys of a dict knows this object, which is one of them."""
        ...


class GuardReading(SourceReading, Protocol):
    """What is found while guards are read."""

    def value(self, at: int) -> Any:
        """What is at the source of this number."""
        ...


class Found(NamedTuple):
    """The argument of a guard, and the object that the guard knows by it, if any."""

    argument: Any
    known: Any = None


@dataclass(frozen=True, slots=True)
class Argument:
    """How the argument of a kind of guard is written and read. `read` takes the number of the
    guard's source, of a guard that has one, and the data; it raises Unfit if what is there now is
    not what was there."""

    write: Callable[[GuardWriting, Guard], Any]
    read: Callable[[GuardReading, Any, Any], Found]


def _is_there(to: GuardWriting, guard: Guard, known: Any) -> None:
    """The object is where the guard says, and reading it again finds it."""
    assert guard.source is not None
    found = to.value(guard.source)
    if (type(found) if guard.kind == "type" else found) is not known:
        raise Unstorable("reading the source again finds another object")


# ---- is, weak, type


def _write_identity(to: GuardWriting, guard: Guard) -> Any:
    arg = guard.arg
    if isinstance(arg, weakref.ref) and guard.kind == "weak":
        arg = arg()
    _is_there(to, guard, arg)
    to.know(arg)
    if type(arg) is weakref.ref:
        return [to.number(arg), ["weakref"], to.number(arg())]
    return [to.number(arg), fingerprint(arg)]


def _read_identity(of: GuardReading, at: int, data: Any) -> Found:
    return _identified(of, at, of.value(at), data)


def _read_type(of: GuardReading, at: int, data: Any) -> Found:
    return _identified(of, at, type(of.value(at)), data)


def _identified(of: GuardReading, at: int, known: Any, data: Any) -> Found:
    is_weak = type(known) is weakref.ref
    if (["weakref"] if is_weak else fingerprint(known)) != data[1]:
        raise Unfit(f"{of.sources[at].path()} is not what it was")
    made = of.bind(data[0], known)
    if is_weak:
        of.bind(data[2], known())  # what it refers to is what it referred to
    return Found(made, known)


# ---- tensor


def _write_tensor(to: GuardWriting, guard: Guard) -> Any:
    assert guard.source is not None
    value = to.value(guard.source)
    spec: _core.TensorSpec = guard.arg
    if not isinstance(value, torch.Tensor):
        raise Unstorable("not a tensor")
    return [compared_facts(value), list(spec.sizes), list(spec.strides)]


def _read_tensor(of: GuardReading, at: int, data: Any) -> Found:
    facts, sizes, strides = data
    value = of.value(at)
    if not isinstance(value, tensor_parts.TensorBase) or compared_facts(value) != facts:
        raise Unfit(f"{of.sources[at].path()} is another kind of tensor")
    shape = list(zip(value.shape, sizes)), list(zip(value.stride(), strides))
    if len(value.shape) != len(sizes) or any(
        b is not None and a != b for pairs in shape for a, b in pairs
    ):
        raise Unfit(f"{of.sources[at].path()} has another shape")
    return Found(
        _core.TensorSpec(
            value,
            dynamic_sizes=tuple(i for i, n in enumerate(sizes) if n is None),
            dynamic_strides=tuple(i for i, n in enumerate(strides) if n is None),
        )
    )


# ---- expr, expr_py: conditions on numbers


def _write_symbols(to: GuardWriting, symbols: Any) -> list[Any]:
    return [[to.number_of(source), kind, dim] for source, kind, dim in symbols]


def _read_symbols(of: GuardReading, data: Any) -> tuple[Any, ...]:
    return tuple((of.sources[number], kind, dim) for number, kind, dim in data)


def _write_expr(to: GuardWriting, guard: Guard) -> Any:
    symbols, code, text = guard.arg
    return [_write_symbols(to, symbols), list(code), text]


def _read_expr(of: GuardReading, at: Any, data: Any) -> Found:
    symbols, code, text = data
    return Found((_read_symbols(of, symbols), tuple(code), text))


def _write_expr_py(to: GuardWriting, guard: Guard) -> Any:
    symbols, check, text = guard.arg
    return [_write_symbols(to, symbols), write(to, check, PART), text]


def _read_expr_py(of: GuardReading, at: Any, data: Any) -> Found:
    symbols, check, text = data
    return Found((_read_symbols(of, symbols), of.ref(check), text))


# ---- torch_state


def _write_torch_state(to: GuardWriting, guard: Guard) -> Any:
    """A process group is known by identity: its facts are written."""
    reader, expected, text = guard.arg
    if reader is not distributed_parts.groups_made:
        return [write(to, reader, PART), encode(expected), text]
    if expected != distributed_parts.groups_made():
        raise Unstorable("the process groups were made anew")
    return [write(to, reader, PART), distributed_parts.group_facts(), text]


def _read_torch_state(of: GuardReading, at: Any, data: Any) -> Found:
    reader, expected, text = of.ref(data[0]), data[1], data[2]
    if reader is not distributed_parts.groups_made:
        return Found((reader, decode(expected), text))
    if distributed_parts.group_facts() != expected:
        raise Unfit("the process groups are others")
    return Found((reader, reader(), text))


# ---- truth: predicates


def _write_truth(to: GuardWriting, guard: Guard) -> Any:
    arg = guard.arg
    if type(arg) is SameMesh:
        _is_there(to, guard, arg.mesh)
        to.know(arg.mesh)
        return ["mesh", to.number(arg.mesh), fingerprint(arg.mesh)]
    if type(arg) is SameContext:
        return ["context", _context(arg)]
    return ["predicate", write(to, arg, PART)]


def _context(arg: SameContext) -> list[Any]:
    """What a wrapper says of itself, if it is a DTensor. Its parts have guards of their own."""
    found = dtensor_parts.context_facts(arg.context) if arg.names == dtensor_parts.INNER else None
    if found is None:
        raise Unstorable("a tensor subclass says more of itself than is kept")
    return found


def _read_truth(of: GuardReading, at: int, data: Any) -> Found:
    match data:
        case ["mesh", number, facts]:
            known = of.value(at)
            if fingerprint(known) != facts:
                raise Unfit(f"{of.sources[at].path()} is another mesh")
            return Found(SameMesh(of.bind(number, known)), known)
        case ["context", facts]:
            value = of.value(at)
            if not dtensor_parts.is_plain(value) or dtensor_parts.tensor_context(value) != facts:
                raise Unfit(f"{of.sources[at].path()} is spread in another way")
            return Found(SameContext(*value.__tensor_flatten__()))
        case ["predicate", reference]:
            return Found(of.ref(reference))
    raise ValueError("no predicate")


# ---- keys


def _write_keys(to: GuardWriting, guard: Guard) -> Any:
    return [_write_key(to, one) for one in guard.arg]


def _write_key(to: GuardWriting, value: Any) -> Any:
    """A key of a dict: a constant, or an object that is there in the same place."""
    try:
        return ["value", encode(value)]
    except Unstorable:
        made = ["key", to.number(value), fingerprint(value)]
        to.know_key(value)
        return made


def _read_keys(of: GuardReading, at: int, data: Any) -> Found:
    """Keys that are no constants are the objects that are there now, in the same order, if they
    are like those that were there."""
    found = of.value(at)
    if not isinstance(found, dict) or dict.__len__(found) != len(data):
        raise Unfit("a dict has other keys")
    order = next(kind for kind in (collections.OrderedDict, dict) if isinstance(found, kind))
    made = []
    for live, (kind, *key) in zip(order.__iter__(found), data):
        if kind == "key" and fingerprint(live) != key[1]:
            raise Unfit("a dict has other keys")
        made.append(of.bind(key[0], live) if kind == "key" else decode(key[0]))
    return Found(tuple(made))


# ---- the table

_BY_VALUE = Argument(
    lambda to, guard: encode(guard.arg),
    lambda of, at, data: Found(decode(data)),
)
ARGUMENTS = {
    "is": Argument(_write_identity, _read_identity),
    "weak": Argument(_write_identity, _read_identity),
    "type": Argument(_write_identity, _read_type),
    "tensor": Argument(_write_tensor, _read_tensor),
    "same": Argument(
        lambda to, guard: to.number_of(guard.arg),
        lambda of, at, data: Found(of.sources[data]),
    ),
    "distinct": Argument(
        lambda to, guard: [to.number_of(one) for one in guard.arg],
        lambda of, at, data: Found(tuple(of.sources[one] for one in data)),
    ),
    "expr": Argument(_write_expr, _read_expr),
    "expr_py": Argument(_write_expr_py, _read_expr_py),
    "torch_state": Argument(_write_torch_state, _read_torch_state),
    "truth": Argument(_write_truth, _read_truth),
    "keys": Argument(_write_keys, _read_keys),
    "equals": _BY_VALUE,
    "len": _BY_VALUE,
    "no_key": _BY_VALUE,
    "no_attr": _BY_VALUE,
    "no_mro_attr": _BY_VALUE,
    "int": _BY_VALUE,
    "float": _BY_VALUE,
    "bool": _BY_VALUE,
    "unbound": _BY_VALUE,
    "exists": _BY_VALUE,
}
