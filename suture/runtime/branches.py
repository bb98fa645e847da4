"""Which way branches on data went in the calls so far, and which are expected to go so again.

A variant that ends at such a branch tells the way Python went. What a branch did in one outermost
call is a sequence of truths; one that was the same in `config.speculate_after` calls is expected.
"""

from __future__ import annotations

from types import CodeType

from suture import _core, config

Position = tuple[CodeType, int]  # an instruction: code object and index
_LONGEST = 256  # decisions of one branch in one call that are remembered
_WINDOW = 256  # calls in which a branch may turn `_TURNS` times
_TURNS = 2
_MOST_TRIES = 3  # so often a branch may be given up before it is left a break
_MOST_CHANGES = 64  # calls that went another way than the one before, with none expected between


class _Seen:
    """What is known of one branch. `way`: what it did in each of the last `calls` calls, of which
    `call` is under way with `now`; `changes`: how often that was another way than before; `failed`:
    the calls in which it was expected wrongly; `tries`: how often that was too often."""

    __slots__ = ("call", "calls", "changes", "failed", "now", "tries", "way")

    def __init__(self, call: int) -> None:
        self.call = call
        self.now: list[bool] = []
        self.way: tuple[bool, ...] = ()
        self.calls = 0
        self.changes = 0
        self.failed: list[int] = []
        self.tries = 0

    def begin(self, call: int) -> None:
        """A call begins: what the last one did counts now."""
        if call == self.call:
            return
        way = _shortest(self.now)
        self.calls = self.calls + 1 if way == self.way else 1
        self.way, self.now, self.call = way, [], call
        self.changes = 0 if self.is_steady() else self.changes + (self.calls == 1)
        if self.changes > _MOST_CHANGES:
            self.tries = _MOST_TRIES

    def is_steady(self) -> bool:
        enough = config.speculate_after << 2 * self.tries
        return bool(self.way) and 0 < enough <= self.calls and self.tries < _MOST_TRIES


def _shortest(truths: list[bool]) -> tuple[bool, ...]:
    """A way that is always the same is one truth, however often the branch was come to; one that
    is too long to be remembered is none."""
    if len(set(truths)) == 1:
        return (truths[0],)
    return tuple(truths) if len(truths) <= _LONGEST else ()


class Branches:
    """The branches on data that one unit came to."""

    def __init__(self) -> None:
        self._seen: dict[Position, _Seen] = {}
        self._speculated_in = -1

    def may_speculate(self) -> bool:
        """Whether a variant may be made a fallback now: the first one in a call, since the one that
        speculates goes through the regions that follow."""
        call = _core.outermost_calls()
        first, self._speculated_in = self._speculated_in != call, call
        return first

    def saw(self, position: Position, truth: bool) -> bool:
        """Python went this way; whether the branch is expected to go as before from now on."""
        call = _core.outermost_calls()
        seen = self._seen.get(position)
        if seen is None:
            seen = self._seen[position] = _Seen(call)
        seen.begin(call)
        if len(seen.now) <= _LONGEST:
            seen.now.append(truth)
        return seen.is_steady()

    def is_unpredictable(self, position: Position) -> bool:
        """Whether nothing is expected of a branch any more: nobody need say how it goes."""
        seen = self._seen.get(position)
        return seen is not None and seen.tries >= _MOST_TRIES

    def expected(self) -> dict[Position, tuple[bool, ...]]:
        """The branches that are expected to go as before, and how: one truth for all decisions,
        or one for each of those that follow the start of a call."""
        call = _core.outermost_calls()
        known = list(self._seen.items())  # another thread may see a new branch meanwhile
        for _, seen in known:
            seen.begin(call)
        return {position: seen.way for position, seen in known if seen.is_steady()}

    def failed(self, position: Position) -> bool:
        """The branch was expected wrongly; whether it is given up: it must be steady for longer
        before anything is expected of it again."""
        call = _core.outermost_calls()
        seen = self._seen.get(position)
        if seen is None:
            return True
        seen.failed = [c for c in seen.failed if call - c < _WINDOW] + [call]
        if len(seen.failed) > _TURNS:
            seen.tries += 1
            seen.calls, seen.way, seen.failed = 0, (), []
        return not seen.is_steady()
