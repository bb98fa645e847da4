"""What Python does when it runs the one instruction that broke a graph.

Each operation is a function of the instruction that gives a callable on real values: the values
the instruction looks at, deepest first. It returns what the instruction pushes: one value, a
tuple if several, nothing if none. UNBOUND stands for NULL.
"""

from __future__ import annotations

import builtins
import importlib
import operator
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from suture import _core
from suture.bytecode import CANONICAL, Instruction, iterator_slots, not_a_manager, pair
from suture.runtime import async_operations
from suture.runtime.exception_groups import check_eg_match, prep_reraise_star
from suture.runtime.patterns import match_class

UNBOUND = _core.UNBOUND
STOP = object()  # what the "next" operation gives at the end


@dataclass(frozen=True, slots=True)
class Operation:
    """`make(inst)` gives the callable; `looks(inst)` how deep it looks into the stack, when that
    is more than it pops."""

    make: Callable[[Instruction], Callable[..., Any]]
    looks: Callable[[Instruction], int] | None = None

    def inputs(self, inst: Instruction) -> int:
        if self.looks is not None:
            return self.looks(inst)
        pops = CANONICAL[inst.op].pops
        return pops if isinstance(pops, int) else pops(inst)


OPERATIONS: dict[str, Operation] = {}


def _add(name: str, make: Callable[[Instruction], Any], looks: Any = None) -> None:
    OPERATIONS[name] = Operation(make, looks)


def _always(fn: Any) -> Callable[[Instruction], Any]:
    return lambda inst: fn


def _call(inst: Instruction) -> Any:
    names = inst.val or ()

    def call(first: Any, second: Any, *args: Any) -> Any:
        fn, args = _callable(first, second, args)
        if not names:
            return fn(*args)
        count = len(args) - len(names)
        return fn(*args[:count], **dict(zip(names, args[count:])))

    return call


