"""Breaks at calls: functions that are run by Python, by rule, by request or for want of a model."""

from __future__ import annotations

from suture.breaks.registry import Kind, Leaves, captured, define, not_applicable, user_error

PYTHON_FUNCTION_RUN = define(
    "GB0007",
    "Attempted to call function marked as skipped",
    title="Call that Python runs: a library, not tensor code",
    message="{module}.{qualname} is run by Python ({reason})",
    explanation=(
        "A rule says that `{qualname}` is not traced: its effect lies outside tensors (files, "
        "clocks, threads, logging, another library's internals), so Python runs the call and "
        "capture continues after it."
    ),
    hints=(
        "Move the call out of the compiled function, or to a place where no tensors are pending.",
        "If it is ordinary Python that works on tensors, have it traced with a rule: "
        'suture.rules.inline_package("{module}").',
        "If it is an operation of your own, register it with torch.library.custom_op.",
    ),
    kind=Kind.FUNDAMENTAL,
)

C_FUNCTION = define(
    "GB0177",
    "can't handle functions not implemented in python",
    title="Call of a function written in C",
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
    title="Function that is disabled (`torch.compiler.disable`)",
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
    title="graph_break() that the program asks for",
    message="graph_break() was called: {reason}",
    explanation="The program asks for a graph break at this line.",
    hints=("Remove the call once the break is no longer wanted.",),
    kind=Kind.BY_REQUEST,
)

COMPTIME_BREAK = define(
    "GB0030",
    "ComptimeContext graph break",
    title="comptime that asks for a break, or cannot run",
    message="torch._dynamo.comptime: {reason}",
    explanation=(
        "A function given to torch._dynamo.comptime runs while its line is compiled. It has asked "
        "for a break there, or is one that does not exist before the program runs."
    ),
    hints=(
        "Remove the call once the break is no longer wanted.",
        "Take variables of the program by ctx.get_local(name); a comptime function has none of "
        "the function around it.",
    ),
    kind=Kind.BY_REQUEST,
)

SKIP_FRAME = define(
    "GB2000",
    "Call to `skip_frame()`",
    title="skip_frame() that the program asks for",
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
    leaves=Leaves.FRAME,
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
    title="Call of an object that suture cannot look into",
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
    note="a model in suture.compiler.library for this type of callable",
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
        "Raise suture.config.inline_limit if the depth is intended and the graph may grow.",
    ),
    kind=Kind.RESOURCE_LIMIT,
)

