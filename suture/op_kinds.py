"""Which operations are of one kind: views, copies, sums, products; computing element by element,
putting elements elsewhere, reading and writing at indices; changing what a tensor is.

torch's tags answer where they can; what they do not say is in the tables of this file. What an
operation writes, draws and aliases is asked of `op_effects`. Public tables have plain names: that
of the method, the function and the operator that is the same, in place or not (`plain_name`).
"""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.fx

from suture.op_effects import operation_name
from suture.torch_private import operators

# Methods and functions that give a view, if the fake result shares memory with the argument.
_SEVERAL_VIEWS = frozenset({"chunk", "split", "tensor_split", "unbind"})
_ONE_VIEW = frozenset({
    "expand", "flatten", "movedim", "narrow", "permute", "reshape", "select", "squeeze", "swapaxes",
    "swapdims", "t", "transpose", "unflatten", "unfold", "unsqueeze", "view",
})  # fmt: skip
# Change what a tensor is although torch does not tag them so.
_CHANGE_TENSORS = frozenset({"requires_grad_", "set_data"})
# Write every element of the tensor that they are called on, or of each in a list.
_WRITE_ALL = frozenset({
    "copy_", "zero_", "fill_", "add_", "sub_", "mul_", "div_", "addcmul_", "addcdiv_", "lerp_",
    "iadd", "isub", "imul", "itruediv", "_foreach_copy_", "_foreach_zero_", "_foreach_add_",
    "_foreach_sub_", "_foreach_mul_", "_foreach_div_", "_foreach_lerp_",
})  # fmt: skip
_COPIES = frozenset({
    "clone", "contiguous", "to", "copy", "cat", "concat", "repeat", "tile", "positive", "float",
    "double", "half", "bfloat16", "type", "type_as",
})  # fmt: skip
# Give elements of their operand, in other places.
REARRANGING = _ONE_VIEW | _SEVERAL_VIEWS | {
    "clone", "contiguous", "expand_as", "flip", "mT", "ravel", "repeat", "split_with_sizes", "tile",
    "view_as",
}  # fmt: skip
# Give each element in another type, or in the memory of another device.
CONVERTING = frozenset({
    "bfloat16", "bool", "cpu", "cuda", "double", "float", "half", "int", "long", "to", "type_as",
})  # fmt: skip
# Compute each element from those at the same place.
ELEMENT_BY_ELEMENT = frozenset({
    "abs", "add", "and", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "ceil", "clamp",
    "clamp_max", "clamp_min", "clip", "cos", "div", "divide", "elu", "eq", "erf", "exp", "floor",
    "floor_divide", "floordiv", "ge", "gelu", "gt", "hardsigmoid", "hardswish", "hardtanh", "iadd",
    "imul", "invert", "isfinite", "isinf", "isnan", "isub", "itruediv", "le", "leaky_relu", "lerp",
    "log", "log1p", "logical_and", "logical_not", "logical_or", "logical_xor", "logsigmoid", "lt",
    "masked_fill", "maximum", "minimum", "mish", "mul", "multiply", "ne", "neg", "negative", "not",
    "or", "pos", "pow", "reciprocal", "relu", "relu6", "round", "rsqrt", "rsub", "selu", "sigmoid",
    "sign", "silu", "sin", "softplus", "sqrt", "square", "sub", "subtract", "tanh", "true_divide",
    "truediv", "where", "xor",
})  # fmt: skip
# Write where an index says, and nowhere else.
WRITING_AT_INDEX = frozenset({
    "index_add", "index_copy", "index_fill", "index_put", "scatter", "scatter_add", "setitem",
})  # fmt: skip
# Read or write at places that a tensor of integers says.
INDEXING = WRITING_AT_INDEX | {
    "bincount", "cross_entropy", "cross_entropy_loss", "ctc_loss", "embedding", "embedding_bag",
    "gather", "gaussian_nll_loss", "getitem", "index", "index_reduce", "index_select",
    "masked_scatter", "multi_margin_loss", "multilabel_margin_loss", "nll_loss", "nll_loss2d",
    "nll_loss_nd", "one_hot", "put", "repeat_interleave", "scatter_reduce", "segment_reduce",
    "take", "take_along_dim", "unravel_index",
}  # fmt: skip
# Divide, and integers by integers too.
DIVIDING = frozenset({
    "div", "divide", "floor_divide", "floordiv", "fmod", "ifloordiv", "imod", "mod", "remainder",
    "rfloordiv", "rmod",
})  # fmt: skip
# Convolutions: backends choose in which order they want the elements of images and weights.
CONVOLVING = frozenset({
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "convolution",
})  # fmt: skip
# Add products: of matrices, convolutions, attention, recurrent layers.
CONTRACTING = CONVOLVING | {
    "addbmm", "addmm", "addmv", "baddbmm", "bilinear", "bmm", "chain_matmul", "einsum", "gru",
    "inner", "linear", "lstm", "matmul", "mm", "multi_dot", "multi_head_attention_forward", "mv",
    "rmatmul", "rnn_relu", "rnn_tanh", "scaled_dot_product_attention", "tensordot", "vecdot",
}  # fmt: skip
# Check the numbers they are given, on the device.
CHECKING = frozenset({"multinomial", "bernoulli", "binary_cross_entropy"})
# Give elements of their first operand, in other places or another type of integers.
MOVING = REARRANGING | {"detach", "long", "masked_select", "sort", "to"}
# Take a dimension of no elements as any other. Without those that may ask for more elements than
# there are.
TAKING_EMPTY = (
    ELEMENT_BY_ELEMENT
    | CONVERTING
    | WRITING_AT_INDEX
    | (REARRANGING - {"tensor_split", "unflatten", "unfold"})
    | {
        # rows and products
        "addmm", "all", "any", "baddbmm", "bmm", "cumsum", "einsum", "layer_norm", "linear",
        "log_softmax", "matmul", "mean", "mm", "rms_norm", "softmax", "sum",
        # others like it
        "cat", "concat", "detach", "empty_like", "full_like", "ones_like", "stack", "zeros_like",
        # places
        "embedding", "gather", "getitem", "index", "index_select", "nonzero",
        # sizes
        "dim", "getattr", "numel", "size", "sym_max", "sym_min", "sym_not", "sym_size",
    }
)  # fmt: skip
# Give no tensor, or may give none.
GIVING_NUMBERS = frozenset({
    "add", "and", "dim", "eq", "ge", "getattr", "getitem", "gt", "le", "lt", "mul", "ne", "neg",
    "not", "numel", "or", "setitem", "size", "sub", "sym_max", "sym_min", "sym_not", "sym_size",
})  # fmt: skip
# Are given sizes.
RESHAPING = frozenset({"reshape", "view", "expand", "split_with_sizes", "repeat", "tile"})
# Their derivative is made of ones and zeros: what comes back through them is zero if it was zero.
PASSING_ZEROS = REARRANGING | CONVERTING | {"getattr", "getitem"}
# In place, they keep the history of what they write to.
ADDING_TO = frozenset({"add", "div", "iadd", "imul", "index_add", "isub", "itruediv", "mul", "sub"})
# Take a target with several elements at one place, and a number inside the target.
FILLING = frozenset(
    {"fill_", "zero_", "masked_fill_", "index_fill_", "index_put_", "tril_", "triu_"}
)
# Compute each element from those at the same place, though torch's tag is not on all their forms.
_POINTWISE = frozenset({"copy", "masked_fill", "floor_divide", "where", "fill", "zero"})
# Namespaces of operators that a backend sees through, and of those without side effects.
_FUSED = ("aten", "prims", "prim")
_TORCHS = (*_FUSED, "higher_order")
# The number with which an operation gives its other operand.
_NEUTRAL = {"add": 0, "sub": 0, "mul": 1, "div": 1, "truediv": 1, "pow": 1}