def _callable(first: Any, second: Any, args: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    if first is UNBOUND:
        return second, args
    if second is UNBOUND:
        return first, args
    return first, (second, *args)


def _call_ex(inst: Instruction) -> Any:
    def call(first: Any, second: Any, args: Any, kwargs: Any = None) -> Any:
        fn = second if first is UNBOUND else first
        return fn(*args, **(kwargs or {}))

    return call


def _load_method(inst: Instruction) -> Any:
    return lambda obj: pair(getattr(obj, inst.val), UNBOUND)


def _super_attr(inst: Instruction) -> Any:
    def load(sup: Any, cls: Any, obj: Any) -> Any:
        """What the program calls super has arguments only if they are in the source."""
        given = (cls, obj) if sup is super or inst.arg & 2 else ()
        return getattr(sup(*given), inst.val)

    return load


def _import_name(inst: Instruction) -> Any:
    def load(namespace: dict[str, Any], level: Any, fromlist: Any) -> Any:
        """`namespace`: the globals of the frame, which say what a relative name is relative to."""
        before = _core.set_hook_active(False)  # modules run once: there is nothing to compile
        try:
            return builtins.__import__(inst.val, namespace, None, fromlist, level)
        finally:
            _core.set_hook_active(before)

    return load


def _import_from(inst: Instruction) -> Any:
    name = inst.val

    def load(module: Any) -> Any:
        found = getattr(module, name, STOP)
        package = getattr(module, "__name__", None)
        if found is STOP and isinstance(package, str):  # it may be on its way: a circle of imports
            found = sys.modules.get(f"{package}.{name}", STOP)
        if found is not STOP:
            return found
        file = getattr(module, "__file__", None)
        text = f"cannot import name {name!r} from {package or '<unknown module name>'!r}"
        raise ImportError(f"{text} ({file or 'unknown location'})", name=package, path=file)

    return load


def _unpack_sequence(inst: Instruction) -> Any:
    def unpack(value: Any) -> Any:
        return _pushed(_take(value, inst.val))

    return unpack


def _pushed(items: list[Any]) -> Any:
    """What is pushed so that the first item ends on top."""
    return items[0] if len(items) == 1 else tuple(reversed(items))


def _iterated(value: Any) -> Any:
    """iter(value), refused as unpacking refuses it."""
    kind = type(value)
    own = [vars(base) for base in kind.__mro__]  # a metaclass has its own for the class
    if not any("__iter__" in names or "__getitem__" in names for names in own):
        raise TypeError(f"cannot unpack non-iterable {kind.__name__} object")
    return iter(value)


def _take(value: Any, count: int) -> list[Any]:
    if count == 0:
        [] = value
        return []
    items = list(value) if type(value) in (list, tuple) else _upto(_iterated(value), count + 1)
    if len(items) > count:
        raise ValueError(f"too many values to unpack (expected {count})")
    if len(items) < count:
        raise ValueError(f"not enough values to unpack (expected {count}, got {len(items)})")
    return items


def _upto(iterator: Any, count: int) -> list[Any]:
    out = []
    for item in iterator:
        out.append(item)
        if len(out) == count:
            break
    return out


def _unpack_ex(inst: Instruction) -> Any:
    before, after = inst.val

    def unpack(value: Any) -> Any:
        items = list(_iterated(value))
        if len(items) < before + after:
            raise ValueError(
                "not enough values to unpack"
                f" (expected at least {before + after}, got {len(items)})"
            )
        end = len(items) - after
        return _pushed([*items[:before], items[before:end], *items[end:]])

    return unpack


def _format_value(inst: Instruction) -> Any:
    convert = {None: lambda v: v, "str": str, "repr": repr, "ascii": ascii}[inst.val[0]]
    return lambda value, spec="": format(convert(value), spec)  # type: ignore[operator]


def _before_with(inst: Instruction) -> Any:
    def begin(manager: Any) -> Any:
        text = not_a_manager(type(manager))
        if text is not None:
            raise TypeError(text)
        enter = async_operations.special(manager, "__enter__")
        leave = async_operations.special(manager, "__exit__")
        return (*(pair(leave, UNBOUND) if inst.val else (leave,)), enter())

    return begin


def _with_except_start(inst: Instruction) -> Any:
    def leave(*parts: Any) -> Any:
        exc = parts[-1]
        told = (type(exc), exc, exc.__traceback__)
        if not inst.val:
            return parts[0](*told)
        fn, args = _callable(parts[0], parts[1], told)
        return fn(*args)

    return leave


def _templates() -> Any:
    """The module of template strings, which is there from 3.14 on."""
    return importlib.import_module("string.templatelib")


def _interpolation(inst: Instruction) -> Any:
    conversion = {None: None, "str": "s", "repr": "r", "ascii": "a"}[inst.val[0]]

    def build(value: Any, text: str, spec: str = "") -> Any:
        return _templates().Interpolation(value, text, conversion, spec)

    return build


def _template(strings: Any, interpolations: Any) -> Any:
    mixed = [part for two in zip(strings, interpolations) for part in two]
    return _templates().Template(*mixed, *strings[len(interpolations) :])


def _raise(inst: Instruction) -> Any:
    def do(exc: Any = None, cause: Any = STOP) -> Any:
        if exc is None:
            raise
        if cause is STOP:
            raise exc
        raise exc from cause

    return do


def _check_exc_match(exc: Any, kind: Any) -> bool:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not all(isinstance(k, type) and issubclass(k, BaseException) for k in kinds):
        raise TypeError("catching classes that do not inherit from BaseException is not allowed")
    return any(k in type(exc).__mro__ for k in kinds)


def _match_keys(subject: Any, keys: Any) -> Any:
    missing = object()
    values = tuple(subject.get(k, missing) for k in keys)
    return None if any(v is missing for v in values) else values


def _match_class(inst: Instruction) -> Any:
    def match(subject: Any, cls: Any, names: Any) -> Any:
        return match_class(subject, cls, inst.val, names)

    return match


def _deep(arity: int, act: Callable[..., Any]) -> tuple[Any, Any]:
    """Adds to a container deeper in the stack."""

    def make(inst: Instruction) -> Any:
        def do(container: Any, *rest: Any) -> None:
            act(container, *rest[len(rest) - arity :])

        return do

    return make, lambda inst: inst.val + arity


_COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}


