"""The Python side of the core: chains of frames, operations Python runs, the interpreter."""

from suture.hook.chain import (
    Chain,
    FrameSpec,
    chain_key,
    entry_chain,
    resumed_chain,
    slot_names,
    where,
)
from suture.hook.interpret import AfterFailure, call_from_slots, call_plainly, interpret, must_raise
from suture.hook.operations import OPERATIONS, Operation
from suture.hook.tracebacks import VARIANT, clean_traceback, is_variant, placed, set_context

__all__ = [
    "OPERATIONS",
    "VARIANT",
    "AfterFailure",
    "Chain",
    "FrameSpec",
    "Operation",
    "call_from_slots",
    "call_plainly",
    "chain_key",
    "clean_traceback",
    "entry_chain",
    "interpret",
    "is_variant",
    "must_raise",
    "placed",
    "resumed_chain",
    "set_context",
    "slot_names",
    "where",
]