NO_FAKE_KERNEL = define(
    "GB0090",
    "Operator does not support running with fake tensors",
    title="Operator without a fake kernel",
    message="{operator} has no fake kernel",
    context="what is missing:\n{registration}",
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

ARGUMENT_OUTSIDE_GRAPH = define(
    "GB0055",
    "Failed to convert args/kwargs to proxy",
    title="Argument that a graph cannot hold",
    message="{function} gets {argument}, which a graph cannot hold",
    explanation=(
        "A call that goes into the graph as a whole can take tensors, numbers, strings, and lists, "
        "tuples and dicts of them. `{argument}` is none of these, so Python makes the call."
    ),
    hints=(
        "Pass the tensors and numbers that the function needs instead of the object around them.",
        "Register the object's class with torch.utils._pytree if it is a container of tensors.",
    ),
    kind=Kind.FUNDAMENTAL,
)

NONSTRICT_LIMIT = captured(
    "GB0078",
    "Limitation of `nonstrict_trace",
    title="nonstrict_trace inside the compiled function",
    explanation=(
        "A function may be marked with `nonstrict_trace` where it is made, also inside the "
        "compiled function: it is then followed like any other."
    ),
    hints=("Nothing to change.",),
)

UNITTEST_METHOD = define(
    "GB0060",
    "Failed to trace unittest method",
    title="Method of unittest.TestCase",
    message="unittest.TestCase.{method}",
    explanation=(
        "`{method}` of unittest records warnings, logs or exceptions by changing state of the "
        "whole process. Python runs it; the code under test inside it is compiled."
    ),
    hints=("Put the assertion into the test, around the call of the compiled function.",),
    kind=Kind.FUNDAMENTAL,
)

ARGUMENT_TYPE_ERROR = user_error(
    "GB0111",
    "TypeError from user code",
    title="Call that does not fit the function",
    explanation=(
        "The call does not fit the function: an argument too many, one missing, a name that it "
        "does not have. Eager raises the same TypeError."
    ),
    hints=("Compare the call with the signature of the function.",),
)

METHOD_ARGUMENTS = user_error(
    "GB0117",
    "Unhandled args for method",
    title="Tensor method called with arguments it does not take",
    explanation=(
        "A method of a tensor got arguments that it does not take. Python makes the call, and the "
        "TypeError is the one that eager raises."
    ),
    hints=("Look up the method's signature in torch's documentation.",),
)

BUILTIN_ARGUMENTS = user_error(
    "GB0193",
    "invalid call to builtin op handler",
    title="Builtin called with wrong arguments",
    explanation=(
        "A builtin function was called with the wrong number or the wrong kind of arguments. Eager "
        "raises the same TypeError."
    ),
    hints=("Check the call: help(name) shows what the builtin takes.",),
)

STAR_ARGUMENTS = captured(
    "GB0167",
    "Variadic function call with bad args/kwargs type",
    title="f(*args, **kwargs) with any iterable and mapping",
    explanation=(
        "`f(*args, **kwargs)` takes any iterable and any mapping, as in eager: generators, dict "
        "views, objects with `__iter__` or with `keys` and `__getitem__`."
    ),
    hints=("Nothing to change.",),
)

PARTIAL_KEYWORDS = captured(
    "GB0186",
    "functools.partial() with non-literal keyword",
    title="functools.partial with keywords",
    explanation=(
        "functools.partial is followed with whatever keywords it holds, also those given as "
        "`**options`."
    ),
    hints=("Nothing to change.",),
)

WRAPS = captured(
    "GB0187",
    "functools.wraps",
    title="functools.wraps in the compiled function",
    explanation=(
        "A decorator that uses functools.wraps may be applied inside the compiled function, also "
        "to functions from outside: the wrapper is made in the graph's Python part."
    ),
    hints=(
        "Nothing to change. Decorating once, outside, saves the work of doing it in each call.",
    ),
)

INLINE_SKIPPED = not_applicable(
    "GB0008",
    "Attempted to inline function marked as skipped",
    explanation=(
        "A function that a rule leaves to Python was called from a function that is compiled. "
        "suture reports this as GB0007, wherever the call is."
    ),
    hints=(
        "See GB0007.",
        "`suture rules NAME` shows which rule applies to a function.",
    ),
    note="suture knows no difference between calling a function and inlining it",
)

INLINE_SKIPPED_OBJECT = not_applicable(
    "GB0009",
    "Attempted to inline function marked as skipped (SkipFunctionVariable)",
    explanation=(
        "A function that a rule leaves to Python was handed to another function as an argument and "
        "called there. suture reports the call as GB0007."
    ),
    hints=("See GB0007.",),
    note="what a function is called through makes no difference to the rule that applies",
)

INLINE_DISABLED = not_applicable(
    "GB0099",
    "Skip inlining `torch.compiler.disable()`d function",
    explanation=(
        "A disabled function was called from a function that is compiled. suture reports this as "
        "GB0098, however deep the call is."
    ),
    hints=("See GB0098.",),
    note="suture knows no difference between calling a disabled function and inlining it",
)

TRACING_OUT_OF_ROOM = define(
    "GB2048",
    "Too deep or too large to trace",
    message="{error} while tracing",
    explanation=(
        "This operation goes deeper into nested objects, or makes a larger one, than tracing can "
        "follow. Python runs it."
    ),
    hints=("Keep deeply nested or very large Python objects outside of compiled functions.",),
    kind=Kind.RESOURCE_LIMIT,
)
