"""Containers, strings, unpacking, pattern matching."""

from __future__ import annotations

from typing import Any

from suture.breaks import Break, calls, objects
from suture.tracer.opcodes.table import op
from suture.variables import Constant, Dict, List, Opaque, Set, Slice, Tuple
from suture.variables.keys import DICT_KEY, hashed
from suture.variables.text import joined


@op("BUILD_TUPLE")
def build_tuple(tx: Any, inst: Any, *items: Any) -> Any:
    return Tuple(items)


@op("BUILD_LIST")
def build_list(tx: Any, inst: Any, *items: Any) -> Any:
    return List(items)


@op("BUILD_INTERPOLATION", run="interpolation")
def build_interpolation(tx: Any, inst: Any, *parts: Any) -> Any:
    raise Break(calls.C_FUNCTION, function="string.templatelib.Interpolation")


@op("BUILD_TEMPLATE", run="template")
def build_template(tx: Any, inst: Any, strings: Any, interpolations: Any) -> Any:
    raise Break(calls.C_FUNCTION, function="string.templatelib.Template")


@op("BUILD_SET", run="build_set")
def build_set(tx: Any, inst: Any, *items: Any) -> Any:
    made = Set()
    for item in items:
        made.add(tx, item)
    return made


@op("BUILD_MAP", run="build_map")
def build_map(tx: Any, inst: Any, *parts: Any) -> Any:
    return _dict(tx, zip(parts[::2], parts[1::2]))


@op("BUILD_CONST_KEY_MAP", run="build_const_key_map")
def build_const_key_map(tx: Any, inst: Any, *parts: Any) -> Any:
    return _dict(tx, zip([Constant(k) for k in tx.constant_value(parts[-1])], parts[:-1]))


def _dict(tx: Any, pairs: Any) -> Dict:
    entries: dict[Any, tuple[Any, Any]] = {}
    for key, value in pairs:
        at = hashed(tx, key, DICT_KEY)
        entries[at] = (entries[at][0] if at in entries else key, value)
    return Dict(entries)


@op("BUILD_STRING", run="build_string")
def build_string(tx: Any, inst: Any, *parts: Any) -> Any:
    return joined(tx, list(parts))


@op("BUILD_SLICE")
def build_slice(tx: Any, inst: Any, start: Any, stop: Any, step: Any = None) -> Any:
    return Slice(start, stop, step or Constant(None))


def _deep(name: str, act: Any) -> None:
    """Instructions that add to a container deeper in the stack."""
    arity = 2 if name == "MAP_ADD" else 1

    @op(name, raw=True, run=name.lower())
    def handler(tx: Any, frame: Any, inst: Any) -> None:
        stack = frame.stack
        values = stack[-arity:]
        target = stack[-arity - inst.val]
        if isinstance(target, Opaque):  # a container of an earlier graph, made of unknown things
            raise Break(objects.UNKNOWN_OBJECT, operation="add to", object=target.describe())
        act(tx, target, *values)
        del frame.stack[-arity:]
        frame.ip += 1


def _dict_update(tx: Any, target: Any, more: Any) -> None:
    if not tx.is_mapping(more):
        kind = more.python_type().__name__
        tx.raise_(TypeError, f"'{kind}' object is not a mapping")
    target.m_update(tx, more)


def _dict_merge(tx: Any, target: Any, more: Any) -> None:
    if not tx.is_mapping(more):
        kind = more.python_type().__name__
        tx.raise_(TypeError, f"argument after ** must be a mapping, not {kind}")
    pairs = tx.dict_pairs(more)
    for key, _ in pairs:
        if target.get(tx, key) is not None:
            tx.raise_(TypeError, f"got multiple values for keyword argument {key.describe()}")
    for key, value in pairs:
        target.put(tx, key, value)


_deep("LIST_APPEND", lambda tx, target, item: target.m_append(tx, item))
_deep("SET_ADD", lambda tx, target, item: target.m_add(tx, item))
_deep("MAP_ADD", lambda tx, target, key, value: target.put(tx, key, value))
_deep("LIST_EXTEND", lambda tx, target, more: target.m_extend(tx, more))
_deep("SET_UPDATE", lambda tx, target, more: target.m_update(tx, more))
_deep("DICT_UPDATE", _dict_update)
_deep("DICT_MERGE", _dict_merge)


@op("LIST_TO_TUPLE")
def list_to_tuple(tx: Any, inst: Any, made: Any) -> Any:
    return Tuple(made.unpacked(tx))


@op("UNPACK_SEQUENCE", run="unpack_sequence")
def unpack_sequence(tx: Any, inst: Any, value: Any) -> Any:
    items = tx.unpack_exactly(value, inst.val)
    return tuple(reversed(items))


@op("UNPACK_EX", run="unpack_ex")
def unpack_ex(tx: Any, inst: Any, value: Any) -> Any:
    before, after = inst.val
    items = list(tx.unpack(value))
    if len(items) < before + after:
        tx.raise_(
            ValueError,
            f"not enough values to unpack (expected at least {before + after}, got {len(items)})",
        )
    end = len(items) - after
    parts = [*items[:before], List(items[before:end]), *items[end:]]
    return tuple(reversed(parts))


@op("FORMAT_VALUE", run="format_value")
def format_value(tx: Any, inst: Any, value: Any, spec: Any = None) -> Any:
    conversion, _ = inst.val
    return tx.format_value(value, conversion, spec)


@op("CONVERT_VALUE", run="convert_value")
def convert_value(tx: Any, inst: Any, value: Any) -> Any:
    return tx.convert_value(value, inst.val)


@op("GET_LEN", raw=True, run="get_len")
def get_len(tx: Any, frame: Any, inst: Any) -> None:
    length = tx.length(frame.stack[-1])
    frame.stack.append(length)
    frame.ip += 1


@op("MATCH_MAPPING", raw=True)
def match_mapping(tx: Any, frame: Any, inst: Any) -> None:
    kind = frame.stack[-1].python_type()
    frame.stack.append(Constant(bool(kind.__flags__ & (1 << 6))))
    frame.ip += 1


@op("MATCH_SEQUENCE", raw=True)
def match_sequence(tx: Any, frame: Any, inst: Any) -> None:
    kind = frame.stack[-1].python_type()
    frame.stack.append(Constant(bool(kind.__flags__ & (1 << 5))))
    frame.ip += 1


@op("MATCH_KEYS", raw=True, run="match_keys")
def match_keys(tx: Any, frame: Any, inst: Any) -> None:
    subject, keys = frame.stack[-2:]
    found = []  # type: ignore[var-annotated]
    seen = set()
    for key in keys.unpacked(tx) if hasattr(keys, "unpacked") else map(Constant, keys.constant()):
        at = key.hash_key(tx)
        if at in seen:
            text = f"mapping pattern checks duplicate key ({tx.constant_value(key)!r})"
            tx.raise_(ValueError, text)
        seen.add(at)
        if not tx.truth(tx.contains(subject, key)):
            found = None  # type: ignore[assignment]
            break
        found.append(tx.getitem(subject, key))
    frame.stack.append(Constant(None) if found is None else Tuple(found))
    frame.ip += 1


@op("MATCH_CLASS", run="match_class")
def match_class(tx: Any, inst: Any, subject: Any, cls: Any, names: Any) -> Any:
    return tx.match_class(subject, cls, inst.val, tx.constant_value(names))
