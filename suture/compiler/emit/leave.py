"""The end of a variant: return, or run one operation and jump, or continue in the interpreter."""

from __future__ import annotations

from typing import Any

import torch

from suture import _core
from suture.bytecode import CANONICAL, Instruction, iterator_slots
from suture.compiler.capture import Again, Capture, Interpret, Return, Run, Yield
from suture.compiler.core import Frame
from suture.compiler.emit.live_locals import needed
from suture.compiler.emit.operations import branch_on_data, compiles_nothing, operation_parts
from suture.compiler.emit.tails import tail
from suture.compiler.emit.writer import Writer
from suture.compiler.emitting import Emitter
from suture.compiler.interpreter.lines import raises_again
from suture.compiler.language.dropped import waits
from suture.compiler.objects import Constant, Symbol, Tensor
from suture.compiler.torch.expected_rows import mask_of
from suture.runtime import OPERATIONS, FrameSpec, clean_traceback, keep_alive
from suture.runtime.checks import RowsWatch, Watch
from suture.runtime.operations import STOP, returned_by_init
from suture.runtime.store.stand_ins import MadeFrames
from suture.torch_private.symbolic_shapes import is_open

# Names that mean that it matters how long the frame keeps its variables alive.
_WATCHERS = frozenset({"ref", "proxy", "finalize"})


