"""`"..." % values`, `"...".format(values)` and `join`, of values known when the program runs.

The text is made when the variant runs: numbers in it stay symbols, and texts of tensors are written
where somebody reads them. A template that is not understood here, or does not fit its values, is
None: with values that are all known, Python itself fills it.
"""

from __future__ import annotations

import re
import string
from typing import Any

import torch

from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.objects import Constant, Symbol, Tensor, Tuple
from suture.compiler.objects.constant import is_plain
from suture.compiler.objects.text import Text, field, joined, written

_DIRECTIVE = re.compile(r"%(?:%|[-+ #0]*\d*(?:\.\d+)?([diouxXeEfFgGcrsa]))")
_TEXTS = {"s": "str", "r": "repr", "a": "ascii"}


def percent(trace: Trace, left: Value, right: Value) -> Value | None:
    """`left % right`; None where the template is left to Python."""
    if not isinstance(left, Constant) or type(left.value) is not str:
        return None
    values: list[Any] = right.unpacked(trace) if isinstance(right, Tuple) else [right]
    if all(v.is_constant() for v in values):
        return None
    pieces = _pieces(left.value)
    directives = [p for p in pieces or () if not isinstance(p, str)]
    if pieces is None or len(directives) != len(values):
        return None
    if not all(_takes(directive, value) for directive, value in zip(directives, values)):
        return None
    rest = iter(values)
    parts = [Constant(p) if isinstance(p, str) else _filled(trace, p, next(rest)) for p in pieces]
    return joined(trace, parts)


def _pieces(template: str) -> list[Any] | None:
    """The plain parts of a template as texts, and its directives; None if there are others."""
    pieces: list[Any] = []
    end = 0
    for found in _DIRECTIVE.finditer(template):
        plain = template[end : found.start()]
        if "%" in plain:
            return None
        pieces.append(plain)
        pieces.append("%" if found.group() == "%%" else found)
        end = found.end()
    if "%" in template[end:]:
        return None
    return [*pieces, template[end:]]


def _takes(directive: re.Match[str], value: Any) -> bool:
    """Whether a directive takes a value, whatever number it is."""
    if directive.group(1) in _TEXTS:
        return True
    if isinstance(value, Symbol):
        example: Any = float("nan") if value.python_type() is float else value.python_type()()
    elif isinstance(value, Tensor) and value.cls is torch.Tensor and value.value.dim() == 0:
        kind = value.value.dtype
        example = torch.full((), float("nan") if kind.is_floating_point else 0, dtype=kind)
    elif isinstance(value, Constant) and is_plain(value.value):
        example = value.value
    else:
        return False
    try:
        written(example, "percent", (directive.group(),))
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return False
    return directive.group(1) != "c"  # not every number is a character


def _filled(trace: Trace, directive: re.Match[str], value: Value) -> Value:
    how = _TEXTS.get(directive.group(1))
    if how is not None:
        value = abstract.convert_value(trace, value, how)
        if len(directive.group()) == 2:
            return value
        spec = directive.group()[:-1] + "s"
    else:
        spec = directive.group()
    if isinstance(value, Constant):
        return Constant(written(value.constant(), "percent", (spec,)))
    return Text([field(trace, value, "percent", spec)])


def formatted(trace: Trace, template: str, args: list[Any], kwargs: dict[str, Any]) -> Value | None:
    """`template.format(*args, **kwargs)`; None where the template is left to Python."""
    if all(v.is_constant() for v in (*args, *kwargs.values())):
        return None
    fields = _fields(template, args, kwargs)
    if fields is None:
        return None
    parts: list[Any] = []
    for plain, value, how, spec in fields:
        parts.append(Constant(plain))
        if value is not None:
            value = abstract.convert_value(trace, value, how) if how else value
            parts.append(abstract.format_value(trace, value, Constant(spec)))
    return joined(trace, parts)


def _fields(template: str, args: list[Any], kwargs: dict[str, Any]) -> list[Any] | None:
    """Plain text, and the value behind it with its conversion and format; None if the template
    asks for more, or does not fit."""
    fields: list[Any] = []
    counted, numbered = 0, False
    try:
        for plain, name, spec, how in string.Formatter().parse(template):
            value = None
            if name == "":
                name, counted = str(counted), counted + 1
            elif name is not None and name.isdecimal():
                numbered = True
            if name is not None:
                value = args[int(name)] if name.isdecimal() else kwargs[name]
                if "{" in (spec or "") or (counted and numbered):
                    return None
            fields.append((plain, value, _TEXTS[how] if how else "", spec or ""))
    except (ValueError, KeyError, IndexError):
        return None
    return fields


def joined_by(trace: Trace, between: str, items: list[Any]) -> Value | None:
    """`between.join(items)`; None where all of them are known, or one is no text."""
    if not any(isinstance(i, Text) for i in items):
        return None
    if not all(isinstance(i, Text) or i.python_type() is str for i in items):
        return None
    parts: list[Any] = []
    for item in items:
        parts += [Constant(between), item] if parts else [item]
    return joined(trace, parts)
