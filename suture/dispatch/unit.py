"""A unit: what one `suture.compile` call makes. It owns the points reached from it.

A miss at a point is answered here: trace again if the limits allow, else interpret.
"""

from __future__ import annotations

import functools
import math
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from suture import _core, backends, config, errors, events, stance, switches
from suture.breaks import Break, contexts, internal, tensors
from suture.bytecode import decode
from suture.compiler.capture import Return, Run, Yield
from suture.compiler.graph import forget_source
from suture.compiler.guards.names import called_module, place_of, slot_words, spoken
from suture.compiler.guards.reasons import most_frequent
from suture.compiler.guards.reasons import reason as reason_of
from suture.compiler.outside.tensor_free import state_is_tensor_free
from suture.compiler.sources import slot
from suture.dispatch import agreement, torch_state
from suture.dispatch.binding import copy_function, follow
from suture.dispatch.builtins_check import builtins_replaced
from suture.dispatch.family import family_of
from suture.dispatch.history import History
from suture.dispatch.leaving import Interpreting, Throwing
from suture.dispatch.uncompiled import THIS_CALL_PLAINLY
from suture.dispatch.unexpected import forget_after
from suture.hook import (
    Chain,
    call_plainly,
    chain_key,
    entry_chain,
    must_raise,
    resumed_chain,
    slot_names,
    where,
)
from suture.rules import sharded
from suture.torch_private import thread_state
from suture.torch_private.torchdynamo import hide


@dataclass(slots=True, eq=False, weakref_slot=True)
class Variant:
    """One compiled region of a point."""

    function: Any
    source: str
    guards: Any
    program: Any
    module: Any
    number: int
    exit: str = ""  # the kind of its exit; the values it left with are not kept
    ops: int = 0
    parameters: Any = None  # reads those of modules that are arguments
    bound: list[Any] = field(default_factory=list)  # copies for one module each
    own: bool = False  # it may go by itself: no other unit shares it
    caller: Any = None  # the way into its graph, if it has one
    general: bool = False  # it fits states for which others were made: those come first


@dataclass(slots=True, eq=False)
class PointData:
    """What a point remembers: its chain, its variants, its history."""

    chain: Chain
    history: History
    interpret_only: bool = False
    raises: bool = False  # the program raises here
    variants: list[Variant] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    given_up: bool = False
    offered: bool = False  # a function that compiled code called; nobody asked to compile it
    full_at: float = math.inf  # with so many variants there may be no more
    called: bool = False
    elsewhere: str = ""  # why other ranks compile, where this one would not
    watched: bool = False  # it was told that a mode sees each operation
    _interpreting: Any = None

    def __post_init__(self) -> None:
        self._interpreting = Interpreting(self.chain)

    def key(self) -> Any:
        """Under what the point is found."""
        return (self.interpret_only, self.raises, *chain_key(self.chain))

    @property
    def interpreting(self) -> Any:
        """What takes a state and goes on in the interpreter. Where the trace found that the
        program raises, strict mode makes sure that it does."""
        if self.raises and config.strict:
            return functools.partial(must_raise, self.chain)
        return self._interpreting


@dataclass(eq=False)
class Options:
    """What the user asked of `compile`."""

    backend: Any
    fullgraph: bool = False
    dynamic: bool | None = None
    recompile_limit: int | None = None
    name: str | None = None
    isolate: bool = False
    shapes: dict[str, Any] | None = None  # what `shapes_spec` says of the arguments, by path

    def key(self) -> tuple[Any, ...] | None:
        """What two calls of `compile` must have in common to share what they compile."""
        if self.isolate or self.shapes is not None:
            return None
        return (self.backend, self.fullgraph, self.dynamic, self.recompile_limit, self.name)


