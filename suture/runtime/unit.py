"""A unit: what one `suture.compile` call makes. It owns the points reached from it.

A miss at a point is first answered from what is there: the interpreter where nothing may be
compiled, a variant of another unit. Then the compiler is asked.
"""

from __future__ import annotations

import math
import threading
import weakref
from dataclasses import replace
from typing import Any

from suture import _core, config, stance, switches
from suture.bytecode import decode
from suture.errors import InternalError, SutureError
from suture.members import Members
from suture.runtime import agreement, sharded, torch_state
from suture.runtime.binding import copy_function, follow
from suture.runtime.branches import Branches, Position
from suture.runtime.builtins_check import builtins_replaced
from suture.runtime.chain import Chain, chain_key, entry_chain, resumed_chain, where
from suture.runtime.fallbacks import fallback_for
from suture.runtime.family import family_of
from suture.runtime.points import Compiler, Options, PointData, Variant, try_remove
from suture.torch_private import thread_state
from suture.torch_private.graph_modules import forget_source
from suture.torch_private.torchdynamo import hide

ALL: Members[Unit] = Members()
LOCK = threading.RLock()  # one compilation at a time; variants are added under it
COMPILING = threading.local()  # `on` while this thread compiles


class Unit:
    """All points of one compiled function. `code` is what the user compiled, `module` what it is a
    method of."""

    def __init__(self, options: Options, compiler: Compiler, code: Any, module: Any = None) -> None:
        self.options = options
        self.compiler = compiler
        self.code = code
        self.family = family_of(code, options.key())
        self.module = weakref.ref(module) if module is not None else _nothing
        self.points: dict[Any, Any] = {}
        self.overworked = 0  # regions that ended because tracing them took too much
        self.empty_regions = 0  # regions without an operation; -1 once there was one with some
        self.unread = False  # it seems to lead to no tensor, but not all of it can be read
        self.small_graph_time = 0.0  # seconds, by the backend, for graphs after breaks
        self.optional_bodies = 0  # in its graphs: the program may skip them
        self.yields: set[Position] = set()  # those that were reported
        self.called = False  # under a stance that does not compile the first call
        self.twins: dict[Any, Unit] = {}  # the same with other backends
        self.own: Unit | None = None  # whose twin this is
        self.branches = Branches()
        self.shipped: Any = None  # what `suture.load` read for it
        self.plain: dict[int, Any] = {}  # implicit code that has nothing to capture
        # Other threads find it from here on, so it is whole.
        self.family.join(self, module)
        ALL.add(self)

    # ---- points

    def point(self, chain: Chain, interpret_only: bool = False, raises: bool = False) -> Any:
        """The Point of a chain; the same one each time."""
        key = (interpret_only, raises, *chain_key(chain))
        found = self.points.get(key)
        if found is None:
            name, _, line = where(chain)
            data = PointData(chain, interpret_only=interpret_only, raises=raises)
            found = _core.Point(f"{name}:{line}", self.on_miss, data)
            self.points[key] = found
        return found

    def entry(self, code: Any) -> Any:
        """The point at the start of a function."""
        return self.point(entry_chain(code), decode(code).is_generator)

    def implicit_entry(self, code: Any) -> Any:
        """The same for a function that starts below compiled code; None: it runs plainly."""
        if id(code) in self.plain:
            return None
        known = len(self.points)
        point = self.entry(code)
        point.data.implicit = len(self.points) > known or point.data.implicit
        return point

    def resumed(self, code: Any, offset: int) -> Any:
        """The point of a generator that is resumed after the instruction at `offset`."""
        return None if id(code) in self.plain else self.point(resumed_chain(code, offset))

    def points_in(self, code: Any) -> list[Any]:
        """The points of the frames of one code object, however deep they are in calls."""
        return [p for p in list(self.points.values()) if p.data.chain[-1].code is code]

    def with_backend(self, backend: Any) -> Unit:
        """The same unit with another backend; one for each."""
        found = self.twins.get(backend)
        if found is None:
            options = replace(self.options, backend=self.compiler.configure(backend))
            found = self.twins[backend] = Unit(options, self.compiler, self.code, self.module())
            found.own, found.called = self, True
        return found

    def forbids_breaks(self, asked: bool | None) -> bool:
        """Whether a break is an error; `asked` is what the program says of it. As in torch, a
        full graph is full whatever the program says."""
        return self.options.fullgraph or bool(asked)

    def expected(self) -> dict[Any, tuple[bool, ...]]:
        """Branches on data that are expected to go as in earlier calls."""
        return {} if self.options.fullgraph else self.branches.expected()

    # ---- misses

    def on_miss(self, point: _core.Point, state: tuple[Any, ...]) -> Any:
        """What takes a state that fits no variant of the point."""
        data = point.data
        if data.fallbacks:
            kept = fallback_for(self, point, state, _is_compiling())
            if kept is not None:
                return kept.function
        if data.interpret_only or data.never_compiles or _is_compiling() or switches.disabled():
            return data.interpreting
        if torch_state.are_fake(state):
            return data.interpreting
        if torch_state.user_modes() or builtins_replaced():
            if not data.mode_reported and thread_state.dispatch_stack_length():
                data.mode_reported = True
                self.compiler.report_mode(point)
            return data.interpreting
        if len(data.variants) >= data.full_at or sharded.is_call(data.chain, state):
            return data.interpreting
        try:
            heard = agreement.missed(self, point, data, state)
            if heard is not None:
                return agreement.together(self, point, data, state, heard)
            return self.answer(point, data, state)
        except SutureError as error:
            if not isinstance(error, InternalError):
                # It leaves suture here: no frames of ours between the program's. A bare `raise`
                # adds none for this one.
                error.__traceback__ = None
            raise

    def answer(self, point: _core.Point, data: PointData, state: tuple[Any, ...]) -> Any:
        """What runs where no variant fits: another unit's, one that is compiled now, or the
        interpreter."""
        adopted = self._adopt(point, data, state)
        if adopted is not None:
            return adopted.function
        if (config.cache_dir or self.shipped) and stance.current() in _USES_CACHE:
            stored = self.compiler.stored(self, point, state)
            if stored is not None:
                return stored.function
        return self.compiler.answer(self, point, state)

    def _adopt(self, point: _core.Point, data: PointData, state: tuple[Any, ...]) -> Variant | None:
        """A variant that another unit made of the same code, if it holds here."""
        if len(self.family.units) < 2 or stance.current() == "force_eager":
            return None
        for other in self.family.other_points(self, data.key()):
            for variant in reversed(other.data.variants):
                if not variant.own and variant.program.check(*state):
                    with LOCK:
                        return self._take(point, data, variant)
        return None

    def _take(self, point: _core.Point, data: PointData, variant: Variant) -> Variant:
        """Add another unit's variant to a point."""
        reader, function = variant.parameters, variant.function
        if reader is not None:
            reader = reader.copy()
            function = copy_function(function, reader)
        number = len(data.variants)
        taken = replace(variant, function=function, parameters=reader, bound=[], number=number)
        self.add(point, taken)
        return taken

    # ---- variants

    def add(self, point: _core.Point, variant: Variant) -> None:
        """Add a variant to a point; it goes when an object it depends on is freed. Its guards hold
        such objects weakly from now on."""
        point.data.variants.append(variant)
        point.add(variant.function, variant.program, variant.general)
        follow(point, variant)
        for guard in variant.guards.entries:
            if guard.kind == "weak":
                if not isinstance(guard.arg, weakref.ref):
                    guard.arg = weakref.ref(guard.arg)
                _forget_with(guard.arg(), point, variant)

    def clear(self) -> None:
        """Forget everything compiled."""
        self.overworked = 0
        self.empty_regions = 0
        self.unread = False
        self.branches = Branches()
        self.small_graph_time = 0.0
        self.optional_bodies = 0
        self.yields.clear()
        self.called = self.own is not None
        for point in list(self.points.values()):
            for variant in list(point.data.variants):
                drop(point, variant)
            point.data.fallbacks.clear()
            point.data.reasons.clear()
            point.data.never_compiles = False
            point.data.full_at = math.inf
            point.data.no_operations_reported = False
            point.data.plain = None
            for _ in range(point.data.left_under):
                try_remove(point, _core.call_plainly)
            point.data.left = point.data.left_under = 0
            point.data.left_recently.clear()
            point.data.history = None
            point.data.stored.clear()
            point.data.unkept.clear()


