"""Exception groups of the traced program: making, splitting and joining them."""

from __future__ import annotations

from typing import Any

from suture.breaks import Break, calls, objects, python
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.language.exceptions import raise_
from suture.compiler.objects import Class, Constant, Group, List, Opaque, Raise, Tuple
from suture.compiler.objects.exception_group import group_of
from suture.compiler.objects.methods import method
from suture.runtime.exception_groups import NAKED_HAS_TRACEBACK, refusal

_NONE = Constant(None)


def new_group(trace: Trace, real: Any, args: list[Value], kwargs: dict[str, Value]) -> Group:
    """`ExceptionGroup(message, exceptions)`, of a list or tuple of exceptions. What the constructor
    refuses, Python is to refuse."""
    held = args[1] if len(args) == 2 and not kwargs else None
    if isinstance(held, (List, Tuple)):
        message, members = args[0], held.unpacked(trace)
        kinds = [one.python_type() for one in members if not isinstance(one, Opaque)]
        plain = all(issubclass(kind, Exception) for kind in kinds)
        known = message.python_type() is str and members and len(kinds) == len(members)
        if known and all(issubclass(k, BaseException) and not issubclass(k, type) for k in kinds):
            if plain or real is BaseExceptionGroup:
                cls = ExceptionGroup if plain else BaseExceptionGroup
                return Group(cls, list(args), members, isinstance(held, List))
    raise Break(
        calls.UNSUPPORTED_CALLABLE,
        callable=real.__name__,
        arguments=", ".join(a.describe() for a in args),
    )


def taken(trace: Trace, exc: Value, kind: Value) -> tuple[Value, Value]:
    """What `except* kind` takes of an exception, or of None, and what is left: None for nothing."""
    kinds = _classes(trace, kind)
    text = refusal(kinds)
    if text is not None:
        raise_(trace, TypeError, text)
    if exc.is_constant() and exc.constant() is None:
        return _NONE, _NONE
    cls = exc.python_type()
    if issubclass(cls, BaseExceptionGroup):
        _refuse_unknown(exc)
        return split(trace, exc, kinds)
    if not _matches(cls, kinds):
        return _NONE, exc
    made = group_of(Constant(""), [exc], listed=False)
    if NAKED_HAS_TRACEBACK:
        frame = trace.frames[-1]
        at = frame.code.instructions[frame.ip].lasti
        made.traceback.append((frame.code.code, frame.fn.globals, at))
    return made, _NONE


def _classes(trace: Trace, kind: Value) -> list[Any]:
    kinds = kind.unpacked(trace) if isinstance(kind, Tuple) else [kind]
    found: list[Any] = []
    for one in kinds:
        if isinstance(one, Opaque):
            raise Break(objects.UNKNOWN_OBJECT, operation="except*", object=one.describe())
        if isinstance(one, Class):
            found.append(one.value)
        else:
            found.append(one.constant() if one.is_constant() else None)
    return found


def _matches(cls: type, kinds: list[Any]) -> bool:
    return not set(kinds).isdisjoint(cls.__mro__)


def _refuse_unknown(exc: Value) -> None:
    """Python splits and joins groups that come from outside, or whose class is the program's."""
    if not isinstance(exc, Group):
        raise Break(python.STAR_EXCEPT, types=exc.describe())


def split(trace: Trace, exc: Value, kinds: list[Any]) -> tuple[Value, Value]:
    """The parts of an exception that are of these classes, and the others; None for nothing."""
    if _matches(exc.python_type(), kinds):
        return exc, _NONE
    if not issubclass(exc.python_type(), BaseExceptionGroup):
        return _NONE, exc
    _refuse_unknown(exc)
    assert isinstance(exc, Group)
    pairs = [split(trace, one, kinds) for one in exc.members.unpacked(trace)]
    return (
        _subset(trace, exc, [matched for matched, _ in pairs if matched is not _NONE]),
        _subset(trace, exc, [rest for _, rest in pairs if rest is not _NONE]),
    )


