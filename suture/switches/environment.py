"""Environment variables that torch reads into its compiler's configuration.

torch takes most of them for the default of a knob, so the knob does not show that the variable was
set. Here the variable itself counts, if it says something else than torch does without it. One that
means nothing to suture is named once, whatever its name is: none is ignored in silence.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

_PREFIXES = ("TORCHDYNAMO_", "TORCH_DYNAMO_", "TORCH_COMPILE_")


def _is_one(text: str) -> bool:
    return text == "1"


# Variable: the knob of torch._dynamo.config, its value from the text, its value without.
KNOBS: dict[str, tuple[str, Callable[[str], Any], Any]] = {
    "TORCH_DYNAMO_AUTOMATIC_DYNAMIC_SHAPES": ("automatic_dynamic_shapes", _is_one, True),
    "TORCHDYNAMO_SUPPRESS_ERRORS": ("suppress_errors", bool, False),
    "TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS": ("capture_scalar_outputs", _is_one, False),
    "TORCHDYNAMO_CAPTURE_DYNAMIC_OUTPUT_SHAPE_OPS": (
        "capture_dynamic_output_shape_ops", _is_one, False,
    ),
    "TORCHDYNAMO_VERBOSE": ("verbose", _is_one, False),
    "TORCHDYNAMO_REPRO_AFTER": ("repro_after", str, ""),
    "TORCHDYNAMO_REPRO_LEVEL": ("repro_level", str, "2"),
    "TORCHDYNAMO_REPRO_FORWARD_ONLY": ("repro_forward_only", _is_one, False),
    "TORCHDYNAMO_REPRO_IGNORE_NON_FP": ("repro_ignore_non_fp", _is_one, False),
    "TORCH_COMPILE_REPLAY_RECORD": ("replay_record_enabled", _is_one, False),
    "TORCH_COMPILE_CPROFILE": ("cprofile", bool, False),
    "TORCH_COMPILE_DYNAMO_PROFILER": ("dynamo_profiler", bool, False),
    "TORCH_COMPILE_OVERRIDE_BACKENDS": ("debug_backend_override", str, ""),
    "TORCH_DYNAMO_AUTOMATIC_DYNAMIC_LOCAL_PGO": ("automatic_dynamic_local_pgo", _is_one, True),
}  # fmt: skip

# Read elsewhere: by suture, by parts of torch that work below suture, or as a knob that shows it.
_READ = frozenset(
    {
        "TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DYNAMIC_SOURCES",
        "TORCH_COMPILE_STATIC_SOURCES", "TORCH_COMPILE_ON_ONE_RANK",
        "TORCH_COMPILE_DYNAMIC_VALUES", "TORCH_COMPILE_UNBACKED_SOURCES", "TORCH_COMPILE_JOB_ID",
        "TORCH_COMPILE_STICKY_PGO_KEY", "TORCH_COMPILE_STICKY_PGO_READ",
        "TORCH_COMPILE_STICKY_PGO_WRITE", "TORCH_COMPILE_CACHE_KEY_TAG",
        "TORCH_COMPILE_FORCE_DISABLE_CACHES", "TORCH_COMPILE_DEBUG", "TORCH_COMPILE_DEBUG_DIR",
        "TORCH_COMPILE_GRAPH_FORMAT", "TORCH_COMPILE_USE_LAZY_GRAPH_MODULE",
        "TORCHDYNAMO_PREPARE_FREEZING", "TORCHDYNAMO_TRANSLATION_VALIDATION",
        "TORCHDYNAMO_TRANSLATION_VALIDATION_TIMEOUT", "TORCHDYNAMO_TRANSLATION_NO_BISECT",
        "TORCHDYNAMO_EXTENDED_DEBUG_CPP", "TORCHDYNAMO_EXTENDED_DEBUG_GUARD_ADDED",
        "TORCHDYNAMO_EXTENDED_DEBUG_CREATE_SYMBOL", "TORCHDYNAMO_EXTENDED_ADVICE",
    }
)  # fmt: skip


def said() -> dict[str, tuple[str, Any]]:
    """The knobs that variables set to something else than torch's default: variable and value."""
    found = {}
    for variable, (knob, read, default) in KNOBS.items():
        text = os.environ.get(variable)
        if text is not None and read(text) != default:
            found[knob] = (variable, read(text))
    return found


def unknown() -> Iterator[tuple[str, str]]:
    """The variables with a name of torch.compile's that nothing below suture reads, and their
    texts."""
    for variable, text in os.environ.items():
        if variable.startswith(_PREFIXES) and variable not in KNOBS and variable not in _READ:
            yield variable, text
