"""Breaks at parts of Python itself: imports, frames, code made from text, single instructions."""

from __future__ import annotations

from suture.breaks.registry import Kind, Leaves, Status, captured, define, user_error

UNKNOWN_INSTRUCTION = define(
    "GB0082",
    "Missing bytecode handler",
    title="Bytecode instruction without a handler",
    message="the instruction {opcode}",
    explanation=(
        "The line compiles to the instruction `{opcode}`, for which suture has no handler. Python "
        "runs the instruction, and capture continues after it."
    ),
    hints=(
        "Write the line in another way.",
        "Please report it: every instruction of CPython 3.11 to 3.15 ought to have a handler.",
    ),
    kind=None,
    status=Status.CAPTURED,
    note="a net for instructions of Python versions to come; today's are all handled",
)

IMPORT = define(
    "GB2050",
    "Import of a module that is not loaded",
    message="import {module}",
    explanation=(
        "Importing `{module}` for the first time runs its code, which may do anything. Python runs "
        "the import; once the module is loaded the statement is captured."
    ),
    hints=("Import at module level.", "Use a lazy import once before the function is called."),
    kind=Kind.FUNDAMENTAL,
    leaves=Leaves.FRAME,
)

LOCALS_CALL = define(
    "GB2051",
    "Call that reads a frame's variables",
    message="{call}() reads the variables of the running frame",
    explanation=(
        "`{call}()` looks at the variables of the frame that runs it, by name. The rest of this "
        "frame runs in the plain interpreter, where they are; what it calls is compiled."
    ),
    hints=("Hand over what is needed by name: eval(text, {{}}, dict(x=x, y=y)).",),
    kind=Kind.FUNDAMENTAL,
    leaves=Leaves.FRAME,
)

FRAME_ACCESS = define(
    "GB2052",
    "Access to frame objects",
    message="{call} looks at frames",
    explanation=(
        "`{call}` gives or reads frame objects, which do not exist while a graph is being built. "
        "The rest of this frame runs in the plain interpreter; what it calls is compiled."
    ),
    hints=(
        "Pass what is needed (a name, a line, a caller) as an argument.",
        "Put the inspection into a function wrapped with suture.disable.",
    ),
    kind=Kind.FUNDAMENTAL,
    leaves=Leaves.FRAME,
)

EXEC_EVAL = define(
    "GB2053",
    "Code made from text",
    message="{call}() runs source text",
    explanation=(
        "`{call}()` compiles and runs text, with the frame's own variables in reach. Python runs "
        "it; functions that the text defines are compiled when they are called."
    ),
    hints=(
        "Make the function once, outside, and call it here.",
        "Use getattr, a dict of functions or operator functions instead of eval().",
    ),
    kind=Kind.FUNDAMENTAL,
)

ASYNC = define(
    "GB2054",
    "Waiting in a coroutine",
    message="{instruction} in {function}",
    explanation=(
        "`{function}` hands control to the event loop here and continues when the loop wakes it. "
        "The graph ends at the await; the code after it is compiled as its own graph."
    ),
    hints=(
        "Await first, and compute in an ordinary function that is compiled.",
        "Gather everything that must be awaited before the tensor work begins.",
    ),
    kind=Kind.FUNDAMENTAL,
)

STAR_EXCEPT = define(
    "GB2055",
    "except* with an exception in flight",
    message="except* {types}",
    explanation=(
        "`except*` splits a group of exceptions and joins what is left over again. The group was "
        "made outside of what is captured here, or its class is the program's own, with methods "
        "that split it. Python does both."
    ),
    hints=(
        "Raise an ExceptionGroup of Python's own class inside the compiled function.",
        "Use a plain `except` where no exception group is expected.",
    ),
    note="splitting exception groups that come from outside",
)

DELETED_LOCAL = captured(
    "GB0011",
    "Attempted to read undefined local variable",
    title="Read of a local variable without a value",
    explanation=(
        "Reading a variable that has no value at that point raises UnboundLocalError inside the "
        "captured code, and an except clause answers it there."
    ),
    hints=(
        "Nothing to change if the error is handled; if not, eager raises it too.",
        "Set the variable to None before the branch that may skip it.",
    ),
)

COMPREHENSION_ARGUMENT = captured(
    "GB0012",
    "Attempted to read undefined local variable (implicit)",
    title="Hidden argument of a comprehension",
    explanation=(
        "The hidden argument of comprehensions and generator expressions is passed as Python "
        "passes it, nested ones included."
    ),
    hints=("Nothing to change.",),
)

UNINITIALIZED_LOCAL = user_error(
    "GB0076",
    "LOAD_FAST_CHECK on uninitialized variable",
    title="Variable that was never set",
    explanation=(
        "A variable is read on a way through the function on which it was never set. Eager raises "
        "the same UnboundLocalError."
    ),
    hints=("Set the variable before the branch or the loop that may leave it unset.",),
)

UNINITIALIZED_CELL = user_error(
    "GB0091",
    "Read uninitialized cell",
    title="Variable of an outer function that is not set yet",
    explanation=(
        "An inner function reads a variable of the outer one before it is set. Eager raises the "
        "same NameError."
    ),
    hints=("Set the variable before the inner function is called.",),
)

CELL_WRITE = captured(
    "GB0169",
    "Write to immutable cell",
    title="nonlocal variable that is written",
    explanation=(
        "nonlocal variables can be written from inner functions; the cells of functions from "
        "outside have their new values afterwards."
    ),
    hints=("Nothing to change.",),
)

FORMAT_NAMES = captured(
    "GB0020",
    "BUILD_STRING key conflict",
    title="f-string inside an f-string",
    explanation=(
        "f-strings are put together from their parts, whatever format strings they hold inside."
    ),
    hints=("Nothing to change.",),
)

FORMAT_PARTS = captured(
    "GB0021",
    "BUILD_STRING type error",
    title="f-string with objects of any class",
    explanation=(
        "The parts of an f-string may be any objects with a `__format__`, `__str__` or `__repr__` "
        "in Python."
    ),
    hints=(
        "Nothing to change.",
        "A tensor inside an f-string needs its numbers: see GB0059.",
    ),
)

IMPORT_RESULT = captured(
    "GB0022",
    "Bad import result",
    title="import of something that is not a module",
    explanation=(
        "`import` gives what sys.modules holds under the name, also where a library has put an "
        "object there that is not a module."
    ),
    hints=("Nothing to change.",),
)

IMPORT_FAILURE = user_error(
    "GB0069",
    "Import failure",
    title="import that fails",
    explanation=(
        "The import fails. Eager raises the same ImportError, and an except clause around it "
        "handles it."
    ),
    hints=("Install the module, or import it at module level under try.",),
)

INTRINSIC = captured(
    "GB0079",
    "Missing CALL_INTRINSIC_1 handler",
    title="Instruction of a newer Python",
    explanation=(
        "The small operations that newer Pythons fold into one instruction (unary plus, a list "
        "into a tuple, a generator's StopIteration) are all handled."
    ),
    hints=("Nothing to change.",),
)
