"""Containers, strings, unpacking, pattern matching."""

from __future__ import annotations

from typing import Any

from suture.breaks import Break, calls, objects
from suture.bytecode import Instruction, language
from suture.compiler import abstract
from suture.compiler.core import Frame, Trace, Value
from suture.compiler.interpreter.opcodes.table import op
from suture.compiler.language import items
from suture.compiler.language.iteration import is_mapping, refuse_unpacking, unpack_exactly
from suture.compiler.objects import NULL, Constant, Dict, List, Opaque, Raised, Set, Slice, Tuple
from suture.compiler.objects.dict_keys import DICT_KEY, hashed
from suture.compiler.objects.methods import run_method
from suture.compiler.objects.text import joined


@op("BUILD_TUPLE")
def build_tuple(trace: Trace, inst: Instruction, *items: Value) -> Value:
    return Tuple(items)


@op("BUILD_LIST")
def build_list(trace: Trace, inst: Instruction, *items: Value) -> Value:
    return List(items)


@op("BUILD_INTERPOLATION", run="interpolation")
def build_interpolation(trace: Trace, inst: Instruction, *parts: Value) -> Value:
    raise Break(calls.C_FUNCTION, function="string.templatelib.Interpolation")


@op("BUILD_TEMPLATE", run="template")
def build_template(trace: Trace, inst: Instruction, strings: Value, interpolations: Value) -> Value:
    raise Break(calls.C_FUNCTION, function="string.templatelib.Template")


@op("BUILD_SET", run="build_set")
def build_set(trace: Trace, inst: Instruction, *items: Value) -> Value:
    made = Set()
    for item in items:
        made.add(trace, item)
    return made


@op("BUILD_MAP", run="build_map")
def build_map(trace: Trace, inst: Instruction, *parts: Value) -> Value:
    return _dict(trace, zip(parts[::2], parts[1::2]))


@op("BUILD_CONST_KEY_MAP", run="build_const_key_map")
def build_const_key_map(trace: Trace, inst: Instruction, *parts: Any) -> Value:
    return _dict(
        trace, zip([Constant(k) for k in abstract.constant_value(trace, parts[-1])], parts[:-1])
    )


def _dict(trace: Trace, pairs: Any) -> Dict:
    entries: dict[Any, tuple[Any, Any]] = {}
    for key, value in pairs:
        at = hashed(trace, key, DICT_KEY)
        entries[at] = (entries[at][0] if at in entries else key, value)
    return Dict(entries)


@op("BUILD_STRING", run="build_string")
def build_string(trace: Trace, inst: Instruction, *parts: Value) -> Value:
    return joined(trace, list(parts))


@op("BUILD_SLICE")
def build_slice(
    trace: Trace, inst: Instruction, start: Value, stop: Value, step: Value | None = None
) -> Value:
    return Slice(start, stop, step or Constant(None))


def _deep(name: str, act: Any) -> None:
    """Instructions that add to a container deeper in the stack."""
    arity = 2 if name == "MAP_ADD" else 1

    @op(name, raw=True, run=name.lower())
    def handler(trace: Trace, frame: Frame, inst: Instruction) -> None:
        stack = frame.stack
        values = stack[-arity:]
        target = stack[-arity - inst.val]
        if isinstance(target, Opaque):  # a container of an earlier graph, made of unknown things
            raise Break(objects.UNKNOWN_OBJECT, operation="add to", object=target.describe())
        act(trace, target, *values)
        del frame.stack[-arity:]
        frame.ip += 1


def _dict_update(trace: Trace, target: Value, more: Value) -> None:
    if not is_mapping(trace, more):
        kind = more.python_type().__name__
        abstract.raise_(trace, TypeError, f"'{kind}' object is not a mapping")
    run_method(trace, target, "update", more)


@op("DICT_MERGE", raw=True, run="dict_merge")
def dict_merge(trace: Trace, frame: Frame, inst: Instruction) -> None:
    """The keywords of a call: what is wrong with them is said of the function below them."""
    stack = frame.stack
    target, more = stack[-1 - inst.val], stack[-1]
    if isinstance(target, Opaque):
        raise Break(objects.UNKNOWN_OBJECT, operation="add to", object=target.describe())
    below = stack[-3 - inst.val]
    called = stack[-4 - inst.val] if below is NULL else below
    if not is_mapping(trace, more):
        text = language.no_mapping(_function_text(trace, called), more.python_type())
        abstract.raise_(trace, TypeError, text)
    # What the call gets may stay unread.
    plain = type(more) is Dict and type(target) is Dict
    pairs = list(more.load(trace).values()) if plain else abstract.dict_pairs(trace, more)
    for key, _ in pairs:
        if target.get(trace, key) is not None:
            text = f"got multiple values for keyword argument {key.describe()}"
            abstract.raise_(trace, TypeError, f"{_function_text(trace, called)}{text}")
    for key, value in pairs:
        target.put(trace, key, value)
    del stack[-1:]
    frame.ip += 1


