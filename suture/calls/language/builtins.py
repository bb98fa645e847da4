"""Python's builtin functions."""

from __future__ import annotations

import builtins
import collections
import functools
import itertools
import sys
from typing import Any

from suture._core import type_name
from suture.breaks import Break, calls, objects, python, tensors
from suture.calls.objects.attributes import MISSING
from suture.calls.stdlib import library
from suture.calls.table import handles
from suture.variables import (
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
    Module,
    Object,
    Opaque,
    Raise,
    Raised,
    RangeIterator,
    Slice,
    Symbol,
    Tensor,
    Tuple,
    Zip,
    is_single,
)


@handles(len)
def _len(tx: Any, args: Any, kwargs: Any) -> Any:
    return tx.length(args[0])


@handles(callable)
def _callable(tx: Any, args: Any, kwargs: Any) -> Any:
    obj = args[0]
    if isinstance(obj, (Function, Method, Class, Builtin)):
        return Constant(callable(obj.real()) if isinstance(obj, Builtin) else True)
    return Constant(tx.type_lookup(obj.python_type(), "__call__") is not MISSING)


@handles(type)
def _type(tx: Any, args: Any, kwargs: Any) -> Any:
    if len(args) == 1:
        return tx.wrap(args[0].python_type(), None)
    raise Break(objects.CLASS_DEFINITION, name=args[0].describe())


@handles(builtins.__build_class__)
def _build_class(tx: Any, args: Any, kwargs: Any) -> Any:
    raise Break(objects.CLASS_DEFINITION, name=args[1].describe())


@handles(getattr)
def _getattr(tx: Any, args: Any, kwargs: Any) -> Any:
    name = _attribute_name(tx, args[1])
    if len(args) < 3:
        return tx.tail_getattr(args[0], name)
    try:
        return tx.getattr(args[0], name)
    except Raised as raised:
        if issubclass(raised.exception.python_type(), AttributeError):
            return args[2]
        raise


@handles(setattr)
def _setattr(tx: Any, args: Any, kwargs: Any) -> Any:
    tx.setattr(args[0], _attribute_name(tx, args[1]), args[2])
    return Constant(None)


@handles(delattr)
def _delattr(tx: Any, args: Any, kwargs: Any) -> Any:
    tx.delattr(args[0], _attribute_name(tx, args[1]))
    return Constant(None)


@handles(hasattr)
def _hasattr(tx: Any, args: Any, kwargs: Any) -> Any:
    return Constant(tx.hasattr(args[0], _attribute_name(tx, args[1])))


def _attribute_name(tx: Any, variable: Any) -> str:
    """The name of an attribute, as a plain str."""
    name = tx.constant_value(variable)
    if not isinstance(name, str):
        kind = type_name(type(name))
        tx.raise_(TypeError, f"attribute name must be string, not '{kind}'")
    return str.__str__(name)


@handles(object.__setattr__)
def _object_setattr(tx: Any, args: Any, kwargs: Any) -> Any:
    tx.plain_set_attribute(args[0], tx.constant_value(args[1]), args[2])
    return Constant(None)


@handles(object.__delattr__)
def _object_delattr(tx: Any, args: Any, kwargs: Any) -> Any:
    tx.plain_delete_attribute(args[0], tx.constant_value(args[1]))
    return Constant(None)


@handles(object.__getattribute__)
def _object_getattribute(tx: Any, args: Any, kwargs: Any) -> Any:
    obj, name = args[0], tx.constant_value(args[1])
    if not isinstance(obj, Object):
        return tx.tail_getattr(obj, name)
    cls = obj.python_type()
    raw = tx.type_lookup(cls, name)
    found = tx.instance_value(obj, name)
    if raw is not MISSING and (found is MISSING or hasattr(type(raw), "__set__")):
        return tx.bind(raw, obj, cls, name)
    if found is MISSING:
        return tx.raise_(AttributeError, f"'{type_name(cls)}' object has no attribute '{name}'")
    return found


