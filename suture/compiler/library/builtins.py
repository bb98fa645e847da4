"""Python's builtin functions."""

from __future__ import annotations

import builtins
import functools
import itertools
import sys
from collections.abc import Sequence
from typing import Any

from suture._core import type_name
from suture.breaks import Break, calls, objects, tensors
from suture.compiler import abstract
from suture.compiler.calls import library_methods as library
from suture.compiler.core import Trace, Value
from suture.compiler.language.attribute_writes import (
    del_attr,
    set_attr,
)
from suture.compiler.language.attributes import MISSING, has_attr, tail_getattr
from suture.compiler.language.generators import send_to_generator
from suture.compiler.language.iteration import elements_of
from suture.compiler.language.operators import unary_operator
from suture.compiler.language.set_order import to_be_sorted
from suture.compiler.language.sorting import sorted_
from suture.compiler.models import handles
from suture.compiler.objects import (
    END,
    Address,
    Builtin,
    Class,
    Constant,
    Enumerate,
    Filter,
    Function,
    Generator,
    Lazy,
    List,
    Map,
    Method,
    Object,
    Opaque,
    Raised,
    RangeIterator,
    Slice,
    Symbol,
    Tensor,
    Tuple,
    Zip,
    is_single,
)
from suture.compiler.objects.methods import find_method
from suture.compiler.torch.symbols import symbol_round


