"""Sources as JSON, and the value at a source in a state.

A source is stored as a list: its root, then a step for each source below it. Reading runs no code
of the program: attributes are read as `object` reads them, items as the builtin containers do.
"""

from __future__ import annotations

import types
from typing import Any

from suture.runtime.sources import Source
from suture.runtime.store.literals import Unstorable

_PLAIN = ("dict", "cell", "type", "code")  # steps without an argument
_BY_NAME = ("attr", "mro_attr", "kwdefault")
_BY_NUMBER = ("index", "closure", "default", "key")
PICK = "pick"  # whose argument, a source, is written by whoever numbers sources
# Steps whose argument, a key or a function that reads, is written by whoever knows objects.
ITEM, CALL = "item", "call"


def step_of(source: Source) -> list[Any]:
    """The last step of a source as JSON."""
    kind, arg = source.kind, source.arg
    if kind == "key" and source.base is not None and source.base.stored is not None:
        # its class may have an order of its own
        raise Unstorable(f"keys of a class derived from a builtin one, at {source.path()}")
    if kind in _PLAIN:
        return [kind]
    if (kind in _BY_NAME and type(arg) is str) or (kind in _BY_NUMBER and type(arg) is int):
        return [kind, arg]
    raise Unstorable(f"a source that is reached by {kind}, {source.path()}")


def below(base: Source, step: list[Any]) -> Source:
    """The source that `step_of` wrote, below its base."""
    kind = step[0]
    if kind in _PLAIN:
        return base.child(kind)
    if (kind in _BY_NAME and type(step[1]) is str) or (kind in _BY_NUMBER and type(step[1]) is int):
        return base.child(kind, step[1])
    raise ValueError(f"no step of a source is called {kind!r}")


def may_be_called(reader: Any) -> bool:
    """Whether a function by which a source is reached only reads: those of the runtime do, and what
    builtin classes say of their own values."""
    home = getattr(reader, "__module__", None) or getattr(type(reader), "__module__", None)
    return reader is len or type(reader) is types.WrapperDescriptorType or home in _READERS_OF_OURS


_READERS_OF_OURS = ("suture.runtime.reads", "suture.runtime.iterators")


def read(source: Source, at: Any) -> Any:
    """What is at `source`, whose base is `at`; LookupError if nothing is there."""
    try:
        return _READERS[source.kind](at, source.arg)
    except (AttributeError, TypeError, ValueError, IndexError, KeyError, StopIteration) as error:
        raise LookupError(f"nothing is at {source.path()}") from error


def _attr(at: Any, name: str) -> Any:
    if isinstance(at, type):
        return type.__getattribute__(at, name)
    if isinstance(at, types.ModuleType) and type(at).__module__.partition(".")[0] == "torch":
        return getattr(at, name)  # torch's own classes of modules look names up elsewhere
    if isinstance(at, types.ModuleType):
        return types.ModuleType.__getattribute__(at, name)
    return object.__getattribute__(at, name)


def _item(at: Any, key: Any) -> Any:
    if not isinstance(at, dict):
        raise TypeError("no dict")
    return dict.__getitem__(at, key)


def _index(at: Any, number: int) -> Any:
    for kind in (list, tuple):
        if isinstance(at, kind):
            return kind.__getitem__(at, number)  # type: ignore[index]
    raise TypeError("no list or tuple")


def _key(at: Any, number: int) -> Any:
    if not isinstance(at, dict):
        raise TypeError("no dict")
    return list(dict.__iter__(at))[number]


def _mro_attr(at: Any, name: str) -> Any:
    return next(base.__dict__[name] for base in at.__mro__ if name in base.__dict__)


def _of_function(at: Any) -> types.FunctionType:
    if type(at) is not types.FunctionType:
        raise TypeError("no function")
    return at


_READERS: dict[str, Any] = {
    "attr": _attr,
    "dict": lambda at, _: _attr(at, "__dict__"),
    "item": _item,
    "index": _index,
    "key": _key,
    "cell": lambda at, _: at.cell_contents,
    "type": lambda at, _: type(at),
    "code": lambda at, _: _of_function(at).__code__,
    "closure": lambda at, number: (_of_function(at).__closure__ or ())[number],
    "default": lambda at, number: (_of_function(at).__defaults__ or ())[number],
    "kwdefault": lambda at, name: (_of_function(at).__kwdefaults__ or {})[name],
    "mro_attr": _mro_attr,
    "call": lambda at, reader: reader(at),
}