@handles(object.__init__)
def _object_init(tx: Any, args: Any, kwargs: Any) -> Any:
    if len(args) > 1 or kwargs:  # Python says whether the class takes more
        cls, extra = args[0].python_type(), [None] * (len(args) + len(kwargs) - 1)
        if tx.type_lookup(cls, "__new__") is object.__new__:
            tx.folded(lambda: object.__init__(object.__new__(cls), *extra))
        elif tx.type_lookup(cls, "__init__") is not object.__init__:
            text = "object.__init__() takes exactly one argument (the instance to initialize)"
            tx.raise_(TypeError, text)
    return Constant(None)


@handles(object.__init_subclass__)
def _object_init_subclass(tx: Any, args: Any, kwargs: Any) -> Any:
    return Constant(None)


@handles(object.__new__)
def _object_new(tx: Any, args: Any, kwargs: Any) -> Any:
    cls = args[0].real()
    if len(args) > 1 or kwargs:  # Python says whether the class takes more
        extra = [None] * (len(args) + len(kwargs) - 1)
        tx.folded(lambda: object.__new__(cls, *extra) is None)
    heap, is_abstract = cls.__flags__ & (1 << 9), cls.__flags__ & (1 << 20)
    if cls is not object and (not heap or is_abstract):
        return tx.folded(lambda: object.__new__(cls))  # raises, in Python's words
    return Object(None, cls)


def _storage_new(base: Any) -> Any:
    def handler(tx: Any, args: Any, kwargs: Any) -> Any:
        cls = args[0].real()
        derived = isinstance(cls, type) and issubclass(cls, base)
        if not derived or (cls is bool and base is int):
            return tx.folded(lambda: base.__new__(cls))  # refuses, in Python's words
        if cls in _STORAGES:
            return tx.call(args[0], args[1:], kwargs)
        storage = tx.new_storage(cls, args[1:])
        if storage is None:
            raise Break(calls.C_FUNCTION, function=f"{base.__name__}.__new__")
        return Object(None, cls, None, storage)

    return handler


_STORAGES = (tuple, str, int, bool, float, list, dict, set, frozenset)
for _base in _STORAGES:
    handles(_base.__new__)(_storage_new(_base))


@handles(dict.__init__, list.__init__, set.__init__, collections.OrderedDict.__init__)
def _storage_init(tx: Any, args: Any, kwargs: Any) -> Any:
    tx.storage_init(args[0], None, args[1:], kwargs)
    return Constant(None)


@handles(*{BaseException.__init__, Exception.__init__})  # from 3.14 on they are one
def _exception_init(tx: Any, args: Any, kwargs: Any) -> Any:
    if not isinstance(args[0], Raise):
        raise Break(objects.UNKNOWN_OBJECT, operation="set up", object=args[0].describe())
    args[0].args = list(args[1:])
    args[0].bare = False
    return Constant(None)


@handles(super)
def _super(tx: Any, args: Any, kwargs: Any) -> Any:
    if args:
        return tx.make_super(None, args[0], args[1] if len(args) == 2 else None)
    try:
        return tx.make_super(None, *_implicit_super(tx))
    except Break:  # only the frame itself can say which class and object are meant
        raise Break(python.LOCALS_CALL, call="super()") from None


def _implicit_super(tx: Any) -> tuple[Any, Any]:
    """The class and the first argument of the frame that calls super()."""
    frame = tx.frames[-1]
    code = frame.code.code
    if not code.co_argcount:
        return tx.raise_(RuntimeError, "super(): no arguments")
    owner = frame.locals[0]
    if code.co_varnames[0] in code.co_cellvars:
        owner = tx.load_cell(tx.frame_cell(frame, 0)) if owner is not None else None
    else:
        owner = tx.realize(owner) if owner is not None else None
    if owner is None:
        return tx.raise_(RuntimeError, "super(): arg[0] deleted")
    if "__class__" not in code.co_freevars:
        return tx.raise_(RuntimeError, "super(): __class__ cell not found")
    cls = tx.load_cell(tx.frame_cell(frame, frame.code.localsplus.index("__class__")))
    if cls is None:
        return tx.raise_(RuntimeError, "super(): empty __class__ cell")
    return cls, owner