def plain_name(node: torch.fx.Node) -> str:
    """The name of the operation of a node, the same for all that do it: `x.add_`, `x + y` as a
    method, torch.add."""
    return operation_name(node).strip("_")


def may_be_view(node: torch.fx.Node) -> bool:
    """Whether a node calls a method of tensors, or the function of torch that is the same, which
    gives a view where it can."""
    return _method_of_tensors(node) in _ONE_VIEW | _SEVERAL_VIEWS


def gives_several_views(node: torch.fx.Node) -> bool:
    """Whether a node gives several views of one tensor."""
    return _method_of_tensors(node) in _SEVERAL_VIEWS


def changes_tensor(node: torch.fx.Node) -> bool:
    """Whether a node changes the shape, the memory or the place in autograd's graph of a tensor: a
    view of it before is not one after."""
    if node.op not in ("call_function", "call_method"):
        return False
    name = operation_name(node)
    return name in _CHANGE_TENSORS or _is_tagged_in_place_view(name)


def is_made_of_numbers(node: torch.fx.Node) -> bool:
    """Whether a node makes a tensor of numbers."""
    return node.target in _MADE_OF_NUMBERS


def is_contraction(node: torch.fx.Node) -> bool:
    """Whether a backend runs the node as a kernel of its own: a product of matrices, a convolution,
    attention, a recurrent layer, or an operator that it does not know. What lies between those it
    fuses, over the borders of the functions that a program is written in."""
    if namespace_of(node) not in ("", *_FUSED):
        return True
    return node.op in ("call_function", "call_method") and plain_name(node) in CONTRACTING