def _is_compiling() -> bool:
    """Whether this call comes from a compilation in this thread, of an operator's kernel say."""
    return getattr(COMPILING, "on", False)


def drop(point: _core.Point, variant: Variant) -> bool:
    """Take a variant out of its point. False: it is out already, because another thread, or the
    end of an object that it depends on, came first."""
    if not try_remove(point.data.variants, variant):
        return False
    for function in (variant.function, *variant.bound):
        try_remove(point, function)
    variant.bound.clear()
    if variant.module is not None:
        forget_source(variant.module)
    return True


def _forget_with(obj: Any, point: _core.Point, variant: Variant) -> None:
    """Drop the variant when `obj` is freed, so that it keeps nothing of it alive. Until then `obj`
    keeps nothing of the variant alive either: it may have been dropped with another object."""
    ref, own = weakref.ref(point), weakref.ref(variant)

    def forget() -> None:
        at, dropped = ref(), own()
        if at is not None and dropped is not None and not drop(at, dropped):
            try_remove(at.data.fallbacks, dropped)

    weakref.finalize(obj, forget).atexit = False


# Stances under which a variant that is not there yet may be added.
_USES_CACHE = ("default", "eager_then_compile", "aot_eager_then_compile")


def _nothing() -> None:
    """Stands for a weak reference to no module."""


hide(Unit.on_miss.__code__)