@handles(id)
def _id(tx: Any, args: Any, kwargs: Any) -> Any:
    (of,) = args
    if isinstance(of, (Class, Module, Function)):
        return Constant(id(of.real()))
    if type(of) is Constant and is_single(of.value):
        return Constant(id(of.value))
    return Address(of)


@handles(hash)
def _hash(tx: Any, args: Any, kwargs: Any) -> Any:
    return tx.hash_of(args[0])


@handles(iter)
def _iter(tx: Any, args: Any, kwargs: Any) -> Any:
    if len(args) == 2:
        if not tx.truth(_callable(tx, [args[0]], {})):
            return tx.folded(lambda: iter(3, 4))  # type: ignore[call-overload]  # says it so
        return library.call_iterator(tx, args[0], args[1])
    return tx.iterate(args[0])


@handles(next)
def _next(tx: Any, args: Any, kwargs: Any) -> Any:
    if isinstance(args[0], (Object, Opaque)) and not hasattr(args[0].python_type(), "__next__"):
        return tx.raise_(
            TypeError, f"'{type_name(args[0].python_type())}' object is not an iterator"
        )
    if isinstance(args[0], Generator) and len(args) == 1:
        return tx.generator_send(args[0], Constant(None))  # its StopIteration has a value
    item = tx.advance(args[0])
    if item is not END:
        return item
    return args[1] if len(args) > 1 else tx.raise_(StopIteration)


@handles(enumerate)
def _enumerate(tx: Any, args: Any, kwargs: Any) -> Any:
    start = args[1] if len(args) > 1 else kwargs.get("start", Constant(0))
    made = Enumerate(tx.iterate(args[0] if args else kwargs["iterable"]), start)
    if not tx.has_index(start):
        tx.integer(start)  # raises
    return made


@handles(zip)
def _zip(tx: Any, args: Any, kwargs: Any) -> Any:
    strict = kwargs.get("strict")
    return Zip([tx.iterate(a) for a in args], bool(strict is not None and tx.truth(strict)))


@handles(map)
def _map(tx: Any, args: Any, kwargs: Any) -> Any:
    return Map(args[0], [tx.iterate(a) for a in args[1:]])


@handles(filter)
def _filter(tx: Any, args: Any, kwargs: Any) -> Any:
    return Filter(args[0], tx.iterate(args[1]))


@handles(reversed)
def _reversed(tx: Any, args: Any, kwargs: Any) -> Any:
    value = args[0]
    if isinstance(value, Constant):
        return _reversed_constant(tx, value.constant())
    own = getattr(type(value), "m___reversed__", None)
    if own is not None:
        return own(value, tx)
    if isinstance(value, Object):
        if tx.type_lookup(value.cls, "__reversed__") is not MISSING:
            return tx.finish(tx.call_type_method(value, "__reversed__", [], {}))
        count = tx.integer(tx.length(value))
        return tx.list_iterator([tx.getitem(value, Constant(i)) for i in range(count - 1, -1, -1)])
    if isinstance(value, Tensor):
        return tx.list_iterator(list(reversed(tx.tensor_rows(value))))
    raise Break(calls.C_FUNCTION, function="reversed")


def _reversed_constant(tx: Any, value: Any) -> Any:
    if type(value) is range:
        return RangeIterator(value[::-1])
    if not hasattr(type(value), "__getitem__"):
        return tx.raise_(TypeError, f"'{type_name(type(value))}' object is not reversible")
    return tx.list_iterator([tx.known(v) for v in reversed(value)])


@handles(range)
def _range(tx: Any, args: Any, kwargs: Any) -> Any:
    return tx.folded(lambda: range(*[tx.integer(a) for a in args]))


@handles(slice)
def _slice(tx: Any, args: Any, kwargs: Any) -> Any:
    none = Constant(None)
    if len(args) == 1:
        return Slice(none, args[0], none)
    return Slice(args[0], args[1], args[2] if len(args) > 2 else none)


