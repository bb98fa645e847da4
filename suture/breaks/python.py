"""Breaks at parts of Python itself: imports, frames, code made from text, single instructions."""

from __future__ import annotations

from suture.breaks.registry import Kind, define

UNKNOWN_INSTRUCTION = define(
    "GB0082",
    "Missing bytecode handler",
    message="the instruction {opcode}",
    explanation=(
        "The line compiles to the instruction `{opcode}`, for which suture has no handler. Python "
        "runs the instruction, and capture goes on behind it."
    ),
    hints=(
        "Write the line in another way.",
        "Please report it: every instruction of CPython 3.11 and 3.12 ought to have a handler.",
    ),
    note="a handler in suture.tracer.opcodes",
)

IMPORT = define(
    "GB2050",
    "Import of a module that is not loaded",
    message="import {module}",
    explanation=(
        "Importing `{module}` for the first time runs its code, which may do anything. Python runs "
        "the import; once the module is loaded the statement is captured."
    ),
    hints=("Import at module level.",),
    kind=Kind.FUNDAMENTAL,
)

LOCALS_CALL = define(
    "GB2051",
    "Call that reads a frame's variables",
    message="{call}() reads the variables of the running frame",
    explanation=(
        "`{call}()` gives the variables of the frame that runs it as a dict, and this frame does "
        "not run yet while its graph is being built."
    ),
    hints=("Make a dict of the variables that are needed: dict(x=x, y=y).",),
    kind=Kind.FUNDAMENTAL,
)

FRAME_ACCESS = define(
    "GB2052",
    "Access to frame objects",
    message="{call} looks at frames",
    explanation=(
        "`{call}` gives or reads frame objects. While a graph is being built, the frames of the "
        "functions that were followed into do not exist."
    ),
    hints=(
        "Pass what is needed (a name, a line, a caller) as an argument.",
        "Put the inspection into a function wrapped with suture.disable.",
    ),
    kind=Kind.FUNDAMENTAL,
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
        "`{function}` hands control to the event loop here and goes on when the loop wakes it. The "
        "graph ends at the await; the code behind it is compiled as its own graph."
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
        "`except*` splits a group of exceptions and joins what is left over again. Python handles "
        "the group; the handlers' bodies are compiled."
    ),
    hints=("Use a plain `except` where no exception group is expected.",),
    note="a model of splitting and joining exception groups",
)
