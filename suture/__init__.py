"""suture: graphs of PyTorch programs, as people write them.

    import suture

    model = suture.compile(model)

What a user imports is here, and nothing else.
"""

from typing import TYPE_CHECKING, Any

from suture import version

version.require_core()
__version__ = version.VERSION

from suture import config, exc, logs, rules
from suture.api import compile, is_compiling, reset, stats
from suture.backends import list_backends, register_backend
from suture.dynamic import mark_dynamic, mark_static, mark_unbacked, maybe_mark_dynamic
from suture.exporting import export
from suture.install import install, uninstall
from suture.logs import set_logs
from suture.look import code, guards, recompile_reasons
from suture.rules import (
    allow_in_graph,
    assume_constant_result,
    disable,
    disallow_in_graph,
    dont_skip_tracing,
    error_on_graph_break,
    forbid_in_graph,
    graph_break,
    ignore_logging_functions,
    nonstrict_trace,
    skip_frame,
    substitute_in_graph,
)
from suture.stance import set_stance

if TYPE_CHECKING:
    from suture.tools.report.explain import explain

__all__ = [
    "__version__",
    "allow_in_graph",
    "assume_constant_result",
    "code",
    "compile",
    "config",
    "disable",
    "disallow_in_graph",
    "dont_skip_tracing",
    "error_on_graph_break",
    "exc",
    "explain",
    "export",
    "forbid_in_graph",
    "graph_break",
    "guards",
    "ignore_logging_functions",
    "install",
    "is_compiling",
    "list_backends",
    "logs",
    "mark_dynamic",
    "mark_static",
    "mark_unbacked",
    "maybe_mark_dynamic",
    "nonstrict_trace",
    "recompile_reasons",
    "register_backend",
    "reset",
    "rules",
    "set_logs",
    "set_stance",
    "skip_frame",
    "stats",
    "substitute_in_graph",
    "testing",
    "uninstall",
]


def __getattr__(name: str) -> Any:
    """What comes with reports, and with them the compiler, is imported when it is asked for."""
    if name == "testing":
        import importlib

        return importlib.import_module("suture.testing")
    if name == "explain":
        from suture.tools.report import explain

        globals()[name] = explain
        return explain
    raise AttributeError(f"module 'suture' has no attribute {name!r}")