def _sum(tx: Any, args: Any, kwargs: Any) -> Any:
    total = args[1] if len(args) > 1 else kwargs.get("start", Constant(0))
    for kind, text in _NOT_SUMMED.items():
        if issubclass(total.python_type(), kind):
            return tx.raise_(TypeError, f"sum() can't sum {text}")
    items = list(itertools.chain([total], tx.elements(args[0])))
    if _CARRIES and _mixes_floats(items):
        if not tx.whole:
            raise Break(calls.C_FUNCTION, function="sum")
        items = [tx.known(tx.constant_value(i)) if isinstance(i, Symbol) else i for i in items]
    plain = list(itertools.takewhile(_is_plain_number, items))
    if plain:
        first, *rest = (item.constant() for item in plain)
        items[: len(plain)] = [Constant(sum(rest, first))]
    return functools.reduce(functools.partial(tx.binary, "add"), items)


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
def _any(tx: Any, args: Any, kwargs: Any) -> Any:
    iterator = tx.iterate(args[0])
    while (item := tx.advance(iterator)) is not END:
        if tx.truth(item):
            return Constant(True)
    return Constant(False)


@handles(all)
def _all(tx: Any, args: Any, kwargs: Any) -> Any:
    iterator = tx.iterate(args[0])
    while (item := tx.advance(iterator)) is not END:
        if not tx.truth(item):
            return Constant(False)
    return Constant(True)


@handles(sorted)
def _sorted(tx: Any, args: Any, kwargs: Any) -> Any:
    items = tx.to_be_sorted(args[0]) if "key" not in kwargs else None
    if items is None:
        items = tx.elements(args[0])
    return List(tx.sorted(items, kwargs.get("key"), kwargs.get("reverse")))


@handles(abs)
def _abs(tx: Any, args: Any, kwargs: Any) -> Any:
    return tx.unary("abs", args[0])


@handles(divmod)
def _divmod(tx: Any, args: Any, kwargs: Any) -> Any:
    return tx.binary("divmod", args[0], args[1])


@handles(pow)
def _pow(tx: Any, args: Any, kwargs: Any) -> Any:
    if len(args) == 2 and not kwargs:
        return tx.binary("pow", args[0], args[1])
    return tx.fold(pow, args, kwargs)


@handles(round)
def _round(tx: Any, args: Any, kwargs: Any) -> Any:
    value = args[0]
    if isinstance(value, Symbol):
        if len(args) == 1 and not kwargs:
            return tx.symbol_round(value, "round")
        return tx.fold(round, args, kwargs)
    if isinstance(value, Tensor):
        return tx.raise_(TypeError, "type Tensor doesn't define __round__ method")
    if value.is_constant():
        return tx.fold(round, args, kwargs)
    return tx.call_type_method(value, "__round__", args[1:], kwargs)


@handles(print)
def _print(tx: Any, args: Any, kwargs: Any) -> Any:
    if (id(vars(sys)), "stdout") in tx.effects.globals:
        raise Break(calls.C_FUNCTION, function="print")  # at the region's end it goes elsewhere
    for name in ("sep", "end"):
        kind = kwargs[name].python_type() if name in kwargs else str
        if not issubclass(kind, (str, type(None))):
            text = f"{name} must be None or a string, not {type_name(kind)}"
            return tx.raise_(TypeError, text)
    file = kwargs.get("file", Constant(None))
    usual = file.is_constant() and file.constant() is None
    if usual and all(_is_settled(a) for a in (*args, *kwargs.values())):
        tx.effects.call(print, list(args), dict(kwargs))
        return Constant(None)
    named = ", ".join(a.describe() for a in args)
    raise Break(tensors.PRINT_TENSOR, builtin="print", arguments=named)


def _is_settled(value: Any) -> bool:
    """Whether the text of a value is the same now and when the region ends."""
    if isinstance(value, Tuple):
        return all(not isinstance(i, Lazy) and _is_settled(i) for i in value.items)
    return isinstance(value, (Constant, Symbol))


for _pure in (chr, ord, bin, hex, oct):
    handles(_pure)(lambda tx, args, kwargs, f=_pure: tx.fold(f, args, kwargs))


@handles(open, input, breakpoint)
def _open(tx: Any, args: Any, kwargs: Any) -> Any:
    raise Break(calls.C_FUNCTION, function="open")
