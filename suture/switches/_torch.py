"""The private classes and functions of torch that this room imports. Run on torch 2.13 only.

What is only read from modules that the program has imported stands in the files of their topics.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any


def compile_context(frame: int, variant: int) -> AbstractContextManager[Any]:
    """What is compiled in the block has this id in torch's trace and logs."""
    from torch._guards import CompileContext, CompileId, compile_context

    return compile_context(CompileContext(CompileId(frame_id=frame, frame_compile_id=variant)))


def intern(text: str) -> int:
    """The number that stands for a text in torch's trace."""
    from torch._logging.structured import intern_string

    return intern_string(text)


def write(name: str, metadata: dict[str, Any], payload: Any = None) -> None:
    """One record of torch's trace."""
    from torch._logging import trace_structured

    trace_structured(name, lambda: metadata, payload_fn=lambda: payload)


def explain_output(graphs: list[Any], reasons: list[tuple[str, Any]], ops: list[list[Any]]) -> Any:
    """What torch._dynamo.explain gives, of graphs, breaks with their stacks, and operations."""
    from torch._dynamo.backends.debugging import ExplainOutput
    from torch._dynamo.output_graph import GraphCompileReason

    told = [GraphCompileReason(text, stack) for text, stack in reasons]
    count = sum(map(len, ops))
    return ExplainOutput(graphs, len(graphs), len(told), told, count, ops, [], "")
