"""What AOTAutograd knows of a graph that is trained: what it saves, what has a derivative.

A function of autograd that does the same without AOTAutograd is `runtime.callers.kept_training`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from suture.torch_private import aot_facts, aot_subclasses, compilers
from suture.torch_private.aot_subclasses import NotSimple


def training_facts(function: Any) -> dict[str, Any]:
    """What an autograd function of AOTAutograd does around its two graphs, as JSON. NotSimple is
    raised where that is more than saving results and shaping derivatives as expected."""
    try:
        return _facts(function.metadata, getattr(function, "maybe_subclass_metadata", None))
    except (AttributeError, AssertionError, TypeError) as error:
        raise NotSimple(f"this torch says otherwise what it saves: {error}") from error


def _facts(meta: Any, subclasses: Any) -> dict[str, Any]:
    if meta.num_backward_tokens or meta.indices_of_inputs_that_requires_grad_with_mutations_in_bw:
        raise NotSimple("the backward graph has effects")
    if getattr(meta, "bw_donated_idxs", None):
        raise NotSimple("the backward graph uses up what was saved")
    checked = getattr(meta, "tensors_saved_for_backwards_with_vc_check_slice", None)
    unchecked = getattr(meta, "tensors_saved_for_backwards_no_vc_check_slice", slice(0, 0))
    if checked is None:
        checked = meta.tensors_saved_for_backwards_slice
    outputs = list(enumerate(meta.output_info))
    # Before torch 2.13 there is one flag; where the two would differ, the layouts do not match.
    derived = [
        i for i, one in outputs if getattr(one, "requires_grad_for_backward", one.requires_grad)
    ]
    if any(not issubclass(meta.output_info[i].raw_type, torch.Tensor) for i in derived):
        raise NotSimple("a result with a derivative is no tensor")
    layouts = [aot_subclasses.tangent(one) for one in meta.subclass_tangent_meta]
    spread = None if subclasses is None else subclasses.grad_input_metas
    objects = getattr(meta, "opaque_objects_saved_for_backwards_slice", slice(0, 0))
    if len(layouts) != len(derived):
        raise NotSimple("derivatives and results do not match")
    return {
        "returns": meta.num_forward_returns,
        "saved": _ends(checked),
        "unchecked": _ends(unchecked),
        "numbers": _ends(meta.symints_saved_for_backwards_slice),
        "objects": _ends(objects),  # meshes
        "gradients": None if spread is None else aot_subclasses.put_together(spread),
        "constant": [i for i, one in outputs if not one.requires_grad],
        "derived": derived,
        "layouts": layouts,
        "deterministic": meta.deterministic,
    }


def _ends(of: slice) -> list[int | None]:
    return [of.start, of.stop]


def backward_of(function: Any) -> Any:
    """The compiled backward graph of an autograd function; None if it is compiled when needed."""
    return getattr(function, "compiled_bw", None)


def boxed_graph(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
    """The graph itself, called as AOTAutograd calls it: with a list, which is emptied."""

    def run(args: list[Any]) -> Any:
        return torch.fx.Interpreter(gm).boxed_run(args)

    run._boxed_call = True  # type: ignore[attr-defined]
    run.graph = gm  # type: ignore[attr-defined]
    return run


def graph_of(compiled: Any) -> torch.fx.GraphModule | None:
    """The graph that `boxed_graph` runs, behind all that wraps it; None if it is another's."""
    found = compiled
    for _ in range(_DEPTH):
        graph = getattr(found, "graph", None)
        if isinstance(graph, torch.fx.GraphModule):
            return graph
        found = getattr(found, "__wrapped__", None) or getattr(found, "compiled_fn", None)
    return None


_DEPTH = 8
# Settings under which both graphs of a training step are there when a variant is kept: the
# backward graph is compiled with the forward graph, and leaves alone what the other one saved,
# since whether a program keeps its graph (retain_graph) is known only when it asks for derivatives.
_KEPT = {"force_non_lazy_backward_lowering": True, "donated_buffer": False}


def both_graphs(wanted: bool) -> Any:
    """A context in which AOTAutograd compiles forward and backward graphs at once."""
    return compilers.patched("aot_options", _KEPT if wanted else {})


def nothing_donated(heard: aot_facts.Heard) -> None:
    """Say of graphs that were compiled under `both_graphs` that they use up nothing that was saved:
    where nobody looked, torch takes it that they do, and refuses `retain_graph`."""
    for facts in heard.facts:
        function = compilers.autograd_function(facts) if facts.joint else None
        meta = getattr(function, "metadata", None)
        if meta is not None and getattr(meta, "bw_donated_idxs", ()) is None:
            meta.bw_donated_idxs = []
