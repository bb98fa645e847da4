"""Breaks at calls: functions that are run by Python, by rule, by request or for want of a model."""

from __future__ import annotations

from suture.breaks.registry import Kind, define

PYTHON_FUNCTION_RUN = define(
    "GB0007",
    "Attempted to call function marked as skipped",
    message="{module}.{qualname} is run by Python ({reason})",
    explanation=(
        "A rule says that `{qualname}` is not looked into: its effect lies outside tensors (files, "
        "clocks, threads, logging, another library's internals), so Python runs the call and "
        "capture goes on behind it."
    ),
    hints=(
        "Move the call out of the compiled function, or to a place where no tensors are pending.",
        "If it is ordinary Python that works on tensors, let it be looked into with a rule: "
        'suture.rules.inline("{module}").',
        "If it is an operation of your own, register it with torch.library.custom_op.",
    ),
    kind=Kind.FUNDAMENTAL,
)

C_FUNCTION = define(
    "GB0177",
    "can't handle functions not implemented in python",
    message="{function} is implemented in C and has no model",
    explanation=(
        "`{function}` is compiled code: there is no bytecode to read, and suture has no "
        "description of what it does with the arguments it got here. Python runs the call."
    ),
    hints=(
        "Use the torch function that does the same.",
        "Make it a custom operator (torch.library.custom_op) if it computes tensors from tensors.",
        "Call it before or after the compiled function if it has nothing to do with tensors.",
    ),
    kind=Kind.FUNDAMENTAL,
)

DISABLED = define(
    "GB0098",
    "Skip calling `torch.compiler.disable()`d function",
    message="{function} is disabled ({reason})",
    explanation=(
        "`{function}` was wrapped with `torch.compiler.disable` or `suture.disable`: the program "
        "asks that it is never compiled."
    ),
    hints=(
        "Remove the wrapper if the reason for it is gone.",
        "Disable less: wrap only the lines that must not be compiled.",
    ),
    kind=Kind.BY_REQUEST,
)

GRAPH_BREAK_CALL = define(
    "GB0025",
    "Call to `torch._dynamo.graph_break()`",
    message="graph_break() was called: {reason}",
    explanation="The program asks for a graph break at this line.",
    hints=("Remove the call once the break is no longer wanted.",),
    kind=Kind.BY_REQUEST,
)

SKIP_FRAME = define(
    "GB2000",
    "Call to `skip_frame()`",
    message="skip_frame() was called in {function}: {reason}",
    explanation=(
        "The program asks that the rest of `{function}` runs in the plain interpreter. Functions "
        "that it calls from there are still compiled."
    ),
    hints=(
        "Remove the call, or use graph_break() to leave out a single line.",
        "Put the lines that must run in Python into a function wrapped with suture.disable.",
    ),
    kind=Kind.BY_REQUEST,
)

FORBIDDEN = define(
    "GB2001",
    "Call of a forbidden function",
    message="{function} may not be called in compiled code",
    explanation=(
        "`{function}` was declared forbidden in graphs (`forbid_in_graph`, or a rule), so the call "
        "ends the graph and Python makes it."
    ),
    hints=(
        "Replace the call with one that is allowed in graphs.",
        "Drop the declaration if the function may be captured after all.",
    ),
    kind=Kind.BY_REQUEST,
)

UNSUPPORTED_CALLABLE = define(
    "GB0147",
    "Unsupported function call",
    message="call of {callable}",
    context="arguments: {arguments}",
    explanation=(
        "`{callable}` is neither a function with bytecode nor one that suture has a model of, so "
        "what the call does is known only after making it. Python makes it."
    ),
    hints=(
        "Call a plain Python function instead, with the object as an argument.",
        "Make the call before the compiled function and pass the result in.",
    ),
    note="a model in suture.calls for this type of callable",
)

INLINE_DEPTH = define(
    "GB2002",
    "Calls nested too deeply",
    message="{function} is {depth} calls deep",
    explanation=(
        "The calls below the compiled function are followed up to a depth of {depth}; most often "
        "this is a recursion. The call is left to Python, which compiles the function on its own."
    ),
    hints=(
        "Turn the recursion into a loop.",
        "Raise suture.config.inline_depth if the depth is intended and the graph may grow.",
    ),
    kind=Kind.RESOURCE_LIMIT,
)

NO_FAKE_KERNEL = define(
    "GB0090",
    "Operator does not support running with fake tensors",
    message="{operator} has no fake kernel",
    explanation=(
        "Shapes and dtypes of results are worked out on fake tensors, without data. `{operator}` "
        "has no implementation for those, so nothing is known about its result until it has run."
    ),
    hints=(
        "Give the operator a fake implementation: torch.library.register_fake.",
        "Use another operator that has one.",
    ),
    kind=Kind.USER_ERROR,
)
