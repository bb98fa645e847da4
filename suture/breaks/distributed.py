"""Situations at torch.distributed and at devices."""

from __future__ import annotations

from suture.breaks.registry import Kind, define, not_applicable

ASYNC_COLLECTIVE = define(
    "GB0172",
    "async_op=True for distributed collectives",
    title="Collective whose handle leaves the graph",
    message="the handle of {collective} with async_op=True leaves the graph",
    explanation=(
        "With async_op=True a collective returns a handle. Where the handle is waited for in the "
        "same graph, both are part of it. This one leaves the graph, is dropped, or is asked "
        "something else than to wait, and it belongs to the running process. Python makes the call."
    ),
    hints=(
        "Call wait() without a timeout, in the same compiled function, with no break between.",
        "Leave out async_op: the compiler orders communication by itself.",
    ),
    kind=Kind.FUNDAMENTAL,
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
