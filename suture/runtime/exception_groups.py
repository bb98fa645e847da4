"""What `except*` does to real exceptions: it splits groups, and joins what is left to be raised."""

from __future__ import annotations

import types
from typing import Any

from suture import _core

_NOT_A_CLASS = "catching classes that do not inherit from BaseException is not allowed"
_A_GROUP = "catching ExceptionGroup with except* is not allowed. Use except instead."


def _has_traceback() -> bool:
    found: list[Any] = []
    try:
        raise ValueError
    except* ValueError as group:
        found.append(group.__traceback__)
    return found[0] is not None


# Whether the group that this Python puts around a naked exception shows where it was made.
NAKED_HAS_TRACEBACK = _has_traceback()


def refusal(kinds: list[Any]) -> str | None:
    """What is wrong with what stands behind `except*`, or None."""
    if not all(isinstance(k, type) and BaseException in k.__mro__ for k in kinds):
        return _NOT_A_CLASS
    if any(BaseExceptionGroup in kind.__mro__ for kind in kinds):
        return _A_GROUP
    return None


def check_eg_match(
    position: tuple[types.CodeType, dict[str, Any], int], exc: Any, kind: Any
) -> tuple[Any, Any]:
    """CHECK_EG_MATCH at `position`: what is left of `exc` behind the clause, and what it takes."""
    kinds = list(kind) if isinstance(kind, tuple) else [kind]
    text = refusal(kinds)
    if text is not None:
        raise TypeError(text)
    if exc is None:
        return None, None
    if not set(kinds).isdisjoint(type(exc).__mro__):
        if isinstance(exc, BaseExceptionGroup):
            return None, exc
        group = BaseExceptionGroup("", (exc,))
        if NAKED_HAS_TRACEBACK:
            _core.add_traceback(group, *position)
        return None, group
    if not isinstance(exc, BaseExceptionGroup):
        return exc, None
    parts: Any = exc.split(kind)
    if not isinstance(parts, tuple):
        name = f"{type(exc).__name__}.split must return a tuple, not {type(parts).__name__}"
        raise TypeError(name)
    if len(parts) < 2:
        raise TypeError(
            f"{type(exc).__name__}.split must return a 2-tuple, got tuple of size {len(parts)}"
        )
    return parts[1], parts[0]


def prep_reraise_star(original: BaseException, excs: list[Any]) -> BaseException | None:
    """PREP_RERAISE_STAR: what is raised behind the clauses, of `excs` that they raised or left."""
    if not isinstance(original, BaseExceptionGroup) or not excs:
        return excs[0] if excs else None
    left = [e for e in excs if e is not None]
    same = [e for e in left if _has_metadata(e, original)]
    raised = [e for e in left if not _has_metadata(e, original)]
    again: BaseException | None = _projection(original, same)
    if not raised:
        return again
    if again is not None:
        raised.append(again)
    return raised[0] if len(raised) == 1 else BaseExceptionGroup("", raised)


def _has_metadata(exc: BaseException, original: BaseException) -> bool:
    """Whether a group is a part of the original that is raised as it came."""
    return (
        isinstance(exc, BaseExceptionGroup)
        and exc.__traceback__ is original.__traceback__
        and exc.__cause__ is original.__cause__
        and exc.__context__ is original.__context__
    )


def _projection(original: BaseExceptionGroup[Any], parts: list[Any]) -> Any:
    """The original without the exceptions that are in none of its parts."""
    leaves: set[int] = set()
    for part in parts:
        _add_leaves(part, leaves)
    # a derive of the class's own is called for what is kept, as CPython does
    return BaseExceptionGroup.subgroup(
        original, lambda e: not isinstance(e, BaseExceptionGroup) and id(e) in leaves
    )


def _add_leaves(exc: BaseException, leaves: set[int]) -> None:
    if not isinstance(exc, BaseExceptionGroup):
        leaves.add(id(exc))
        return
    for one in exc.exceptions:
        _add_leaves(one, leaves)


def share_traceback(part: BaseException, of: BaseException, later: int) -> None:
    """A part of a group has the group's traceback, without the `later` entries that the group has
    got since."""
    entry = of.__traceback__
    for _ in range(later):
        if entry is not None:
            entry = entry.tb_next
    part.__traceback__ = entry
