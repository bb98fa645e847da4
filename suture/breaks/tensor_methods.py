"""Breaks at single methods and attributes of tensors."""

from __future__ import annotations

from suture.breaks.registry import Kind, Leaves, captured, define, user_error

TOLIST = captured(
    "GB0109",
    "Tensor.tolist() with non-integer tensor",
    title="tensor.tolist()",
    explanation=(
        "tolist() goes into the graph: each number of the list is a result of the graph, floats "
        "as well as integers, and may be computed with inside it."
    ),
    hints=("Nothing to change. torch.unbind(x) gives the items as tensors.",),
)

GRAD_FN = define(
    "GB0104",
    "Tensor with grad_fn()",
    title="tensor.grad_fn of a tensor made in the graph",
    message="{tensor}.grad_fn",
    explanation=(
        "grad_fn is the node of the autograd graph that made `{tensor}`. The nodes of a compiled "
        "graph are made when it runs, so there is none to give while it is being built."
    ),
    hints=(
        "Ask x.requires_grad if that is what matters.",
        "Look at grad_fn of the result, outside the compiled function.",
    ),
    kind=Kind.FUNDAMENTAL,
)

RETAIN_GRAD = define(
    "GB0108",
    "Tensor.retain_grad() with AOTDispatcher",
    title="retain_grad() on a tensor made in the graph",
    message="{tensor}.retain_grad()",
    explanation=(
        "retain_grad() asks autograd to keep the gradient of `{tensor}`, a value inside the graph. "
        "Where backward() is part of the graph too and the tensor stays inside, its gradient is "
        "kept. Elsewhere the graph ends, so that it becomes a real tensor."
    ),
    hints=(
        "Return the tensor, and call retain_grad() on it outside.",
        "torch.autograd.grad(loss, y) gives the gradient of y without storing it.",
    ),
    kind=Kind.FUNDAMENTAL,
)

REQUIRES_GRAD_CALL = define(
    "GB0125",
    "Unsupported Tensor.requires_grad_() call",
    title="requires_grad_() on a tensor made in the graph",
    message="{tensor}.{method}()",
    explanation=(
        "Whether a tensor takes part in autograd is fixed for a graph when it is compiled. A leaf "
        "of known sizes with memory of its own is made outside the graph, and one that stays "
        "inside is made by the graph; this one is neither. "
        "Python makes the change at this line, and what follows is compiled for the new state."
    ),
    hints=(
        "Call requires_grad_() on a copy, or before the compiled function.",
        "torch.func.grad takes gradients for any argument without marking it.",
    ),
    kind=Kind.FUNDAMENTAL,
)

REQUIRES_GRAD_SET = define(
    "GB0206",
    "setattr() on Tensor.requires_grad",
    title="Assignment to tensor.requires_grad",
    message="{tensor}.requires_grad is set to {value}",
    explanation=(
        "Setting requires_grad makes a leaf of the autograd graph out of a tensor in the middle of "
        "the work. Python makes the change, and the code after it is compiled for the new state."
    ),
    hints=(
        "Set requires_grad before the compiled function.",
        "Use detach() to leave a tensor out of autograd.",
    ),
    kind=Kind.FUNDAMENTAL,
)

SWITCHED_BEFORE = define(
    "GB2024",
    "Parameter that was switched and is used",
    message="{tensor} takes part in autograd differently from here on",
    explanation=(
        "The function has set requires_grad of `{tensor}`, and now computes with it. A graph is "
        "compiled for what requires gradients when it starts: so the graph ends, the parameter is "
        "switched, and the next graph begins with this operation."
    ),
    hints=(
        "Freeze and unfreeze parameters outside the compiled function.",
        "detach() a parameter, or use torch.func.functional_call with detached ones, where no "
        "gradient is wanted.",
    ),
    kind=Kind.FUNDAMENTAL,
    leaves=Leaves.NOTHING,
)

RESIZE = define(
    "GB0126",
    "Unsupported Tensor.resize_() call",
    title="resize_() of a tensor",
    message="{tensor}.resize_()",
    explanation=(
        "resize_() changes the size of a tensor's own storage, which other tensors may share. A "
        "graph cannot describe that, so Python does it."
    ),
    hints=(
        "Make a new tensor: torch.empty, x.new_zeros, torch.nn.functional.pad.",
        "x.reshape(...) if the number of elements stays the same.",
    ),
    kind=Kind.FUNDAMENTAL,
)

RESHAPED_PART = define(
    "GB2023",
    "In-place change of the shape of a part of a tensor",
    message="{tensor}.{method}() changes the shape of a part of another tensor",
    explanation=(
        "{method}() gives the tensor object itself other sizes or strides, and this one is a part "
        "of a larger tensor outside of the graph, or a view of one. Backends know such changes "
        "only of tensors that stand for themselves, so Python does it."
    ),
    hints=(
        "The method without the underscore gives a view and leaves the tensor as it is.",
        "On whole tensors, and on those that the function makes itself, it is captured.",
    ),
    kind=Kind.FUNDAMENTAL,
)

