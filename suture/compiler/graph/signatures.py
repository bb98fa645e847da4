"""What a stretch of nodes computes, in a form that two stretches share if they compute the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.fx

from suture.torch_private import composites, fake_tensors


class Differs(Exception):
    """Something is among the nodes of which nobody can say whether it is the same elsewhere."""


@dataclass(slots=True, eq=False)
class Body:
    """Nodes that follow one another, as a function: of `inputs`, nodes before them, in the order of
    their first use; giving `outputs`, those of them that are used behind them. Bodies of one `key`
    compute the same on tensors of the same kind."""

    nodes: list[torch.fx.Node]
    inputs: list[torch.fx.Node]
    outputs: list[torch.fx.Node]
    key: Any

    def as_module(self, draws: bool) -> torch.fx.GraphModule:
        """The function as a graph module, which gives a tuple. `draws`: it draws random numbers;
        its nodes stay what they are, since the order of draws depends on what operators draw."""
        graph = torch.fx.Graph(tracer_cls=None)
        new: dict[torch.fx.Node, torch.fx.Node] = {}
        for i, node in enumerate(self.inputs):
            new[node] = graph.placeholder(f"arg{i}")
            value = node.meta["example_value"]
            new[node].meta.update(example_value=value, val=value)
        for node in self.nodes:
            new[node] = graph.node_copy(node, new.__getitem__)
        graph.output(tuple(new[node] for node in self.outputs))
        module = torch.fx.GraphModule(torch.nn.Module(), graph, "Layer")
        if draws or torch.is_grad_enabled():
            return module
        return self._as_traced_outside(module)

    def _as_traced_outside(self, module: torch.fx.GraphModule) -> torch.fx.GraphModule:
        """The function in the operators that its nodes would be outside of a body.

        Without grad mode AOTAutograd traces a body where tensors have forgotten that they require a
        gradient, and operators ask: `linear` of an input that is not contiguous is one product
        of matrices with a weight that requires a gradient, one for each row of the batch without.
        """
        values = [node.meta["example_value"] for node in self.inputs]
        if not all(map(_is_static, values)):
            return module
        apart = composites.taken_apart(module, values)
        calls = all(node.op != "get_attr" for node in apart.graph.nodes)
        return apart if calls else module


def body_of(nodes: list[torch.fx.Node]) -> Body:
    """The function that these nodes are; raises Differs where it cannot be told from others."""
    indices = {node: i for i, node in enumerate(nodes)}
    inputs: dict[torch.fx.Node, int] = {}
    key: list[Any] = []

    def index_of(node: torch.fx.Node) -> Any:
        own = indices.get(node)
        if own is not None:
            return own
        return ("outside", inputs.setdefault(node, len(inputs)))

    for node in nodes:
        spelt = _spelt((node.args, node.kwargs), index_of)
        key.append((node.op, _target(node), spelt, _kind(node.meta.get("example_value"))))
    outputs = [node for node in nodes if any(user not in indices for user in node.users)]
    if not outputs or not all(_is_tensor(node) for node in outputs):
        raise Differs
    key.append(tuple(_operand(node) for node in inputs))
    key.append(tuple(indices[node] for node in outputs))
    return Body(nodes, list(inputs), outputs, tuple(key))


def _is_tensor(node: torch.fx.Node) -> bool:
    return isinstance(node.meta.get("example_value"), torch.Tensor)


def _target(node: torch.fx.Node) -> Any:
    target = node.target
    return target if isinstance(target, str) else id(target)  # the nodes keep it alive


def _operand(node: torch.fx.Node) -> Any:
    """What `invoke_subgraph` takes: tensors and ints."""
    value = node.meta.get("example_value")
    if not isinstance(value, (torch.Tensor, int, torch.SymInt)) or isinstance(value, bool):
        raise Differs
    return _kind(value)


_PLAIN = (
    int, float, complex, bool, str, type(None), type(...), torch.dtype, torch.device, torch.layout,
    torch.memory_format,
)  # fmt: skip


def _spelt(argument: Any, index_of: Any) -> Any:
    """An argument with the indices of nodes instead of the nodes."""
    if isinstance(argument, torch.fx.Node):
        return ("node", index_of(argument))
    if isinstance(argument, (tuple, list)):
        return (type(argument).__name__, *(_spelt(one, index_of) for one in argument))
    if isinstance(argument, dict):
        return ("dict", *((k, _spelt(v, index_of)) for k, v in argument.items()))
    if isinstance(argument, slice):
        parts = (argument.start, argument.stop, argument.step)
        return ("slice", *(_spelt(one, index_of) for one in parts))
    if type(argument) in _PLAIN:
        return (type(argument), repr(argument))  # 0.0 and -0.0 are two
    raise Differs


def _kind(value: Any) -> Any:
    """All that is known of a value that a node gives."""
    if isinstance(value, torch.Tensor):
        return _kind_of_tensor(value)
    if isinstance(value, torch.SymInt):
        return ("symbol", str(value.node.expr))
    if isinstance(value, (tuple, list)):
        return (type(value).__name__, *map(_kind, value))
    if type(value) in _PLAIN:
        return (type(value), repr(value))
    raise Differs


def _kind_of_tensor(value: torch.Tensor) -> Any:
    if type(value) is not fake_tensors.FakeTensor or value.layout is not torch.strided:
        raise Differs  # of another class, or sparse
    return (
        value.dtype,
        value.device,
        tuple(map(_size, value.shape)),
        tuple(map(_size, value.stride())),
        _size(value.storage_offset()),
        value.requires_grad,
        value.is_inference() and not torch.is_inference_mode_enabled(),  # in the mode all are alike
        value.is_conj(),
        value.is_neg(),
    )


def _is_static(value: Any) -> bool:
    """Whether it is a tensor with sizes, strides and offset that are numbers."""
    if not isinstance(value, torch.Tensor):
        return False
    sizes = (*value.shape, *value.stride(), value.storage_offset())
    return all(type(size) is int for size in sizes)


def _size(size: Any) -> Any:
    return size if type(size) is int else str(size.node.expr)
