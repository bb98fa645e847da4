"""The core in C: frames entered anywhere, points, jumps, compiled functions, guard programs.

Words used below. A *slot* is one of a frame's `co_nlocalsplus` variables: locals, other cells,
free variables, in that order; cell slots hold cell objects. *Locals* is a tuple with one value per
slot, *stack* a tuple of the value stack, bottom first; `UNBOUND` stands for NULL in both. An
*offset* counts bytes of `co_code`. A *state* is the flat tuple of values at a point; it starts
with the function of the innermost frame. A *variant* is a callable that takes the state
positionally and returns a value, a `Jump` or a `Leave`.
"""

from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from types import CodeType, FunctionType
from typing import Any, Final, Literal, final

@final
class Unbound:
    """The type of UNBOUND."""

UNBOUND: Final[Unbound]

# Entering frames.

def enter(
    function: FunctionType,
    offset: int,
    locals: tuple[Any, ...],
    stack: tuple[Any, ...],
    exc: BaseException | None = None,
    handled: BaseException | None = None,
) -> Any:
    """Run function's code from the instruction at `offset` to its end, in CPython's interpreter.

    Free variables that are UNBOUND come from the function's closure, other empty cell slots get
    empty cells; before the first RESUME slots are taken as they are. With `exc` it goes on as if
    the instruction had raised it (context and traceback stay as they are). `handled` is what
    sys.exc_info() shows meanwhile; without it, what it showed when the running trampoline was
    entered. Calls made by the frame are offered for compilation if the trampoline was entered by
    compiled code. Functions that make generators are refused: see suspend() and resume_at().
    """

def suspend(
    function: FunctionType,
    offset: int,
    locals: tuple[Any, ...],
    stack: tuple[Any, ...],
    handled: BaseException | None = None,
) -> Generator[Any, Any, Any] | Coroutine[Any, Any, Any] | AsyncGenerator[Any, Any]:
    """A generator, coroutine or asynchronous generator that is suspended at the YIELD_VALUE at
    `offset`. The stack is without the value that was yielded."""

def resume_at(
    generator: Any,
    offset: int,
    locals: tuple[Any, ...],
    stack: tuple[Any, ...],
    handled: BaseException | None = None,
) -> None:
    """The next send() to this fresh or suspended generator goes on at `offset` with these locals
    and this stack, the value sent on top of it. A throw() raises as if the instruction before
    `offset` had raised."""

