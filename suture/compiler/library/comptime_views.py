"""What a function given to `torch._dynamo.comptime` sees of the trace: frames, locals, the graph.

The names are those that torch gives to a context and to a variable. Nothing that is read or printed
changes what is compiled: values that the trace has not looked at yet are shown as they are outside,
and graphs are copies. `graph_break`, `force_static` and what asks for a fake tensor do change it.
"""

from __future__ import annotations

import dis
import time
import traceback
from typing import Any, NoReturn, TextIO

import torch
import torch.fx

from suture.breaks import Break, calls, readable
from suture.compiler import abstract
from suture.compiler.core import Frame, Lazy, Trace, Value
from suture.compiler.objects import Constant, Dict, Symbol, Tensor
from suture.compiler.objects.cell import Cell
from suture.compiler.objects.sequence import Sequence
from suture.compiler.objects.set_ import Set
from suture.compiler.outside.namespaces import frame_cell

_LONGEST = 200  # of the text of one value


class Variable:
    """A value of the program at the instruction that is traced. Of a tensor its metadata is
    known, and not its data."""

    def __init__(self, trace: Trace, value: Any) -> None:
        self._trace = trace
        self._value = value

    def _looked_at(self) -> Any:
        self._value = abstract.realize_local(self._trace, self._value)
        return self._value

    def is_proxy(self) -> bool:
        """Whether it is a value of the graph: a tensor, or a number that is a symbol."""
        return isinstance(self._looked_at(), (Tensor, Symbol))

    def as_proxy(self) -> torch.fx.Proxy:
        """Its node in a copy of the graph."""
        if not self.is_proxy():
            raise TypeError(f"{self!r} is no value of the graph")
        return torch.fx.Proxy(copied(self._trace)[1][self._value.node])

    def as_fake(self) -> Any:
        """The fake tensor, or the symbol. What is asked of its sizes becomes a guard."""
        if not self.is_proxy():
            raise TypeError(f"{self!r} is no tensor and no symbol")
        return self._value.value

    def size(self, dim: int | None = None) -> Any:
        fake = self.as_fake()
        return fake.size() if dim is None else fake.size(dim)

    def python_type(self) -> type:
        return type(self._value.value) if _is_lazy(self._value) else self._value.python_type()

    def is_python_constant(self) -> bool:
        """Whether it is known, with all that is in it."""
        return _is_known(self._value)

    def as_python_constant(self) -> Any:
        if not self.is_python_constant():
            raise ValueError(f"{self!r} is not known while compiling")
        return abstract.constant_value(self._trace, self._looked_at())

    def is_dynamic(self) -> bool:
        """Whether it is a number that may be another one in the next call."""
        value = self._looked_at()
        return isinstance(value, Symbol) and not value.value.node.expr.is_number

    def force_static(self) -> None:
        """Let what is compiled hold for the number that it is now."""
        if isinstance(self._looked_at(), Symbol):
            abstract.specialise(self._trace, self._value)
        elif not self.is_python_constant():
            raise AssertionError(f"{self!r} cannot be made static: it is no number")

    def _i_will_not_complain_if_bc_breaks_VariableTracker(self) -> NoReturn:  # noqa: N802
        raise AttributeError("TorchDynamo does not run, so there is no VariableTracker")

    def __repr__(self) -> str:
        return shown(self._value)


class Context:
    """The trace at a call of comptime. `depth` is how many of its frames are above this one."""

    def __init__(self, trace: Trace, depth: int = 0) -> None:
        self._trace = trace
        self._depth = depth

    def _frame(self, stacklevel: int = 0) -> Frame:
        above = self._depth + stacklevel
        if above >= len(self._trace.frames):
            raise IndexError(
                f"the trace has {len(self._trace.frames)} frames, and {above} were to be left"
            )
        return self._trace.frames[-1 - above]

    def get_local(self, name: str, *, stacklevel: int = 0) -> Variable:
        found = variables(self._trace, self._frame(stacklevel))
        return Variable(self._trace, found[name])

    def parent(self) -> Context:
        """The same, of the frame that called this one."""
        self._frame(1)
        return Context(self._trace, self._depth + 1)

    def graph_break(self, msg: str = "a break was asked for") -> NoReturn:
        raise Break(calls.COMPTIME_BREAK, reason=msg)

    def graph(self) -> torch.fx.Graph:
        """A copy of the graph as far as it goes."""
        return copied(self._trace)[0]

    def assert_static(self, val: Variable) -> None:
        if val.is_dynamic():
            raise AssertionError(
                f"expected a number that stays the same, and {val!r} may change from call to call"
            )

    def print(self, val: Any, *, file: TextIO | None = None) -> None:
        print(repr(val), file=file)

    def print_graph(self, *, verbose: bool = True, file: TextIO | None = None) -> None:
        print(self.graph().python_code("self", verbose=verbose).src, file=file)

    def print_locals(self, *, file: TextIO | None = None, stacklevel: int = 0) -> None:
        for name, value in variables(self._trace, self._frame(stacklevel)).items():
            print(f"{name} = {shown(value)}", file=file)

    def print_value_stack(self, *, file: TextIO | None = None, stacklevel: int = 0) -> None:
        for value in self._frame(stacklevel).stack:
            print(f"- {shown(value)}", file=file)

    def print_bt(self, *, file: TextIO | None = None, stacklevel: int = 0) -> None:
        """The calls from where the region began, outermost first."""
        last = len(self._trace.frames) - self._depth - stacklevel
        frames = self._trace.frames[:last]
        lines = [
            traceback.FrameSummary(
                f.code.code.co_filename, _line(self._trace, f), f.code.code.co_name
            )
            for f in frames
        ]
        print("".join(traceback.StackSummary.from_list(lines).format()), file=file)

    def print_disas(self, *, file: TextIO | None = None, stacklevel: int = 0) -> None:
        frame = self._frame(stacklevel)
        at = frame.code.instructions[_instruction(self._trace, frame)].offset
        print(dis.Bytecode(frame.code.code, current_offset=at).dis(), file=file)

    def print_guards(self, *, file: TextIO | None = None) -> None:
        """What the variant will check, as far as it is known."""
        print("\n".join(g.text() for g in self._trace.guards.entries), file=file)

    def sleep(self, sec: float) -> None:
        time.sleep(sec)

    def _i_will_not_complain_if_bc_breaks_InstructionTranslator(self) -> NoReturn:  # noqa: N802
        raise AttributeError("TorchDynamo does not run, so there is no InstructionTranslator")


