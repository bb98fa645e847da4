"""Situations at autograd: custom functions, hooks, the engine."""

from __future__ import annotations

from suture.breaks.registry import captured, define, not_applicable, user_error

TENSOR_HOOK = define(
    "GB0029",
    "Compilation of intermediate hooks requires compiled autograd",
    title="Hook on a computed tensor that does more than compute",
    message="{tensor}.{method}()",
    explanation=(
        "A hook on a tensor is a Python function that the autograd engine calls in the backward "
        "pass. This one does more than compute a gradient, it reads what may change until then (an "
        "object, a global number, a variable that is set again), its handle is kept, or its tensor "
        "was computed outside or is a result: the graph ends so that the hook can be set on the "
        "real tensor."
    ),
    hints=(
        "Let the hook only compute, and drop its handle: then it is part of the graph.",
        "Set hooks on arguments and results, outside the compiled function.",
    ),
    note="taking hooks with side effects into the backward graph",
)

HOOK_HANDLE = captured(
    "GB0013",
    "Attempted to represent unregistered RemovableHandle",
    title="Handle of a hook, kept or removed",
    explanation=(
        "Removing a hook through its handle changes a table of the module or tensor; the table is "
        "brought up to date when the graph has run."
    ),
    hints=("Nothing to change.",),
)

CONTEXT_ESCAPES = define(
    "GB0019",
    "AutogradFunctionContextVariable escaped Dynamo-traced region",
    title="ctx of an autograd.Function that is kept",
    message="the ctx of {function} is kept",
    explanation=(
        "`ctx` belongs to one call of `{function}` and exists while autograd makes it. Here it is "
        "stored where it outlives the call, so the call is left to Python."
    ),
    hints=("Keep the values that are needed (tensors, numbers), not ctx itself.",),
    note="making a real ctx for a function that was captured",
)

ENGINE_METHOD = define(
    "GB0165",
    "Unsupported torch._C._ImperativeEngine method",
    title="Method of the autograd engine",
    message="{method}() of the autograd engine",
    explanation=(
        "The answer depends on the state of the engine at that moment, outside of any graph. "
        "Python calls it."
    ),
    hints=("Ask the engine outside the compiled function.",),
    note="a guard on the engine's state",
)

QUEUE_CALLBACK = user_error(
    "GB0166",
    "Unsupported torch._C._ImperativeEngine.queue_callback()",
    title="queue_callback() outside of a backward pass",
    explanation=(
        "queue_callback() may be called only while a backward pass runs. Elsewhere eager raises "
        "the same RuntimeError."
    ),
    hints=("Call it from a hook or from the backward of a torch.autograd.Function.",),
)

FORWARD_CALLABLE = captured(
    "GB0085",
    "Non-function or method in subclass of torch.autograd.Function",
    title="forward or backward of an autograd.Function that is not a function",
    explanation="`forward` and `backward` of a torch.autograd.Function may be any callables.",
    hints=("Nothing to change. A staticmethod with a plain function is the usual form.",),
)

SAVE_FOR_BACKWARD = captured(
    "GB0138",
    "Unsupported autograd.Function context `save_for_backward`",
    title="ctx.save_for_backward",
    explanation=(
        "ctx.save_for_backward and ctx.saved_tensors work as in eager, from forward or from "
        "setup_context."
    ),
    hints=("Nothing to change.",),
)

CONTEXT_METHOD = captured(
    "GB0139",
    "Unsupported autograd.Function context method",
    title="Method of ctx in an autograd.Function",
    explanation=(
        "The methods of ctx work as in eager: set_materialize_grads, mark_non_differentiable, "
        "mark_dirty, needs_input_grad."
    ),
    hints=("Nothing to change.",),
)

FUNCTION_METHOD = captured(
    "GB0140",
    "Unsupported autograd.Function method",
    title="Method of an autograd.Function class",
    explanation=(
        "Static methods, class methods and inherited methods of a torch.autograd.Function class "
        "can be called like those of any class."
    ),
    hints=("Nothing to change.",),
)

CUSTOM_JVP = captured(
    "GB0144",
    "Unsupported custom jvp",
    title="jvp of an autograd.Function",
    explanation=(
        "A torch.autograd.Function may define jvp for forward-mode derivatives; it is used where "
        "forward mode is."
    ),
    hints=("Nothing to change.",),
)

CUSTOM_VJP = captured(
    "GB0145",
    "Unsupported custom vjp",
    title="vjp of an autograd.Function",
    explanation="A torch.autograd.Function may define vjp instead of backward, under either name.",
    hints=("Nothing to change. `backward` is the name that most readers expect.",),
)

GRADIENT_DTYPE = define(
    "GB0181",
    "dtype mismatch between tensor and its gradient",
    title="Gradient of another dtype than its tensor",
    message="{tensor} is {dtype}, its gradient {grad}",
    explanation=(
        "`{tensor}` carries a gradient of another dtype. Fake tensors cannot stand for such a "
        "pair, so Python does what is done with the tensor; its results are captured again."
    ),
    hints=(
        "Keep the gradient in a tensor of its own instead of .grad.",
        "Clear it before the call: x.grad = None.",
    ),
    note="fake tensors whose gradient has another dtype",
)

HANDLE_IN_GLOBAL = not_applicable(
    "GB0100",
    "Storing Tensor hook handle in globals",
    explanation=(
        "A handle of a tensor's hook was stored in a global variable. suture sets the hook on the "
        "real tensor (GB0029), so the handle is an ordinary object that may be kept anywhere."
    ),
    hints=("See GB0029 for the hook itself.",),
    note="handles are real objects; there is nothing special in storing one",
)

HANDLE_IN_GLOBAL_INLINE = not_applicable(
    "GB0101",
    "Storing Tensor hook handle in globals (inline call)",
    explanation=(
        "The same as GB0100, in a function that the compiled function calls. suture makes no "
        "difference between the two."
    ),
    hints=("See GB0029 for the hook itself.",),
    note="handles are real objects; there is nothing special in storing one",
)

CONTEXT_PROXY = not_applicable(
    "GB0205",
    "proxy not set",
    explanation=(
        "TorchDynamo represents the ctx of a torch.autograd.Function by a node of the graph, which "
        "has to be set first. suture has no such node."
    ),
    hints=("Nothing to change: ctx works as in eager.",),
    note="ctx is not a value of the graph",
)
