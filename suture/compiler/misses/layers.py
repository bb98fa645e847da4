"""What of a graph a backend need not be given: layers that it repeats, views that it ends with."""

from __future__ import annotations

import torch

from suture import config, events
from suture.backends import Backend
from suture.compiler.capture import Capture
from suture.compiler.graph import GraphBuilder, Wanted, outlined
from suture.torch_private import distributed_parts, fake_tensors


def may_take_views_outside(backend: Backend, capture: Capture) -> bool:
    """Whether the views that a graph ends with may be taken after it: no mode changes in it, and
    its inputs are plain tensors. Other backends than Inductor get graphs as they are."""
    graph = capture.graph
    if not backend.is_inductor() or capture.functions[0]:
        return False
    if graph.resets or graph.torch_function_off:
        return False
    values = (entry.node.meta["val"] for entry in graph.inputs)
    tensors = (one for one in values if isinstance(one, torch.Tensor))
    return all(isinstance(one, fake_tensors.FakeTensor) for one in tensors)


def with_shared_layers(
    backend: Backend, builder: GraphBuilder, module: torch.fx.GraphModule, point: str
) -> torch.fx.GraphModule:
    """The graph, with calls of one body where it computes the same several times; as it is, where
    that is not asked for or could be seen. `module` stays as it was."""
    if not backend.shares_layers() or not _is_plain(builder):
        return module
    wanted = Wanted(
        unasked=config.repeated_layers == "auto",
        drawing=backend.shares_layers_that_draw(),
        launched=not backend.records_cuda_graphs(),
    )
    made = outlined(module, builder.spans, wanted)
    if made is None:
        return module
    shared, repeated = made
    for one in repeated:
        name = one.code.co_qualname
        events.emit(events.LayersShared(name, one.times, one.nodes, one.marked, point=point))
    return shared


def _is_plain(builder: GraphBuilder) -> bool:
    """Whether all of the graph runs in one state of torch: a body is traced again for the backward,
    when modes that the graph switched are switched back. Derivatives inside the graph, and graphs
    that DDP cuts in parts, know no calls of bodies."""
    if builder.resets or builder.derivatives.positions or builder.torch_function_off:
        return False
    return not builder.calls_torch_function and distributed_parts.bucket_bytes() is None