def variables(trace: Trace, frame: Frame) -> dict[str, Any]:
    """The variables of a frame that have a value, by name. Nobody has to have looked at them."""
    found: dict[str, Any] = {}
    for slot, name in enumerate(frame.code.localsplus):
        value = frame.locals[slot]
        if slot in frame.code.cells or slot in frame.code.frees:
            value = frame_cell(trace, frame, slot).contents
        if value is not None and not name.startswith("."):
            found[name] = value
    return found


def copied(trace: Trace) -> tuple[torch.fx.Graph, dict[torch.fx.Node, Any]]:
    """A copy of the graph that is being made, and each node's copy: what a program does to it, it
    does not do to the graph."""
    copy = torch.fx.Graph()
    made: dict[torch.fx.Node, Any] = {}
    copy.graph_copy(trace.graph.graph, made)
    return copy, made


def shown(value: Any) -> str:
    """A value as text, which is for people."""
    if _is_lazy(value):
        return _outside(value.value)
    if isinstance(value, Tensor):
        return _tensor("Tensor", value.value)
    if isinstance(value, Symbol):
        return str(value.value)
    if isinstance(value, Constant):
        return readable(value.value, _LONGEST)
    if isinstance(value, Cell):
        return f"cell({'' if value.contents is None else shown(value.contents)})"
    if isinstance(value, Sequence):
        inner = ", ".join(map(shown, value.items))
        return _bracketed(inner, value.kind, len(value.items))
    if isinstance(value, Dict):
        if value.backing is not None:  # not all of it was looked at, and nothing was changed
            return _outside(value.backing)
        pairs = value.entries.values()
        return "{" + ", ".join(f"{shown(k)}: {shown(v)}" for k, v in pairs) + "}"
    if isinstance(value, Set):
        return f"{value.kind.__name__}({{{', '.join(map(shown, value.entries.values()))}}})"
    return _named(value)


def _outside(real: Any) -> str:
    """An object that the trace has not looked at: as text without running code of the program."""
    if isinstance(real, torch.Tensor):
        return _tensor(type(real).__name__, real)
    if type(real) in _PLAIN:
        return readable(real, _LONGEST)
    if type(real) in (list, tuple):
        return _bracketed(", ".join(map(_outside, real)), type(real), len(real))
    if type(real) is dict:
        return "{" + ", ".join(f"{_outside(k)}: {_outside(v)}" for k, v in real.items()) + "}"
    return f"<{type(real).__qualname__}>"


def _tensor(name: str, of: torch.Tensor) -> str:
    sizes = ", ".join(str(size) for size in of.shape)
    return f"{name}({str(of.dtype).removeprefix('torch.')}[{sizes}] {of.device})"


_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None)})


def _bracketed(inner: str, kind: type, count: int) -> str:
    if kind is list:
        return f"[{inner}]"
    made = f"({inner},)" if count == 1 else f"({inner})"
    return made if kind is tuple else f"{kind.__name__}({made})"


def _named(value: Value) -> str:
    if value.source is None:
        return f"<{value.describe()}>"
    try:
        return f"<{value.python_type().__qualname__} {value.describe()}>"
    except Break:
        return f"<{value.describe()}>"


def _is_lazy(value: Any) -> bool:
    return type(value) is Lazy


def _is_known(value: Any) -> bool:
    if _is_lazy(value):
        return _is_plain(value.value)
    if isinstance(value, Sequence):
        return all(map(_is_known, value.items))
    if isinstance(value, Dict):
        if value.backing is not None:
            return _is_plain(value.backing)
        return all(_is_known(k) and _is_known(v) for k, v in value.entries.values())
    return bool(value.is_constant())


def _is_plain(real: Any) -> bool:
    if type(real) in (list, tuple):
        return all(map(_is_plain, real))
    if type(real) is dict:
        return all(_is_plain(k) and _is_plain(v) for k, v in real.items())
    return type(real) in _PLAIN


def _instruction(trace: Trace, frame: Frame) -> int:
    """The instruction that a frame is at: of those below the innermost, their call."""
    return frame.ip if frame is trace.frames[-1] else frame.ip - 1


def _line(trace: Trace, frame: Frame) -> int:
    return frame.code.line(_instruction(trace, frame)) or 0
