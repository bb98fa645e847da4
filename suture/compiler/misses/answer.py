"""A miss: trace again if the stance and the limits allow, else interpret."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from suture import config, errors, stance, switches
from suture._core import call_plainly
from suture.breaks import Break, contexts, internal
from suture.compiler.misses import interpreted, limits
from suture.compiler.misses.history import history_of
from suture.compiler.misses.left_to_python import left_to_python, region_limit
from suture.compiler.misses.long_python import meets_no_tensor, note_in_vain, runner
from suture.compiler.misses.reasons import explain_miss
from suture.runtime import must_raise, slot_names, torch_state, where
from suture.runtime.leaving import Throwing
from suture.runtime.points import PointData, Variant
from suture.runtime.signals import interruptible
from suture.runtime.uncompiled import THIS_CALL_PLAINLY, Uncompiled
from suture.runtime.unit import COMPILING, LOCK, Unit
from suture.torch_private import thread_state
from suture.torch_private.torchdynamo import hide

Compile = Callable[[Unit, Any, tuple[Any, ...]], Variant | Uncompiled]


def answer(unit: Unit, point: Any, state: tuple[Any, ...], compile: Compile) -> Any:
    """What takes the state: a variant that `compile(unit, point, state)` gives, or what the
    interpreter does instead."""
    data = point.data
    plainly = runner(data, state)
    if plainly is not None:
        return plainly
    history = history_of(unit, data)
    if stance.current() == "aot_eager_then_compile" and not unit.called:
        unit.called = True
        history.see(dict(zip(slot_names(data.chain), state)))
        twin = unit.with_backend("aot_eager")
        return twin.on_miss(twin.point(data.chain), state)
    if not _may_compile(unit, data, state):
        return data.interpreting
    plainly = left_to_python(unit, point, state)
    if plainly is not None:
        return plainly
    if unit.empty_regions > region_limit(unit) and _is_plain(unit, point, data, state):
        return data.interpreting
    if data.variants and _is_traced_in_vain(unit, data, state):
        note_in_vain(data, state)
        return runner(data, state) or data.interpreting
    seen = set(map(id, data.variants))
    with LOCK:
        for variant in data.variants:  # another thread may have made it meanwhile
            if id(variant) not in seen and variant.program.check(*state):
                return variant.function
        COMPILING.on = True
        try:
            with switches.heard(point, len(data.variants)):
                if limits.over_limit(unit, point, data, state):
                    return data.interpreting
                _prepare(unit, data)
                with interruptible():
                    made = compile(unit, point, state)
        except errors.RaisedWhileCompiling as error:
            if data.chain[0].index:
                return Throwing(data.chain, error.raised)
            raise error.raised from None
        except errors.SutureError as error:
            if isinstance(error, errors.Unsupported) and error.eager_may_raise:
                return functools.partial(must_raise, data.chain, otherwise=error)
            if data.chain[0].index:
                return Throwing(data.chain, error)
            raise
        finally:
            COMPILING.on = False
    if made is THIS_CALL_PLAINLY and data.chain[0].index == 0:
        return call_plainly
    return made.function if isinstance(made, Variant) else data.interpreting


def _prepare(unit: Unit, data: PointData) -> None:
    """Before a variant is traced: is the point for one module, which its first variant decides, and
    did other units compile the same, so that what differs between them is a symbol? Of a single
    other unit that is said of the ints of modules alone, such as the number of a layer, and of the
    lengths of lists."""
    family, history = unit.family, history_of(unit, data)
    if not data.variants:
        alone = len(family.modules) < 2
        history.bind(unit.module() if alone else None)
    others = [point.data.history for point in family.other_points(unit, data.key())]
    for other in others:
        if other is not None:
            history.learn(other, everything=len(others) >= _ENOUGH)


_ENOUGH = 2


def _is_traced_in_vain(unit: Unit, data: PointData, state: tuple[Any, ...]) -> bool:
    """Whether a variant more would be one more without a tensor: each value that is new to a point
    which can meet none would be traced, for what Python does at once."""
    if unit.options.fullgraph or config.error_on_recompile:
        return False
    return meets_no_tensor(data.chain, state)


def _is_plain(unit: Unit, point: Any, data: PointData, state: tuple[Any, ...]) -> bool:
    """Many regions were compiled and none had an operation: what gets no tensor is left to
    Python."""
    if unit.options.fullgraph or any(torch_state.holds_tensors(v) for v in state):
        return False
    if not data.no_operations_reported:
        data.no_operations_reported = True
        interpreted.report(point, Break(internal.NO_OPERATIONS, count=str(unit.empty_regions)))
    return True


def report_mode(point: Any) -> None:
    """Report that nothing is compiled here while a TorchDispatchMode sees each operation."""
    mode = type(thread_state.dispatch_stack_at(thread_state.dispatch_stack_length() - 1))
    interpreted.report(point, Break(contexts.MODE_AROUND, mode=mode.__name__))


def _may_compile(unit: Unit, data: PointData, state: tuple[Any, ...]) -> bool:
    """Whether the stance lets this miss compile; raises where it is an error."""
    match stance.current():
        case "force_eager" | "eager_on_recompile":
            return False
        case "fail_on_recompile":
            raise errors.RecompileError(_refusal(data, state))
        case "eager_then_compile" if not unit.called:
            unit.called = True
            history_of(unit, data).see(dict(zip(slot_names(data.chain), state)))
            return False
    return True


def _refusal(data: PointData, state: tuple[Any, ...]) -> str:
    function, file, line = where(data.chain)
    head = f'the stance is "fail_on_recompile", and {function} ({file}:{line})'
    if not data.variants:
        return f"{head} is not compiled yet"
    reasons = [f"  {explain_miss(data, v, state)}" for v in reversed(data.variants)]
    return "\n".join([f"{head} would compile again; the guards that fail:", *reasons])


hide(answer.__code__)