def _subset(trace: Trace, group: Group, members: list[Value]) -> Value:
    """A group of some of its members, with what is noted on the whole; None for none."""
    if not members:
        return _NONE
    made = group_of(group.message, members, listed=True)
    made.context, made.cause, made.suppress = group.context, group.cause, True
    made.traceback, made.left = list(group.traceback), list(group.left)
    made.of, made.shared = group, len(group.traceback)
    notes = group.attrs.get("__notes__")
    if isinstance(notes, (List, Tuple)):
        made.attrs["__notes__"] = List(list(notes.unpacked(trace)))
    elif notes is not None:
        raise Break(python.STAR_EXCEPT, types=group.describe())
    return made


def joined(trace: Trace, original: Value, excs: Value) -> Value:
    """What is raised behind the clauses of a `try`: of `excs`, which they raised or left."""
    items = list(abstract.unpack(trace, excs))
    if not items:
        return _NONE
    if not issubclass(original.python_type(), BaseExceptionGroup):
        first: Value = items[0]
        return first
    _refuse_unknown(original)
    assert isinstance(original, Group)
    same: list[Value] = []
    raised: list[Value] = []
    for one in items:
        if one.is_constant() and one.constant() is None:
            continue
        (same if _is_part(one, original) else raised).append(one)
    again = _projection(trace, original, _leaves(trace, same))
    if not raised:
        return again
    if again is not _NONE:
        raised.append(again)
    return raised[0] if len(raised) == 1 else group_of(Constant(""), raised, listed=True)


def _is_part(exc: Value, original: Group) -> bool:
    """Whether a clause left a part of the original, or raised it again as it came."""
    if not isinstance(exc, Raise):
        raise Break(python.STAR_EXCEPT, types=exc.describe())
    if not issubclass(exc.cls, BaseExceptionGroup):
        return False
    _refuse_unknown(exc)
    assert isinstance(exc, Group)
    if not (_is_same(exc.cause, original.cause) and _is_same(exc.context, original.context)):
        return False
    same = exc.is_same_traceback(original)
    if same is None:
        raise Break(python.STAR_EXCEPT, types=exc.describe())
    return same


def _is_same(left: Value | None, right: Value | None) -> bool:
    return (left or _NONE).identity() == (right or _NONE).identity()


def _leaves(trace: Trace, groups: list[Value]) -> list[Value]:
    found = []
    for one in groups:
        found += _leaves(trace, one.members.unpacked(trace)) if isinstance(one, Group) else [one]
    return found


def _projection(trace: Trace, exc: Value, leaves: list[Value]) -> Value:
    """The group without the exceptions that are not among `leaves`."""
    if not issubclass(exc.python_type(), BaseExceptionGroup):
        return exc if any(exc is one for one in leaves) else _NONE
    _refuse_unknown(exc)
    assert isinstance(exc, Group)
    kept = [_projection(trace, one, leaves) for one in exc.members.unpacked(trace)]
    return _subset(trace, exc, [one for one in kept if one is not _NONE])


# ---- methods


def _condition(trace: Trace, kind: Value) -> list[Any]:
    kinds = _classes(trace, kind)
    if not all(isinstance(k, type) and issubclass(k, BaseException) for k in kinds):
        raise Break(objects.UNKNOWN_OBJECT, operation="split by", object=kind.describe())
    return kinds


@method(Group, "split")
def group_split(self: Group, trace: Trace, kind: Value) -> Value:
    return Tuple(list(split(trace, self, _condition(trace, kind))))


@method(Group, "subgroup")
def group_subgroup(self: Group, trace: Trace, kind: Value) -> Value:
    return split(trace, self, _condition(trace, kind))[0]


@method(Group, "derive")
def group_derive(self: Group, trace: Trace, members: Value) -> Value:
    return new_group(trace, BaseExceptionGroup, [self.message, members], {})
