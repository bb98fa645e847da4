"""Values, frames, and the trace that they belong to.

A value stands for one Python object while its program is traced. What it knows is exact:
`python_type()` is the very type the object will have, `constant()` its very value. Operations
either give the exact abstract result, raise `Raised` (the program raises here), or raise
`Break` (Python must run this operation), and a `Break` is raised before anything changed.

The three are in one file because each is part of what the others are: a frame holds values, a
trace holds frames, and a value's slots are given the trace.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable
from types import CodeType, FunctionType
from typing import Any, ClassVar, NamedTuple, TypeAlias, final

from suture import config
from suture.breaks import Break, objects
from suture.bytecode import Code
from suture.compiler.effects import Effects
from suture.compiler.emitting import Emitter
from suture.compiler.graph import GraphBuilder, Span
from suture.compiler.plan import Plan
from suture.runtime import Chain
from suture.runtime.guards import Guards
from suture.runtime.sources import Source


class Raised(Exception):
    """The traced program raises `exception` (a value) here."""

    def __init__(self, exception: Value) -> None:
        super().__init__(exception)
        self.exception = exception


class Value:
    """An abstract value. `source` says where the real one can be read again, if anywhere."""

    __slots__ = ("source",)

    def __init__(self, source: Source | None = None) -> None:
        self.source: Source | None = source

    @property
    def known_source(self) -> Source:
        """The source of a value that comes from outside, as the caller knows."""
        assert self.source is not None, f"{type(self).__name__} has no source"
        return self.source

    # ---- what is known

    def python_type(self) -> type:
        raise Break(objects.UNKNOWN_OBJECT, operation="look at the type of", object=self.describe())

    def is_constant(self) -> bool:
        return False

    def constant(self) -> Any:
        """The value itself. Only of constants."""
        raise Break(objects.UNKNOWN_OBJECT, operation="take the value of", object=self.describe())

    def as_constant(self, trace: Trace) -> Any:
        """The Python value of something that is no constant but made of constants; symbols in it
        are specialised. Break where there is none. Called by `abstract.constant_value`."""
        raise Break(objects.UNKNOWN_OBJECT, operation="take the value of", object=self.describe())

    def real(self) -> Any:
        """The real object if there is one already, else raises LookupError."""
        raise LookupError

    def describe(self) -> str:
        """The value in a message to the user."""
        if self.source is not None:
            return self.source.path()
        try:
            return f"a {self.python_type().__name__}"
        except Break:
            return "an object"

    def as_proxy(self) -> Any:
        """The value as an argument of a graph node."""
        raise Break(objects.UNKNOWN_OBJECT, operation="pass to the graph", object=self.describe())

    def hash_key(self, trace: Trace) -> Hashable:
        """Something hashable that compares as the object does as a dict key."""
        return self.identity()

    def identity(self) -> Hashable:
        """Equal for two values exactly if they are the same object."""
        return Identity(self)

    # ---- operations

    def getattr(self, trace: Trace, name: str) -> Value:
        raise Break(objects.UNKNOWN_ATTRIBUTE, object=self.describe(), attribute=name)

    def setattr(self, trace: Trace, name: str, value: Value) -> None:
        raise Break(objects.MUTATION_OF_UNKNOWN, operation=f"set {name}", object=self.describe())

    def delattr(self, trace: Trace, name: str) -> None:
        raise Break(objects.MUTATION_OF_UNKNOWN, operation=f"delete {name}", object=self.describe())

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
        """Call the object; may leave a frame. None: its class says what a call does."""
        return None

    def call_method(
        self, trace: Trace, name: str, args: list[Value], kwargs: dict[str, Value]
    ) -> Value | None:
        """Call method `name`; may leave a frame. None: it is the `m_` method or the attribute of
        that name."""
        return None

    def truth(self, trace: Trace) -> bool | None:
        """True, False, or None if only Python can tell."""
        return True

    # ---- making it real

    def rebuild(self, emit: Emitter) -> str:
        """An expression for the value, when it has no source."""
        raise Break(objects.UNKNOWN_OBJECT, operation="put back", object=self.describe())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.describe()}>"


class Identity:
    """A dict key for the object of one value."""

    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and other.of is self.of

    def __hash__(self) -> int:
        return hash(id(self.of))


@final
class Lazy:
    """A value inside a container, or in a variable, that nothing has looked at yet, so nothing is
    guarded. `seen` is what it is once somebody has: one value for all places that hold it."""

    __slots__ = ("seen", "source", "value")

    def __init__(self, value: Any, source: Source | None) -> None:
        self.value = value
        self.source: Source | None = source
        self.seen: Value | None = None


Held: TypeAlias = Value | Lazy  # what a container or a variable holds


class Null(Value):
    """CPython's NULL on the value stack, and an unbound local."""

    __slots__ = ()

    def rebuild(self, emit: Emitter) -> str:
        return "UNBOUND"

    def describe(self) -> str:
        return "nothing"


