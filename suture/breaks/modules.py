"""Situations at torch.nn.Module."""

from __future__ import annotations

from suture.breaks.registry import captured, define, user_error

BACKWARD_HOOKS = define(
    "GB0083",
    "Module-level backwards hooks require compiled autograd.",
    title="Module with backward hooks",
    message="{module} has backward hooks",
    explanation=(
        "Backward hooks of a module are Python functions that the autograd engine calls, and they "
        "need real tensors at the module's borders. Python calls the module; what is inside it is "
        "compiled."
    ),
    hints=(
        "Remove the hooks when they are not needed: handle.remove().",
        "A torch.autograd.Function changes gradients inside the graph.",
    ),
    note="taking Python hooks into the backward graph",
)

MODULE_CONSTRUCTION = captured(
    "GB0162",
    "Unsupported super().__init__() call",
    title="Module made in the compiled function",
    explanation=(
        "A module may be made inside the compiled function: its `__init__` is followed, and that "
        "of its base classes. (Making a parameter is a call of its own, which Python makes.)"
    ),
    hints=("Nothing to change. A module that is made once, outside, keeps its parameters.",),
)

RNN = captured(
    "GB0014",
    "Attempted to wrap RNN, GRU, or LSTM",
    title="RNN, GRU and LSTM modules",
    explanation="RNN, GRU and LSTM modules go into the graph like other modules.",
    hints=("Nothing to change.",),
)

MODULE_METHOD = captured(
    "GB0121",
    "UnspecializedNNModuleVariable missing method",
    title="Method of torch.nn.Module itself",
    explanation=(
        "The methods of torch.nn.Module itself (children, named_parameters, eval, get_submodule) "
        "are followed like any Python code."
    ),
    hints=("Nothing to change.",),
)

MODULE_KEY = captured(
    "GB0153",
    "Unsupported key type for nn.Module.__getitem__",
    title="ModuleList or ModuleDict with a computed index",
    explanation=(
        "ModuleList, ModuleDict and Sequential may be indexed with computed ints, slices and "
        "strings, and with objects that have `__index__`."
    ),
    hints=(
        "Nothing to change.",
        "An index inside a tensor is GB0218.",
    ),
)

MODULE_ATTRIBUTE_TYPE = captured(
    "GB0161",
    "Unsupported nn.Module attribute type",
    title="Attribute of a module, of any type",
    explanation="Attributes of modules, and of their classes, may be of any type.",
    hints=("Nothing to change.",),
)

CHANGED_MODULE = captured(
    "GB0189",
    "getattr() on nn.Module with pending mutation",
    title="Attribute of a module, set and read again",
    explanation=(
        "A module's attributes can be set and read again in the same function: reading sees what "
        "was set."
    ),
    hints=("Nothing to change.",),
)

MODULE_ARGUMENTS = captured(
    "GB0202",
    "non-const argument in nn.Module method",
    title="Arguments of a module's method",
    explanation="Methods of modules take any arguments, as other functions do.",
    hints=("Nothing to change.",),
)

MODULE_GETATTR = captured(
    "GB0211",
    "torch.nn.Module with a non-function custom __getattr__",
    title="Module with a __getattr__ that is not a function",
    explanation=(
        "`__getattr__` of a module may be any callable that its class holds; it is called as "
        "Python calls it."
    ),
    hints=("Nothing to change.",),
)

UNINITIALIZED = user_error(
    "GB0119",
    "Uninitialized nn.Module",
    title="Module whose __init__ does not call super().__init__()",
    explanation=(
        "The class's `__init__` does not call super().__init__(), so the module has no tables for "
        "parameters and hooks. Eager raises the same AttributeError."
    ),
    hints=("Call super().__init__() first in __init__.",),
)
