"""Breaks at tensors: values and shapes that depend on data, layouts and subclasses."""

from __future__ import annotations

from suture.breaks.registry import Kind, captured, define, not_applicable, user_error

ITEM = define(
    "GB0124",
    "Unsupported Tensor.item() call with capture_scalar_outputs=False",
    title="item() of a tensor: Python needs its number",
    message="{tensor}.{method}() needs the numbers of the tensor",
    explanation=(
        "`{method}()` turns the data of `{tensor}` into Python numbers, so everything before it "
        "has to run first. The graph ends, the numbers are read, and capture continues with them."
    ),
    hints=(
        "Keep the value a tensor: a tensor of no dimensions works in arithmetic as a number does.",
        "suture.config.capture_scalar_outputs = True (the default) keeps the number in the graph.",
        "Read numbers for logging after the compiled function has returned.",
    ),
    kind=Kind.FUNDAMENTAL,
)

DATA_DEPENDENT_OP = define(
    "GB0033",
    "Data dependent operator",
    title="Operator whose result is a number that depends on data",
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
    title="Operator whose result's shape depends on data",
    message="the shape of {operator}'s result depends on data",
    explanation=(
        "How large the result of `{operator}` is depends on the numbers in its input, and the code "
        "after it is compiled for a shape. The graph ends, the operator runs, and capture "
        "continues with the size that came out."
    ),
    hints=(
        "Use a form with a fixed shape: torch.where(mask, x, 0) for x[mask], topk for nonzero.",
        "suture.config.capture_dynamic_output_shape_ops = True (the default) keeps the size in "
        "the graph.",
    ),
    kind=Kind.FUNDAMENTAL,
)

FAKE_FAILED = user_error(
    "GB0064",
    "Fake tensor propagation exception",
    title="Operation that fails on these inputs",
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
    title="Sparse tensor",
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
    title="Nested tensor of strided layout",
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
        "`{subclass}` takes part in operations below Python's functions, with a "
        "`__torch_dispatch__`, and does not say which tensors it is made of; or every class that "
        "was asked declined the operation. Python runs it. (`__torch_function__` is traced.)"
    ),
    hints=(
        "Give the class __tensor_flatten__ and __tensor_unflatten__, so that graphs can hold it.",
        "Use __torch_function__ instead of __torch_dispatch__ if only Python's side matters.",
    ),
    note="classes with __torch_dispatch__ that do not tell their inner tensors",
)

BACKWARD_CALL = define(
    "GB0123",
    "Unsupported Tensor.backward() call",
    title="backward() in compiled code",
    message="{call} runs the autograd engine",
    explanation=(
        "The engine goes through what was computed before the region, meets a hook of a leaf that "
        "cannot be traced, or uses up a history with which a tensor leaves the region. The forward "
        "computation becomes one graph, the engine runs its compiled backward, and capture "
        "continues after the call. Elsewhere backward() and torch.autograd.grad() are part of the "
        "graph."
    ),
    hints=(
        "Return tensors of the forward pass detached: their history is used up by backward().",
        "Compile the forward pass and the loss, and call backward() outside.",
    ),
    note="hooks of leaves that break, and parts of autograd's graph from before the region",
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
    title="print, or another builtin, of a tensor's values",
    message="{builtin}({arguments}) needs the values of a tensor",
    explanation=(
        "`{builtin}` shows or uses the numbers of a tensor, which exist only when the graph before "
        "it has run. The graph ends, Python runs the call, and capture continues after it."
    ),
    hints=(
        "Do it after the compiled function has returned, or with shapes and dtypes only.",
        "Put the call under a flag that is off in production: the branch costs nothing.",
    ),
    kind=Kind.FUNDAMENTAL,
)

FAKE_UNSUPPORTED = define(
    "GB0087",
    "NotImplementedError/UnsupportedFakeTensorException when running FX node",
    title="Tensor that cannot be made fake",
    message="{tensor} cannot be made a fake tensor: {error}",
    explanation=(
        "Graphs are built on fake tensors, which have a shape and a dtype and no data. torch "
        "cannot make one of this kind of tensor (quantized tensors are the common case), so Python "
        "runs what touches it."
    ),
    hints=(
        "Dequantize before the compiled function, or quantize inside a custom operator.",
        "Compile the part of the model that works on plain tensors.",
    ),
    note="support for this kind of tensor in torch's fake tensors",
)

UNSUPPORTED_VALUE = user_error(
    "GB0112",
    "TypeError when making fake tensor call",
    title="Operation called with arguments it does not take",
    explanation=(
        "A torch operation was called with arguments that it does not take. Eager raises the same "
        "TypeError at the same line."
    ),
    hints=(
        "Check the types of the arguments: a list where a tensor is expected, a float for a dtype.",
    ),
)

MISSING_METHOD = user_error(
    "GB0081",
    "Missing attribute when running call_method node",
    title="Method that a tensor does not have",
    explanation="The tensor has no method of that name. Eager raises the same AttributeError.",
    hints=("Check the spelling, and the version of torch that the method came with.",),
)