class Unit:
    """All points of one compiled function. `compiler(unit, point, data, state)` gives a Variant,
    or says what happens without one. `code` is what the user compiled, `module` what it is a
    method of."""

    def __init__(
        self, options: Options, compiler: Callable[..., Any], code: Any, module: Any = None
    ) -> None:
        self.options = options
        self.compiler = compiler
        self.code = code
        self.family = family_of(code, options.key())
        self.module = weakref.ref(module) if module is not None else _nothing
        self.family.join(self, module)
        self.points: dict[Any, Any] = {}
        self.overworked = 0  # regions that ended because tracing them took too much
        self.fruitless = 0  # regions without an operation; -1 once there was one with some
        self.called = False  # under a stance that does not compile the first call
        self.twins: dict[Any, Unit] = {}  # the same with other backends
        self.own: Unit | None = None  # whose twin this is
        self.plain: dict[int, Any] = {}  # code that was offered and has nothing to capture
        ALL.add(self)

    # ---- points

    def point(self, chain: Chain, interpret_only: bool = False, raises: bool = False) -> Any:
        """The Point of a chain; the same one each time."""
        key = (interpret_only, raises, *chain_key(chain))
        found = self.points.get(key)
        if found is None:
            name, _, line = where(chain)
            data = PointData(chain, self._history(chain), interpret_only, raises)
            found = _core.Point(f"{name}:{line}", self._on_miss, data)
            self.points[key] = found
        return found

    def _history(self, chain: Chain) -> History:
        """A new memory. The element a loop has just taken, and what a call that Python ran has
        given (a clock, a random number), change: a number there is a symbol from the start."""
        spec = chain[0]
        resumed = spec.index > 0 or len(chain) > 1
        made = History(self.options.dynamic, resumed=resumed)
        if self.options.shapes is not None and not resumed and spec.code is self.code:
            made.follow(self.options.shapes)
        code = decode(spec.code).instructions
        before = code[spec.index - 1].op if spec.depth and 0 < spec.index < len(code) else ""
        if before in ("FOR_ITER", "CALL"):
            # The innermost frame comes first: its slots are the state's.
            names = slot_names(chain)
            paths = [slot(i, names[i]).path() for i in map(spec.stack_slot, range(spec.depth))]
            made.changes(paths[-1])
            if before == "FOR_ITER":
                made.is_run_as_loop(paths[-2])
        return made

    def entry(self, code: Any) -> Any:
        """The point at the start of a function."""
        return self.point(entry_chain(code), decode(code).is_generator)

    def offered(self, code: Any) -> Any:
        """The same for a function that starts below compiled code; None: it runs plainly."""
        if id(code) in self.plain:
            return None
        known = len(self.points)
        point = self.entry(code)
        point.data.offered = len(self.points) > known or point.data.offered
        return point

    def worth_compiling(self, data: PointData, capture: Any, state: tuple[Any, ...]) -> bool:
        """False for a function that was only offered, or a generator that is resumed in a loop and
        yields there, which got no tensor and did nothing with one, and for one that was offered,
        broke and can meet none: it runs plainly from now on."""
        spec = data.chain[-1]
        resumed = spec.resumed and decode(spec.code).in_loop(spec.index)
        if not (data.offered or resumed):
            return True
        code = spec.code
        if isinstance(capture.exit, Run) and not resumed:
            plain = state_is_tensor_free(state)
        else:
            ends = isinstance(capture.exit, (Return, Yield) if resumed else Return)
            plain = (
                ends and not capture.graph.ops and not any(map(torch_state.holds_tensors, state))
            )
        if not plain:
            return True
        if resumed and any(v.ops for p in self._points_in(code) for v in p.data.variants):
            return True
        self.plain[id(code)] = code
        data.given_up = True
        _core.forget(code)
        return False

    def resumed(self, code: Any, offset: int) -> Any:
        """The point of a generator that is resumed behind the instruction at `offset`."""
        return None if id(code) in self.plain else self.point(resumed_chain(code, offset))

    def _points_in(self, code: Any) -> list[Any]:
        """The points of the frames of one code object, however deep they stand in calls."""
        return [p for p in list(self.points.values()) if p.data.chain[-1].code is code]

    def trace_allowance(self) -> float:
        """How many instructions a region may take before it must show operations: each that took
        too many leaves less to those that follow."""
        if self.options.fullgraph:
            return math.inf
        return max(config.trace_limit >> 2 * min(self.overworked, 10), _LEAST_TRACED)

    def with_backend(self, backend: Any) -> Unit:
        """The same unit with another backend; one for each."""
        found = self.twins.get(backend)
        if found is None:
            options = replace(self.options, backend=backends.configure(backend))
            found = self.twins[backend] = Unit(options, self.compiler, self.code, self.module())
            found.own, found.called = self, True
        return found

    # ---- misses

    def _on_miss(self, point: Any, state: tuple[Any, ...]) -> Any:
        data = point.data
        if data.interpret_only or data.given_up or _is_compiling() or switches.disabled():
            return data.interpreting
        if torch_state.are_fake(state):
            return data.interpreting
        if torch_state.user_modes() or builtins_replaced():
            self._tell_watched(point, data)
            return data.interpreting
        if len(data.variants) >= data.full_at or sharded.is_call(data.chain, state):
            return data.interpreting
        heard = agreement.missed(self, point, data, state)
        if heard is not None:
            return agreement.together(self, point, data, state, heard)
        return self.answer(point, data, state)

    def answer(self, point: Any, data: PointData, state: tuple[Any, ...]) -> Any:
        """What runs where no variant fits: one that is compiled now, or the interpreter."""
        adopted = self._adopt(point, data, state)
        if adopted is not None:
            return adopted.function
        if stance.current() == "aot_eager_then_compile" and not self.called:
            self.called = True
            data.history.see(dict(zip(slot_names(data.chain), state)))
            twin = self.with_backend("aot_eager")
            return twin._on_miss(twin.point(data.chain), state)
        if not self._may_compile(point, data, state):
            return data.interpreting
        if self.fruitless > config.fruitless_limit and self._is_plain(point, data, state):
            return data.interpreting
        seen = set(map(id, data.variants))
        with _LOCK:
            for variant in data.variants:  # another thread may have made it meanwhile
                if id(variant) not in seen and variant.program.check(*state):
                    return variant.function
            _COMPILING.on = True
            try:
                with switches.heard(point, len(data.variants)):
                    if self._over_limit(point, data, state):
                        return data.interpreting
                    if not data.variants:
                        self.family.prepare(self, data.key(), data.history, self.module())
                    variant = self.compiler(self, point, data, state)
            except errors.SutureError as error:
                if getattr(error, "number", "") == tensors.FAKE_FAILED.number:
                    # nearly always the program's own error: it is raised by the program
                    return functools.partial(must_raise, data.chain, otherwise=error)
                if data.chain[0].index:
                    return Throwing(data.chain, error)
                if not isinstance(error, errors.InternalError):
                    error.__traceback__ = None  # no frames of ours between the program's
                raise
            finally:
                _COMPILING.on = False
        if variant is THIS_CALL_PLAINLY and data.chain[0].index == 0:
            return call_plainly
        return variant.function if isinstance(variant, Variant) else data.interpreting

    def _adopt(self, point: Any, data: PointData, state: tuple[Any, ...]) -> Variant | None:
        """A variant that another unit made of the same code, if it holds here."""
        if len(self.family.units) < 2 or stance.current() == "force_eager":
            return None
        for other in self.family.other_points(self, data.key()):
            for variant in reversed(other.data.variants):
                if not variant.own and variant.program.check(*state):
                    with _LOCK:
                        return self._take(point, data, variant)
        return None

    def _take(self, point: Any, data: PointData, variant: Variant) -> Variant:
        """Add another unit's variant to a point."""
        reader, function = variant.parameters, variant.function
        if reader is not None:
            reader = reader.copy()
            function = copy_function(function, reader)
        number = len(data.variants)
        taken = replace(variant, function=function, parameters=reader, bound=[], number=number)
        self._add(point, data, taken)
        for guard in taken.guards.entries:
            if guard.kind == "weak":
                _forget_with(guard.arg(), point, taken)
        return taken

    def _is_plain(self, point: Any, data: PointData, state: tuple[Any, ...]) -> bool:
        """Many regions were compiled and none had an operation: what gets no tensor is left to
        Python."""
        if self.options.fullgraph or any(torch_state.holds_tensors(v) for v in state):
            return False
        if not data.called:
            data.called = True
            function, file, line = where(data.chain)
            reason = Break(internal.NO_OPERATIONS, count=str(self.fruitless))
            place = events.Where(function, file, line or 0)
            events.emit(events.Interpreted(place, str(reason), reason.number, point=point.name))
        return True

    def _tell_watched(self, point: Any, data: PointData) -> None:
        """Say once why nothing is compiled here while a mode sees each operation."""
        if data.watched or not thread_state.dispatch_stack_length():
            return
        data.watched = True
        function, file, line = where(data.chain)
        mode = type(thread_state.dispatch_stack_at(thread_state.dispatch_stack_length() - 1))
        reason = Break(contexts.MODE_AROUND, mode=mode.__name__)
        place = events.Where(function, file, line or 0)
        events.emit(events.Interpreted(place, str(reason), reason.number, point=point.name))

    def _may_compile(self, point: Any, data: PointData, state: tuple[Any, ...]) -> bool:
        """Whether the stance lets this miss compile; raises where it is an error."""
        match stance.current():
            case "force_eager" | "eager_on_recompile":
                return False
            case "fail_on_recompile":
                raise errors.RecompileError(self._refusal(point, data, state))
            case "eager_then_compile" if not self.called:
                self.called = True
                data.history.see(dict(zip(slot_names(data.chain), state)))
                return False
        return True

    def _refusal(self, point: Any, data: PointData, state: tuple[Any, ...]) -> str:
        function, file, line = where(data.chain)
        head = f'the stance is "fail_on_recompile", and {function} ({file}:{line})'
        if not data.variants:
            return f"{head} is not compiled yet"
        reasons = [f"  {self.explain_miss(data, v, state)}" for v in reversed(data.variants)]
        return "\n".join([f"{head} would compile again; the guards that fail:", *reasons])

    def _over_limit(self, point: Any, data: PointData, state: tuple[Any, ...]) -> bool:
        """Note why the variants did not fit; True if there may be no more of them."""
        count = len(data.variants)
        if not count:
            return False
        reasons = tuple(self.explain_miss(data, v, state) for v in reversed(data.variants))
        data.reasons.append(reasons[0])
        place = place_of(data.chain, type(state[1]) if len(state) > 1 else None)
        function = place.function
        if config.error_on_recompile:
            head = (
                f"{function} ({place.file}:{place.line}) would compile again, which "
                "error_on_recompile forbids"
            )
            raise errors.RecompileError("\n".join([head, *(f"  {one}" for one in reasons)]))
        if count < self._limit() and self._accumulated(data) < config.accumulated_recompile_limit:
            events.emit(events.Recompiled(place, reasons, count, point=point.name))
            return False
        guard = most_frequent(data.reasons)
        reason = Break(
            internal.RECOMPILE_LIMIT, function=function, count=str(count), guard=guard
        )  # fmt: skip
        text = "\n".join([str(reason), *(f"  hint: {hint}" for hint in reason.hints())])
        if self.options.fullgraph or config.fail_on_recompile_limit:
            raise errors.RecompileLimitExceeded(text)
        data.full_at = count
        events.emit(events.Interpreted(place, text, reason.number, point=point.name))
        return True

    def _limit(self) -> int:
        limit = self.options.recompile_limit
        return config.recompile_limit if limit is None else limit

    def _accumulated(self, data: PointData) -> int:
        """How many variants all points in the same code have together."""
        code = data.chain[0].code
        return sum(
            len(p.data.variants) for p in list(self.points.values()) if p.data.chain[0].code is code
        )

    def explain_miss(self, data: PointData, variant: Variant, state: tuple[Any, ...]) -> str:
        """The guard of a variant that fails on this state, in the user's terms."""
        found = variant.program.explain(*state)
        if found is None:
            return data.elsewhere or "the variant is gone"
        number, text = found
        entries = variant.guards.entries
        if not 0 <= number < len(entries):
            return str(text)
        module = called_module(data.chain, type(state[1]) if len(state) > 1 else None)
        return spoken(reason_of(entries[number], text), slot_words(data.chain), module)

    def forbids_breaks(self, asked: bool | None) -> bool:
        """Whether a break is an error; `asked` is what the program says of it. As in torch, a
        full graph is full whatever the program says."""
        return self.options.fullgraph or bool(asked)

    # ---- variants

    def install(
        self, point: Any, data: PointData, capture: Any, emitted: Any, program: Any
    ) -> Variant:
        """Add a variant to a point; it goes when an object it depends on is freed."""
        variant = Variant(
            emitted.function,
            emitted.source,
            capture.guards,
            program,
            emitted.module,
            len(data.variants),
            type(capture.exit).__name__,
            capture.graph.ops,
            emitted.parameters,
            caller=emitted.caller,
            general=capture.general,
        )
        if capture.graph.ops:
            self.fruitless = -1
        elif self.fruitless >= 0:
            self.fruitless += 1
        self._add(point, data, variant)
        if emitted.checks is not None:
            variant.own = True
            if not self.options.fullgraph:  # a break instead would be an error
                emitted.checks.tell = forget_after(capture.checks, point, variant, _drop)
        for guard in capture.guards.entries:
            if guard.kind == "weak":
                _forget_with(guard.arg, point, variant)
                guard.arg = weakref.ref(guard.arg)
        return variant

    def _add(self, point: Any, data: PointData, variant: Variant) -> None:
        data.variants.append(variant)
        point.add(variant.function, variant.program, variant.general)
        follow(point, variant)

    def clear(self) -> None:
        """Forget everything compiled."""
        self.overworked = 0
        self.fruitless = 0
        self.called = self.own is not None
        for point in self.points.values():
            for variant in list(point.data.variants):
                _drop(point, variant)
            point.data.reasons.clear()
            point.data.given_up = False
            point.data.full_at = math.inf
            point.data.called = False
            point.data.history = self._history(point.data.chain)


def _is_compiling() -> bool:
    """Whether this call comes from a compilation in this thread, of an operator's kernel say."""
    return getattr(_COMPILING, "on", False)


def _drop(point: Any, variant: Variant) -> None:
    """Take a variant out of its point."""
    point.data.variants.remove(variant)
    for function in (variant.function, *variant.bound):
        point.remove(function)
    variant.bound.clear()
    if variant.module is not None:
        forget_source(variant.module)


def _forget_with(obj: Any, point: Any, variant: Variant) -> None:
    """Drop the variant when `obj` is freed, so that it keeps nothing of it alive."""
    ref = weakref.ref(point)

    def forget() -> None:
        at = ref()
        if at is not None and variant in at.data.variants:
            _drop(at, variant)

    weakref.finalize(obj, forget).atexit = False


def _nothing() -> None:
    """Stands for a weak reference to no module."""


_LEAST_TRACED = 2_000
ALL: weakref.WeakSet[Unit] = weakref.WeakSet()
_LOCK = threading.RLock()
_COMPILING = threading.local()
hide(Unit._on_miss.__code__)