class Raw:
    """A value that is already an expression."""

    __slots__ = ("source", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.source = None

    def rebuild(self, emit: Emitter) -> str:
        return self.text


def _changing(state: list[Any]) -> dict[int, frozenset[int] | None]:
    """What is a symbol in a state, by its place: which sizes of a tensor are; None: the number."""
    found: dict[int, frozenset[int] | None] = {}
    for at, value in enumerate(state):
        if isinstance(value, Symbol) and is_open(value.value):
            found[at] = None
        elif isinstance(value, Tensor) and value.cls is torch.Tensor:
            sizes = frozenset(i for i, n in enumerate(value.value.shape) if is_open(n))
            if sizes:
                found[at] = sizes
    return found


def _tuple(texts: list[str]) -> str:
    return "(" + "".join(text + ", " for text in texts) + ")"


class Leaving:
    """Writes the exit of a capture into a writer's tail."""

    def __init__(self, writer: Writer, capture: Capture, points: Any) -> None:
        self.writer = writer
        self.capture = capture
        self.points = points
        self.watch: Watch | None = None
        self.reached: list[tuple[Any, dict[int, frozenset[int] | None]]] = []
        self.yields: list[Instruction] = []  # that the generator's frame comes to by itself

    def write(self) -> None:
        exit = self.capture.exit
        if isinstance(exit, Yield):
            frame = self.capture.frames[0]
            self.writer.line(self._leave(frame, exit.inst, frame.stack))
        elif isinstance(exit, Return):
            self._return(exit)
        elif isinstance(exit, Run):
            self._run(exit)
        elif isinstance(exit, Again):
            frame = self.capture.frames[-1]
            self.writer.line(self._jump(self.capture.frames, frame.ip, frame.stack))
        else:
            self._interpret(exit)

    # ---- states

    def _spec(
        self, frame: Frame, index: int, stack: list[Any], waiting: bool
    ) -> tuple[FrameSpec, list[Any]]:
        code = frame.code
        live = needed(frame, index)
        if waiting:
            handler = code.instructions[index - 1].handler
            if handler is not None:
                live.update(code.live(handler.target))
        if not _WATCHERS.isdisjoint(code.code.co_names):
            live.update(i for i, value in enumerate(frame.locals) if value is not None)
        slots = tuple(sorted(live))
        handling = code.handled(index) > 0
        deliver = frame.deliver is not None
        spec = FrameSpec(
            code.code, index, slots, len(stack), handling, deliver, waiting, frame.resumed
        )
        values = [frame.fn, *(frame.locals[s] for s in slots), *stack]
        if handling:
            values.append(frame.handled)
        if deliver:
            values.append(frame.deliver)
        return spec, values

    def _jump(
        self,
        frames: list[Any],
        index: int,
        stack: list[Any],
        interpret: bool = False,
        raises: bool = False,
    ) -> str:
        """A jump to the point where the innermost frame is at `index` with `stack`, or past the
        jumps there: one place to go on at has one point, whichever way leads to it."""
        if not interpret:
            index = frames[-1].code.past_jumps(index)
        if len(frames) == 1 and not interpret and self._is_tail(frames[0], index):
            return self._leave(frames[0], frames[0].code.instructions[index], stack)
        specs, state = [], []
        for depth, frame in enumerate(reversed(frames)):
            inner = depth == 0
            spec, values = self._spec(
                frame, index if inner else frame.ip, stack if inner else frame.stack, not inner
            )
            specs.append(spec)
            state += values
        point = self.points(tuple(specs), interpret, raises)
        if not interpret:
            self.reached.append((point, _changing(state)))
        name = self.writer.constant(
            point,
            f"point_{frames[-1].code.line(min(index, len(frames[-1].code.instructions) - 1))}",
        )
        jump = self.writer.constant(_core.jump, "jump")
        parts = [name, *(self._text(v) for v in state)]
        return f"return {jump}({', '.join(parts)})"

    def _is_tail(self, frame: Frame, index: int) -> bool:
        """Whether nothing is left for a graph before the frame, a generator's, hands a value out.
        Where that is a yield, it is reported with the break that leads to it."""
        end = tail(frame, index)
        if end is None or not _WATCHERS.isdisjoint(frame.code.code.co_names):
            return False
        if end.op == "YIELD_VALUE":
            self.yields.append(end)
        return True

    def _text(self, value: object) -> str:
        return value.text if isinstance(value, Raw) else self.writer.value(value)

    # ---- exits

    def _return(self, exit: Return) -> None:
        frame = self.capture.frames[0]
        if not frame.resumed:
            self.writer.line(f"return {self.writer.value(exit.value)}")
            return
        inst = frame.code.instructions[frame.ip]
        # Where one original instruction loads and returns, it is entered before it loads.
        self.writer.line(self._leave(frame, inst, [exit.value] if inst.boundary else []))

    def _leave(self, frame: Frame, inst: Instruction, stack: list[Any]) -> str:
        """The generator's own frame continues in CPython with `inst`."""
        live = needed(frame, inst.index)
        slots = [self._text(v) if i in live else "UNBOUND" for i, v in enumerate(frame.locals)]
        handled = self._text(frame.handled) if frame.code.handled(inst.index) else "None"
        leave = self.writer.constant(_core.leave, "leave")
        values = [self._text(v) for v in stack]
        state = f"{_tuple(slots)}, {_tuple(values)}, handled={handled}"
        return f"return {leave}({inst.offset}, {state})"

    def _interpret(self, exit: Interpret) -> None:
        frames = self.capture.frames
        frame = frames[-1]
        again = frame.code.instructions[frame.ip]
        if exit.raises and again.handler is None and raises_again(again):
            exc = frame.stack[-1] if again.op == "RERAISE" else frame.handled
            self._keep(frame, self._text(exc))
        if len(frames) == 1 or exit.raises:
            self.writer.line(self._jump(frames, frame.ip, frame.stack, True, exit.raises))
            return
        result: Any = Raw(self._enter(exit, frame))
        outer = frames[-2]
        if frame.deliver is not None:
            check = self.writer.constant(returned_by_init, "returned_by_init")
            self.writer.line(f"    {check}({result.text})")
        self._except(frames[:-1], outer.code.instructions[outer.ip - 1])
        if frame.deliver is not None:
            result = frame.deliver
        self.writer.line(self._jump(frames[:-1], outer.ip, [*outer.stack, result]))

    def _enter(self, exit: Interpret, frame: Frame) -> str:
        """The innermost frame runs in the interpreter; its caller continues in graphs. Gives the
        name of what it returned."""
        writer, code = self.writer, frame.code
        result = writer.fresh("result")
        live = needed(frame, frame.ip)
        slots = [self._text(v) if i in live else "UNBOUND" for i, v in enumerate(frame.locals)]
        offset, nulls = code.entry_of(frame.ip)
        stack = [self._text(v) for v in frame.stack] + ["UNBOUND"] * nulls
        outer = self.capture.frames[-2]
        frames = self._with_frames(self.capture.frames[:-1], outer.code.instructions[outer.ip - 1])
        enter = writer.constant(_core.enter, "enter")
        start = f"{self._text(frame.fn)}, {offset}"
        handled = f", handled={self._text(frame.handled)}" if self._handles(frame) else ""
        number = exit.reason.number if exit.reason is not None else ""
        writer.line("try:")
        writer.line(
            f"    {result} = {frames}({enter}, {start}, {_tuple(slots)}, {_tuple(stack)}{handled})"
            f"  # {number}, in the interpreter"
        )
        return result

    def _run(self, exit: Run) -> None:
        writer, inst = self.writer, exit.inst
        frames = self.capture.frames
        frame = frames[-1]
        operation = OPERATIONS[exit.operation]
        inputs = frame.stack[len(frame.stack) - operation.inputs(inst) :]
        call = self._call(exit, frame, inst, inputs)
        result = writer.fresh("result")
        where = f"{exit.reason.number} line {frame.code.line(inst.index)}"
        writer.line("try:")
        writer.line(f"    {result} = {call}  # {where}, run by Python")
        self._except(frames, inst)
        branch = branch_on_data(exit, frame, inputs)
        if branch is not None:
            self.watch = Watch((frame.code.code, branch))
            writer.line(f"{writer.constant(self.watch, 'went')}({result})")
        elif inst.op == "GET_ITER" and mask_of(inputs[0]) is not None:
            count = inputs[0].node.args[0].meta["example_value"].shape[0]
            self.watch = RowsWatch((frame.code.code, inst.index), count)
            writer.line(f"{writer.constant(self.watch, 'went')}.rows({self._text(inputs[0])})")
        self._after(frames, inst, result)

    def _call(self, exit: Run, frame: Frame, inst: Instruction, inputs: list[Any]) -> str:
        writer = self.writer
        texts = operation_parts(writer, exit, frame, inputs, [self._text(v) for v in inputs])
        if self._handles(frame):
            texts[:0] = [writer.constant(_core.handling, "handling"), self._text(frame.handled)]
        elif not exit.inside and not (
            exit.operation in ("call", "call_ex") and compiles_nothing(exit.reason, inputs)
        ):  # what it calls is to be compiled
            texts.insert(0, writer.constant(_core.run, "run"))
        return f"{self._with_frames(self.capture.frames, inst)}({', '.join(texts)})"

    def _with_frames(self, frames: list[Any], inst: Instruction) -> str:
        """Calls something while the stack shows these frames, the innermost one at `inst`."""
        positions = []
        for frame in frames:
            at = inst if frame is frames[-1] else frame.code.instructions[frame.ip - 1]
            positions.append((frame.code.code, frame.fn.globals, at.lasti))
        line = frames[-1].code.line(inst.index)
        name = self.writer.constant(_core.SyntheticFrames(tuple(positions)), f"at_{line}")
        self.writer.described[name] = MadeFrames(tuple(positions))
        return name

    def _handles(self, frame: Frame) -> bool:
        """Whether an exception is being handled there, by the frame or by one that called it."""
        at = self.capture.frames.index(frame)
        return any(f.code.handled(f.ip) > 0 for f in self.capture.frames[: at + 1])

    def _except(self, frames: list[Any], inst: Instruction) -> None:
        """What happens if the operation raises: the frames' own handlers, or up and out."""
        writer = self.writer
        writer.line("except BaseException as exc:")
        clean = writer.constant(clean_traceback, "clean_traceback")
        add = writer.constant(_core.add_traceback, "add_traceback")
        writer.line(f"    {clean}(exc)")
        depth, at = len(frames), inst
        while True:
            frame = frames[depth - 1]
            again = at is inst and raises_again(inst)
            held = self._held(frame) if at.handler is None else None
            if again:
                self._keep(frame, "exc", "    ")
            elif at.handler is not None or depth > 1:
                code = writer.constant(frame.code.code, "code")
                space = writer.constant(frame.fn.globals, "globals")
                texts = [code, space, str(at.lasti), *([held] if held else [])]
                writer.line(f"    {add}(exc, {', '.join(texts)})")
            if at.handler is not None:
                self._to_handler(frames[:depth], at)
                return
            if depth == 1:
                break
            depth -= 1
            outer = frames[depth - 1]
            at = outer.code.instructions[outer.ip - 1]
        self._throw(frames[0], at)

    def _throw(self, frame: Frame, inst: Instruction) -> None:
        """No frame handles the exception: CPython takes it out through the outermost one."""
        writer = self.writer
        leave = writer.constant(_core.leave, "leave")
        slots = self._held(frame)
        if slots is None:
            slots = writer.constant((_core.UNBOUND,) * len(frame.code.localsplus), "unbound")
        fn = "None" if frame.resumed else self._text(frame.fn)
        if raises_again(inst):  # CPython does, with the exception as the one being handled
            writer.line(f"    return {leave}({inst.offset}, {slots}, (), {fn}, None, exc)")
        else:
            writer.line(f"    return {leave}({inst.lasti}, {slots}, (), {fn}, exc)")

    def _held(self, frame: Frame) -> str | None:
        """The slots of a frame that an exception leaves, as far as somebody waits for their end:
        the traceback keeps them. None if there are none."""
        if not any(map(waits, frame.locals)):
            return None
        return _tuple([self._text(v) if waits(v) else "UNBOUND" for v in frame.locals])

    def _keep(self, frame: Frame, exc: str, indent: str = "") -> None:
        """An exception that has passed the frame leaves it: its entry there gets what is held."""
        held = self._held(frame)
        if held is not None:
            keep = self.writer.constant(keep_alive, "keep_alive")
            code = self.writer.constant(frame.code.code, "code")
            space = self.writer.constant(frame.fn.globals, "globals")
            self.writer.line(f"{indent}{keep}({exc}, {code}, {space}, {held})")

    def _to_handler(self, frames: list[Any], inst: Any) -> None:
        frame, handler = frames[-1], inst.handler
        stack = list(frame.stack[: handler.depth])
        if handler.lasti:
            stack.append(Constant(inst.lasti // 2))
        stack.append(Raw("exc"))
        text = self._jump(frames, handler.target, stack)
        self.writer.line("    " + text)

    def _after(self, frames: list[Any], inst: Any, result: str) -> None:
        """Where to go once the operation has its result."""
        frame, stack = frames[-1], frames[-1].stack
        op = inst.op
        branch = frame.code.instructions[inst.index + 1] if op == "COMPARE_TEST" else inst
        if branch.op in ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE"):
            kept = stack[:-2] if op == "COMPARE_TEST" else stack[:-1]
            self._branch(frames, branch, result, kept, kept)
        elif op in ("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP"):
            self._branch(frames, inst, result, stack, stack[:-1])
        elif op == "FOR_ITER":
            stop = self.writer.constant(STOP, "STOP")
            self.writer.line(f"if {result} is {stop}:")
            kept = stack[: -iterator_slots(inst)]
            self.writer.line("    " + self._jump(frames, inst.target, kept))
            self.writer.line(self._jump(frames, inst.index + 1, [*stack, Raw(result)]))
        elif op == "SEND":
            self.writer.line(f"if {result}[0]:")
            self.writer.line(
                "    " + self._jump(frames, inst.index + 1, [*stack[:-1], Raw(f"{result}[1]")])
            )
            kept = stack[: -1 - iterator_slots(inst)]
            self.writer.line(self._jump(frames, inst.target, [*kept, Raw(f"{result}[1]")]))
        elif op == "RAISE_VARARGS":
            self.writer.line(f"return {result}")
        else:
            self._plain_result(frames, inst, result)
        del frame

    def _branch(self, frames: Any, inst: Any, result: str, taken: Any, fallen: Any) -> None:
        test = "" if "TRUE" in inst.op else "not "
        self.writer.line(f"if {test}{result}:")
        self.writer.line("    " + self._jump(frames, inst.target, list(taken)))
        self.writer.line(self._jump(frames, inst.index + 1, list(fallen)))

    def _plain_result(self, frames: Any, inst: Instruction, result: str) -> None:
        stack = frames[-1].stack
        pops, pushes = CANONICAL[inst.op].counts(inst)
        kept = stack[: len(stack) - pops]
        if inst.op == "CHECK_EXC_MATCH":
            kept = stack[:-1]
        if pushes == 1 or inst.op in ("CHECK_EXC_MATCH", "WITH_EXCEPT_START"):
            kept = [*kept, Raw(result)]
        elif pushes > 1:
            kept = [*kept, *(Raw(f"{result}[{i}]") for i in range(pushes))]
        handled = frames[-1].handled
        if inst.op == "CHECK_EG_MATCH":  # what the clause takes is being handled now
            before = self._text(handled)
            frames[-1].handled = Raw(f"({before} if {result}[1] is None else {result}[1])")
        self.writer.line(self._jump(frames, inst.index + 1, list(kept)))
        frames[-1].handled = handled
