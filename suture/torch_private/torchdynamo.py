"""TorchDynamo: its hook, its lock, the marks it leaves on functions and tensors.

Only `errors` imports torch._dynamo; the functions ask what a program has imported already.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from suture.torch_private.table import Topic, is_missing, loaded

NAMES = Topic(
    __name__,
    "working with TorchDynamo in one process",
    "2.11-2.15",
    {
        "FrameAction": "torch._C._dynamo.eval_frame._FrameAction",
        "FrameExecStrategy": "torch._C._dynamo.eval_frame._FrameExecStrategy",
        "set_code_exec_strategy": "torch._C._dynamo.eval_frame.set_code_exec_strategy",
        "set_eval_frame": "torch._C._dynamo.eval_frame.set_eval_frame",
        "errors": "torch._dynamo.exc",
    },
)

_MARKS = (
    "_nonstrict_trace_callable_ids",
    "_leaf_function_ids",
    "_disallowed_callable_ids",
    "_allowed_callable_ids",
    "_polyfilled_function_ids",
)


def __getattr__(name: str) -> Any:
    return NAMES.get(name)


def hide(code: types.CodeType) -> None:
    """TorchDynamo neither traces frames of this code nor what they call. In a build of torch
    without its compiler there is nothing to hide from."""
    action, strategy, tell = (
        NAMES.get(name) for name in ("FrameAction", "FrameExecStrategy", "set_code_exec_strategy")
    )
    if not any(is_missing(one) for one in (action, strategy, tell)):
        tell(code, strategy(action.SKIP, action.SKIP))


def stance() -> str:
    """The stance that torch.compiler.set_stance has set; "default" where nobody has."""
    frames = loaded("torch._dynamo.eval_frame")
    return str(getattr(getattr(frames, "_stance", None), "stance", "default"))


def is_disabled() -> bool:
    """Whether torch._dynamo.config.disable is set."""
    return bool(getattr(loaded("torch._dynamo.config"), "disable", False))


def strictness_manager() -> Any:
    """The class behind torch._dynamo.error_on_graph_break, or None."""
    name = "ErrorOnGraphBreakDecoratorContextManager"
    return getattr(loaded("torch._dynamo.decorators"), name, None)


def config_entries(module: str) -> dict[str, Any]:
    """The knobs of a configuration module of torch by name, as torch keeps them; none while
    nothing has imported the module."""
    entries: dict[str, Any] = getattr(loaded(module), "_config", {})
    return entries


def unset() -> Any:
    """What is in an entry of `config_entries` for a value that nobody has set."""
    return loaded("torch.utils._config_module")._UNSET_SENTINEL


def counted() -> tuple[int, int, int]:
    """How often TorchDynamo compiled a frame, how many graphs it made, how many breaks it noted."""
    counters = getattr(loaded("torch._dynamo.utils"), "counters", None)
    if not counters:
        return 0, 0, 0
    frames, stats = counters["frames"]["ok"], counters["stats"]["unique_graphs"]
    return frames, stats, sum(counters["graph_break"].values())


def is_loaded() -> bool:
    """Whether something has imported torch._dynamo."""
    return loaded("torch._dynamo") is not None


def marks_token() -> tuple[int, ...] | None:
    """Changes when a table of marks on functions does; None while torch._dynamo is not loaded."""
    rules = loaded("torch._dynamo.trace_rules")
    if rules is None:
        return None
    held = vars(rules)
    return tuple([len(getattr(held.get(name), "function_ids", None) or ()) for name in _MARKS])


def is_marked_at_all(obj: Any) -> bool:
    """Whether one of the tables of marks lists the object."""
    rules = loaded("torch._dynamo.trace_rules")
    if rules is None:
        return False
    held, at = vars(rules), id(obj)
    return any(at in (getattr(held.get(name), "function_ids", None) or ()) for name in _MARKS)


def marked_by_programs() -> list[tuple[str, Any]] | None:
    """(table, object) of what a program has marked in torch's own tables, which know objects by id
    alone: they are looked for in the modules and classes that are loaded. None if one of them is
    not found there."""
    rules = loaded("torch._dynamo.trace_rules")
    if rules is None:
        return []
    homes = [home for home in map(loaded, _MARK_THEMSELVES) if home is not None]
    own = {id(value) for home in homes for value in vars(home).values()}
    tables = {name: set(_filed(rules, name)) - own for name in _MARKS if name != _POLYFILLS}
    wanted = frozenset().union(*tables.values())
    if not wanted:
        return []
    if wanted not in _found:
        _found.clear()
        _found[wanted] = _objects(wanted)
    found = _found[wanted]
    if len(found) < len(wanted):
        return None
    return [(name, found[one]) for name, ids in tables.items() for one in sorted(ids)]


# Objects by id, of the ids that were last asked for. They are held: an id stays its object's own.
_found: dict[frozenset[int], dict[int, Any]] = {}


def _objects(ids: frozenset[int]) -> dict[int, Any]:
    """Those of the objects with these ids that modules and their classes have, by id. Modules that
    were imported last come first: programs mark functions of their own."""
    found: dict[int, Any] = {}
    for module in reversed(list(sys.modules.values())):
        space = getattr(module, "__dict__", None)
        if type(space) is not dict:
            continue
        for value in list(space.values()):
            if id(value) in ids:
                found[id(value)] = value
            elif issubclass(type(value), type) and value.__module__ == space.get("__name__"):
                for one in map(_function_in, list(vars(value).values())):
                    if id(one) in ids:
                        found[id(one)] = one
        if len(found) == len(ids):
            break
    return found


def _function_in(value: Any) -> Any:
    """The function that an attribute of a class is made of."""
    kind = type(value)
    if kind is property:
        return value.fget
    return value.__func__ if kind in (staticmethod, classmethod) else value


_POLYFILLS = "_polyfilled_function_ids"
# What torch hangs on a function of its own that is disabled, when it is first called: the function
# that is called instead. A process has it or has it not yet.
DISABLED_SELF = "__dynamo_disable"
# Modules of torch that mark functions of their own.
_MARK_THEMSELVES = (
    "torch._dynamo.decorators",
    "torch._functorch.eager_transforms",
    "torch.nn.attention.varlen",
)


def is_marked(obj: Any, table: str) -> bool:
    """Whether a table of marks lists the object: nonstrict_trace, leaf_function, disallowed,
    allowed, polyfilled."""
    rules = loaded("torch._dynamo.trace_rules")
    return rules is not None and id(obj) in _filed(rules, _TABLES[table])


_TABLES = dict(
    zip(("nonstrict_trace", "leaf_function", "disallowed", "allowed", "polyfilled"), _MARKS)
)


def _filed(rules: Any, table: str) -> Any:
    return getattr(getattr(rules, table, None), "function_ids", None) or ()


def polyfill_of(obj: Any) -> Any:
    """The function that torch.compiler.substitute_in_graph gave to be traced instead, or None."""
    functions = loaded("torch._dynamo.variables.functions")
    kind = getattr(functions, "PolyfilledFunctionVariable", None)
    handlers: dict[Any, Any] = getattr(kind, "_get_polyfill_handlers", dict)()
    return getattr(handlers.get(obj), "__torch_dynamo_polyfill__", None)
