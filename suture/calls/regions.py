"""Functions that the program marks for torch's compiler: regions, and functions not looked into."""

from __future__ import annotations

from typing import Any

from suture.breaks import Break, higher_order
from suture.calls.table import special


@special("compile_region")
def _region(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    """A region that may be compiled once and used often: traced with the rest."""
    return tx.tail_call(args[0], args[1:], kwargs)


@special("higher_order.invoke_subgraph")
def _invoke_subgraph(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    raise Break(higher_order.INVOKE_SUBGRAPH)


@special("mark_nonstrict")
def _mark_nonstrict(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    """A function made and marked while tracing is traced: nothing of it is outside."""
    return args[0]


@special("nonstrict_trace")
def _nonstrict(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    """One node that calls the function."""
    return tx.call_torch(target, args, kwargs)