NO_OVERLOAD = user_error(
    "GB0049",
    "Error when attempting to resolve op packet",
    title="torch.ops operator with arguments it does not take",
    explanation=(
        "No overload of the torch.ops operator takes these arguments. Eager raises the same error."
    ),
    hints=("Print torch.ops.namespace.name.overloads() and compare the schemas with the call.",),
)

BROADCAST = user_error(
    "GB0182",
    "failed to broadcast when attempting Tensor comparison op",
    title="Comparison of tensors whose shapes do not fit",
    explanation=(
        "The two tensors of a comparison have shapes that do not broadcast. Eager raises the same "
        "RuntimeError."
    ),
    hints=("Print both shapes; unsqueeze or expand one of them.",),
)

NON_TENSOR_RESULT = captured(
    "GB0208",
    "torch.* op returned non-Tensor",
    title="torch function that returns a Python value",
    explanation=(
        "Functions of torch that return Python values worked out from dtypes and shapes "
        "(torch.result_type, torch.is_floating_point, torch.broadcast_shapes) are answered while "
        "compiling."
    ),
    hints=(
        "Nothing to change.",
        "For values that depend on data, see GB0033.",
    ),
)

BUILTIN_ON_TENSORS = captured(
    "GB0213",
    "unimplemented builtin op on tensor arguments",
    title="Python's operators and builtins on tensors",
    explanation=(
        "Python's operators and builtins that work on tensors in eager (abs, pow, sum, the "
        "operator module) go into the graph as the torch operation they stand for."
    ),
    hints=("Nothing to change.",),
)

SIZE_COMPARISON = captured(
    "GB0214",
    "unsupported SymNode comparison op",
    title="Comparison of sizes",
    explanation=(
        "Sizes may be compared in every way that ints can, `in` and `is` included; what the "
        "comparison found is guarded."
    ),
    hints=("Nothing to change. Compare sizes with ==, not with `is`.",),
)

TENSOR_COMPARISON = captured(
    "GB0215",
    "unsupported Tensor comparison op",
    title="Comparison of a tensor with anything",
    explanation=(
        "A tensor may be compared with anything: with None and other objects the answer is a "
        "Python bool, as in eager; `is` compares identity."
    ),
    hints=("Nothing to change. `x is None` says what is meant better than `x == None`.",),
)

IS_INFERENCE = captured(
    "GB0045",
    "Encountered tensor.is_inference() during tracing",
    title="tensor.is_inference()",
    explanation=(
        "Whether a tensor was made in inference mode is known while compiling, and guarded."
    ),
    hints=("Nothing to change.",),
)

INFERENCE_MODE = captured(
    "GB0046",
    "Encountered torch.is_inference_mode_enabled during tracing",
    title="torch.is_inference_mode_enabled()",
    explanation=(
        "Whether inference mode is on is known while compiling; a call in the other mode gets its "
        "own graph."
    ),
    hints=("Nothing to change.",),
)

IDENTITY = captured(
    "GB0027",
    "Cannot check Tensor object identity without its fake value",
    title="x is y for tensors",
    explanation=(
        "`x is y` on tensors compares identity. Which tensors are the same object is known "
        "while compiling, and guarded for arguments."
    ),
    hints=("Nothing to change.",),
)

UNTAGGED_OPERATOR = captured(
    "GB0043",
    "Encountered non-PT2-compliant op",
    title="Custom operator without tags",
    explanation="A custom operator needs no tag: with a fake kernel it goes into the graph.",
    hints=(
        "Nothing to change.",
        "torch.library.opcheck tests whether an operator is safe to compile.",
    ),
)

DYNAMIC_SHAPE_NO_META = define(
    "GB0037",
    "Dynamic shape operator (no meta kernel)",
    title="Operator whose result's shape depends on data, without a fake kernel",
    message="the shape of {operator}'s result depends on data, and its fake kernel cannot say how",
    explanation=(
        "The size of the result depends on the numbers in the input. Operators such as `nonzero` "
        "have a fake kernel that gives such a size a symbol; `{operator}` has none, so it runs "
        "before capture continues."
    ),
    hints=(
        "Use an operator with a fixed shape: torch.linalg.solve for torch.linalg.lstsq.",
        "For an operator of your own, torch.library.register_fake with ctx.new_dynamic_size().",
    ),
    note="a fake kernel with a symbolic size for this operator, in torch",
)

NESTED_DYNAMIC = not_applicable(
    "GB0044",
    "Encountered strided NestedTensor in automatic dynamic dim determination",
    explanation=(
        "A strided nested tensor reached the choice of dynamic dimensions. suture reports strided "
        "nested tensors as GB0016 before any dimension is looked at."
    ),
    hints=("See GB0016.",),
    note="dimensions are chosen for dense tensors only",
)
