"""`lookup`: the chain of rules, asked in a fixed order; the first that says something wins.

1. the user's own marks on the object, then torch's marks;
2. rules for one named object: rows of the tables, wrapped callables, substitutes, torch's
   operations, builtins;
3. packages the user named, then packages to inline;
4. packages to run: third parties, Python's own library;
5. torch as a whole is run;
6. otherwise inline.

A verdict is about one frame. What a function calls is asked about on its own.
"""

from __future__ import annotations

import functools
import logging
import sys
import types
import weakref
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from suture.rules import mark_table, packages, torch_marks, wrapped
from suture.rules.names import public_names, resolve
from suture.rules.rows import INSTALLERS, NamedTable, table_rows
from suture.rules.substitutes import substitute_of
from suture.rules.verdict import (
    CONSTANT,
    INLINE,
    RUN,
    SPECIAL,
    Origin,
    Step,
    Verdict,
    location,
)

_log = logging.getLogger("suture.rules")
_HERE = location(0)
Rule = Callable[[Any], "Verdict | None"]

_cache: dict[int, tuple[Callable[[], Any], Verdict]] = {}
_seen_marks: list[Any] = [None]


def lookup(obj: Any) -> Verdict:
    """The verdict on a callable, or on the object that a dotted name means.

    Cached per object; marks and package rules set later take effect at the next lookup.
    """
    if type(obj) is types.MethodType:
        obj = obj.__func__
    token = torch_marks.token()
    if token != _seen_marks[0] or mark_table.changed():
        _cache.clear()
        _seen_marks[0] = token
    entry = _cache.get(id(obj))
    if entry is not None and entry[0]() is obj:
        return entry[1]
    if type(obj) is str:
        return lookup(resolve(obj))
    verdict = _decide(obj)
    if _log.isEnabledFor(logging.INFO):
        _log.info("%s: %s", getattr(obj, "__qualname__", obj), verdict)
    _remember(obj, verdict)
    return verdict


def mark_of(obj: Any) -> Verdict | None:
    """The verdict that a mark of the program or of torch on this very object means, or None."""
    return mark_table.verdict_of(obj) or torch_marks.verdict_of(obj)


def explain(obj: Any) -> list[Step]:
    """Every rule that was asked about `obj`, in order; the last step holds the verdict."""
    if type(obj) is str:
        obj = resolve(obj)
    obj = wrapped.canonical(obj)
    steps: list[Step] = []
    for name, rule in CHAIN:
        verdict = rule(obj)
        steps.append(Step(name, verdict, verdict.reason if verdict is not None else ""))
        if verdict is not None:
            break
    return steps


def listing(under: str) -> list[tuple[str, Verdict]]:
    """(name, verdict) of each public callable under a module or class, sorted by name."""
    return [(name, lookup(obj)) for name, obj in public_names(under)]


def lookup_frame(code: types.CodeType, globals: Mapping[str, Any]) -> Verdict:
    """The verdict on a frame that starts on its own, below a function that Python runs.

    Rules on single objects are not asked, but a mark on the function is. torch's own Python,
    even what tracing goes into, is run when it arrives like this: it was called by torch.
    """
    module = str(globals.get("__name__", ""))
    marked = mark_table.verdict_of_code(code)
    if marked is not None:
        return marked
    for rule in (_user_packages, _run_packages):
        verdict = rule(_Home(module))
        if verdict is not None:
            return verdict
    if module.partition(".")[0] == "torch":
        return Verdict(
            RUN,
            "torch's own code, called by code that Python runs",
            "torch",
            _HERE,
            origin=Origin.TORCH,
        )
    return _default(_Home(module))


def clear_cache() -> None:
    """Forget every verdict; the next lookup goes through the chain again."""
    _cache.clear()


def _remember(obj: Any, verdict: Verdict) -> None:
    key = id(obj)
    try:
        ref: Callable[[], Any] = weakref.ref(obj, lambda _: _cache.pop(key, None))
    except TypeError:
        ref = functools.partial(_same, obj)  # C descriptors: they live as long as their class
    _cache[key] = (ref, verdict)


def _same(obj: Any) -> Any:
    return obj


def _decide(obj: Any) -> Verdict:
    if not callable(obj) and not isinstance(obj, (staticmethod, classmethod)):
        raise TypeError(f"{type(obj).__name__!r} object is not callable: there is no rule for it")
    obj = wrapped.canonical(obj)
    for _, rule in CHAIN:
        verdict = rule(obj)
        if verdict is not None:
            return verdict
    raise RuntimeError("the last rule of the chain says something about everything")


# 2. one named object


@functools.cache
def named_table() -> NamedTable:
    """The rows of all tables, resolved as far as their modules are loaded."""
    return NamedTable(table_rows())


def _named(obj: Any) -> Verdict | None:
    table = named_table()
    row = table.get(obj)
    if row is None and wrapped.home(obj) in ("torch._compile", *INSTALLERS):
        # torch._dynamo, when it is imported, puts a wrapper around functions such as manual_seed,
        # and suture.install around torch.compile
        row = table.get(getattr(obj, "__wrapped__", None))
    return row.verdict() if row is not None else None


def _wrapped(obj: Any) -> Verdict | None:
    verdict = wrapped.partial_verdict(obj) or wrapped.kernel_verdict(obj)
    if verdict is not None:
        return verdict
    found = wrapped.inner(obj)
    if found is not None:
        inside, how = found
        verdict = lookup(inside)
        rule = f"{how}, then {verdict.rule}"
        return replace(verdict, rule=rule, target=verdict.target or inside)
    method = wrapped.call_method(obj)
    if method is not None and _operation(obj) is None:
        verdict = lookup(method)
        return replace(verdict, rule=f"__call__, then {verdict.rule}", target=None)
    return None


