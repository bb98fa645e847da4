"""Breaks at torch's higher-order operators: cond, while_loop, scan, checkpoint and their kin."""

from __future__ import annotations

from suture.breaks.registry import Kind, captured, define, not_applicable, user_error

BODY_BREAKS = define(
    "GB2060",
    "Break inside the body of a higher-order operator",
    message="the body of {operator} breaks: {reason}",
    explanation=(
        "A function handed to `{operator}` becomes a graph within the graph, so it has to be "
        "captured whole; this one breaks. Python runs the operator instead."
    ),
    hints=(
        "Fix the break inside the body; its number is in the reason.",
        "Move what breaks before or after {operator}.",
    ),
    kind=Kind.FUNDAMENTAL,
)

BODY_SIDE_EFFECT = define(
    "GB0067",
    "HigherOrderOperator: Mutating a variable not in the current scope (SideEffects)",
    title="Body of a higher-order operator that changes something outside",
    message="the body of {operator} changes {object}",
    explanation=(
        "A body of `{operator}` may run once, many times or never, and again in the backward pass, "
        "so it may not change anything that lives outside it. This one changes `{object}`."
    ),
    hints=(
        "Return the new value from the body, and store it after the call.",
        "Pass the value in as an operand.",
    ),
    kind=Kind.FUNDAMENTAL,
)

BODY_ALIASES = user_error(
    "GB0040",
    "Encountered aliasing during higher order op tracing",
    title="torch.cond with a branch that returns its input",
    explanation=(
        "A branch of torch.cond (or the body of another higher-order operator) returns one of "
        "its inputs, or the same tensor twice. torch refuses that in eager too."
    ),
    hints=("Return a copy: x.clone().",),
)

BODY_MUTATES = user_error(
    "GB0041",
    "Encountered input mutation during higher order op tracing",
    title="torch.cond with a branch that changes its input",
    explanation=(
        "A branch of torch.cond (or the body of another higher-order operator) changes one of its "
        "inputs in place. torch refuses that in eager too."
    ),
    hints=("Use the form without underscore, and return the result.",),
)

INVOKE_SUBGRAPH = define(
    "GB0017",
    "Attempted to wrap torch._higher_order_ops.invoke_subgraph",
    title="Direct call of invoke_subgraph",
    message="a direct call of invoke_subgraph",
    explanation=(
        "invoke_subgraph is torch's internal operator for a region that is compiled once and used "
        "many times; it expects a body that has been captured already. Python makes the call."
    ),
    hints=("torch.compiler.nested_compile_region is the public way to ask for the same.",),
    note="capturing the body and handing it to the operator",
)

NESTED_REGION = captured(
    "GB0042",
    "Encountered non user function variable during invoke_subgraph HOP tracing",
    title="nested_compile_region around something that is not a plain function",
    explanation=(
        "torch.compiler.nested_compile_region may wrap any callable: a function, a partial, a "
        "method, a module."
    ),
    hints=("Nothing to change.",),
)

MODULE_IN_BODY = captured(
    "GB0073",
    "Invoking an nn.Module inside a HigherOrderOperator",
    title="Module called in a branch of torch.cond",
    explanation=(
        "Branches of torch.cond may call modules; their parameters become inputs of the branch."
    ),
    hints=("Nothing to change.",),
)

MODULE_IN_CHECKPOINT = captured(
    "GB0074",
    "Invoking an nn.Module inside a higher order operator",
    title="Module called inside a checkpoint",
    explanation=(
        "torch.utils.checkpoint and its kin may be given functions that call modules, and modules "
        "themselves."
    ),
    hints=("Nothing to change.",),
)

STRICT_METHOD = not_applicable(
    "GB0068",
    "Illegal method invocation in strict mode",
    explanation=(
        "TorchDynamo's strict mode forbids methods of tensors that need data, inside the "
        "`strict_mode` operator."
    ),
    hints=(
        "Nothing to change. A method that needs data is reported under its own number, such as "
        "GB0124.",
    ),
    note="suture has no strict mode",
)

STRICT_OPERATION = not_applicable(
    "GB0102",
    "Strict mode banned op",
    explanation=(
        "TorchDynamo's strict mode forbids attributes of tensors that tell about autograd, inside "
        "the `strict_mode` operator."
    ),
    hints=("Nothing to change.",),
    note="suture has no strict mode",
)
