"""What a warm call needs: points, variants, dispatch, calling graphs.

Nothing here imports the compiler, nor what only compiling needs (docs/decisions/0012).
"""

from suture.runtime.chain import (
    Chain,
    FrameSpec,
    chain_key,
    entry_chain,
    resumed_chain,
    slot_names,
    where,
)
from suture.runtime.interpret import (
    AfterFailure,
    call_from_slots,
    interpret,
    must_raise,
)
from suture.runtime.operations import OPERATIONS, Operation
from suture.runtime.tracebacks import (
    VARIANT,
    clean_traceback,
    is_variant,
    keep_alive,
    relocated,
    set_context,
)

__all__ = [
    "OPERATIONS",
    "VARIANT",
    "AfterFailure",
    "Chain",
    "FrameSpec",
    "Operation",
    "call_from_slots",
    "chain_key",
    "clean_traceback",
    "entry_chain",
    "interpret",
    "is_variant",
    "keep_alive",
    "must_raise",
    "relocated",
    "resumed_chain",
    "set_context",
    "slot_names",
    "where",
]
