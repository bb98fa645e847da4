"""TorchDynamo around suture: a function compiled by suture may be called from one that
torch.compile runs. TorchDynamo then looks at each frame that starts below, those of suture too."""

from __future__ import annotations

import types

try:
    from torch._C._dynamo import eval_frame as _eval_frame
except ImportError:  # a build of torch without its compiler
    _eval_frame = None  # type: ignore[assignment]

_SKIP = getattr(getattr(_eval_frame, "_FrameAction", None), "SKIP", None)


def hide(code: types.CodeType) -> None:
    """TorchDynamo neither traces frames of this code nor what they call."""
    if _SKIP is not None:
        strategy = _eval_frame._FrameExecStrategy(_SKIP, _SKIP)
        _eval_frame.set_code_exec_strategy(code, strategy)
