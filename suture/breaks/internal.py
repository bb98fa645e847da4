"""Limits, backends, and errors of suture itself."""

from __future__ import annotations

from suture.breaks.registry import Kind, define, not_applicable

INTERNAL_FAULT = define(
    "GB2090",
    "Error in suture",
    message="{error} in {phase}",
    context="at {where}",
    explanation=(
        "suture itself failed while it compiled this code; your program is not at fault. Python "
        "runs it instead, so the results are right."
    ),
    hints=(
        "Please report it, with the traceback that SUTURE_LOGS=trace prints and, if you can, a "
        "program that shows it.",
        "Until it is fixed, suture.disable around the function silences the message.",
    ),
    note="mending the error",
)

BACKEND_FAULT = not_applicable(
    "GB0219",
    "Backend compiler exception",
    explanation=(
        "The graph was captured, but the backend could not compile it. The graph runs uncompiled, "
        "and a warning shows the error and the lines the graph came from. With fullgraph=True, or "
        "with `config.raise_backend_errors`, suture.errors.BackendFailed is raised, with the "
        "backend's exception as its cause."
    ),
    hints=(
        'Try backend="aot_eager" and then "eager" to find the layer that fails.',
        "Report it to the backend, with the graph that SUTURE_LOGS=graphs shows.",
    ),
    note="a backend that fails is an error of its own, not a place where a graph ends",
)

RECOMPILE_LIMIT = define(
    "GB0039",
    "Dynamo cache limit exceeded",
    title="Compiled too often: the recompile limit",
    message="{function} was compiled {count} times; the guard that keeps failing: {guard}",
    explanation=(
        "Each compilation fits the values that were seen. After {count} of them this point is "
        "compiled no more, and calls that fit none of them run in the plain interpreter."
    ),
    hints=(
        "SUTURE_LOGS=recompiles shows which guard fails each time.",
        "Make what changes a tensor or a dynamic size: dynamic=True, mark_dynamic.",
        "Raise suture.config.recompile_limit if that many forms are intended.",
    ),
    kind=Kind.RESOURCE_LIMIT,
)

RETRY_LIMIT = define(
    "GB0052",
    "Excessive RestartAnalysis() calls",
    message="{function} was traced again and again, {count} times; the last time because {reason}",
    explanation=(
        "Tracing takes things for granted, and starts again with another plan where one of them "
        "does not hold. After {count} tries the function runs in the plain interpreter from here."
    ),
    hints=(
        "SUTURE_LOGS=retries shows why each try was not the last.",
        "Raise suture.config.retry_limit if the tries come to an end.",
        "Wrap the function with suture.disable to avoid the retries.",
    ),
    kind=Kind.RESOURCE_LIMIT,
)

UNROLL_LIMIT = define(
    "GB2091",
    "Loop too long to unroll",
    message="a loop reached {count} iterations",
    explanation=(
        "A loop over Python values is unrolled into the graph. After {count} iterations "
        "the graph ends, and the body is compiled once and used for the remaining iterations."
    ),
    hints=(
        "Compute on whole tensors instead of their items.",
        "torch.while_loop or scan keep a long loop inside one graph.",
        "Raise suture.config.unroll_limit if a graph of that size is wanted.",
    ),
    kind=Kind.RESOURCE_LIMIT,
)

NO_OPERATIONS = define(
    "GB2093",
    "Nothing to capture",
    message="{count} regions were compiled, and none had an operation",
    explanation=(
        "A function that has been compiled in {count} pieces without one tensor operation is plain "
        "Python: compiling more of it costs time and gives nothing. Python runs what gets neither "
        "a tensor nor a module; the rest is still compiled."
    ),
    hints=(
        "Compile the function that works with tensors, not the program around it.",
        "Raise suture.config.empty_region_limit if the tensors come late.",
    ),
    kind=Kind.RESOURCE_LIMIT,
)

TRACE_LIMIT = define(
    "GB2092",
    "Too much Python for one graph",
    message="{count} instructions were traced, and {operations} operations captured",
    explanation=(
        "Tracing a piece of Python takes much longer than running it, which pays where it finds "
        "operations for a graph. Here it found few in {count} instructions, so the graph ends, "
        "Python continues, and what follows is compiled in smaller pieces."
    ),
    hints=(
        "Compute tables and other plain Python values outside the compiled function.",
        "Wrap a long computation without tensors in suture.disable.",
        "Raise suture.config.trace_limit if a graph over so much Python is wanted.",
    ),
    kind=Kind.RESOURCE_LIMIT,
)

MISSING_NAME = define(
    "GB2094",
    "Private part of torch is missing",
    message="this needs {name}, which the installed torch does not have",
    explanation=(
        "suture builds on some parts of torch that torch does not promise to keep. One of them is "
        "gone from the torch that is installed, so what needs it is run by Python. `suture doctor` "
        "lists all names that are missing."
    ),
    hints=(
        "Install a release of torch that this suture was tried on (README.md names them).",
        "Look for a newer suture.",
    ),
    note="looking the name up where this torch has it",
)
