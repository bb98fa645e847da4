"""Continuing in CPython's own interpreter: the exit that always works."""

from __future__ import annotations

import inspect
import logging

# This way out must work also while the program has put something else in the place of builtins.
from builtins import dict, enumerate, isinstance, len, max, reversed, tuple, zip  # noqa: UP029
from collections.abc import Callable
from typing import Any

from suture import _core
from suture.bytecode import decode
from suture.errors import InternalError, SutureError
from suture.runtime.chain import Chain, FrameSpec, where
from suture.runtime.signals import is_of_handler
from suture.runtime.tracebacks import clean_traceback
from suture.torch_private import thread_state

_log = logging.getLogger("suture.runtime")


def interpret(chain: Chain, state: tuple[Any, ...], error: BaseException | None = None) -> Any:
    """Run the frames of a chain to their end, innermost first, each one's value going to the
    next. An exception (`error` from the start) goes through the frames as it would have gone up
    the stack. The outermost frame is left to the core, so that no frame of ours stays on the
    stack."""
    if chain[0].index == 0 and decode(chain[0].code).is_generator:
        return call_from_slots(state[0], state[1:])
    state, value, error = _run(chain, len(chain) - 1, state, error)
    return _leave(chain[-1], _leave_arguments(chain[-1], state, value, error, len(chain) > 1))


def must_raise(chain: Chain, *state: Any, otherwise: BaseException | None = None) -> Any:
    """The same where the trace found that the program raises; an error if it does not (`otherwise`
    or that the trace misread it). The frame of a generator is not its own to be run and looked at.
    """
    if chain[-1].resumed or decode(chain[-1].code).is_generator:
        return interpret(chain, state)
    _, value, error = _run(chain, len(chain), state, None)
    if error is None and otherwise is not None:
        error = otherwise
    elif error is None:
        kind = type(value).__name__
        raise InternalError(f"a program that was expected to raise returned a value ({kind})")
    context = error.__context__
    try:
        raise error
    finally:
        error.__context__ = context  # what the caller handles is not what it was raised in
        _core.strip_traceback(error, must_raise.__code__)


def _run(
    chain: Chain, count: int, state: tuple[Any, ...], error: BaseException | None
) -> tuple[tuple[Any, ...], Any, BaseException | None]:
    """Run the first `count` frames: the state that is left, the last one's value or exception."""
    value: Any = None
    for depth, spec in enumerate(chain[:count]):
        part, state = state[: spec.size], state[spec.size :]
        offset, slots, stack, function, exc, handled = _leave_arguments(
            spec, part, value, error, depth > 0
        )
        if handled is None:
            handled = _handled_outside(chain[depth + 1 :], state)
        frames = _core.SyntheticFrames(_callers(chain[depth + 1 :], state))
        try:
            value = frames(_core.enter, function, offset, slots, stack, exc, handled)
            error = None
        except BaseException as raised:
            _core.strip_traceback(raised, _run.__code__)
            error = raised
        if spec.deliver and error is None:
            value = part[-1]
    return state, value, error


def _callers(chain: Chain, state: tuple[Any, ...]) -> tuple[Any, ...]:
    """Where these frames are, outermost first: they wait for the one that is run."""
    positions = []
    for spec in chain:
        at = decode(spec.code).instructions[max(spec.index - 1, 0)].lasti
        positions.append((spec.code, state[0].__globals__, at))
        state = state[spec.size :]
    return tuple(reversed(positions))


def hooks_on_saved() -> bool:
    """Whether hooks of the program see the tensors that autograd saves."""
    return thread_state.saved_hooks_top(False) is not None


