"""What is said of a backend that failed: the user's lines, and what to do about a known cause."""

from __future__ import annotations

import os
from collections.abc import Iterator

import torch.fx

from suture.errors import BackendFailed
from suture.torch_private import compilers


def source_lines(gm: torch.fx.GraphModule, limit: int = 8) -> tuple[str, ...]:
    """The user's lines that a graph came from, each once, in order, as its nodes tell.

    More than `limit` are cut in the middle, and the cut says how many are missing.
    """
    traces = dict.fromkeys(node.stack_trace for node in gm.graph.nodes)
    found = list(dict.fromkeys(_innermost(trace) for trace in traces if trace))
    if len(found) > limit:
        half = limit // 2
        missing = len(found) - 2 * half
        found = [*found[:half], f"... {missing} more lines ...", *found[-half:]]
    return tuple(found)


def _innermost(trace: str) -> str:
    """`File "f.py", line 3, in fn` and its source, the last of a formatted stack, on one line."""
    tail = trace.rstrip().splitlines()
    starts = [at for at, line in enumerate(tail) if line.lstrip().startswith('File "')]
    return "  ".join(line.strip() for line in tail[starts[-1] if starts else -1 :])


def hint_for(error: BaseException) -> str:
    """What the user can do about a backend's failure, where its cause is a known one; else ""."""
    for cause in _causes(error):
        kind, text = type(cause).__name__, str(cause)
        if kind == "InvalidCxxCompiler":
            return _no_compiler()
        if kind in ("CppCompileError", "CppBuildError") and "Python.h" in text:
            return (
                "Inductor's C++ code needs Python's header files (on Debian: "
                "apt-get install python3-dev)"
            )
        if kind in ("TritonMissing", "GPUTooOldForTriton"):
            return "Inductor needs a working Triton for this device; see the error above"
    return ""


def _no_compiler() -> str:
    tried = os.environ.get("CXX") or "g++"
    return (
        f"Inductor needs a C++ compiler and found none that works (it tried {tried}). Install g++ "
        "(on Debian: apt-get install g++) or name another compiler in the environment variable "
        'CXX. Without one, backend="aot_eager" and backend="eager" still work'
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and all that it was raised from, each once."""
    waiting, seen = [error], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        linked = (one.__cause__, one.__context__, getattr(one, "inner_exception", None))
        waiting.extend(link for link in linked if isinstance(link, BaseException))


def wanted_constants(failed: BackendFailed) -> set[str] | None:
    """The names of symbolic floats without whose values the backend cannot compile the graph;
    None if it failed for another reason."""
    inner = failed.inner_exception
    return compilers.wanted_constants(inner) if isinstance(inner, BaseException) else None
