"""Sources as JSON, and the value at a source in a state.

A source is stored as a list: its root, then a step for each source below it, `[kind, *fields]`.
Reading runs no code of the program: attributes are read as `object` reads them, items as the
builtin containers do. Adding a kind of step is one row of `STEPS` and one example in
`tests/runtime/store/test_round_trips.py`.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from suture.runtime import iterators
from suture.runtime.sources import Source
from suture.runtime.store.literals import Unstorable
from suture.runtime.store.made_objects import OBJECT, PART
from suture.runtime.store.references import Reading, Writing, write


class SourceWriting(Writing, Protocol):
    """What is known while sources are written."""

    def number_of(self, source: Source) -> int:
        """The number of a source."""
        ...


class SourceReading(Reading, Protocol):
    """What is known while sources are read: those of lower numbers."""

    sources: list[Source]


@dataclass(frozen=True, slots=True)
class Step:
    """One kind of step. `write` gives the fields of a source whose last step this is, `below` the
    source that they mean below a base, and `read` what is there, of the base's value and the
    source's argument; it may raise what such a read raises. `read` is None where the source has to
    be made another one first (`pick`)."""

    write: Callable[[SourceWriting, Source], list[Any]]
    below: Callable[..., Source]  # (SourceReading, base, *fields)
    read: Callable[[Any, Any], Any] | None


def step_of(to: SourceWriting, source: Source) -> list[Any]:
    """The last step of a source as JSON; raises Unstorable."""
    step = STEPS.get(source.kind)
    if step is None:
        raise Unstorable(f"a source that is reached by {source.kind}, {source.path()}")
    return [source.kind, *step.write(to, source)]


def below(of: SourceReading, base: Source, data: list[Any]) -> Source:
    """The source that `step_of` wrote, below its base."""
    step = STEPS.get(data[0])
    if step is None:
        raise ValueError(f"no step of a source is called {data[0]!r}")
    return step.below(of, base, *data[1:])


def may_be_called(reader: Any) -> bool:
    """Whether a function by which a source is reached only reads: those of the runtime do, and what
    builtin classes say of their own values."""
    if any(reader is one for one in (len, *iterators.IN_CORE)):
        return True
    home = getattr(reader, "__module__", None) or getattr(type(reader), "__module__", None)
    return type(reader) is types.WrapperDescriptorType or home in _READERS_OF_OURS


PICK = "pick"
_READERS_OF_OURS = ("suture.runtime.reads", "suture.runtime.iterators")


def read(source: Source, at: Any) -> Any:
    """What is at `source`, whose base is `at`; LookupError if nothing is there."""
    read = STEPS[source.kind].read
    assert read is not None
    try:
        return read(at, source.arg)
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


# ---- steps


def _plain(kind: str, read: Callable[[Any, Any], Any]) -> Step:
    """A step without an argument."""
    return Step(lambda to, source: [], lambda of, base: base.child(kind), read)


def _with(kind: str, of_type: type, read: Callable[[Any, Any], Any]) -> Step:
    """A step whose argument is a name or a number."""

    def write(to: SourceWriting, source: Source) -> list[Any]:
        if type(source.arg) is not of_type:
            raise Unstorable(f"a source that is reached by {kind}, {source.path()}")
        return [source.arg]

    def below(of: SourceReading, base: Source, arg: Any) -> Source:
        if type(arg) is not of_type:
            raise ValueError(f"not an argument of {kind!r}")
        return base.child(kind, arg)

    return Step(write, below, read)


def _write_key(to: SourceWriting, source: Source) -> list[Any]:
    if source.base is not None and source.base.stored is not None:
        # its class may have an order of its own
        raise Unstorable(f"keys of a class derived from a builtin one, at {source.path()}")
    return _KEY.write(to, source)


def _write_call(to: SourceWriting, source: Source) -> list[Any]:
    if not may_be_called(source.arg):
        raise Unstorable(f"a source that is reached by {source.path()}")
    return [write(to, source.arg, PART)]


def _below_call(of: SourceReading, base: Source, reader: Any) -> Source:
    found = of.ref(reader)
    if not may_be_called(found):
        raise ValueError("a source is reached by a function that may do more than read")
    return base.call(found)


_KEY = _with("key", int, _key)
STEPS = {
    "attr": _with("attr", str, _attr),
    "mro_attr": _with("mro_attr", str, _mro_attr),
    "kwdefault": _with(
        "kwdefault", str, lambda at, name: (_of_function(at).__kwdefaults__ or {})[name]
    ),
    "index": _with("index", int, _index),
    "key": Step(_write_key, _KEY.below, _KEY.read),
    "closure": _with(
        "closure", int, lambda at, number: (_of_function(at).__closure__ or ())[number]
    ),
    "default": _with(
        "default", int, lambda at, number: (_of_function(at).__defaults__ or ())[number]
    ),
    "dict": _plain("dict", lambda at, _: _attr(at, "__dict__")),
    "cell": _plain("cell", lambda at, _: at.cell_contents),
    "type": _plain("type", lambda at, _: type(at)),
    "code": _plain("code", lambda at, _: _of_function(at).__code__),
    # an item whose key is an object
    "item": Step(
        lambda to, source: [write(to, source.arg, OBJECT)],
        lambda of, base, key: base.item(of.ref(key)),
        _item,
    ),
    # an item at an index from outside, which is a source
    PICK: Step(
        lambda to, source: [to.number_of(source.arg)],
        lambda of, base, number: base.pick(of.sources[number]),
        None,
    ),
    "call": Step(_write_call, _below_call, lambda at, reader: reader(at)),
}