NULL = Null()


class Mutable(Value):
    """An object whose contents the program can change.

    `changed` says that the contents differ from what the real object holds; such objects are
    written back when the region ends. An object made in the region has no source; `born` says
    which of two was made first.
    """

    __slots__ = ("born", "changed")
    births: ClassVar[int] = 0

    def __init__(self, source: Source | None = None) -> None:
        self.source = source
        self.changed = False
        Mutable.births += 1
        self.born = Mutable.births

    def touch(self, trace: Trace) -> None:
        """Note that the contents change now. Called before the change."""
        trace.effects.touch(self)
        self.changed = True

    def write_back(self, emit: Emitter, name: str) -> None:
        """Emit the lines that bring the real object called `name` up to date."""
        raise Break(objects.MUTATION_OF_UNKNOWN, operation="change", object=self.describe())


# ---- frames


class Frame:
    """A function being run symbolically.

    code      the decoded code object
    fn        the function's value (gives globals, cells, defaults)
    locals    one value, Lazy or None (unbound) per localsplus slot
    stack     the value stack
    ip        index of the instruction that runs next
    handled   the exception being handled, as this frame sees it
    deliver   None: the caller gets the return value. Else the value it gets instead
              (an object whose __init__ this frame is)
    generator the Generator whose body this frame is, or None
    resumed   the frame is a real generator's, which CPython has resumed
    call      (step, slots) of the instruction that called it, where that is its whole work; the
              slots as they were at the start
    span      the call that it is, for the nodes made while it runs; None of the region's own
    above     the stack of its callers as traceback prints it, if that is known and stays
    """

    __slots__ = (
        "above", "call", "code", "deliver", "fn", "generator", "handled", "ip", "locals", "resumed",
        "span", "stack",
    )  # fmt: skip

    def __init__(self, code: Code, fn: Any, slots: list[Held | None], handled: Any) -> None:
        self.code = code
        self.fn = fn
        self.locals = slots
        self.stack: list[Any] = []
        self.ip = code.entry
        self.handled = handled
        self.deliver: Any = None
        self.generator: Any = None
        self.resumed = False
        self.call: tuple[int, tuple[Any, ...]] | None = None
        self.span: Span | None = None
        self.above: str | None = None

    def line(self) -> int | None:
        return self.code.line(self.ip)

    def __repr__(self) -> str:
        return f"<frame {self.code.code.co_qualname} at {self.ip}>"


class Pending(Value):
    """A result that is not there yet: what a tail call leaves is a frame to run first.

    It stands for a value in results alone: those of `call`, `getattr` and other operations that may
    end in a call. The interpreter runs the frame and pushes what it returns; who needs the value
    itself calls `abstract.finish`.
    """

    __slots__ = ("frame",)

    def __init__(self, frame: Frame) -> None:
        super().__init__()
        self.frame = frame

    def describe(self) -> str:
        return "the result of a call"


# ---- one trace


class Mark(NamedTuple):
    """What had been done when an instruction of the region's own frames began."""

    changes: int
    operations: int
    depth: int  # frames


