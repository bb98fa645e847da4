"""What TorchDynamo tells programs about its work: counters, callbacks, `torch._dynamo.explain`.

Only `explain_output` imports torch._dynamo; the rest looks at what a program has imported already.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from suture.torch_private.table import Topic, loaded

NAMES = Topic(
    __name__,
    "torch._dynamo.explain, counters and callbacks under install()",
    "2.13",
    {
        "ExplainOutput": "torch._dynamo.backends.debugging.ExplainOutput",
        "GraphCompileReason": "torch._dynamo.output_graph.GraphCompileReason",
    },
)


def __getattr__(name: str) -> Any:
    return NAMES.get(name)


def explain_output(graphs: list[Any], reasons: list[tuple[str, Any]], ops: list[list[Any]]) -> Any:
    """What torch._dynamo.explain gives, of graphs, breaks with their stacks, and operations."""
    told = [NAMES.get("GraphCompileReason")(text, stack) for text, stack in reasons]
    count = sum(map(len, ops))
    return NAMES.get("ExplainOutput")(graphs, len(graphs), len(told), told, count, ops, [], "")


def counters() -> Any:
    """torch._dynamo.utils.counters; None while no program has imported them."""
    return getattr(loaded("torch._dynamo.utils"), "counters", None)


def recompile_hooks() -> list[Any]:
    """Functions of the program that say something about the moment of a recompilation."""
    return getattr(loaded("torch._dynamo.utils"), "_recompile_user_contexts", None) or []


def has_callbacks() -> bool:
    """Whether a program has imported what registers callbacks of compilations."""
    return loaded("torch._dynamo.callback") is not None


def callbacks(name: str) -> AbstractContextManager[Any]:
    """The program's functions for the start and the end of a compilation are called around the
    block. Only where `has_callbacks`."""
    module = loaded("torch._dynamo.callback")
    entered: AbstractContextManager[Any] = module.callback_handler.install_callbacks(
        module.CallbackTrigger.DYNAMO, name
    )
    return entered
