"""suture: graphs of PyTorch programs, as people write them."""

from suture import config, exc, logs, rules
from suture.api import compile, reset, stats
from suture.backends import list_backends, register_backend
from suture.logs import set_logs
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

__all__ = [name for name in dir() if not name.startswith("_")]
