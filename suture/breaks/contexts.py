"""Breaks at `with`: context managers and modes."""

from __future__ import annotations

from suture.breaks.registry import Kind, captured, define, not_applicable

UNKNOWN_MANAGER = define(
    "GB0142",
    "Unsupported context manager",
    title="with block of a manager that a graph cannot hold",
    message="with {manager}",
    explanation=(
        "Entering `{manager}` runs code that cannot be captured. Python enters and leaves it; the "
        "body of the `with` is compiled all the same."
    ),
    hints=(
        "Enter the context manager around the call of the compiled function.",
        "Write it with contextlib.contextmanager: those are captured.",
    ),
    note="a model in suture.compiler.objects for this context manager",
)

MODE_UNSUPPORTED = define(
    "GB2040",
    "Mode that a graph cannot carry",
    message="{mode} changes how operations run",
    explanation=(
        "`{mode}` changes a setting of torch that a graph has no way to switch while it runs. "
        "Python switches it, and the operations under it are compiled with the setting as it is "
        "then."
    ),
    hints=(
        "Switch the mode around the call of the compiled function.",
        "Use torch.autocast, torch.no_grad or torch.set_grad_enabled, which graphs can carry.",
    ),
    kind=Kind.FUNDAMENTAL,
)

MODE_AROUND = define(
    "GB2041",
    "Operations that a mode sees one by one",
    message="{mode} is active around this code",
    explanation=(
        "`{mode}` is a TorchDispatchMode: its code runs at each operation of the program, which it "
        "may count, record or change. A graph would show it other operations than eager does, so "
        "Python runs the code while the mode is active; elsewhere the same code is compiled."
    ),
    hints=(
        "Leave the mode before the compiled function is called.",
        "A TorchFunctionMode, which sees the calls of torch's functions, is traced through.",
    ),
    kind=Kind.FUNDAMENTAL,
)

GENERATOR_MANAGER = captured(
    "GB0221",
    "non-generator contextlib.contextmanager",
    title="contextmanager without a yield of its own",
    explanation=(
        "A function under contextlib.contextmanager need not contain a `yield` of its own: one "
        "that returns a generator is followed as well."
    ),
    hints=("Nothing to change.",),
)

VERSION_COUNTER_MANAGER = define(
    "GB0209",
    "torch.autograd._unsafe_preserve_version_counter escaped from compiled region",
    title="_unsafe_preserve_version_counter made in compiled code",
    message="_unsafe_preserve_version_counter is made here",
    explanation=(
        "The manager keeps the version counters of real tensors, which a graph does not carry. "
        "Python makes it, and it may be kept and entered like any other object."
    ),
    hints=("Use tensor.data or torch.no_grad() where autograd's checks are not needed.",),
    kind=Kind.FUNDAMENTAL,
)

PROFILER_MANAGER = captured(
    "GB0212",
    "torch.profiler object escaped from compiled region",
    title="record_function that is returned",
    explanation=(
        "A profiler's range, such as torch.profiler.record_function, can be made in the compiled "
        "function and returned or stored."
    ),
    hints=("Nothing to change. Ranges around the compiled function cost nothing inside it.",),
)

BREAK_UNDER_MANAGER = not_applicable(
    "GB0066",
    "Graph break under GenericContextWrappingVariable",
    explanation=(
        "The program breaks inside a `with` block. suture continues inside the block, with the "
        "real context manager entered, and reports the number of the break itself."
    ),
    hints=("Look at the break that is reported inside the block.",),
    note="a break inside `with` is an ordinary break",
)
