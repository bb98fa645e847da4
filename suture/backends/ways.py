"""Which way into a compiled graph is taken (`suture.runtime.callers` has the ways)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch.fx

from suture.backends.small import symbolic_inputs
from suture.runtime.callers import Caller, Direct, Measured, Run, Situation, Training, Wrapped
from suture.torch_private import compilers


def choose(
    situation: Situation,
    heard: compilers.Heard,
    plain: torch.fx.GraphModule | None,
    fakes: tuple[Any, ...],
    chosen: Callable[[str], None],
    optimizes: bool = True,
) -> Caller:
    """The way into a graph. `plain` is a copy of it that may be run as it is, if any; `fakes` are
    its inputs as they were while tracing; `chosen` is told if the operations are run one by one.
    What runs operations as they are (not `optimizes`) is called as the backend gave it."""
    if not optimizes:
        wrapped = Wrapped(situation.wrapped)
        wrapped.facts = heard.facts[0] if len(heard.facts) == 1 else None
        return wrapped
    caller = _through_backend(situation, heard)
    symbolic = symbolic_inputs(fakes) if plain is not None else None
    if plain is None or symbolic is None:
        return caller
    if not isinstance(caller, (Training, Direct)) or caller.writes:
        return caller
    return Measured(caller, plain.forward, symbolic, chosen)


def _through_backend(situation: Situation, heard: compilers.Heard) -> Caller:
    wrapped: Run = situation.wrapped
    if len(heard.facts) != 1:  # nobody wrapped it, or it was cut in several
        return Wrapped(wrapped)
    facts = heard.facts[0]
    if Direct.legal(facts, situation):
        call = compilers.inductor_call(facts.compiled)
        if call is not None:
            return Direct(wrapped, call, facts.written, situation.derives())
    elif Training.legal(facts, situation):
        function = compilers.autograd_function(facts)
        if function is not None:
            return Training(wrapped, function, facts)
    caller = Wrapped(wrapped)
    if facts.reasons == (compilers.TAKEN_APART,):
        caller.facts = facts  # so that it can be kept: its graph is run in the same way
    return caller
