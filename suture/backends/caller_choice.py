"""Which way into a compiled graph is taken (`suture.runtime.callers` has the ways)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch.fx

from suture.backends.small_graphs import symbolic_inputs
from suture.backends.views import Split, with_views
from suture.runtime.callers import (
    Around,
    Caller,
    Direct,
    Measured,
    Run,
    Situation,
    Training,
    WithoutAutocast,
    Wrapped,
    innermost,
)
from suture.torch_private import aot_facts, compilers


def choose(
    situation: Situation,
    heard: aot_facts.Heard,
    plain: torch.fx.GraphModule | None,
    fakes: tuple[Any, ...],
    chosen: Callable[[str], None],
    optimizes: bool = True,
    split: Split | None = None,
) -> Caller:
    """The way into a graph. `plain` is a copy of it that may be run as it is, if any; `fakes` are
    its inputs as they were while tracing; `chosen` is told if the operations are run one by one.
    What runs operations as they are (not `optimizes`) is called as the backend gave it. `split`:
    the graph ends before views of its results, which `plain` takes too."""
    if not optimizes:
        wrapped = Wrapped(situation.wrapped)
        wrapped.facts = heard.facts[0] if len(heard.facts) == 1 else None
        return wrapped
    caller = with_views(_through_backend(situation, heard), split)
    symbolic = symbolic_inputs(fakes) if plain is not None else None
    if plain is None or symbolic is None:
        return caller
    inner = innermost(caller)
    if not isinstance(inner, (Training, Direct)) or inner.writes or _has_casts(caller):
        return caller
    return Measured(caller, plain.forward, symbolic, chosen)


def _has_casts(caller: Caller) -> bool:
    """Whether it was compiled while autocast was on: one by one, operations cast on their own."""
    if isinstance(caller, Around):
        return isinstance(caller, WithoutAutocast) or _has_casts(caller.inner)
    return False


def _through_backend(situation: Situation, heard: aot_facts.Heard) -> Caller:
    if len(heard.facts) != 1:  # nobody wrapped it, or it was cut in several
        return Wrapped(situation.wrapped)
    facts = heard.facts[0]
    caller = _shortest(situation, facts)
    if caller is None:
        wrapped = Wrapped(situation.wrapped)
        if facts.reasons == (aot_facts.TAKEN_APART,):
            wrapped.facts = facts  # so that it can be kept: its graph is run in the same way
        return wrapped
    return WithoutAutocast(caller) if facts.autocast_off else caller


def _shortest(situation: Situation, facts: aot_facts.Facts) -> Caller | None:
    """The way with nothing between, if there is one."""
    wrapped: Run = situation.wrapped
    if Direct.legal(facts, situation):
        call = compilers.inductor_call(facts.compiled)
        if call is not None:
            return Direct(wrapped, call, facts.written, situation.derives())
    elif Training.legal(facts, situation):
        function = compilers.autograd_function(facts)
        if function is not None:
            return Training(wrapped, function, facts)
    return None
