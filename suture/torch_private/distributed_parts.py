"""torch.distributed: what its wrappers keep, and which of its functions its own compiler skips.

Nothing here imports torch.distributed: a function answers for what a program has imported already.
"""

from __future__ import annotations

import types
from typing import Any

_FSDP = "torch.distributed.fsdp._fully_shard._fsdp_common"
_SKIPPING = "_dynamo_disable.<locals>.wrapper"


def skipped_by_fsdp(obj: Any) -> bool:
    """Whether it is a hook of `fully_shard`, which takes itself out of graphs at each call. All of
    them run one code object."""
    obj = obj.__func__ if type(obj) is types.MethodType else obj
    if type(obj) is not types.FunctionType or obj.__code__.co_name != "wrapper":
        return False
    return obj.__code__.co_qualname == _SKIPPING and obj.__globals__.get("__name__") == _FSDP
