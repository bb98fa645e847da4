"""The symbolic interpreter: runs the frames of a region until it must stop."""

from __future__ import annotations

import itertools
import math
import sys
from typing import Any

from suture import _core, config
from suture.breaks import Break, calls, control_flow, internal, tensor_methods
from suture.bytecode import decode
from suture.calls import PARTS
from suture.calls.language.exceptions import Ambient
from suture.calls.operations.checks import Check
from suture.calls.stdlib.draws import Draw
from suture.calls.strictness import Strictness
from suture.calls.tensor_classes.overrides import torch_functions_on
from suture.capture import Again, Capture, Interpret, Return, Run, Yield
from suture.effects import Effects
from suture.graph import GraphBuilder
from suture.guards import Guards
from suture.hook import Chain, slot_names
from suture.sources import Source, slot
from suture.torch_private import MissingName
from suture.tracer.frame import Frame, Pending, line_text
from suture.tracer.opcodes import HANDLERS
from suture.variables import NULL, Lazy, Opaque, Raise, Raised


class Restart(Exception):
    """Trace the region again and stop before instruction number `step`."""

    def __init__(self, step: int, exit: Any) -> None:
        super().__init__(step)
        self.step = step
        self.exit = exit


class Uncaught(Exception):
    """The program raises here and no frame of the region handles it."""


