"""What torch's compilers are at, read off the stack of the thread that waits for them."""

from __future__ import annotations

from types import FrameType

# The innermost module of the stack that is listed says it; longer names come first.
_STAGES = (
    ("torch._inductor.async_compile", "kernels"),
    ("torch._inductor.codecache", "kernels"),
    ("torch._inductor.cpp_builder", "kernels"),
    ("torch._inductor.runtime", "kernels"),
    ("torch._inductor", "lowering"),
    ("torch._functorch", "derivatives"),
)


def stage_of(frame: FrameType | None) -> str:
    """What the compiler below which `frame` runs is doing, in a word; "" where that is not known.
    For people: nothing may depend on it."""
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        for prefix, stage in _STAGES:
            if name == prefix or name.startswith(prefix + "."):
                return stage
        frame = frame.f_back
    return ""