class Progress:
    """How far the interpreter is, and how much it may still do."""

    __slots__ = (
        "allowance", "allowed", "base_depth", "bodies", "decided", "jumps_back", "last_step",
        "limit_reached", "loop_turns", "mark", "most_bodies", "passed", "result", "step", "watch",
        "work",
    )  # fmt: skip

    def __init__(self, last_step: int, allowance: float) -> None:
        self.step = 0  # instructions of the region's own frames so far
        self.last_step = last_step  # the step at which the plan says to stop; -1: none
        self.mark = Mark(0, 0, 0)  # what had happened when the current instruction began
        self.passed = 0  # and how long `effects.passed` was
        self.base_depth = 0  # frames below the one with whose return the loop ends
        self.result: Any = None  # what that frame has returned
        self.work = 0  # instructions so far, those of nested calls too
        self.allowance = allowance  # how many there may be in a region without operations
        self.allowed = allowance  # and with the operations captured so far
        self.limit_reached: Break | None = None  # why the region should end as soon as it can
        self.jumps_back: dict[tuple[int, int], int] = {}
        self.loop_turns: dict[tuple[int, int], int] = {}
        self.decided: dict[Any, int] = {}  # branches on data expected so far, by position
        self.bodies = 0  # begun so far, of those that the program may skip
        self.most_bodies = math.inf  # how many there may be
        self.watch: Callable[[Trace, Frame, Any], None] | None = None


class Region:
    """What is traced: the chain of frames, what earlier calls were like, the plan of this try."""

    __slots__ = (
        "as_loop", "chain", "history", "initializes", "inline_limit", "inlined", "own_names",
        "plain", "plan", "slots", "whole",
    )  # fmt: skip

    def __init__(self, chain: Chain, history: Any, plan: Plan, whole: bool) -> None:
        self.chain = chain
        self.slots: list[Source] = []  # the sources of the state
        self.history = history
        self.plan = plan
        self.whole = whole  # fullgraph: a break is an error
        self.plain = False  # no tensor can be met
        self.initializes = plan.stop is not None and plan.stop.initializes  # a lazy module
        self.as_loop = False  # an iterator that has stood elsewhere before is left to Python
        self.inline_limit = config.inline_limit
        self.inlined: set[CodeType] = set()  # the code of calls that were inlined
        # Prefixes of the names of functions and classes that frames of the chain define: they are
        # other objects in each call.
        self.own_names = tuple(s.code.co_qualname + ".<locals>." for s in chain if s.index > 0)


class Handling:
    """Exceptions and generators under way."""

    __slots__ = (
        "ambient", "began_handling", "last_traceback", "making", "unwound", "waiting", "writing",
    )  # fmt: skip

    def __init__(self, began_handling: bool) -> None:
        self.ambient = sys.exception()  # what the caller of the region handles
        self.began_handling = began_handling  # the region resumes a generator inside an `except`
        self.last_traceback: Any = None
        self.unwound: list[Frame] = []  # frames that exceptions from outside have left
        self.waiting: dict[int, Any] = {}  # generators that have begun and not ended, by id
        self.making: Any = None  # where the library's iterator was made that runs now
        self.writing: list[Any] = []  # containers whose text is being written, against cycles


class Finalized:
    """Real objects whose end a program can see: the region ends where one is dropped."""

    __slots__ = ("containers", "in_containers", "in_state", "scanned", "unread")

    def __init__(self) -> None:
        self.in_state: list[Any] = []  # values of those that only the state may hold
        self.in_containers: list[Any] = []  # those that `containers` hold
        self.containers: list[Any] = []  # (object from outside that the region changes, its value)
        self.scanned = 0  # how many of `effects.touched` were looked through for such objects
        self.unread: list[Any] = []  # lists among these whose items nothing has looked at yet


