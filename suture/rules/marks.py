"""The user's marks: what a program says about its own functions, and about those it calls.

Every mark works as a decorator and on functions one cannot edit:

    @suture.disable                          suture.allow_in_graph(library.kernel)
    def log(x): ...

A mark lives in a table by identity (`mark_table`), holds no function alive, and is dropped with
it. Marks that exclude each other on one function are an error where the second is set.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, TypeVar, overload

from suture.rules import checks
from suture.rules.errors import RuleError
from suture.rules.mark_table import Mark, describe, set_mark
from suture.rules.verdict import location, location_of

F = TypeVar("F", bound=Callable[..., Any])


@overload
def disable(
    fn: None = None, recursive: bool = True, reason: str | None = None
) -> Callable[[F], F]: ...
@overload
def disable(fn: F, recursive: bool = True, reason: str | None = None) -> F: ...
def disable(fn: Any = None, recursive: bool = True, reason: str | None = None) -> Any:
    """Python runs `fn`, and with `recursive` also all that it calls; `reason` is shown.

    In: a function, a method, a class (its `__init__` and `__call__`), or a module (its
    `forward`). Out: a wrapper; for a class or a module the object itself, changed.
    """
    if fn is None:
        return functools.partial(_disable, recursive=recursive, reason=reason, where=location())
    return _disable(fn, recursive, reason, location())


def _disable(fn: Any, recursive: bool, reason: str | None, where: str) -> Any:
    _require_callable(fn, "disable", where)
    mark = Mark("disable", where, reason or "", recursive)
    if isinstance(fn, type):
        for name in ("__init__", "__call__"):
            if inspect.isfunction(fn.__dict__.get(name)):
                setattr(fn, name, _disabled(fn.__dict__[name], mark))
        return fn
    if "forward" in dir(type(fn)) and not inspect.isroutine(fn):
        fn.forward = _disabled(fn.forward, mark)
        return fn
    return _disabled(fn, mark)


def _disabled(fn: Any, mark: Mark) -> Any:
    """A wrapper that Python runs, marked for suture and, in torch's words, for torch.compile."""
    inside = getattr(fn, "_torchdynamo_orig_callable", fn)
    if inside is not fn and isinstance(fn, types.MethodType):
        inside = types.MethodType(inside, fn.__self__)  # the attribute is the function's

    @functools.wraps(inside)
    def disabled(*args: Any, **kwargs: Any) -> Any:
        if not mark.recursive:
            return inside(*args, **kwargs)
        set_hook_active = _hook_switch()
        before = set_hook_active(False)
        try:
            return inside(*args, **kwargs)
        finally:
            set_hook_active(before)

    disabled.__dict__.update(
        _torchdynamo_disable=True,
        _torchdynamo_disable_msg=mark.reason or None,
        _torchdynamo_disable_recursive=mark.recursive,
        _torchdynamo_orig_callable=inside,
        _torchdynamo_wrapper_id=id(disabled),
    )
    set_mark(disabled, mark)
    if not mark.recursive or _runs_later(inside):
        set_mark(inspect.unwrap(inside), mark)  # its frame may start with the hook active
    return disabled


def _runs_later(fn: Any) -> bool:
    return (
        inspect.isgeneratorfunction(fn)
        or inspect.iscoroutinefunction(fn)
        or inspect.isasyncgenfunction(fn)
    )


@functools.cache
def _hook_switch() -> Callable[[bool], bool]:
    """`suture._core.set_hook_active`; where the core is not built there is no hook to switch."""
    try:
        from suture._core import set_hook_active
    except ImportError:
        return lambda active: False
    return set_hook_active


def allow_in_graph(fn: Any) -> Any:
    """`fn` is one node of the graph; its body is seen by nobody before the backend.

    It must take and return tensors, or containers of them, and have no effect besides that.
    Takes a list or tuple of functions too.
    """
    if isinstance(fn, (list, tuple)):
        return [_mark(one, "allow_in_graph", location()) for one in fn]
    return _mark(fn, "allow_in_graph", location())


def disallow_in_graph(fn: Any) -> Any:
    """Python runs `fn`, although a rule would make it a node: a break at each call.

    Takes a list or tuple too. A function that would not be a node is an error: `disable` is
    what is meant there.
    """
    where = location()
    from suture.rules.lookup import lookup
    from suture.rules.verdict import CONSTANT, IN_GRAPH, SPECIAL, Origin

    for one in fn if isinstance(fn, (list, tuple)) else (fn,):
        _require_callable(one, "disallow_in_graph", where)
        verdict = lookup(one)
        marked = verdict.origin is Origin.DISALLOWED
        if verdict.kind not in (IN_GRAPH, CONSTANT, SPECIAL) and not marked:
            raise RuleError(
                f"disallow_in_graph at {where}: {describe(one)} goes into no graph anyway "
                f"({verdict.kind.value} by {verdict.rule} at {verdict.where}); use disable"
            )
        _mark(one, "disallow_in_graph", where)
    return fn


def nonstrict_trace(fn: F) -> F:
    """`fn` is one node whose body the backend traces; its arguments and its result are pytrees.

    Types of the user go in and out once they are registered with `torch.utils._pytree`.
    """
    return _mark(fn, "nonstrict_trace", location())


def dont_skip_tracing(fn: F) -> F:
    """Trace into `fn` although a rule on its package says that Python runs it."""
    return _mark(fn, "dont_skip_tracing", location())


def forbid_in_graph(fn: Any) -> Any:
    """Meeting `fn` while tracing is an error. Takes a list or tuple of functions too."""
    if isinstance(fn, (list, tuple)):
        return [_mark(one, "forbid_in_graph", location()) for one in fn]
    return _mark(fn, "forbid_in_graph", location())


def assume_constant_result(fn: F) -> F:
    """Call `fn` once, while tracing, and take its result for a constant from then on."""
    return _mark(fn, "assume_constant_result", location())


def substitute_in_graph(
    original: Callable[..., Any], *, skip_signature_check: bool = False
) -> Callable[[F], F]:
    """Decorator: trace the function below wherever `original` is called.

    The two must have one signature, unless `skip_signature_check`. The function comes back
    as it is.
    """
    where = location()
    _require_callable(original, "substitute_in_graph", where)

    def file(replacement: F) -> F:
        if not inspect.isfunction(replacement):
            raise RuleError(
                f"substitute_in_graph at {where}: a function in Python is needed for "
                f"{describe(original)}, not {type(replacement).__name__}"
            )
        if not skip_signature_check:
            checks.same_signature(original, where, replacement, location_of(replacement.__code__))
        set_mark(original, Mark("substitute_in_graph", where, "", target=replacement))
        return replacement

    return file


def ignore_logging_functions(*functions: Callable[..., Any]) -> None:
    """While tracing, calls of these do nothing: no break, no output, no result.

    Meant for logging. In a function that Python runs they work as always.
    """
    where = location()
    for fn in functions:
        _mark(fn, "ignore", where)


def _mark(fn: F, name: str, where: str) -> F:
    _require_callable(fn, name, where)
    if name == "allow_in_graph":
        checks.returns_tensors(fn, where)
    set_mark(fn, Mark(name, where))
    return fn


def _require_callable(fn: Any, name: str, where: str) -> None:
    if not callable(fn):
        raise RuleError(f"{name} at {where}: {fn!r} cannot be called, so no rule can be about it")


# Orders to the tracer. Outside of a trace they do nothing.


def graph_break(msg: str = "") -> None:
    """Break the graph here; `msg` is shown with the break."""


def skip_frame(msg: str = "") -> None:
    """Python runs the rest of this function; `msg` is shown."""