class Tracer(*PARTS):  # type: ignore[misc]
    """Runs one region. `history` remembers what changed between earlier calls of this point;
    `forced` is (step, exit) when an earlier try found that it must stop there; `modes` are the
    modes of torch functions that were active, outermost first."""

    def __init__(
        self,
        chain: Chain,
        state: tuple[Any, ...],
        history: Any,
        forced: Any = None,
        modes: list[Any] | None = None,
    ) -> None:
        self.chain = chain
        self.history = history
        self.forced_step: int = -1 if forced is None else forced[0]
        self.forced_exit: Any = None if forced is None else forced[1]
        self.graph = GraphBuilder(without_data=history.without_data)
        self.guards = Guards()
        self.effects = Effects()
        self.frames: list[Frame] = []
        self.modes: list[Any] = []
        self.checks: list[Check] = []
        self.draws: list[Draw] = []
        self.mapped = 0
        self.waiting: dict[int, Any] = {}  # generators in the midst of their elements
        self.unwound: list[Frame] = []  # frames that exceptions have left
        self.transforms: list[str] = []  # of torch.func, whose bodies are being traced
        self.copied: list[Any] = []  # parameters that share their memory with something
        self.strictness = Strictness()
        self.restores: list[Any] = []  # undo what was really switched while tracing
        self.asks = False  # whether a tensor was seen whose class may take over operations
        self.functions_on = self.functions_at_start = torch_functions_on()
        self.inner_places: dict[int, Source] = {}  # of tensors that wrapper subclasses are made of
        self.switches_left = False  # a block without __torch_function__ was left
        self.entry_is_owned = False
        self.as_loop = False  # an iterator that has stood elsewhere before is left to Python
        self.inline_limit = config.inline_limit
        self.turns: dict[tuple[int, int], int] = {}  # of the loops in each frame
        self.symbol_places: list[Any] = []
        self.step = 0
        self.watch: Any = None  # called with (tracer, frame, instruction) before each
        self.floor = 0
        self._result: Any = None
        self.ambient = sys.exception()  # what the caller of the region handles
        last = chain[-1]  # a generator that was left while it handled an exception
        self.began_handling = last.resumed and decode(last.code).handled(last.index) > 0
        self._known: dict[int, tuple[Any, Any]] = {}
        self._pins: dict[int, Source] = {}
        self.abstract_answers: Any = None
        self.last_traceback: Any = None  # that was asked for
        self.making: Any = None  # where the iterator of the library was made that runs now
        self._fixed: set[int] = set()
        self._loose: set[int] = set()
        self.general: dict[int, Source] = {}
        self._cells: dict[int, tuple[Any, Any]] = {}
        self._type_lookups: dict[Any, Any] = {}
        self._mark = (0, 0, 0)
        self._passed = 0
        self._turns: dict[tuple[int, int], int] = {}
        self._tired: Break | None = None  # why the region should end at the next chance
        self.work = 0  # instructions traced so far, those of calls too
        self.allowed = self.allowance = math.inf
        self.slots: list[Source] = []
        # What is defined in the frames of this chain: other objects in each call.
        self.own_names = tuple(s.code.co_qualname + ".<locals>." for s in chain if s.index > 0)
        self.guards.where = self.where
        self.graph.stack = self.stack_trace
        self.graph.decided = self.guard_numbers
        self.graph.decisions.where = self.where
        self.begin_modes(modes or [])
        self._load(state)

    # ---- from the state to frames

    def _load(self, state: tuple[Any, ...]) -> None:
        names = slot_names(self.chain)
        self.slots = [slot(i, name) for i, name in enumerate(names)]
        at = 0
        frames = []
        for depth, spec in enumerate(self.chain):
            part = [Lazy(state[i], self.slots[i]) for i in range(at, at + spec.size)]
            at += spec.size
            frames.append(self._load_frame(spec, part, depth))
        frames.reverse()
        for outer, inner in itertools.pairwise(frames):
            if type(inner.handled) is Ambient:  # what its caller handles
                inner.handled = outer.handled
        self.frames = frames

    def _load_frame(self, spec: Any, part: list[Any], depth: int) -> Frame:
        code = decode(spec.code)
        fn = self.wrap_frame_function(part[0], spec.code)
        locals_: list[Any] = [None] * len(code.localsplus)
        needed = set(code.live(spec.index)) if spec.resumed else spec.live
        for slot_, value in zip(spec.live, part[1:]):
            if slot_ in needed:
                locals_[slot_] = value
        live = len(spec.live)
        if spec.index and code.in_loop(spec.index):
            stored = loop_slots(code)
            moving = [v for s, v in zip(spec.live, part[1:]) if s in stored]
            self.history.turn(
                {v.source.path(): v.value for v in moving if type(v.value) in (int, float)}
            )
        frame = Frame(code, fn, locals_, Ambient())
        frame.resumed = spec.resumed
        frame.ip = spec.index
        frame.stack = self._load_stack(frame, part[1 + live : 1 + live + spec.depth])
        rest = part[1 + live + spec.depth :]
        if spec.handling:
            frame.handled = self.realize_stack(rest[0])
        if spec.deliver:
            frame.deliver = self.realize_stack(rest[-1])
        return frame

    def _load_stack(self, frame: Frame, values: list[Any]) -> list[Any]:
        """The value stack; a value that is thrown away at once is not looked at, nor guarded."""
        stack = [self._incoming(v.value, v.source) or NULL for v in values]
        top = stack[-1] if stack and frame.code.instructions[frame.ip].op == "POP_TOP" else None
        if type(top) is Lazy:
            stack[-1] = Opaque(top.value, top.source)
        return [self.realize_stack(v) for v in stack]

    def _incoming(self, value: Any, source: Source) -> Any:
        if value is _core.UNBOUND:
            self.guards.add(source, "unbound")
            return None
        return Lazy(value, source)

    # ---- running

    def run(self) -> Capture:
        """Trace until the region ends. May raise Restart."""
        try:
            value = self.loop(0)
            exit: Any = Return(value)
        except Break as reason:
            exit = self._stop(reason)
        except Uncaught:
            exit = Interpret(raises=True)
            self._must_be_clean(exit)
        except _Stop as stop:
            exit = stop.exit
        except (RecursionError, MemoryError) as error:
            fault = Break(calls.TRACING_OUT_OF_ROOM, error=type(error).__name__)
            raise Restart(self.step, self._exit_at(fault)) from None
        except MissingName as error:
            fault = Break(internal.MISSING_NAME, name=error.path)
            raise Restart(self.step, self._exit_at(fault)) from None
        refused = self.refused_check() or self.refused_copy()
        if refused is not None:
            raise Restart(*refused)
        self.guard_aliasing()
        self.guards.where = None  # nothing of the trace outlives it
        self.graph.stack = self.graph.decisions.where = self.graph.decided = _no_stack
        return Capture(
            self.frames,
            exit,
            self.graph,
            self.guards,
            self.effects,
            self.slots,
            self.modes,
            None,
            self.step,
            self.symbol_places,
            self.strictness,
            self.checks,
            (self.modes_at_start, self.function_modes),
            self.draws,
            self.as_loop,
        )

    def _stop(self, reason: Break) -> Any:
        self._leave_call(reason)
        exit = self._exit_at(reason)
        self._must_be_clean(exit)
        return exit

    def _leave_call(self, reason: Break) -> None:
        """If the break came up in a call that can meet no tensor, stop before that call; if only
        the rest of a call cannot, Python runs that rest."""
        depth = min(self._mark[2], len(self.frames))
        found = self.tensor_free_frame(depth)
        if found is None or reason.type is control_flow.GENERATOR_YIELD:
            return
        place, whole = found
        at = [(f.code, f.ip - 1) for f in self.frames[:-1]]
        at.append((self.frames[-1].code, self.frames[-1].ip))
        if whole:
            caller = self.frames[place - 1]
            inst = caller.code.instructions[caller.ip - 1]
            operation = HANDLERS[inst.op].run
            if operation is not None:
                exit: Any = Run(inst, operation, reason, at[place:])
                raise Restart(self.frames[place].call[0], exit)
        elif place + 1 < depth:
            exit = Interpret(False, reason, at[place + 1 :])
            raise Restart(self.frames[place + 1].call[0], exit)
        else:
            raise Restart(self.step, Interpret(False, reason, at[place + 1 :]))

    def _exit_at(self, reason: Break) -> Any:
        """Leave before the instruction that runs now: Python runs it."""
        frame = self.frames[min(self._mark[2], len(self.frames)) - 1]
        inst = frame.code.instructions[frame.ip]
        operation = HANDLERS[inst.op].run if inst.op in HANDLERS else None
        exit: Any = Run(inst, operation, reason) if operation else Interpret(False, reason)
        if reason.type.number in _INTERPRET_FRAME:
            exit = Interpret(False, reason)
        if reason.type is control_flow.GENERATOR_YIELD:
            exit = Yield(inst, reason)
        return Again(reason) if reason.type is tensor_methods.SWITCHED_BEFORE else exit

    def _must_be_clean(self, exit: Any) -> None:
        """Nothing may have changed since the instruction began; else trace again up to it."""
        effects, ops, depth = self._mark
        if (self.effects.count, self.graph.ops, len(self.frames)) != (effects, ops, depth):
            raise Restart(self.step, exit)
        del self.effects.passed[self._passed :]

    def loop(self, floor: int) -> Any:
        """Run frames until the one above `floor` has returned; gives its value."""
        saved, self.floor = self.floor, floor
        frames = self.frames
        try:
            while True:
                frame = frames[-1]
                inst = frame.code.instructions[frame.ip]
                if floor == 0:
                    self.step += 1
                    self._mark = (self.effects.count, self.graph.ops, len(frames))
                    self._passed = len(self.effects.passed)
                    if self.step == self.forced_step:
                        raise _Stop(self.forced_exit)
                self.work += 1
                if self.work > self.allowed:
                    self._weigh()
                try:
                    self.execute(frame, inst)
                except Raised as raised:
                    if not self.unwind(raised.exception, floor):
                        raise
                if frame.ip <= inst.index:
                    self._turn(frame)
                result, self._result = self._result, None
                if self.waiting:
                    del frame  # it may be the last that knows of them
                    self._drop(inst, result)
                if result is not None:
                    return result
        finally:
            self.floor = saved

    def _drop(self, inst: Any, result: Any) -> None:
        """Close the generators that the instruction, or the end of the region, has dropped."""
        try:
            if result is not None and self.floor == 0:
                self.close_at_end(result)
            else:
                self.close_dropped()
        except Break as reason:
            if self.floor:
                raise
            run = HANDLERS[inst.op].run
            exit = Run(inst, run, reason) if run else Interpret(False, reason)
            raise Restart(self.step, exit) from None

    def _turn(self, frame: Frame) -> None:
        """A jump back: a loop that takes too many turns is left at the next chance."""
        key = (id(frame), frame.ip)
        turns = self._turns[key] = self._turns.get(key, 0) + 1
        if turns > config.unroll_limit:
            self._tired = Break(internal.UNROLL_LIMIT, count=str(config.unroll_limit))

    def _weigh(self) -> None:
        """Much has been traced: more than what was captured is worth?"""
        self.allowed = self.allowance + _PER_OPERATION * self.graph.ops
        if self.work > self.allowed:
            self._tired = Break(
                internal.TRACE_LIMIT, count=str(self.work), operations=str(self.graph.ops)
            )

    @property
    def overworked(self) -> bool:
        """Whether the region ended because tracing it took too much."""
        return self._tired is not None and self._tired.type is internal.TRACE_LIMIT

    def execute(self, frame: Frame, inst: Any) -> None:
        if self.watch is not None:
            self.watch(self, frame, inst)
        handler = HANDLERS.get(inst.op)
        if handler is None:
            from suture.breaks import python

            if inst.op in ("CHECK_EG_MATCH", "PREP_RERAISE_STAR"):
                raise Break(python.STAR_EXCEPT, types=frame.stack[-1].describe())
            raise Break(python.UNKNOWN_INSTRUCTION, opcode=inst.op)
        if self._tired is not None and (handler.run or self.floor):
            raise self._tired
        if handler.raw:
            handler.fn(self, frame, inst)
            return
        stack = frame.stack
        pops = handler.pops
        count = pops if isinstance(pops, int) else pops(inst)
        inputs = stack[len(stack) - count :] if count else ()
        out = handler.fn(self, inst, *inputs)
        if count:
            del stack[-count:]
        frame.ip += 1
        if out is None:
            return
        kind = type(out)
        if kind is Pending:
            if self.floor == 0:
                out.frame.call = (self.step, tuple(out.frame.locals))
            self.frames.append(out.frame)
        elif kind is tuple:
            stack.extend(out)
        else:
            stack.append(out)

    def finish(self, result: Any) -> Any:
        """The value of a call: runs a pending frame to its end."""
        if type(result) is not Pending:
            return result
        floor = len(self.frames)
        self.frames.append(result.frame)
        return self.loop(floor)

    def pending(self, frame: Frame) -> Pending:
        return Pending(frame)

    def push_frame(self, frame: Frame) -> None:
        self.frames.append(frame)

    def new_frame(self, code: Any, fn: Any, slots: list[Any]) -> Frame:
        return Frame(code, fn, slots, self.frames[-1].handled if self.frames else Ambient())

    def leave_frame(self, frame: Frame, value: Any) -> None:
        """A frame returns: its caller gets the value."""
        if frame.generator is not None:
            self.generator_returns(frame, value)
            return
        if frame.deliver is not None:
            value = frame.deliver
        if len(self.frames) - 1 == self.floor:
            self._result = value
            if self.floor == 0:
                return  # the outermost frame stays, for its line
            self.frames.pop()
            return
        self.frames.pop()
        self.frames[-1].stack.append(value)

    def unwind(self, exc: Any, floor: int) -> bool:
        """Find the handler of an exception; frames without one are left. False if there is none
        above `floor`."""
        depth = len(self.frames)
        passed = []
        while depth > floor:
            frame = self.frames[depth - 1]
            inner = depth == len(self.frames)
            inst = frame.code.instructions[frame.ip if inner else frame.ip - 1]
            if not inner or not _raises_again(inst):
                passed.append((frame.code.code, frame.fn.globals, inst.lasti))
            if inst.handler is not None:
                self._note_passed(exc, passed)
                self._handle(frame, inst, exc, depth)
                return True
            depth -= 1
        if floor == 0:
            raise Uncaught from None
        self._note_passed(exc, passed)
        self.leave_frames(floor)
        return False

    def _note_passed(self, exc: Any, passed: list[Any]) -> None:
        """Entries of the exception's traceback, innermost first."""
        if isinstance(exc, Raise):
            exc.traceback += passed
        else:
            self.effects.passed += [(exc, *entry) for entry in passed]

    def _handle(self, frame: Frame, inst: Any, exc: Any, depth: int) -> None:
        from suture.variables import Constant

        self.leave_frames(depth)
        handler = inst.handler
        del frame.stack[handler.depth :]
        if handler.lasti:
            frame.stack.append(Constant(inst.lasti // 2))
        frame.stack.append(exc)
        frame.ip = handler.target

    # ---- where we are

    def where(self) -> tuple[str, int] | None:
        if not self.frames:
            return None
        frame = self.frames[-1]
        return frame.code.code.co_filename, frame.line() or 0

    def stack_trace(self) -> str:
        out = []
        for frame in self.frames:
            at = frame.ip if frame is self.frames[-1] else frame.ip - 1
            out.append(line_text(frame.code, at))
        return "".join(out)

    def realize_stack(self, value: Any) -> Any:
        try:
            return self.realize(value)
        except Break:  # whatever uses it says why it cannot be looked at
            self.guards.add(value.source, "type", type(value.value))
            return Opaque(value.value, value.source)


def loop_slots(code: Any) -> frozenset[int]:
    """The locals that some loop of the function sets."""
    return frozenset(
        inst.val
        for inst in code.instructions
        if inst.op == "STORE_FAST" and code.in_loop(inst.index)
    )


def _no_stack(*_: Any) -> None:
    return None


def _raises_again(inst: Any) -> bool:
    """Whether the instruction raises an exception anew that has passed this frame already."""
    return inst.op == "RERAISE" or (inst.op == "RAISE_VARARGS" and inst.val == 0)


class _Stop(Exception):
    """The step was reached at which an earlier try found it must stop."""

    def __init__(self, exit: Any) -> None:
        super().__init__()
        self.exit = exit


_PER_OPERATION = 500  # instructions that one operation of the graph accounts for
# Breaks after which this frame, and only this one, is interpreted.
_INTERPRET_FRAME = frozenset({"GB2000", "GB2050", "GB2051", "GB2052"})

__all__ = ["Restart", "Tracer"]
