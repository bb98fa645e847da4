"""torch's structured trace (TORCH_TRACE), its logging settings, and the ids of compilations."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from suture.torch_private.table import Topic, loaded

NAMES = Topic(
    __name__,
    "writing into torch's structured trace under install()",
    "2.13",
    {
        "logging": "torch._logging",
        "trace_structured": "torch._logging.trace_structured",
        "intern_string": "torch._logging.structured.intern_string",
        "CompileContext": "torch._guards.CompileContext",
        "CompileId": "torch._guards.CompileId",
        "enter_compile_context": "torch._guards.compile_context",
    },
)


def __getattr__(name: str) -> Any:
    return NAMES.get(name)


def is_written() -> bool:
    """Whether torch writes its structured trace in this process."""
    internal = loaded("torch._logging._internal")
    return internal is not None and bool(internal.trace_log.handlers)


def compile_context(frame: int, variant: int) -> AbstractContextManager[Any]:
    """What is compiled in the block has this id in torch's trace and logs."""
    number = NAMES.get("CompileId")(frame_id=frame, frame_compile_id=variant)
    entered: AbstractContextManager[Any] = NAMES.get("enter_compile_context")(
        NAMES.get("CompileContext")(number)
    )
    return entered


def intern(text: str) -> int:
    """The number that stands for a text in torch's trace."""
    return int(NAMES.get("intern_string")(text))


def write(name: str, metadata: dict[str, Any], payload: Any = None) -> None:
    """One record of torch's trace."""
    NAMES.get("trace_structured")(name, lambda: metadata, payload_fn=lambda: payload)