def _dict_merge(target: Any, more: Any) -> None:
    for key in list(more.keys()):
        if key in target:
            raise TypeError(f"got multiple values for keyword argument {key!r}")
    target.update(more)


def returned_by_init(value: Any) -> None:
    """What a call of a class says to what `__init__` returned."""
    if value is not None:
        raise TypeError(f"__init__() should return None, not '{_core.type_name(type(value))}'")


_add("call", _call)
_add("call_ex", _call_ex)
_add("getattr", lambda inst: operator.attrgetter(inst.val))
_add("load_method", _load_method)
_add("super_attr", _super_attr)
_add("super_method", lambda inst: lambda s, c, o: pair(getattr(s(c, o), inst.val), UNBOUND))
_add("setattr", lambda inst: lambda value, obj: setattr(obj, inst.val, value))
_add("delattr", lambda inst: lambda obj: delattr(obj, inst.val))
_add("getitem", _always(operator.getitem))
_add("setitem", _always(lambda value, obj, key: operator.setitem(obj, key, value)))
_add("delitem", _always(operator.delitem))
_add("getslice", _always(lambda obj, start, stop: obj[start:stop]))
_add("setslice", _always(lambda value, obj, a, b: operator.setitem(obj, slice(a, b), value)))
for _name in ("pos", "neg", "invert", "not_"):
    _add(_name, _always(getattr(operator, _name)))
_add("bool", _always(bool))
_add("binary", lambda inst: getattr(operator, inst.val))
_add("compare", lambda inst: _COMPARE[inst.val])
_add("compare_test", lambda inst: lambda a, b: bool(_COMPARE[inst.val](a, b)))
_add(
    "contains",
    lambda inst: (
        (lambda item, c: item in c) if inst.val == "in" else (lambda item, c: item not in c)
    ),
)
_add("is", lambda inst: operator.is_ if inst.val == "is" else operator.is_not)
_add("iter", _always(iter))
_add("next", _always(lambda it, *_: next(it, STOP)), iterator_slots)
_add("import_name", _import_name)
_add("import_from", _import_from, lambda inst: 1)
_add("build_set", _always(lambda *items: set(items)))
_add("build_map", _always(lambda *parts: dict(zip(parts[::2], parts[1::2]))))
_add("build_const_key_map", _always(lambda *parts: dict(zip(parts[-1], parts[:-1]))))
_add("build_string", _always(lambda *parts: "".join(parts)))
_add("unpack_sequence", _unpack_sequence)
_add("unpack_ex", _unpack_ex)
_add("format_value", _format_value)
_add("convert_value", lambda inst: {"str": str, "repr": repr, "ascii": ascii}[inst.val])
_add("get_len", _always(len), lambda inst: 1)
_add("match_keys", _always(_match_keys), lambda inst: 2)
_add("match_class", _match_class)
_add("before_with", _before_with)
_add("with_except_start", _with_except_start, lambda inst: 4 + inst.val)
_add("interpolation", _interpolation)
_add("template", _always(_template))
_add("check_exc_match", _always(_check_exc_match), lambda inst: 2)
_add("check_eg_match", _always(check_eg_match))
_add("prep_reraise_star", _always(prep_reraise_star))
_add("list_append", *_deep(1, list.append))
_add("set_add", *_deep(1, set.add))
_add("map_add", *_deep(2, operator.setitem))
_add("list_extend", *_deep(1, list.extend))
_add("set_update", *_deep(1, set.update))
_add("dict_update", *_deep(1, dict.update))
_add("dict_merge", *_deep(1, _dict_merge))
_add("raise", _raise)
_add("send", _always(async_operations.send), lambda inst: 1 + iterator_slots(inst))
_add("yield_from_iter", _always(async_operations.yield_from_iter))
_add("get_awaitable", async_operations.awaited)
_add("get_aiter", _always(async_operations.get_aiter))
_add("get_anext", _always(async_operations.get_anext), lambda inst: 1)
_add("end_async_for", _always(async_operations.end_async_for))
_add("before_async_with", async_operations.before_async_with)
_add("cleanup_throw", async_operations.cleanup_throw)