class AfterFailure:
    """What a variant does when its graph raises. Nothing has been put back yet, so the region is
    run from its start in the interpreter, and eager's own error comes up where eager raises it.
    What the handler of a signal raised meanwhile is raised at the region's start.
    A graph that has written to its inputs, or has talked to other ranks, which do not run theirs
    again, cannot be run again: its error is raised as it is. Nor
    can one while `watched()` says that hooks of the program see what it saves: the error may be
    theirs, as the one is with which a checkpoint stops computing again."""

    def __init__(self, chain: Chain, writes: bool, watched: Callable[[], bool]) -> None:
        self.chain = chain
        self.writes = writes
        self.watched = watched
        self.reported = False

    def __call__(self, exc: BaseException, *state: Any) -> Any:
        if isinstance(exc, SutureError):
            return interpret(self.chain, state, exc)
        watched = self.watched()
        failed = isinstance(exc, Exception) and not is_of_handler(exc)
        if failed and not self.writes and not watched:
            _log.debug("a graph raised; its region is run in the interpreter", exc_info=exc)
            return _core.jump(_AGAIN, self, exc, state)
        clean_traceback(exc)
        _drop_node_text(exc)
        if failed and not watched:
            exc.add_note(
                "raised inside a compiled graph that writes to its inputs or talks to other ranks,"
                " so the line is that of the graph's start; it may have done so already"
            )
        return interpret(self.chain, state, exc)

    def report(self, exc: BaseException) -> None:
        """Say once that the program did not raise where the graph did."""
        if not self.reported:
            self.reported = True
            function, file, line = where(self.chain)
            text = "%s (%s:%s): a graph raised %s; the program, run by the interpreter, did not"
            _log.warning(text, function, file, line, repr(exc), exc_info=exc)


def _drop_node_text(exc: BaseException) -> None:
    """Take away what torch.fx adds to the text of an error: the node of the graph that raised."""
    if exc.args and isinstance(exc.args[0], str) and _NODE_TEXT in exc.args[0]:
        exc.args = (exc.args[0].partition(_NODE_TEXT)[0], *exc.args[1:])


_NODE_TEXT = "\n\nWhile executing %"


def _again(failure: AfterFailure, exc: BaseException, state: tuple[Any, ...]) -> Any:
    """Run a region whose graph raised. Called by the core: the variant is off the stack by then,
    and what comes up here goes up from the program's frames."""
    chain = failure.chain
    if chain[-1].resumed or decode(chain[-1].code).is_generator:
        return interpret(chain, state)
    _, value, error = _run(chain, len(chain), state, None)
    if error is None:
        failure.report(exc)
        return value
    try:
        raise error
    finally:
        _core.strip_traceback(error, _again.__code__)


_AGAIN = _core.Point("after a graph that raised", lambda point, state: _again)


def call_from_slots(function: Any, slots: tuple[Any, ...]) -> Any:
    """Call a function, given the slots of its arguments. Of a generator or coroutine that is one
    which has not been started."""
    code = function.__code__
    names, at = code.co_varnames, code.co_argcount
    args = slots[:at]
    kwargs = dict(zip(names[at : at + code.co_kwonlyargcount], slots[at:]))
    at += code.co_kwonlyargcount
    if code.co_flags & inspect.CO_VARARGS:
        args += slots[at]
        at += 1
    if code.co_flags & inspect.CO_VARKEYWORDS:
        kwargs.update(slots[at])
    return function(*args, **kwargs)


def _leave(spec: FrameSpec, arguments: tuple[Any, ...]) -> Any:
    """To the core: a fresh frame of the function, or the generator's frame that is there."""
    if not spec.resumed:
        return _core.leave(*arguments)
    offset, slots, stack, _, exc, handled = arguments
    if spec.handling or not decode(spec.code).handled(spec.index):
        return _core.leave(offset, slots, stack, None, exc, handled)
    return _core.leave(offset, slots, stack, None, exc)


def _handled_outside(chain: Chain, state: tuple[Any, ...]) -> Any:
    """What the nearest of these frames that handles an exception handles."""
    at = 0
    for spec in chain:
        if spec.handling:
            return state[at + 1 + len(spec.live) + spec.depth]
        at += spec.size
    return None


def _leave_arguments(
    spec: FrameSpec, part: tuple[Any, ...], value: Any, error: BaseException | None, waiting: bool
) -> tuple[Any, ...]:
    """What `_core.leave` needs to know of one frame."""
    code = decode(spec.code)
    slots = [_core.UNBOUND] * len(code.localsplus)
    live = len(spec.live)
    for slot, held in zip(spec.live, part[1 : 1 + live]):
        slots[slot] = held
    stack = part[1 + live : 1 + live + spec.depth]
    handled = part[1 + live + spec.depth] if spec.handling else None
    offset, nulls = code.entry_of(spec.index)
    if error is not None:
        # a caller raises in its call; the innermost frame where it continues, in the blocks there
        offset = code.instructions[spec.index - waiting].lasti
    else:
        stack = (*stack, *(value,) * waiting, *(_core.UNBOUND,) * nulls)
    return offset, tuple(slots), tuple(stack), part[0], error, handled