def _function_text(trace: Trace, called: Value) -> str:
    """A function as CPython names it in front of what is wrong with a call."""
    qualname, module = (_own_name(trace, called, n) for n in ("__qualname__", "__module__"))
    if qualname is None:
        raise Break(calls.C_FUNCTION, function=called.describe())
    return f"{qualname}() " if module in ("builtins", None) else f"{module}.{qualname}() "


def _own_name(trace: Trace, called: Value, name: str) -> str | None:
    try:
        found = abstract.constant_value(trace, abstract.getattr(trace, called, name))
    except Raised:
        return None
    return found if isinstance(found, str) else None


_deep("LIST_APPEND", lambda trace, target, item: run_method(trace, target, "append", item))
_deep("SET_ADD", lambda trace, target, item: run_method(trace, target, "add", item))
_deep("MAP_ADD", lambda trace, target, key, value: target.put(trace, key, value))
_deep("LIST_EXTEND", lambda trace, target, more: run_method(trace, target, "extend", more))
_deep("SET_UPDATE", lambda trace, target, more: run_method(trace, target, "update", more))
_deep("DICT_UPDATE", _dict_update)


@op("LIST_TO_TUPLE")
def list_to_tuple(trace: Trace, inst: Instruction, made: Any) -> Value:
    return Tuple(made.unpacked(trace))


@op("UNPACK_SEQUENCE", run="unpack_sequence")
def unpack_sequence(trace: Trace, inst: Instruction, value: Value) -> Any:
    items = unpack_exactly(trace, value, inst.val)
    return tuple(reversed(items))


@op("UNPACK_EX", run="unpack_ex")
def unpack_ex(trace: Trace, inst: Instruction, value: Value) -> Any:
    before, after = inst.val
    refuse_unpacking(trace, value)
    items = list(abstract.unpack(trace, value))
    if len(items) < before + after:
        abstract.raise_(
            trace,
            ValueError,
            f"not enough values to unpack (expected at least {before + after}, got {len(items)})",
        )
    end = len(items) - after
    parts = [*items[:before], List(items[before:end]), *items[end:]]
    return tuple(reversed(parts))


@op("FORMAT_VALUE", run="format_value")
def format_value(
    trace: Trace, inst: Instruction, value: object, spec: Value | None = None
) -> Value:
    conversion, _ = inst.val
    if conversion is not None:
        value = abstract.convert_value(trace, value, conversion)
    return abstract.format_value(trace, value, spec)


@op("CONVERT_VALUE", run="convert_value")
def convert_value(trace: Trace, inst: Instruction, value: Value) -> Any:
    return abstract.convert_value(trace, value, inst.val)


@op("GET_LEN", raw=True, run="get_len")
def get_len(trace: Trace, frame: Frame, inst: Instruction) -> None:
    length = abstract.length(trace, frame.stack[-1])
    frame.stack.append(length)
    frame.ip += 1


@op("MATCH_MAPPING", raw=True)
def match_mapping(trace: Trace, frame: Frame, inst: Instruction) -> None:
    kind = frame.stack[-1].python_type()
    frame.stack.append(Constant(bool(kind.__flags__ & (1 << 6))))
    frame.ip += 1


@op("MATCH_SEQUENCE", raw=True)
def match_sequence(trace: Trace, frame: Frame, inst: Instruction) -> None:
    kind = frame.stack[-1].python_type()
    frame.stack.append(Constant(bool(kind.__flags__ & (1 << 5))))
    frame.ip += 1


@op("MATCH_KEYS", raw=True, run="match_keys")
def match_keys(trace: Trace, frame: Frame, inst: Instruction) -> None:
    subject, keys = frame.stack[-2:]
    found: list[Value] = []
    has_all = True
    seen = set()
    for key in (
        keys.unpacked(trace) if hasattr(keys, "unpacked") else map(Constant, keys.constant())
    ):
        at = key.hash_key(trace)
        if at in seen:
            text = f"mapping pattern checks duplicate key ({abstract.constant_value(trace, key)!r})"
            abstract.raise_(trace, ValueError, text)
        seen.add(at)
        if not abstract.truth(trace, abstract.contains(trace, subject, key)):
            has_all = False
            break
        found.append(abstract.getitem(trace, subject, key))
    frame.stack.append(Tuple(found) if has_all else Constant(None))
    frame.ip += 1


@op("MATCH_CLASS", run="match_class")
def match_class(trace: Trace, inst: Instruction, subject: Value, cls: Value, names: Any) -> Value:
    return items.match_class(trace, subject, cls, inst.val, abstract.constant_value(trace, names))