def run(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call fn with the hook active: frames that start below are offered for compilation."""

def handling(
    exc: BaseException | None, fn: Callable[..., Any], /, *args: Any, **kwargs: Any
) -> Any:
    """Like run(fn, ...), with `exc` as the exception being handled."""

@final
class SyntheticFrames:
    """Calls what it is given, with the other arguments, while the stack shows frames at `positions`
    ((code, globals, offset), outermost first) instead of what runs in the trampoline. Who looks at
    the callers (warnings, logging, `sys._getframe`) finds the program's own; they have no locals.
    """

    def __new__(
        cls, positions: tuple[tuple[CodeType, dict[str, Any], int], ...]
    ) -> SyntheticFrames: ...
    def __call__(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any: ...

# Points and what variants answer.

@final
class Point:
    """Where a frame can be entered, with its variants.

    Dispatch tries the variant that hit last, then the most recent first, general ones at the end.
    If none fits, `on_miss(point, state)` answers a callable that is called with the state.
    Variants whose guards hold an object that died are taken out.
    """

    data: Any
    def __new__(
        cls,
        name: str,
        on_miss: Callable[[Point, tuple[Any, ...]], Callable[..., Any]],
        data: Any = None,
    ) -> Point: ...
    @property
    def name(self) -> str: ...
    @property
    def on_miss(self) -> Callable[[Point, tuple[Any, ...]], Callable[..., Any]]: ...
    @property
    def variants(self) -> list[Callable[..., Any]]:
        """The variants now, most recent first; a copy."""
    @property
    def guards(self) -> list[GuardProgram | None]:
        """Their guards, in the same order."""
    def add(
        self,
        variant: Callable[..., Any],
        guards: GuardProgram | None = None,
        general: bool = False,
    ) -> None:
        """Install a variant in front, or after those that are not general if it is; without
        guards it always fits."""
    def remove(self, variant: Callable[..., Any], /) -> None:
        """Take a variant out; ValueError if it is none of this point's."""

def set_around(
    enter: Callable[[Point, Any], Any] | None, leave: Callable[[Any], None] | None, /
) -> None:
    """Call these around each variant, `enter` with the point and the variant, `leave` with what it
    gave; what they raise is only reported. None, None: nothing is called."""

@final
class Jump:
    """Go on at a point: what jump() makes and the trampoline consumes."""

    @property
    def point(self) -> Point: ...
    @property
    def state(self) -> tuple[Any, ...]: ...

def jump(point: Point, /, *state: Any) -> Jump:
    """Returned by a variant: go on at `point` with this state, without recursion."""

@final
class Leave:
    """Go on in CPython's interpreter: what leave() makes and the trampoline consumes."""

    @property
    def offset(self) -> int: ...
    @property
    def locals(self) -> tuple[Any, ...]: ...
    @property
    def stack(self) -> tuple[Any, ...]: ...
    @property
    def function(self) -> FunctionType | None: ...

def leave(
    offset: int,
    locals: tuple[Any, ...],
    stack: tuple[Any, ...],
    function: FunctionType | None = None,
    exc: BaseException | None = None,
    handled: BaseException | None = ...,
) -> Leave:
    """Returned by a variant: go on at `offset`, the variant's own frame being gone.

    With `function` a fresh frame is entered, as enter() does; values that only this object holds
    move into it. Without, the generator frame that is being resumed goes on: `handled` not given
    leaves what it handles as it is, None makes it nothing.
    """

def run_point(point: Point, /, *state: Any) -> Any:
    """The trampoline: dispatch at `point`, follow jumps, enter what is left to."""

def call_plainly(function: FunctionType, /, *slots: Any) -> Any:
    """Take the state at the start of a function: Python runs it, and all that it calls. No frame
    of suture's is on the stack meanwhile."""

# Compiled functions.

@final
class Compiled:
    """Stands for a Python function: same name, signature and binding of arguments.

    A call makes the state (function, *slots of the arguments) and runs the trampoline at `point`.
    Arguments that do not fit get CPython's own TypeError. Attributes that are not set on the
    object are the function's.
    """

    context: Any
    """Any object: current_context() while compiled code of this object runs."""
    bypass: bool
    """Call the plain function instead, with the hook inactive."""
    __wrapped__: Any
    @property
    def _torchdynamo_orig_callable(self) -> Any:
        """`__wrapped__`, under the name by which libraries look for it."""
    __name__: str
    __qualname__: str
    def __new__(cls, function: FunctionType, point: Point, context: Any = None) -> Compiled: ...
    @property
    def function(self) -> FunctionType: ...
    @property
    def point(self) -> Point: ...
    @point.setter
    def point(self, value: Point) -> None:
        """Calls that begin from now on start there; with `context` it is what the object is."""
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __get__(self, instance: Any, owner: Any = None, /) -> Any: ...
    def __getattr__(self, name: str, /) -> Any: ...
    def __setattr__(self, name: str, value: Any, /) -> None: ...
    def __copy__(self) -> Compiled: ...
    def __deepcopy__(self, memo: Any, /) -> Compiled: ...

def current_context() -> Any:
    """The context of the compiled code that runs on this thread, or None."""

# Iterators of loops. Nothing is consumed, and no code of the program runs.

def coming_of(iterator: Any, /) -> int:
    """How many elements an iterator counts as still to come; -1 where it does not count. It tells
    the turns of a loop apart before more is read, and says nothing of what the elements are."""

def dict_of(iterator: Any, /) -> Any:
    """The dict an iterator goes over; None once it is through."""

def left_of(iterator: Any, /) -> int | None:
    """How many of its dict's keys, counted from the end, an iterator has before it. -1: it is
    through; None: the dict has got other keys since it was made."""

# The hook.

def set_frame_callback(
    callback: Callable[[CodeType, FunctionType], Point | Literal[False] | None] | None, /
) -> Callable[[CodeType, FunctionType], Point | Literal[False] | None] | None:
    """`callback(code, function)` is asked once per code object and context when a frame starts
    while the hook is active: a Point takes the frame, None lets it run plainly, False lets it and
    all that it calls run with the hook inactive. Its exceptions are the frame's. Returns the
    callback before; a new one is asked anew."""

def set_generator_callback(
    callback: Callable[[CodeType, FunctionType, int], Point | Literal[False] | None] | None, /
) -> Callable[[CodeType, FunctionType, int], Point | Literal[False] | None] | None:
    """`callback(code, function, offset)` is asked once per code object, offset and context when a
    generator is resumed after the instruction at `offset`. The state at its Point is (function,
    *all slots, *stack), the value sent on top; its variants must end in a leave() without a
    function. What they raise is raised where the generator is."""

def outermost_calls() -> int:
    """How many outermost calls of compiled code have begun in this process: within one of them it
    is the same number, unless other threads call too."""

def set_outermost_callback(callback: Callable[[], Any] | None, /) -> Callable[[], Any] | None:
    """`callback()` is called when compiled code is entered that is not below compiled code of the
    same thread, before it begins. Its exceptions are reported and dropped. Returns the callback
    before."""

def set_choice_callback(
    callback: Callable[[Point, tuple[Any, ...]], bool] | None, /
) -> Callable[[Point, tuple[Any, ...]], bool] | None:
    """`callback(point, state)` is asked before a variant that fits is run; if it says no, it is as
    if none had fitted. Its exceptions are the call's. Returns the callback before."""

def forget(code: CodeType, /) -> None:
    """Ask the callbacks again about this code object."""

def hook_active() -> bool:
    """Are frames that start on this thread offered?"""

def set_hook_active(active: bool, /) -> bool:
    """Set it for this thread, until run(), enter() or a compiled call around it ends. Returns what
    it was."""

def hook_installed() -> bool:
    """Is our evaluation function the interpreter's current one?"""

def set_frame_permanent(permanent: bool, /) -> bool:
    """Keep it installed even while nothing needs it. Returns what was set before."""

def watch(code: CodeType, context: Any, /) -> None:
    """Offer resumed generators of this code even where the hook is not active, `context` being
    current; None ends it. Needs set_frame_permanent(True)."""

# Tracebacks.

def add_traceback(
    exc: BaseException,
    code: CodeType,
    globals: dict[str, Any],
    offset: int,
    locals: tuple[Any, ...] | None = None,
    /,
) -> None:
    """Add an entry in front, as if `exc` had passed a frame of `code` at that instruction."""

def strip_traceback(exc: BaseException, code: CodeType, /) -> None:
    """Remove leading entries whose frame runs `code`."""

# Texts.

def is_interned(text: Any, /) -> bool:
    """Is this very text the one that literals with these letters give?"""

def type_name(type: type, /) -> str:
    """What CPython calls a type in its error messages: of builtin types with their module."""

def own_table(object: object, /) -> bool:
    """Give an object's dict a table of its own, so that stores to attributes are seen by those who
    watch the dict. Whether it has one: not where others hold the dict."""

# Guards.

EXPR_OPS: Final[dict[str, int]]
"""The operations of `exprs` and their numbers."""

@final
class GuardProgram:
    """Guards on a state, run without the interpreter.

    A wrong description raises ValueError that says where.
    A node is (accessor, argument, checks, children[, label[, id]]); a check is (kind[, argument[,
    id]]). Ids number readable guards; without one a node reports its first check's. Labels are
    ints by which `same`, `distinct` and `exprs` refer to nodes.

    Roots:      ("slot", i) of the state, ("const", object).
    Accessors:  ("attr", name) getattr | ("dict", None) instance __dict__ | ("item", key) of
                a dict | ("index", i) storage of a list or tuple | ("cell", None) | ("type", None) |
                ("getitem", key) | ("key", i) i-th key of a dict | ("call", function) |
                ("closure", i) ("default", i) ("kwdefault", name) ("code", None) of a function |
                ("mro_attr", name) class attribute as it is in the MRO.
    Checks:     ("is", object) | ("weak", object) identity, not kept alive; its death is the
                program's | ("type", T) exact | ("equals", constant) exact type and value, floats by
                bits, other objects by identity | ("len", n) | ("keys", tuple) in order |
                ("no_key", key) | ("no_attr", name) | ("no_mro_attr", name) of a
                class, bases included | ("tensor", TensorSpec) | ("int",) ("float",)
                ("bool",) exact | ("unbound",) | ("truth", predicate).
    same:       ((label, label, id), ...)         one object
    distinct:   (((label, ...), id, memory), ...) no two are one; True: no two tensors share memory
    exprs:      ((id, ((label, kind, dim), ...), code), ...); kind "size", "stride", "int",
                "float" or "storage_offset"; code: numbers of EXPR_OPS in postfix order ("const", n
                and "symbol", i take an operand), 64-bit with Python's floor division, overflow
                fails; or a callable on the symbols' values, the only one for floats.
    torch_state: ((function of no arguments, expected, id), ...), expected compared as "equals".

    What hangs below an object pinned by "is", "weak" or "const" through dicts, types, cells, lists
    and functions is watched, not walked. Exceptions of user code mean that the guard fails;
    KeyboardInterrupt, SystemExit, MemoryError and RecursionError are passed on.
    """

    def __new__(
        cls,
        nodes: Any,
        same: Any = (),
        distinct: Any = (),
        exprs: Any = (),
        torch_state: Any = (),
    ) -> GuardProgram: ...
    @property
    def nodes(self) -> int: ...
    @property
    def dead(self) -> bool:
        """An object that it holds weakly died: it never holds again."""
    @property
    def tensors(self) -> int: ...
    @property
    def watched(self) -> int: ...
    def check(self, *state: Any) -> bool:
        """Do all guards hold?"""
    def failing(self, *state: Any) -> int | None:
        """The id of the first guard that fails."""
    def explain(self, *state: Any) -> tuple[int, str] | None:
        """The same with what was expected and what was found."""
    def time(self, turns: int, *state: Any) -> float:
        """Nanoseconds per check."""

def state_word(function: Callable[[], Any], library: str, symbol: str, kind: str, /) -> bool:
    """Say that a symbol of a loaded library tells the same as `function`, without Python. Guards of
    programs made later (`torch_state`) call `function` only where the word changed. False if
    there is no such symbol: then `function` is called each time.

    kind: what the symbol is: a function of no arguments that returns "bool", "int8", "int64" or the
    address of two words ("words at"), or two words that each thread has ("words of thread").
    """

@final
class TensorSpec:
    """What a guard requires of a tensor, taken from an example.

    `check` names the facts that count, all if None: type, dtype, device, layout, sizes, strides,
    requires_grad, conj, neg, inference, keys (dispatch keys). Dimensions in `dynamic_sizes` and
    `dynamic_strides` are left to expressions. Its str() is for people.
    """

    def __new__(
        cls,
        example: Any,
        dynamic_sizes: tuple[int, ...] = (),
        dynamic_strides: tuple[int, ...] = (),
        check: Any = None,
    ) -> TensorSpec: ...
    @property
    def sizes(self) -> tuple[int | None, ...]:
        """The size of each dimension; None where it is left to expressions."""
    @property
    def strides(self) -> tuple[int | None, ...]:
        """The stride of each dimension; None where it is left to expressions."""
    def mismatch(self, tensor: Any, /) -> str | None:
        """How the tensor differs, or None."""
    def holds(self, tensor: Any, /) -> bool:
        """Whether it agrees; no storage is touched, no mode or subclass sees it."""

def configure_tensors(types: tuple[type, ...], base: type, native: bool = True, /) -> Any:
    """Tell the guards which types are tensors; `native`: their memory may be read, if probes find
    out how. Only the first call counts."""

def tensor_layout() -> Any:
    """What was found out about the memory of tensors."""
