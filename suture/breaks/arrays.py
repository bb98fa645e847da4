"""Breaks at NumPy arrays."""

from __future__ import annotations

from suture.breaks.registry import captured, define, not_applicable, user_error

ARRAY_ATTRIBUTE = define(
    "GB0157",
    "Unsupported ndarray attribute access",
    title="Attribute of a NumPy array",
    message="ndarray.{attribute}",
    explanation=(
        "An array inside a graph is a tensor underneath. `{attribute}` describes the memory of a "
        "real NumPy array, so Python makes one and calls it."
    ),
    hints=(
        "Ask for what tensors have too: shape, dtype, ndim, size, T.",
        "Read the attribute outside the compiled function.",
    ),
    note="a counterpart of the attribute on torch's own arrays",
)

ARRAY_METHOD = define(
    "GB0158",
    "Unsupported ndarray method call",
    title="Method of a NumPy array",
    message="ndarray.{method}()",
    explanation=(
        "Methods of arrays are captured as torch operations where torch has a counterpart. "
        "`{method}` has none, so NumPy itself runs it."
    ),
    hints=(
        "Use a torch function on the tensor.",
        "Call it on the result, outside the compiled function.",
    ),
    note="an implementation of the method in torch operations",
)

ARRAY_DTYPE = define(
    "GB0185",
    "failed to convert numpy.ndarray to Tensor",
    title="NumPy array that cannot be a tensor",
    message="an array of dtype {dtype}",
    explanation=(
        "An array goes into a graph as a tensor, and torch has no dtype for {dtype}: arrays of "
        "objects, strings and dates are the common cases. NumPy works on it."
    ),
    hints=(
        "Convert to a number type outside: array.astype(float).",
        "Keep such arrays out of the compiled function, and pass what is computed from them.",
    ),
    note="a tensor dtype that can hold these values",
)

ARRAY_VERSION = user_error(
    "GB0159",
    "Unsupported ndarray.__version__ access",
    explanation=(
        "An array has no __version__; NumPy itself does. Eager raises the same AttributeError."
    ),
    hints=("numpy.__version__ is what was meant.",),
)

TENSOR_NUMPY = captured(
    "GB0105",
    "Tensor.numpy() with trace_numpy=False",
    explanation=(
        "Tensor.numpy() and NumPy functions go into the graph as torch operations; suture has no "
        "option that switches this off."
    ),
    hints=(
        "Nothing to change.",
        "A NumPy function that torch has no counterpart of breaks as GB2022.",
    ),
)

NO_NUMPY = not_applicable(
    "GB0106",
    "Tensor.numpy() without NumPy installed",
    explanation=(
        "Where NumPy is missing, Tensor.numpy() raises a RuntimeError of its own, compiled or not."
    ),
    hints=(
        "Install NumPy.",
        "Stay with tensors: tolist() and item() need no NumPy.",
    ),
    note="without NumPy the call fails in torch itself, before anything could be captured",
)
