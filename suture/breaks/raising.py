"""Situations at raise, try and except."""

from __future__ import annotations

from suture.breaks.registry import Kind, captured, define, not_applicable, user_error

SET_TRACEBACK = define(
    "GB0095",
    "Set Exception object `__traceback__` attribute to not-`None`",
    title="Assignment to an exception's traceback",
    message="the traceback of {exception} is set",
    explanation=(
        "A traceback refers to frames. An exception that is raised and handled inside captured "
        "code has none, so Python makes the exception real before its traceback is set."
    ),
    hints=(
        "raise new from old keeps both tracebacks.",
        "Handle tracebacks outside the compiled function.",
    ),
    kind=Kind.FUNDAMENTAL,
)

RAISED = captured(
    "GB0088",
    "Observed exception",
    title="Exception that is handled some calls up",
    explanation=(
        "Exceptions may be raised in one function and handled in another, three calls up: it all "
        "happens while compiling. One that nothing handles leaves the compiled function as it "
        "leaves the plain one."
    ),
    hints=("Nothing to change.",),
)

HANDLED = captured(
    "GB0089",
    "Observed exception (EXCEPT_HANDLER)",
    title="try, except, else and finally",
    explanation=(
        "except, else and finally clauses run as Python defines it, nested and re-raised "
        "exceptions included."
    ),
    hints=("Nothing to change.",),
)

EXCEPTION_ATTRIBUTE = captured(
    "GB0135",
    "Unsupported attribute assignment on Exception object",
    title="Attribute set on an exception",
    explanation="Attributes of an exception can be set and read like those of any object.",
    hints=("Nothing to change.",),
)

EXCEPT_TUPLE = user_error(
    "GB0050",
    "Exception with bad expected type",
    title="except with something that is not an exception class",
    explanation=(
        "An except clause names something that is not an exception class, next to others or alone. "
        "Eager raises the same TypeError when an exception reaches the clause."
    ),
    hints=("Name exception classes only: except (ValueError, KeyError).",),
)

EXCEPT_VALUE = user_error(
    "GB0051",
    "Exception with non-type expectation",
    title="except with a value instead of a class",
    explanation=(
        "An except clause names a value where a class is needed, such as an instance of an "
        "exception. Eager raises the same TypeError when an exception reaches the clause."
    ),
    hints=("Write the class: `except ValueError`, not `except ValueError()`.",),
)

RAISE_NON_EXCEPTION = user_error(
    "GB0057",
    "Failed to raise exception",
    title="raise of something that is not an exception",
    explanation=(
        "`raise` was given something that is not an exception. Eager raises the same TypeError."
    ),
    hints=("Raise an exception class or an instance of one.",),
)

CAUGHT_NON_EXCEPTION = not_applicable(
    "GB0028",
    "Caught non-Exception value",
    explanation=(
        "What reaches an except clause is an exception: Python lets nothing else be raised."
    ),
    hints=(
        "Nothing to change.",
        "`raise` with something else is GB0057.",
    ),
    note=(
        "TorchDynamo's own stack of handlers may hold other values there; suture's holds exceptions"
    ),
)
