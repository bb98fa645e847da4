"""Breaks at tensors: values and shapes that hang on data, layouts and subclasses."""

from __future__ import annotations

from suture.breaks.registry import Kind, define, user_error

ITEM = define(
    "GB0124",
    "Unsupported Tensor.item() call with capture_scalar_outputs=False",
    message="{tensor}.{method}() needs the numbers of the tensor",
    explanation=(
        "`{method}()` turns the data of `{tensor}` into Python numbers, so everything before it "
        "has to run first. The graph ends, the numbers are read, and capture goes on with them."
    ),
    hints=(
        "Keep the value a tensor: a tensor of no dimensions works in arithmetic as a number does.",
        "suture.config.capture_scalars = True keeps the number symbolic, inside the graph.",
        "Read numbers for logging after the compiled function has returned.",
    ),
    kind=Kind.FUNDAMENTAL,
)

DATA_DEPENDENT_OP = define(
    "GB0033",
    "Data dependent operator",
    message="{operator} returns a value that depends on data",
    explanation=(
        "`{operator}` gives a Python value that is computed from the numbers in its tensors, such "
        "as a bool or an int. It is known only once the operator has run."
    ),
    hints=(
        "Use the form that returns a tensor, such as (a == b).all() for torch.equal(a, b).",
        "Ask for the value after the compiled function has returned.",
    ),
    kind=Kind.FUNDAMENTAL,
)

DYNAMIC_SHAPE_OP = define(
    "GB0036",
    "Dynamic shape operator",
    message="the shape of {operator}'s result depends on data",
    explanation=(
        "How large the result of `{operator}` is depends on the numbers in its input, and the code "
        "behind it is compiled for a shape. The graph ends, the operator runs, and capture goes on "
        "with the size that came out."
    ),
    hints=(
        "Use a form with a fixed shape: torch.where(mask, x, 0) for x[mask], topk for nonzero.",
        "suture.config.capture_dynamic_shapes = True keeps the size symbolic, inside the graph.",
    ),
    kind=Kind.FUNDAMENTAL,
)

FAKE_FAILED = user_error(
    "GB0064",
    "Fake tensor propagation exception",
    message="{operator} fails on these inputs: {error}",
    explanation=(
        "Working out the result's shape and dtype raised the error above. Nearly always the real "
        "operator raises it as well: shapes that do not fit, a wrong dtype, a wrong argument. "
        "Python runs the operator, so that the program sees the real error at its own line."
    ),
    hints=(
        "Check the shapes and dtypes at the marked line.",
        "If eager accepts the call, the operator's fake kernel is wrong: please report it to its "
        "library.",
    ),
)

TENSOR_ATTRIBUTE = define(
    "GB2020",
    "Tensor attribute outside the graph",
    message="{tensor}.{attribute}",
    explanation=(
        "`{attribute}` belongs to the real tensor (its memory, its place in the autograd graph, "
        "the object itself), which does not exist yet while the graph is being built."
    ),
    hints=(
        "Read the attribute before the compiled function, or from its result.",
        "Ask for what is known without data: shape, dtype, device, requires_grad.",
    ),
    kind=Kind.FUNDAMENTAL,
)

SPARSE = define(
    "GB0015",
    "Attempted to wrap sparse Tensor",
    message="{tensor} is a sparse tensor ({layout})",
    explanation=(
        "The backends compile dense (strided) tensors. What touches a sparse tensor is run by "
        "Python; the dense work around it is still captured."
    ),
    hints=(
        "Convert with to_dense() before the compiled function if memory allows.",
        "Put the sparse product into a function of its own, and compile what follows.",
    ),
    note="fake tensors and Inductor lowerings for sparse layouts",
)

NESTED = define(
    "GB0016",
    "Attempted to wrap strided NestedTensor",
    message="{tensor} is a nested tensor of strided layout",
    explanation=(
        "A strided nested tensor keeps its pieces' sizes in data, so no shape can be worked out "
        "without it. Python runs what touches it."
    ),
    hints=(
        "Use layout=torch.jagged, which has symbolic sizes.",
        "Pad to a dense tensor with to_padded_tensor().",
    ),
    kind=Kind.FUNDAMENTAL,
)

SUBCLASS = define(
    "GB2021",
    "Tensor subclass without a model",
    message="{tensor} is a {subclass}",
    explanation=(
        "`{subclass}` is a tensor subclass that cannot be taken apart into plain tensors: it has "
        "neither a `__torch_function__` written in Python nor `__tensor_flatten__`. Its operations "
        "are run by Python."
    ),
    hints=(
        "Give the class __tensor_flatten__ and __tensor_unflatten__.",
        "Pass the plain tensors and build the subclass outside.",
    ),
    note="a model in suture.variables for this subclass",
)

BACKWARD_CALL = define(
    "GB0123",
    "Unsupported Tensor.backward() call",
    message="{call} runs the autograd engine",
    explanation=(
        "The engine walks the graph of real tensors and writes into the `.grad` of the leaves. The "
        "forward computation before it becomes one graph, the engine runs its compiled backward, "
        "and capture goes on behind the call."
    ),
    hints=(
        "Compile the forward pass and the loss, and call backward() outside.",
        "torch.func.grad computes gradients inside the graph.",
    ),
    note="tracing the engine's work into the graph",
)

NUMPY_UNSUPPORTED = define(
    "GB2022",
    "NumPy function without a torch counterpart",
    message="{function} is not among the NumPy functions that torch can run",
    explanation=(
        "NumPy calls are captured as torch operations where torch has a counterpart. `{function}` "
        "has none for these arguments, so NumPy itself runs it."
    ),
    hints=(
        "Use torch functions on tensors.",
        "Convert with torch.from_numpy and do the step in torch.",
    ),
    note="an implementation of the function in torch operations",
)

PRINT_TENSOR = define(
    "GB0059",
    "Failed to trace builtin operator",
    message="{builtin}({arguments}) needs the values of a tensor",
    explanation=(
        "`{builtin}` shows or uses the numbers of a tensor, which exist only when the graph before "
        "it has run. The graph ends, Python runs the call, and capture goes on behind it."
    ),
    hints=(
        "Print after the compiled function has returned, or print shapes and dtypes only.",
        "Put the call under a flag that is off in production: the branch costs nothing.",
    ),
    kind=Kind.FUNDAMENTAL,
)