class Outside:
    """What was met of the world outside. Sources and objects are keys by their id."""

    __slots__ = (
        "abstract_answers", "attribute_ways", "cells", "fixed", "general", "hashes", "hook_tables",
        "inner_sources", "known", "loose", "loose_numbers", "optimizers", "ordered", "picked",
        "pins", "plain_operators", "setting", "type_lookups", "unread",
    )  # fmt: skip

    def __init__(self) -> None:
        self.known: dict[int, tuple[Any, Value]] = {}  # (object, its value)
        self.pins: dict[int, Source] = {}  # the sources of objects that the variant holds
        self.picked: dict[int, Value] = {}  # items at an index that changes, by their sources
        self.fixed: set[int] = set()  # sources that are guarded by identity, or below such a one
        self.loose: set[int] = set()  # sources below fixed ones where another object may be
        self.general: dict[int, Source] = {}  # arguments that are modules
        self.optimizers: set[int] = set()  # ids of the sources of those that are fixed
        self.hashes = 0  # what was seen of hashes that other processes do not have
        self.ordered: set[int] = set()  # ids of the sources of sets whose order is guarded
        self.cells: dict[int, tuple[Any, Any]] = {}  # (cell, its value)
        # (class, name) -> a number in a class, of which only the type is known so far
        self.loose_numbers: dict[Any, int | float] = {}
        self.type_lookups: dict[Any, Any] = {}  # (class, name) -> what the class has there
        # (class of tensors, operator) of which the program has put no method into torch.Tensor
        self.plain_operators: set[tuple[type, str]] = set()
        # (class, name) -> a function of the class, or None: what a module says of the name, where
        # nothing but the object's own dict is asked first
        self.attribute_ways: dict[Any, FunctionType | None] = {}
        self.inner_sources: dict[int, Source] = {}  # of tensors that wrapper subclasses hold
        self.hook_tables: list[Any] | None = None  # of hooks that all modules have
        self.abstract_answers: Any = None  # of isinstance and issubclass for abstract classes
        self.setting: Any = None  # where the program last set a hook of a module
        self.unread: list[Any] = []  # literals of which only the type was asked, if that


class Numbers:
    """Numbers that are symbols: their sources, and those that the variant draws."""

    __slots__ = ("arrays_written", "draws", "number_sources")

    def __init__(self) -> None:
        self.number_sources: list[Any] = []
        self.draws: list[Any] = []
        self.arrays_written: list[Any] = []  # inputs that were changed as arrays


class Modes:
    """What the program switches in torch."""

    __slots__ = (
        "changed", "function_modes", "functions_at_start", "functions_on", "mapped",
        "modes_at_start", "overridable_seen", "restores", "strictness", "switches_left",
        "transforms",
    )  # fmt: skip

    def __init__(self, functions_on: Any, strictness: Any) -> None:
        self.changed: list[Any] = []  # (setter, value) calls that bring about the modes at the exit
        self.restores: list[Callable[[], object]] = []  # undo what was switched while tracing
        self.modes_at_start: list[Any] = []
        self.function_modes: list[Any] = []  # the stack of TorchFunctionModes now
        self.functions_at_start = functions_on  # whether `__torch_function__` is called
        self.functions_on = functions_on  # and whether it is now
        self.switches_left = False  # a block without __torch_function__ was left
        self.overridable_seen = False  # a tensor was seen whose class may take over operations
        self.transforms: list[str] = []  # those of torch.func whose bodies are being traced
        self.mapped = 0  # how many of them are vmap
        self.strictness = strictness


class Trace:
    """One try to trace one region. It has no behaviour: functions take it and use the components
    they need."""

    __slots__ = (
        "asked", "bodies", "checks", "copied", "effects", "finalized", "frames", "graph",
        "guards", "handling", "modes", "numbers", "optional", "outside", "progress", "region",
        "withheld",
    )  # fmt: skip

    def __init__(self, region: Region, handling: Handling, modes: Modes, allowance: float) -> None:
        stop = region.plan.stop
        self.region = region
        self.graph = GraphBuilder(without_data=region.plan.without_data)
        self.handling = handling
        self.finalized = Finalized()
        self.modes = modes
        self.guards = Guards()
        self.effects = Effects()
        self.frames: list[Frame] = []
        self.progress = Progress(-1 if stop is None else stop.step, allowance)
        self.outside = Outside()
        self.numbers = Numbers()
        self.checks: list[Any] = []  # what the program is expected not to raise
        self.optional: list[Any] = []  # bodies under way that the program may skip
        self.bodies: list[Any] = []  # those that have ended and computed what has a history
        self.asked: list[Any] = []  # (node, tensor): a history was asked for behind that node
        # inputs whose gradients are for the variant to withhold, and the numbers that it goes by
        self.withheld: dict[Any, list[Any]] = {}
        self.copied: list[Any] = []  # parameters that share their memory with something

    def release(self) -> None:
        """The trace is not needed any more: what it knows of the program is freed at once, and not
        only by the garbage collector."""
        self.finalized.in_state.clear()
        self.finalized.in_containers.clear()
        self.finalized.containers.clear()
        for name in self.__slots__:
            if hasattr(self, name):
                delattr(self, name)
