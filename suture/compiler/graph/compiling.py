"""The state of torch in which a backend compiles a graph, and in which the graph runs."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator

import torch
import torch.fx

from suture.op_effects import operation_name
from suture.torch_private import operators, tensor_parts, thread_state


@contextlib.contextmanager
def state_for(graph: torch.fx.Graph, torch_function_off: bool) -> Iterator[None]:
    """The state in which a backend compiles `graph`. `torch_function_off`: no `__torch_function__`
    is called meanwhile."""
    with contextlib.ExitStack() as stack:
        if torch_function_off:
            stack.enter_context(tensor_parts.DisableTorchFunctionSubclass())
        if any(_is_trained_lstm(node) for node in graph.nodes) and takes_lstm_apart():
            stack.enter_context(_without_mkldnn())
        yield


def _is_trained_lstm(node: torch.fx.Node) -> bool:
    """An LSTM whose derivative is wanted. The fused kernel of processors keeps what backward needs
    in a tensor that is not there when the graph runs without autograd, as compiled graphs do."""
    if node.op != "call_function" or operation_name(node) != "lstm":
        return False
    made = tensor_parts.pytree.tree_leaves(node.meta.get("example_value"))
    return any(isinstance(v, torch.Tensor) and v.requires_grad for v in made)


@functools.cache
def takes_lstm_apart() -> bool:
    """Whether torch keeps the shape of the states where it takes an LSTM apart: 2.11 does not."""
    state, weight = torch.zeros(1, 2, 1), torch.zeros(4, 1)
    with _without_mkldnn(), torch.no_grad():
        made = operators.lstm_decomposition(
            state, (state, state), (weight, weight), False, 1, 0.0, *3 * [False]
        )
    return bool(made[1].shape == state.shape)


@contextlib.contextmanager
def _without_mkldnn() -> Iterator[None]:
    """Operations are taken apart as if there were no fused kernels."""
    before = thread_state.get_mkldnn_enabled()
    thread_state.set_mkldnn_enabled(False)
    try:
        yield
    finally:
        thread_state.set_mkldnn_enabled(before)
