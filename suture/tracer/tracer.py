"""The symbolic interpreter: runs the frames of a region until it must stop."""

from __future__ import annotations

import itertools
import math
import sys
from typing import Any

from suture import _core, config
from suture.breaks import Break, Leaves, calls, internal
from suture.bytecode import decode
from suture.calls import PARTS
from suture.calls.language.exceptions import Ambient
from suture.calls.operations.checks import Check
from suture.calls.stdlib.draws import Draw
from suture.calls.strictness import Strictness
from suture.calls.tensor_classes.overrides import torch_functions_on
from suture.capture import Again, Capture, Exit, Interpret, Return, Run, Yield
from suture.effects import Effects
from suture.graph import GraphBuilder, sizes_from_zero
from suture.guards import Guards
from suture.hook import Chain, slot_names
from suture.plan import Plan, Retry, Stop
from suture.sources import Source, slot
from suture.torch_private import MissingName
from suture.tracer.ending import Mark, Restart, Stopped, Uncaught, all_guards, needs_sizes
from suture.tracer.frame import Frame, Pending, line_text, loop_slots
from suture.tracer.opcodes import HANDLERS
from suture.variables import NULL, Lazy, Opaque, Raise, Raised


class Tracer(*PARTS):  # type: ignore[misc]
    """Runs one region. `history` remembers what changed between earlier calls of this point, and
    `plan` says what to take for granted; `modes` are the modes of torch functions that were active,
    outermost first. `whole`: a break would be an error. `allowance`: after how many instructions
    the region must show operations."""

    def __init__(
        self,
        chain: Chain,
        state: tuple[Any, ...],
        history: Any,
        plan: Plan,
        modes: list[Any] | None = None,
        *,
        whole: bool = False,
        allowance: float = math.inf,
    ) -> None:
        self.chain = chain
        self.history = history
        self.plan = plan
        self.whole = whole
        self.last_step: int = -1 if plan.stop is None else plan.stop.step
        self.initializes = plan.stop is not None and plan.stop.initializes
        self.graph = GraphBuilder(without_data=plan.without_data)
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
        self._mark = Mark(0, 0, 0)
        self._passed = 0
        self._turns: dict[tuple[int, int], int] = {}
        self._tired: Break | None = None  # why the region should end at the next chance
        self.work = 0  # instructions traced so far, those of calls too
        self.allowed = self.allowance = allowance
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

    def run(self) -> Capture | Retry:
        """Trace until the region ends. What was really switched meanwhile is as it was before."""
        try:
            with sizes_from_zero(self.plan.from_zero):
                exit = self._region()
            return self.growth() or needs_sizes(self.plan, exit) or self._captured(exit)
        except Restart as restart:
            assumed = ()
            if isinstance(restart.exit, Interpret) and restart.exit.raises:
                assumed = all_guards(self.guards, self.graph, self.symbol_places)
            stop = Stop(restart.step, restart.exit, assumed, self.initializes)
            return Retry(self.plan.stopping(stop), restart.reason)
        finally:
            for restore in reversed(self.restores):
                restore()

    def _region(self) -> Exit:
        """Run the frames; how the region ends. May raise Restart."""
        exit: Exit
        try:
            exit = Return(self.loop(0))
        except Break as reason:
            exit = self._stop(reason)
        except Uncaught:
            exit = Interpret(raises=True)
            self._must_be_clean(exit, "the program raises")
        except Stopped as stop:
            exit = stop.exit
        except (RecursionError, MemoryError) as error:
            fault = Break(calls.TRACING_OUT_OF_ROOM, error=type(error).__name__)
            raise Restart(self.step, self._exit_at(fault), str(fault)) from None
        except MissingName as error:
            fault = Break(internal.MISSING_NAME, name=error.path)
            raise Restart(self.step, self._exit_at(fault), str(fault)) from None
        self._refuse(self.refused_check(), "what is written before a check cannot be taken back")
        self._refuse(self.refused_copy(), "others see the memory of a leaf that is made here")
        self.guard_aliasing()
        self.guards.where = None  # nothing of the trace outlives it
        self.graph.stack = self.graph.decisions.where = self.graph.decided = _no_stack
        return exit

    def _refuse(self, found: tuple[int, Any] | None, reason: str) -> None:
        if found is not None:
            raise Restart(*found, reason)

    def _captured(self, exit: Exit) -> Capture:
        if self.plan.stop is not None:
            self.guards.entries += self.plan.stop.assumed
        return Capture(
            frames=self.frames,
            exit=exit,
            graph=self.graph,
            guards=self.guards,
            effects=self.effects,
            slots=self.slots,
            modes=self.modes,
            functions=(self.modes_at_start, self.function_modes),
            strictness=self.strictness,
            places=self.symbol_places,
            checks=self.checks,
            draws=self.draws,
            steps=self.step,
            general=self.as_loop,
            initializes=self.initializes,
        )

    def _stop(self, reason: Break) -> Any:
        self._leave_call(reason)
        exit = self._exit_at(reason)
        self._must_be_clean(exit, str(reason))
        return exit

    def _leave_call(self, reason: Break) -> None:
        """If the break came up in a call that can meet no tensor, stop before that call; if only
        the rest of a call cannot, Python runs that rest."""
        depth = min(self._mark.depth, len(self.frames))
        found = self.tensor_free_frame(depth)
        if found is None or reason.type.leaves is Leaves.YIELD:
            return
        place, whole = found
        at = [(f.code, f.ip - 1) for f in self.frames[:-1]]
        at.append((self.frames[-1].code, self.frames[-1].ip))
        rest = f"the interpreter runs the rest of a call, which meets no tensor: {reason}"
        if whole:
            caller = self.frames[place - 1]
            inst = caller.code.instructions[caller.ip - 1]
            operation = HANDLERS[inst.op].run
            if operation is not None:
                exit: Any = Run(inst, operation, reason, at[place:])
                why = f"Python makes the whole call, which meets no tensor: {reason}"
                raise Restart(self.frames[place].call[0], exit, why)
        elif place + 1 < depth:
            exit = Interpret(False, reason, at[place + 1 :])
            raise Restart(self.frames[place + 1].call[0], exit, rest)
        else:
            raise Restart(self.step, Interpret(False, reason, at[place + 1 :]), rest)

    def _exit_at(self, reason: Break) -> Any:
        """Leave before the instruction that runs now: Python runs it."""
        frame = self.frames[min(self._mark.depth, len(self.frames)) - 1]
        inst = frame.code.instructions[frame.ip]
        match reason.type.leaves:
            case Leaves.YIELD:
                return Yield(inst, reason)
            case Leaves.NOTHING:
                return Again(reason)
            case Leaves.FRAME:
                return Interpret(False, reason)
        operation = HANDLERS[inst.op].run if inst.op in HANDLERS else None
        return Run(inst, operation, reason) if operation else Interpret(False, reason)

    def _must_be_clean(self, exit: Any, reason: str) -> None:
        """Nothing may have changed since the instruction began; else trace again up to it."""
        if self._now() != self._mark:
            raise Restart(self.step, exit, f"in the midst of an instruction: {reason}")
        del self.effects.passed[self._passed :]

    def _now(self) -> Mark:
        return Mark(self.effects.changes, self.graph.ops, len(self.frames))

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
                    self._mark = self._now()
                    self._passed = len(self.effects.passed)
                    if self.step == self.last_step and self.plan.stop is not None:
                        raise Stopped(self.plan.stop.exit)
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
            why = f"closing a generator that is dropped here: {reason}"
            raise Restart(self.step, exit, why) from None

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


def _no_stack(*_: Any) -> None:
    return None


def _raises_again(inst: Any) -> bool:
    """Whether the instruction raises an exception anew that has passed this frame already."""
    return inst.op == "RERAISE" or (inst.op == "RAISE_VARARGS" and inst.val == 0)


_PER_OPERATION = 500  # instructions that one operation of the graph accounts for

__all__ = ["Tracer"]