def is_convolution(node: torch.fx.Node) -> bool:
    """Whether the node is a convolution, for which a backend orders elements in another way."""
    return node.op in ("call_function", "call_method") and plain_name(node) in CONVOLVING


def is_of_others(node: torch.fx.Node) -> bool:
    """Whether a node calls an operator that is not one of torch's own for computing: a collective,
    or an operator of the program, whose schema tells of no print."""
    return namespace_of(node) not in ("", *_TORCHS)


def namespace_of(node: torch.fx.Node) -> str:
    """The namespace of the operator that a node calls; "" if it calls something else."""
    if isinstance(node.target, (operators.OpOverload, operators.OpOverloadPacket)):
        return str(node.target).partition(".")[0]
    return ""


@functools.cache
def is_pointwise(name: str) -> bool:
    """Whether an operator of this name computes each element from those at the same place."""
    plain = name.removesuffix("_")
    if plain in _POINTWISE or plain.startswith("_foreach_"):
        return True
    packets = [getattr(torch.ops.aten, one, None) for one in (name, plain)]
    overloads = [getattr(p, o) for p in packets if p is not None for o in p.overloads()]
    return any(torch.Tag.pointwise in overload.tags for overload in overloads)


def writes_all(node: torch.fx.Node) -> bool:
    """Whether an operation that writes a tensor writes each of its elements."""
    return operation_name(node) in _WRITE_ALL


def may_copy(node: torch.fx.Node) -> bool:
    """Whether a node may do no more than copy an argument: a copy, or an operation that does
    nothing with a certain number."""
    name = operation_name(node)
    if name in _COPIES:
        return True
    number = _NEUTRAL.get(plain_name(node))
    numbers = [a for a in (*node.args, *node.kwargs.values()) if isinstance(a, (int, float))]
    return number is not None and number in numbers


def is_sum(node: torch.fx.Node) -> bool:
    """Whether a node is `add` of tensors, in place or not, which takes a factor `alpha`."""
    if node.op == "call_method":
        return node.target in ("add", "add_")
    return node.op == "call_function" and node.target in _SUMS


_MADE_OF_NUMBERS = (torch.tensor, torch.as_tensor, torch.scalar_tensor, "new_tensor")
_SUMS = (torch.add, torch.Tensor.add, torch.Tensor.add_, torch.ops.aten.add.Tensor)
_FUNCTIONS: dict[Any, str] = {
    getattr(torch, name): name for name in _ONE_VIEW | _SEVERAL_VIEWS if hasattr(torch, name)
}


def _method_of_tensors(node: torch.fx.Node) -> str:
    """The name of a method of tensors, or of the function that is the same; "" if it is neither."""
    if node.op == "call_method":
        return str(node.target)
    return _FUNCTIONS.get(node.target, "") if node.op == "call_function" else ""


@functools.cache
def _is_tagged_in_place_view(name: str) -> bool:
    """Whether torch says of an operator of this name that it changes a tensor's metadata."""
    packet = getattr(torch.ops.aten, name, None) if name.isidentifier() else None
    overloads: list[str] = getattr(packet, "overloads", list)()
    return any(torch.Tag.inplace_view in getattr(packet, one).tags for one in overloads)
