"""torch's own marks, recognised on sight: programs are full of them.

Attributes are read off the object. torch's tables are looked at only if torch._dynamo has been
imported by somebody else; nothing here imports it.
"""

from __future__ import annotations

from typing import Any

from suture.rules.mark_table import describe, run_frames_of
from suture.rules.verdict import (
    CONSTANT,
    IN_GRAPH,
    INLINE,
    RUN,
    SPECIAL,
    Origin,
    Verdict,
    location_of,
)
from suture.rules.wrapped import has_code, is_torchs_own_limit
from suture.torch_private import distributed_parts, torchdynamo


def token() -> tuple[int, ...] | None:
    """Changes when a table of torch's marks does; None while torch._dynamo is not loaded."""
    return torchdynamo.marks_token()


def verdict_of(obj: Any) -> Verdict | None:
    """The verdict that a mark of torch on `obj` means, or None."""
    return _by_attribute(obj) or _by_table(obj) or _by_wrapper(obj)


def _by_attribute(obj: Any) -> Verdict | None:
    attributes = getattr(obj, "__dict__", None)
    if not attributes:
        return None
    disabled = attributes.get("_torchdynamo_disable") and not _copied(obj, attributes)
    if disabled and not is_torchs_own_limit(attributes.get("_torchdynamo_orig_callable")):
        message = attributes.get("_torchdynamo_disable_msg")
        inside = attributes.get("_torchdynamo_orig_callable")
        if attributes.get("_torchdynamo_disable_recursive") is False and has_code(inside):
            run_frames_of(inside.__code__, _where(obj))
        reason = "the program disables it" + (f": {message}" if message else "")
        return Verdict(
            RUN,
            reason,
            "mark torch.compiler.disable",
            _where(obj),
            describe(obj),
            origin=Origin.DISABLED,
        )
    if attributes.get("_dynamo_forbidden"):
        reason = "the program forbids it while tracing"
        return Verdict(
            SPECIAL,
            reason,
            "mark torch._dynamo.forbid_in_graph",
            _where(obj),
            "forbidden",
            origin=Origin.FORBIDDEN,
        )
    if attributes.get("_dynamo_marked_constant"):
        reason = "the program says that its result never changes"
        return Verdict(
            CONSTANT,
            reason,
            "mark torch.compiler.assume_constant_result",
            _where(obj),
            "assume_constant_result",
            origin=Origin.MARK,
        )
    return None


def disables_all_below(function: Any) -> bool:
    """Whether calling a function runs torch's wrapper around a disabled one, with all that it
    calls. All functions with the code of that wrapper are such."""
    home = getattr(function, "__globals__", {}).get("__name__")
    return (
        home == "torch._dynamo.eval_frame"
        and bool(function.__dict__.get("_torchdynamo_disable"))
        and function.__dict__.get("_torchdynamo_disable_recursive") is not False
    )


def _by_wrapper(obj: Any) -> Verdict | None:
    if not distributed_parts.skipped_by_fsdp(obj):
        return None
    return Verdict(
        RUN,
        "the program disables it: a hook of fully_shard",
        "mark torch.compiler.disable",
        _where(obj),
        describe(obj),
        origin=Origin.DISABLED,
    )


def _copied(obj: Any, attributes: Any) -> bool:
    """Whether `functools.wraps` copied the mark here from the function inside."""
    owner = attributes.get("_torchdynamo_wrapper_id")
    return owner is not None and owner != id(obj)


def _by_table(obj: Any) -> Verdict | None:
    try:
        module = getattr(obj, "__module__", None)
    except Exception:  # of the program's own code
        return None
    if module == "torch._dynamo.decorators":
        return None  # graph_break and its kin are in torch's tables, but have handlers here

    if not torchdynamo.is_marked_at_all(obj):
        return None
    for mark, (kind, reason, name, origin) in _MARKS.items():
        if torchdynamo.is_marked(obj, mark):
            shown = mark if kind is SPECIAL else describe(obj)
            return Verdict(kind, reason, f"mark {name}", _where(obj), shown, origin=origin)
    if torchdynamo.is_marked(obj, "polyfilled"):
        return _substituted(obj)
    return None


# TorchDynamo's mark of a callable: what it means here, why, its name in torch. The first counts.
_MARKS = {
    "nonstrict_trace": (
        SPECIAL,
        "one node, whose body the backend traces",
        "torch._dynamo.nonstrict_trace",
        Origin.MARK,
    ),
    "leaf_function": (
        SPECIAL,
        "one node, whose body Python runs",
        "torch._dynamo.leaf_function",
        Origin.MARK,
    ),
    "disallowed": (
        RUN,
        "the program keeps it out of graphs",
        "torch._dynamo.disallow_in_graph",
        Origin.DISALLOWED,
    ),
    "allowed": (
        IN_GRAPH,
        "the program allows it as one node",
        "torch.compiler.allow_in_graph",
        Origin.MARK,
    ),
}


def _substituted(obj: Any) -> Verdict | None:
    """A substitute that the program gave to torch; torch's own are not used."""
    replacement = torchdynamo.polyfill_of(obj)
    if replacement is None or replacement.__module__.startswith("torch."):
        return None
    reason = "the program gives a function to trace instead"
    return Verdict(
        INLINE,
        reason,
        "mark torch.compiler.substitute_in_graph",
        location_of(replacement.__code__),
        describe(obj),
        replacement,
        origin=Origin.MARK,
    )


def _where(obj: Any) -> str:
    inside = getattr(obj, "_torchdynamo_orig_callable", obj)
    return location_of(inside.__code__) if has_code(inside) else describe(obj)