RESIZE_AS = define(
    "GB0127",
    "Unsupported Tensor.resize_as_() call",
    title="resize_as_() of a tensor",
    message="{tensor}.resize_as_()",
    explanation=(
        "resize_as_() changes the size of a tensor's own storage to that of another tensor. A "
        "graph cannot describe that, so Python does it."
    ),
    hints=(
        "torch.empty_like(other) makes a tensor of that size.",
        "x.view_as(other) if the number of elements is the same.",
    ),
    kind=Kind.FUNDAMENTAL,
)

SET = define(
    "GB0128",
    "Unsupported Tensor.set_() call",
    title="set_() of a tensor with a storage",
    message="{tensor}.set_() with a storage",
    explanation=(
        "set_() points a tensor at other memory. Which tensors share memory is fixed for a graph, "
        "so Python does it."
    ),
    hints=(
        "x.copy_(y) changes the numbers and keeps the memory.",
        "Bind the new tensor to the name or attribute instead of changing the old one.",
    ),
    kind=Kind.FUNDAMENTAL,
)

SPARSE_RESIZE = define(
    "GB0129",
    "Unsupported Tensor.sparse_resize_() call",
    title="sparse_resize_() of a tensor",
    message="{tensor}.sparse_resize_()",
    explanation=(
        "sparse_resize_() changes the size of a sparse tensor in place. Graphs hold no sparse "
        "tensors; Python does it."
    ),
    hints=(
        "Build a new sparse tensor from the indices and values, with the size that is wanted.",
        "Prepare sparse tensors outside the compiled function.",
    ),
    kind=Kind.FUNDAMENTAL,
)

SPARSE_CLEAR = define(
    "GB0130",
    "Unsupported Tensor.sparse_resize_and_clear_() call",
    title="sparse_resize_and_clear_() of a tensor",
    message="{tensor}.sparse_resize_and_clear_()",
    explanation=(
        "sparse_resize_and_clear_() empties a sparse tensor and changes its size in place. Graphs "
        "hold no sparse tensors; Python does it."
    ),
    hints=(
        "torch.sparse_coo_tensor(size=...) makes an empty one.",
        "Prepare sparse tensors outside the compiled function.",
    ),
    kind=Kind.FUNDAMENTAL,
)

SET_DATA = define(
    "GB0056",
    "Failed to mutate tensor data attribute",
    title="Assignment to tensor.data",
    message="{tensor}.data is set",
    explanation=(
        "Setting .data exchanges the memory of a tensor behind autograd's back. `{tensor}` has a "
        "history that no graph can keep, so Python does it on the real tensor."
    ),
    hints=(
        "y = new_value.detach() does the same for a tensor that was just made.",
        "y.copy_(new_value) under torch.no_grad() keeps the memory.",
    ),
    note="describing the exchange for tensors that have a history",
)

SET_DATA_DTYPE = define(
    "GB0220",
    "Failed to mutate tensor data attribute to different dtype",
    title="Assignment to tensor.data of another dtype",
    message="{tensor}.data is set to a tensor of {dtype}",
    explanation=(
        "Setting .data to a tensor of another dtype changes the dtype of `{tensor}` for everyone "
        "who holds it. Python does it, and the code after it is compiled for the new dtype."
    ),
    hints=(
        "Bind the converted tensor to a new name.",
        "module.to(dtype) converts parameters, outside the compiled function.",
    ),
    kind=Kind.FUNDAMENTAL,
)

SET_ATTRIBUTE = define(
    "GB0058",
    "Failed to set tensor attribute",
    title="Assignment to an attribute of a tensor",
    message="{tensor}.{attribute} is set",
    explanation=(
        "`{attribute}` is an attribute that torch's C code sets, with effects on the tensor's "
        "memory or its place in autograd. Python sets it."
    ),
    hints=(
        "Use the method that does the same: x.real.copy_(y) for x.real = y.",
        "Set it outside the compiled function.",
    ),
    note="a torch operation to stand for the assignment in the graph",
)

INPLACE_VIEW = captured(
    "GB0072",
    "Inplace op on input tensor",
    title="In-place change of the shape of an argument",
    explanation=(
        "In-place operations that change the shape of an argument (unsqueeze_, t_, squeeze_) go "
        "into the graph, and the argument has its new shape afterwards."
    ),
    hints=("Nothing to change. The form without underscore leaves the caller's tensor alone.",),
)

RANDOM = captured(
    "GB0107",
    "Tensor.random_ op",
    title="tensor.random_()",
    explanation=(
        "random_() goes into the graph and draws from torch's generator in the same order as eager."
    ),
    hints=("Nothing to change.",),
)

UNIFORM_FROM = captured(
    "GB0110",
    "Tensor.uniform_ op called with `from` keyword",
    title="tensor.uniform_(**{'from': low})",
    explanation=(
        "`from` is a reserved word in Python, so it has to be given as `**{{'from': low}}`; the "
        "call goes into the graph all the same."
    ),
    hints=("Nothing to change. x.uniform_(low, high) is easier to read.",),
)

LIST_BY_TENSOR = user_error(
    "GB0070",
    "Indexing list with non-scalar tensor",
    title="List indexed with a tensor of several elements",
    explanation=(
        "A list was indexed with a tensor of more than one element. Eager raises the same "
        "TypeError."
    ),
    hints=(
        "Stack the list into one tensor and index that: torch.stack(items)[index].",
        "Index with one element: items[int(index[0])].",
    ),
)
