"""Backends: what compiles a graph into a callable.

`configure` makes one object of what a user passes to `compile`; `compile_graph` puts one graph
through it. Adding a backend is one file here with `@register_backend("name")`, imported below.
"""

from suture.backends import aot_eager, eager, inductor, noop
from suture.backends.barriers import has_barrier
from suture.backends.compile import compile_graph
from suture.backends.configure import Backend, configure
from suture.backends.failures import wanted_constants
from suture.backends.parts import SWITCHES
from suture.backends.record import Recorded, Recorder, count_ops
from suture.backends.registry import CompilerFn, list_backends, lookup, register_backend
from suture.backends.request import Allowed, Origin, TracedGraph
from suture.backends.verify import Mismatch, verified
from suture.runtime.callers import Caller

__all__ = [
    "SWITCHES",
    "Allowed",
    "Backend",
    "Caller",
    "CompilerFn",
    "Mismatch",
    "Origin",
    "Recorded",
    "Recorder",
    "TracedGraph",
    "aot_eager",
    "compile_graph",
    "configure",
    "count_ops",
    "eager",
    "has_barrier",
    "inductor",
    "list_backends",
    "lookup",
    "noop",
    "register_backend",
    "verified",
    "wanted_constants",
]