def _substitute(obj: Any) -> Verdict | None:
    found = substitute_of(obj)
    if found is None:
        return None
    builtin = _builtin(obj)
    if builtin is not None:  # the handler, or folding, comes first; the target is the way out
        return builtin.with_target(found.replacement)
    reason = "written in C; a Python version of it is traced instead"
    return Verdict(
        INLINE,
        reason,
        f"substitute {found.name}",
        found.where,
        found.name,
        found.replacement,
        origin=Origin.SUBSTITUTE,
    )


def _operation(obj: Any) -> Verdict | None:
    if "torch" not in sys.modules:
        return None
    from suture.rules import torch_names

    custom = torch_names.custom_operator(obj)
    if custom is not None:
        verdict = torch_names.operator_verdict(custom)
        return verdict.with_target(custom) if verdict is not None else None
    return torch_names.operations().get(obj) or torch_names.operator_verdict(obj)


@functools.cache
def _builtin_names() -> dict[int, str]:
    import builtins
    import operator

    names = {
        id(v): f"operator.{k}"
        for k, v in vars(operator).items()
        if callable(v) and not k.startswith("_")
    }
    names |= {
        id(v): f"builtins.{k}"
        for k, v in vars(builtins).items()
        if callable(v) and (not k.startswith("_") or k == "__build_class__")
    }
    return names


_FOLDABLE = {"math", "cmath", "_struct", "unicodedata"}


def _builtin(obj: Any) -> Verdict | None:
    name = _builtin_names().get(id(obj))
    if name is not None:
        reason = "a builtin of Python, which the tracer models"
        return Verdict(SPECIAL, reason, "builtin", _HERE, name, origin=Origin.BUILTIN)
    owner = getattr(obj, "__objclass__", None) if isinstance(obj, wrapped.C_CALLABLES) else None
    if owner is not None and owner.__module__ in ("builtins", "collections"):
        reason = "a method of a builtin type, which the tracer models"
        return Verdict(
            SPECIAL,
            reason,
            "builtin method",
            _HERE,
            f"{owner.__name__}.{obj.__name__}",
            origin=Origin.BUILTIN_METHOD,
        )
    if isinstance(obj, type) or wrapped.has_code(obj):
        return None
    module = getattr(obj, "__module__", None)
    if module in _FOLDABLE:
        reason = "numbers in, numbers out; folded where the arguments are constants"
        return Verdict(
            CONSTANT,
            reason,
            f"module {module}",
            _HERE,
            f"{module}.{obj.__name__}",
            origin=Origin.FOLDABLE,
        )
    return None


# 3. and 4. modules and packages


class _Home:
    """Stands for "some Python code of this module" where no function object is at hand."""

    def __init__(self, module: str) -> None:
        self.module = module


def _module_of(obj: Any) -> str:
    return obj.module if type(obj) is _Home else wrapped.home(obj)


def _traceable(obj: Any) -> bool:
    return type(obj) is _Home or wrapped.can_be_traced(obj)


def _user_packages(obj: Any) -> Verdict | None:
    rule = mark_table.package_rule(_module_of(obj))
    if rule is None or (rule.kind is INLINE and not _traceable(obj)):
        return None
    return rule.verdict()


def _inline_packages(obj: Any) -> Verdict | None:
    rule = packages.to_inline.find(_module_of(obj))
    return rule.verdict() if rule is not None and _traceable(obj) else None


def _generated(obj: Any) -> Verdict | None:
    """Methods that dataclasses and namedtuples write belong to no file, whatever package asked."""
    if not wrapped.has_code(obj) or obj.__code__.co_filename != "<string>":
        return None
    return Verdict(
        INLINE,
        "generated code that sets and reads fields",
        "generated",
        _HERE,
        origin=Origin.GENERATED,
    )


def _run_packages(obj: Any) -> Verdict | None:
    module = _module_of(obj)
    file = obj.__code__.co_filename if wrapped.has_code(obj) else ""
    rule = packages.to_run.find(module) or packages.standard_library(module, file)
    return rule.verdict() if rule is not None else None


# 5. and 6.


def _torch(obj: Any) -> Verdict | None:
    if _module_of(obj).partition(".")[0] != "torch":
        return None
    return Verdict(
        RUN, "a part of torch that is no operation on tensors", "torch", _HERE, origin=Origin.TORCH
    )


def _no_code(obj: Any) -> Verdict | None:
    if _traceable(obj):
        return None
    return Verdict(
        RUN,
        "not written in Python: there is nothing to trace",
        "no code",
        _HERE,
        origin=Origin.NO_CODE,
    )


def _default(obj: Any) -> Verdict:
    return Verdict(INLINE, "no rule says otherwise", "default", _HERE, origin=Origin.DEFAULT)


CHAIN: tuple[tuple[str, Rule], ...] = (
    ("the user's marks", mark_table.verdict_of),
    ("torch's marks", torch_marks.verdict_of),
    ("named objects", _named),
    ("torch's operations", _operation),
    ("wrapped callables", _wrapped),
    ("substitutes", _substitute),
    ("builtins", _builtin),
    ("the user's packages", _user_packages),
    ("packages to inline", _inline_packages),
    ("generated code", _generated),
    ("packages to run", _run_packages),
    ("torch as a whole", _torch),
    ("code to trace", _no_code),
    ("default", _default),
)
