"""What a class says about a name, and the guards that keep that true."""

from __future__ import annotations

from typing import Any

from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.objects.lookup import MISSING, find_in_mro, holder_of, qualname_of
from suture.runtime.sources import Source

_OF_DESCRIPTORS = ("__get__", "__set__", "__delete__")
_IMMUTABLE, _NUMBERS = 1 << 8, (int, float)


@implements(abstract.type_lookup)
def type_lookup(trace: Trace, cls: type, name: str) -> Any:
    known = trace.outside.type_lookups.get((id(cls), name))
    if known is not None:
        return known[0]
    try:
        raw = find_in_mro(cls, name)
    except Exception:  # of a key in the class that is no string, and compares
        raise Break(objects.UNKNOWN_ATTRIBUTE, object=qualname_of(cls), attribute=name) from None
    source = abstract.pinned(trace, cls)
    if cls.__flags__ & _IMMUTABLE == 0:  # a heap type, whose contents can change
        if raw is MISSING:
            trace.guards.add(source, "no_mro_attr", name)
        elif id(raw) not in trace.guards.anew and is_entry_anew(trace, cls, name):
            pass  # its shape says what is there
        else:
            trace.guards.add(source.child("mro_attr", name), "is", raw)
    trace.outside.type_lookups[(id(cls), name)] = (raw,)
    kind = type(raw)
    fixed = raw is MISSING or kind.__flags__ & _IMMUTABLE or id(kind) in trace.guards.anew
    if not fixed:
        for method in _OF_DESCRIPTORS:  # what binds it is of a class that can change too
            type_lookup(trace, kind, method)
    return raw


def is_entry_anew(trace: Trace, cls: type, name: str) -> bool:
    """Whether the class that holds a name is one that each call makes anew."""
    return bool(trace.guards.anew) and id(holder_of(cls, name)) in trace.guards.anew


def value_lookup(trace: Trace, cls: type, name: str) -> Any:
    """The same for who binds what is found. A number is bound to nothing: here its type is guarded,
    and its value where it is read, as that of any number is."""
    key = (id(cls), name)
    loose = trace.outside.loose_numbers.get(key)
    if loose is not None:
        return loose
    if key not in trace.outside.type_lookups and _is_read_plainly(trace, cls, name):
        raw = cls.__dict__[name]
        if isinstance(raw, _NUMBERS) and type(raw) in _NUMBERS:
            trace.outside.loose_numbers[key] = raw
            trace.guards.add(_entry(trace, cls, name), "type", type(raw))
            return raw
    return type_lookup(trace, cls, name)


def class_number(trace: Trace, cls: type, name: str) -> Value | None:
    """The value of a number that `value_lookup` has found in a class; None if it was no number."""
    loose = trace.outside.loose_numbers.get((id(cls), name))
    return None if loose is None else abstract.wrap(trace, loose, _entry(trace, cls, name))


def _entry(trace: Trace, cls: type, name: str) -> Source:
    return abstract.pinned(trace, cls).child("mro_attr", name)


def _is_read_plainly(trace: Trace, cls: type, name: str) -> bool:
    """Whether `cls.name` is what the class itself has under that name: its metaclass has nothing to
    say, and the class can change."""
    if cls.__flags__ & _IMMUTABLE or trace.guards.anew or type(cls) is not type:
        return False
    return name in cls.__dict__ and find_in_mro(type, name) is MISSING


def class_source(trace: Trace, cls: type, name: str, raw: object = MISSING) -> Any:
    """Where a class attribute is read; `raw` may come above the first of its name."""
    if raw is not MISSING:
        cls = holder_of(cls, name, raw) or cls
    return abstract.pinned(trace, cls).child("mro_attr", name)
