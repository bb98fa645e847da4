"""Situations at torch.distributed and at devices."""

from __future__ import annotations

from suture.breaks.registry import Kind, define, not_applicable

ASYNC_COLLECTIVE = define(
    "GB0172",
    "async_op=True for distributed collectives",
    title="Collective with async_op=True",
    message="{collective} with async_op=True",
    explanation=(
        "With async_op=True a collective returns a handle to wait on, which belongs to the running "
        "process and not to a graph. Python makes the call."
    ),
    hints=(
        "Leave out async_op: the compiler orders communication by itself.",
        "torch.distributed._functional_collectives have results that are waited for on first use.",
    ),
    note="rewriting the call and its wait() into a functional collective",
)

EVENT_METHOD = define(
    "GB0146",
    "Unsupported event method",
    title="Method of a stream's event",
    message="{method}() of an event",
    explanation=(
        "`{method}` of a device's event reads a time or a handle that exists only while the "
        "device runs. Python calls it."
    ),
    hints=(
        "Measure time around the compiled function.",
        "record(), wait() and synchronize() order streams without reading anything back.",
    ),
    kind=Kind.FUNDAMENTAL,
)

FSDP_PARAMETERS = not_applicable(
    "GB0053",
    "FSDP with use_orig_params=False",
    explanation=(
        "TorchDynamo needs FSDP to keep the original parameters, because it registers parameters "
        "by name. suture reads parameters where the program reads them, so either setting works."
    ),
    hints=("Nothing to change. fully_shard (FSDP2) always keeps the original parameters.",),
    note="parameters are not registered by name",
)

NO_DISTRIBUTED = not_applicable(
    "GB0210",
    "torch.distributed package is not available!",
    explanation=(
        "torch was built without torch.distributed, so names from it cannot be used, compiled or "
        "not."
    ),
    hints=(
        "Ask torch.distributed.is_available() before using it.",
        "Install a build of torch that has it.",
    ),
    note="the program fails in torch itself, before anything could be captured",
)

TRITON_GRID = not_applicable(
    "GB0216",
    "unsupported grid type for triton hop check_grid",
    explanation=(
        "TorchDynamo rewrites the launch of a Triton kernel and needs a grid of a known type for "
        "that. suture launches kernels with the grid that the program gives."
    ),
    hints=("Nothing to change. A tuple of ints, or a function that gives one, is the usual form.",),
    note="the grid is not taken apart",
)
