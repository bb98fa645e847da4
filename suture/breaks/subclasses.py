"""Breaks at subclasses of torch.Tensor."""

from __future__ import annotations

from suture.breaks.registry import define, user_error

OVERRIDDEN_METHOD = define(
    "GB0103",
    "Tensor subclass overridden method call",
    title="Tensor subclass that replaces a method",
    message="{subclass}.{method} replaces a method of torch.Tensor",
    explanation=(
        "`{subclass}` defines `{method}` itself. Methods and operators that a subclass defines are "
        "followed; the setting of its attributes is left to Python."
    ),
    hints=("Use a property with a setter for the attribute.",),
    note="following __setattr__ of tensor subclasses",
)

SUBCLASS_ATTRIBUTE = define(
    "GB0163",
    "Unsupported tensor subclass attribute access",
    title="Attribute of a tensor subclass",
    message="{subclass}.{attribute}",
    explanation=(
        "`{attribute}` of a tensor subclass tells about memory or about the tensor that this one "
        "is a view of, which is not known while the graph is being built."
    ),
    hints=(
        "Keep a reference to the base tensor in an attribute of your own.",
        "Read the attribute outside the compiled function.",
    ),
    note="a model of the view relations between subclass instances",
)

OVERRIDDEN_ATTRIBUTE = define(
    "GB0164",
    "Unsupported tensor subclass overridden attribute access",
    title="Tensor subclass that replaces an attribute",
    message="{subclass} replaces the attribute {attribute} of torch.Tensor",
    explanation=(
        "`{subclass}` overrides `{attribute}` with something other than a method or a property, so "
        "what reading it does is known only by reading it."
    ),
    hints=(
        "Use a property for the attribute.",
        "Give the attribute a name that torch.Tensor does not have.",
    ),
    note="following arbitrary descriptors on tensor subclasses",
)

AS_SUBCLASS = define(
    "GB0001",
    "Argument of `as_subclass` must be a non-dispatcher-style tensor subclass",
    title="as_subclass to a class that dispatches itself",
    message="as_subclass({subclass})",
    explanation=(
        "`{subclass}` defines `__torch_dispatch__`: it takes part in every operation below Python, "
        "and a graph cannot say that a tensor turns into one halfway. Python makes the conversion."
    ),
    hints=(
        "Convert before the compiled function.",
        "Use a subclass with __torch_function__ if only the Python side matters.",
    ),
    note="graphs in which a plain tensor becomes a wrapper subclass",
)

SUBCLASS_CONSTRUCTOR = define(
    "GB0026",
    "Calling subclass default constructor with more than tensor argument",
    title="Tensor subclass made with more than a tensor",
    message="{subclass}({arguments})",
    explanation=(
        "The constructor that `{subclass}` inherits from torch.Tensor takes sizes, lists or "
        "storages and makes a tensor of undefined numbers. Python makes the tensor."
    ),
    hints=(
        "torch.empty(...).as_subclass({subclass}) says the same, and is captured.",
        "Give the class a __new__ that takes a tensor.",
    ),
    note="a model of torch.Tensor's legacy constructor",
)

TORCH_FUNCTION_REFUSED = user_error(
    "GB0000",
    "All __torch_function__ overrides returned NotImplemented due to TypeError from user code",
    title="Every __torch_function__ declines the operation",
    explanation=(
        "Every argument with a `__torch_function__` declined the operation by returning "
        "NotImplemented. Eager raises the same TypeError."
    ),
    hints=(
        "Fall back to super().__torch_function__(func, types, args, kwargs) for operations that "
        "the class does not treat itself.",
    ),
)