@handles(len)
def _len(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return abstract.length(trace, args[0])


@handles(callable)
def _callable(trace: Trace, args: Sequence[Value], kwargs: dict[str, Value]) -> Value:
    obj = args[0]
    if isinstance(obj, (Function, Method, Class, Builtin)):
        return Constant(callable(obj.real()) if isinstance(obj, Builtin) else True)
    return Constant(abstract.type_lookup(trace, obj.python_type(), "__call__") is not MISSING)


@handles(type)
def _type(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) == 1:
        return abstract.wrap(trace, args[0].python_type(), None)
    raise Break(objects.CLASS_DEFINITION, name=args[0].describe())


@handles(builtins.__build_class__)
def _build_class(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    raise Break(objects.CLASS_DEFINITION, name=args[1].describe())


@handles(getattr)
def _getattr(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    name = _attribute_name(trace, args[1])
    if len(args) < 3:
        return tail_getattr(trace, args[0], name)
    try:
        return abstract.getattr(trace, args[0], name)
    except Raised as raised:
        if issubclass(raised.exception.python_type(), AttributeError):
            return args[2]
        raise


@handles(setattr)
def _setattr(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    set_attr(trace, args[0], _attribute_name(trace, args[1]), args[2])
    return Constant(None)


@handles(delattr)
def _delattr(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    del_attr(trace, args[0], _attribute_name(trace, args[1]))
    return Constant(None)


@handles(hasattr)
def _hasattr(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Constant(has_attr(trace, args[0], _attribute_name(trace, args[1])))


def _attribute_name(trace: Trace, variable: Value) -> str:
    """The name of an attribute, as a plain str."""
    name = abstract.constant_value(trace, variable)
    if not isinstance(name, str):
        kind = type_name(type(name))
        abstract.raise_(trace, TypeError, f"attribute name must be string, not '{kind}'")
    return str.__str__(name)


@handles(id)
def _id(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    (of,) = args
    if isinstance(of, Function) and of.source is not None:
        abstract.fix(trace, of.source, of.fn)  # its code alone would let another one come in
    if isinstance(of, Constant) and is_single(of.value):
        return Constant(id(of.value))
    return Address(of)


@handles(hash)
def _hash(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return abstract.hash_of(trace, args[0])


@handles(iter)
def _iter(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) == 2:
        if not abstract.truth(trace, _callable(trace, [args[0]], {})):
            return abstract.folded(trace, lambda: iter(3, 4))  # type: ignore[call-overload]  # says it so
        return library.call_iterator(trace, args[0], args[1])
    return abstract.iterate(trace, args[0])


@handles(next)
def _next(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if isinstance(args[0], (Object, Opaque)) and not hasattr(args[0].python_type(), "__next__"):
        return abstract.raise_(
            trace, TypeError, f"'{type_name(args[0].python_type())}' object is not an iterator"
        )
    if isinstance(args[0], Generator) and len(args) == 1:
        return send_to_generator(trace, args[0], Constant(None))  # its StopIteration has a value
    item = abstract.advance(trace, args[0])
    if item is not END:
        return item
    return args[1] if len(args) > 1 else abstract.raise_(trace, StopIteration)


@handles(enumerate)
def _enumerate(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    start = args[1] if len(args) > 1 else kwargs.get("start", Constant(0))
    made = Enumerate(abstract.iterate(trace, args[0] if args else kwargs["iterable"]), start)
    if not abstract.has_index(trace, start):
        abstract.integer(trace, start)  # raises
    if start.python_type() is bool:  # the numbers are ints from the first on
        made.count = abstract.binary(trace, "add", start, Constant(0))
    return made


@handles(zip)
def _zip(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Zip([abstract.iterate(trace, a) for a in args], _is_strict(trace, kwargs))


def _is_strict(trace: Trace, kwargs: dict[str, Value]) -> bool:
    strict = kwargs.get("strict")
    return bool(strict is not None and abstract.truth(trace, strict))


@handles(map)
def _map(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) < 2:  # a keyword does not count
        raise Break(calls.C_FUNCTION, function="map")
    return Map(args[0], [abstract.iterate(trace, a) for a in args[1:]], _is_strict(trace, kwargs))


@handles(filter)
def _filter(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Filter(args[0], abstract.iterate(trace, args[1]))


@handles(reversed)
def _reversed(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    value = args[0]
    if isinstance(value, Constant):
        return _reversed_constant(trace, value.constant())
    own = find_method(type(value), "__reversed__")
    if own is not None:
        return own(value, trace)
    if isinstance(value, Object):
        if abstract.type_lookup(trace, value.cls, "__reversed__") is not MISSING:
            return abstract.finish(
                trace, abstract.call_type_method(trace, value, "__reversed__", [], {})
            )
        count = abstract.integer(trace, abstract.length(trace, value))
        return abstract.list_iterator(
            trace, [abstract.getitem(trace, value, Constant(i)) for i in range(count - 1, -1, -1)]
        )
    if isinstance(value, Tensor):
        return abstract.list_iterator(trace, list(reversed(abstract.tensor_rows(trace, value))))
    raise Break(calls.C_FUNCTION, function="reversed")


def _reversed_constant(trace: Trace, value: Any) -> Value:
    if type(value) is range:
        return RangeIterator(value[::-1])
    if not hasattr(type(value), "__getitem__"):
        return abstract.raise_(
            trace, TypeError, f"'{type_name(type(value))}' object is not reversible"
        )
    return abstract.list_iterator(trace, [abstract.known(trace, v) for v in reversed(value)])


@handles(range)
def _range(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return abstract.folded(trace, lambda: range(*[abstract.integer(trace, a) for a in args]))


@handles(slice)
def _slice(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    none = Constant(None)
    if len(args) == 1:
        return Slice(none, args[0], none)
    return Slice(args[0], args[1], args[2] if len(args) > 2 else none)


def _sum(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    total = args[1] if len(args) > 1 else kwargs.get("start", Constant(0))
    for kind, text in _NOT_SUMMED.items():
        if issubclass(total.python_type(), kind):
            return abstract.raise_(trace, TypeError, f"sum() can't sum {text}")
    items: list[Value] = [total, *elements_of(trace, args[0])]
    if _CARRIES and _mixes_floats(items):
        if not trace.region.whole:
            raise Break(calls.C_FUNCTION, function="sum")
        items = [
            abstract.known(trace, abstract.constant_value(trace, i)) if isinstance(i, Symbol) else i
            for i in items
        ]
    plain = list(itertools.takewhile(_is_plain_number, items))
    if plain:
        first, *rest = (item.constant() for item in plain)
        items[: len(plain)] = [Constant(sum(rest, first))]
    return functools.reduce(lambda one, two: abstract.binary(trace, "add", one, two), items)


# From Python 3.12 on sum() carries along what adding floats loses.
_CARRIES = sum([0.1] * 10) == 1.0


def _mixes_floats(items: list[Any]) -> bool:
    """Whether symbols are summed with so many floats that the order of rounding shows: the sum of
    two is exact but for one rounding."""
    numbers = list(itertools.takewhile(lambda i: _is_plain_number(i) or type(i) is Symbol, items))
    floats = sum(item.python_type() is float for item in numbers)
    return floats > 2 and any(type(item) is Symbol for item in numbers)


def _is_plain_number(item: Any) -> bool:
    return bool(item.is_constant()) and type(item.constant()) in (int, float, bool)


_NOT_SUMMED = {
    str: "strings [use ''.join(seq) instead]",
    bytes: "bytes [use b''.join(seq) instead]",
    bytearray: "bytearray [use b''.join(seq) instead]",
}
handles(sum)(_sum)


@handles(any)
def _any(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    iterator = abstract.iterate(trace, args[0])
    while (item := abstract.advance(trace, iterator)) is not END:
        if abstract.truth(trace, item):
            return Constant(True)
    return Constant(False)


@handles(all)
def _all(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    iterator = abstract.iterate(trace, args[0])
    while (item := abstract.advance(trace, iterator)) is not END:
        if not abstract.truth(trace, item):
            return Constant(False)
    return Constant(True)


@handles(sorted)
def _sorted(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    items = to_be_sorted(trace, args[0]) if "key" not in kwargs else None
    if items is None:
        items = elements_of(trace, args[0], asked=True)
    return List(sorted_(trace, items, kwargs.get("key"), kwargs.get("reverse")))


@handles(abs)
def _abs(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return unary_operator(trace, "abs", args[0])


@handles(divmod)
def _divmod(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return abstract.binary(trace, "divmod", args[0], args[1])


@handles(pow)
def _pow(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) == 2 and not kwargs:
        return abstract.binary(trace, "pow", args[0], args[1])
    return abstract.fold(trace, pow, args, kwargs)


@handles(round)
def _round(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    value = args[0]
    if isinstance(value, Symbol):
        if len(args) == 1 and not kwargs:
            return symbol_round(trace, value, "round")
        return abstract.fold(trace, round, args, kwargs)
    if isinstance(value, Tensor):
        return abstract.raise_(trace, TypeError, "type Tensor doesn't define __round__ method")
    if value.is_constant():
        return abstract.fold(trace, round, args, kwargs)
    return abstract.call_type_method(trace, value, "__round__", args[1:], kwargs)


@handles(print)
def _print(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if (id(vars(sys)), "stdout") in trace.effects.globals:
        raise Break(calls.C_FUNCTION, function="print")  # at the region's end it goes elsewhere
    for name in ("sep", "end"):
        kind = kwargs[name].python_type() if name in kwargs else str
        if not issubclass(kind, (str, type(None))):
            text = f"{name} must be None or a string, not {type_name(kind)}"
            return abstract.raise_(trace, TypeError, text)
    file = kwargs.get("file", Constant(None))
    usual = file.is_constant() and file.constant() is None
    if usual and all(_is_settled(a) for a in (*args, *kwargs.values())):
        trace.effects.call(print, list(args), dict(kwargs))
        return Constant(None)
    named = ", ".join(a.describe() for a in args)
    raise Break(tensors.PRINT_TENSOR, builtin="print", arguments=named)


def _is_settled(value: object) -> bool:
    """Whether the text of a value is the same now and when the region ends."""
    if isinstance(value, Tuple):
        return all(not isinstance(i, Lazy) and _is_settled(i) for i in value.items)
    return isinstance(value, (Constant, Symbol))


for _pure in (chr, ord, bin, hex, oct):
    handles(_pure)(lambda trace, args, kwargs, f=_pure: abstract.fold(trace, f, args, kwargs))


for _runs in (open, input, breakpoint):

    @handles(_runs)
    def _run_by_python(
        trace: Trace, args: list[Value], kwargs: dict[str, Value], name: str = _runs.__name__
    ) -> Value:
        raise Break(calls.C_FUNCTION, function=name)
