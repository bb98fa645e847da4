"""Training: the autograd function that AOTAutograd made of a graph, without what is before it.

Legal under the conditions of Direct, the other way round: autograd follows, and grad mode is on, so
that nothing has to switch it on. Inputs that the forward graph itself writes (running statistics)
have their version counted, as AOTAutograd does it. The backward side is torch's own: how it checks
versions, when it compiles the backward graph, what it refuses. The forward side is shortened to
what it does for this graph, if the first call shows that this is all: run the code, save tensors,
mark results without a derivative. What else it leaves for the backward side must be empty, and is
left there as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from suture.runtime.callers.caller import Caller, Run, Situation
from suture.torch_private import aot_facts, compilers
from suture.torch_private.tensor_parts import is_view


class Training(Caller):
    """Applies the autograd function."""

    kind = "training"
    why = "the autograd function of the graph, nothing between"

    def __init__(self, wrapped: Run, function: Any, facts: aot_facts.Facts) -> None:
        super().__init__(self._first)
        self.wrapped, self.function, self.facts = wrapped, function, facts
        self.writes = bool(facts.written)

    def _first(self, *args: Any) -> Any:
        out = self.wrapped(*args)
        function = shortened(self.function, self.facts.returns, out) or self.function
        self.switch_to(_applied(function, self.wrapped, self.facts))
        return out

    @staticmethod
    def legal(facts: aot_facts.Facts, situation: Situation) -> bool:
        """Whether nothing that is left out would have done anything."""
        return (
            facts.joint
            and not facts.reasons
            and situation.grad
            and facts.inputs == len(situation.inputs)
            and not compilers.hooks_on_saved()
        )


def shortened(function: Any, returns: int, out: Any) -> Any:
    """The same autograd function with a forward side of our own. `out` is what the function gave,
    from whose node is read what it left there. None if it left more than saved tensors."""
    nodes = {id(o.grad_fn): o.grad_fn for o in out if _has_node(o)}
    call = compilers.inductor_call(getattr(function, "compiled_fw", None))
    if len(nodes) != 1 or call is None or len(out) != returns or compilers.hooks_on_saved():
        return None
    node = next(iter(nodes.values()))
    if not compilers.is_node_of(node, function):
        return None
    left = dict(node.__dict__)
    if not all(
        value is None or isinstance(value, bool) or _is_empty(value) for value in left.values()
    ):
        return None
    without = [i for i, o in enumerate(out) if isinstance(o, torch.Tensor) and not o.requires_grad]
    forward = _forward(call, returns, len(node.saved_tensors), tuple(without), left)
    return type(function)(function.__name__, (function,), {"forward": staticmethod(forward)})


def _has_node(out: Any) -> bool:
    return isinstance(out, torch.Tensor) and out.grad_fn is not None


def _is_empty(value: Any) -> bool:
    """A dict is what the program had registered for graphs to find by number (streams, since 2.15):
    a graph that was made and run before anything was registered finds nothing there later."""
    return type(value) in (list, tuple, dict) and not value


def _forward(
    call: Run, returns: int, saved: int, without: tuple[int, ...], left: dict[str, Any]
) -> Callable[..., Any]:
    """The forward side: `call` gives the results and after them the tensors to save."""
    attributes = tuple(left.items())
    every = returns + saved

    def forward(ctx: Any, *args: Any) -> tuple[Any, ...]:
        made = call(list(args))
        if len(made) != every:
            raise RuntimeError(f"a compiled graph gave {len(made)} results instead of {every}")
        # a view would keep its base alive and share its version
        ctx.save_for_backward(*[t.detach() if is_view(t) else t for t in made[returns:]])
        for name, value in attributes:
            setattr(ctx, name, value)
        ctx._materialize_non_diff_grads = False
        if without:
            ctx.mark_non_differentiable(*[made[i] for i in without])
        return tuple(made[:returns])

    return forward


def _applied(function: Any, wrapped: Run, facts: aot_facts.Facts) -> Run:
    profiling = compilers.profiling
    apply = prepared(compilers.plain_apply(function), facts.detached, facts.written)

    def run(*args: Any) -> Any:
        return wrapped(*args) if profiling() else apply(*args)

    return run


def prepared(apply: Run, detached: tuple[int, ...], written: tuple[int, ...]) -> Run:
    """`apply` of an autograd function, with what is done to its inputs first: `detached` ones get
    no derivative though they could have one, and autograd must notice what was saved before of
    those that are `written`."""
    if not detached and not written:
        return apply

    def run(*args: Any) -> Any:
        if written:
            compilers.increment_version([args[i] for i in written])
        given = list(args)
        for i in detached:
            if isinstance(given[i], torch.Tensor):
                given[i] = given[i].detach()
        return apply(*given)

    return run
