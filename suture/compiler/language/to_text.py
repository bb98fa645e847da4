"""Text of values: `str`, `repr`, `ascii`, `format` and `%`."""

from __future__ import annotations

import enum
import operator
import types
from typing import Any

from suture._core import type_name
from suture.breaks import Break, builtin_calls, objects
from suture.bytecode import language
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.language import templates
from suture.compiler.language.texts import container_text, text_in_c
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Group, Object, Raise, Tuple
from suture.compiler.objects.foldable_calls import runs_program
from suture.compiler.objects.text import Text, field

# Exceptions whose text is made of more than their arguments.
_OWN_TEXT = (OSError, SyntaxError, UnicodeError, ImportError, BaseExceptionGroup)


@handles(str)
def _str(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) == 1 and not kwargs:
        return abstract.convert_value(trace, args[0], "str")
    return abstract.fold(trace, str, args, kwargs)


@handles(repr)
def _repr(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return abstract.convert_value(trace, args[0], "repr")


@handles(ascii)
def _ascii(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return abstract.convert_value(trace, args[0], "ascii")


@handles(format)
def _format(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return abstract.format_value(trace, args[0], args[1] if len(args) > 1 else None)


@implements(abstract.convert_value)
def convert_value(trace: Trace, value: Any, how: str) -> Value:
    if how == "ascii":
        return ascii_of(trace, value)
    if not value.is_constant():
        text = container_text(trace, value)
        if text is not None:
            return text
    known = abstract.constant_value(trace, value)
    own = "__str__" if how == "str" else "__repr__"
    if isinstance(known, enum.Enum) and runs_program(known):
        if isinstance(abstract.type_lookup(trace, type(known), own), types.FunctionType):
            return _text_of_method(trace, value, own)
    return abstract.call_now(trace, str if how == "str" else repr, [known], {})


def ascii_of(trace: Trace, value: Value) -> Value:
    """`ascii(value)`, whose repr() is known."""
    text = abstract.constant_value(trace, abstract.convert_value(trace, value, "repr"))
    return Constant(text.encode("ascii", "backslashreplace").decode("ascii"))


@implements(abstract.convert_value, Text)
def _text_of_text(trace: Trace, value: Text, how: str) -> Value:
    return value if how == "str" else convert_value(trace, value, how)


@implements(abstract.convert_value, Object)
def _object_text(trace: Trace, value: Object, how: str) -> Value:
    """What its class says, in Python, or in C of its value."""
    if how == "ascii":
        return ascii_of(trace, value)
    name = "__str__" if how == "str" else "__repr__"
    raw = abstract.type_lookup(trace, value.cls, name)
    if raw is object.__str__:
        name = "__repr__"
        raw = abstract.type_lookup(trace, value.cls, name)
    if isinstance(raw, types.FunctionType):
        return _text_of_method(trace, value, name)
    if isinstance(value.storage, Constant):
        known = value.value
        if known is None and raw is type(value.storage.value).__dict__.get(name):
            known = value.storage.value
        if known is not None:
            return abstract.folded(trace, lambda: raw(known))
    return text_in_c(trace, value, raw, how)


def _text_of_method(trace: Trace, value: Value, name: str) -> Value:
    text = abstract.finish(trace, abstract.call_type_method(trace, value, name, [], {}))
    if not issubclass(text.python_type(), str):
        said = language.wrong_result(value.python_type(), name, text.python_type())
        return abstract.raise_(trace, TypeError, said)
    return text


@implements(abstract.convert_value, Raise)
def _exception_text(trace: Trace, value: Raise, how: str) -> Value:
    """Of an exception made while tracing."""
    if how == "ascii":
        return ascii_of(trace, value)
    exc: Any = value
    name = "__str__" if how == "str" else "__repr__"
    raw = abstract.type_lookup(trace, exc.cls, name)
    if isinstance(raw, types.FunctionType):
        return _text_of_method(trace, exc, name)
    if raw is KeyError.__str__ and len(exc.args) == 1:
        return abstract.convert_value(trace, exc.args[0], "repr")
    if name == "__str__" and not issubclass(exc.cls, _OWN_TEXT):
        if len(exc.args) < 2:
            return abstract.convert_value(trace, exc.args[0], "str") if exc.args else Constant("")
        return abstract.convert_value(trace, Tuple(exc.args), "str")
    if isinstance(exc, Group) and exc.is_as_made():
        return _group_text(trace, exc, how)
    if name == "__str__" or issubclass(exc.cls, BaseExceptionGroup):
        raise Break(objects.UNKNOWN_OBJECT, operation=f"{how}()", object=exc.describe())
    inner = abstract.convert_value(trace, Tuple(exc.args), "repr").constant()
    if len(exc.args) == 1:
        inner = "(" + abstract.convert_value(trace, exc.args[0], "repr").constant() + ")"
    return Constant(exc.cls.__name__ + inner)


def _group_text(trace: Trace, group: Group, how: str) -> Value:
    if how == "str":
        text, count = abstract.constant_value(trace, group.message), len(group.members.items)
        return Constant(f"{text} ({count} sub-exception{'s' if count > 1 else ''})")
    inner = abstract.convert_value(trace, Tuple(group.args), "repr").constant()
    return Constant(group.cls.__name__ + inner)


@implements(abstract.format_value)
def format_value(trace: Trace, value: Any, spec: Value | None) -> Value:
    if not value.is_constant() and (spec is None or abstract.constant_value(trace, spec) == ""):
        return abstract.convert_value(trace, value, "str")
    known = abstract.constant_value(trace, value)
    text = "" if spec is None else abstract.constant_value(trace, spec)
    return abstract.call_now(trace, format, [known, text], {})


@implements(abstract.format_value, Text)
def _format_text(trace: Trace, value: Text, spec: Value | None) -> Value:
    how = "" if spec is None else abstract.constant_value(trace, spec)
    if how == "":
        return value
    try:
        format("", how)
    except ValueError as error:
        abstract.raise_(trace, ValueError, str(error))
    return Text([field(trace, value, "format", how)])


@implements(abstract.format_value, Object)
def _format_object(trace: Trace, value: Object, spec: Value | None) -> Value:
    spec = Constant("") if spec is None else spec
    raw = abstract.type_lookup(trace, value.cls, "__format__")
    if isinstance(raw, types.FunctionType):
        text = abstract.finish(
            trace, abstract.call_type_method(trace, value, "__format__", [spec], {})
        )
        if not issubclass(text.python_type(), str):
            said = language.wrong_result(value.cls, "__format__", text.python_type())
            return abstract.raise_(trace, TypeError, said)
        return text
    how = abstract.constant_value(trace, spec)
    if how == "":
        return abstract.convert_value(trace, value, "str")
    if raw is object.__format__:
        kind = type_name(value.cls)
        said = f"unsupported format string passed to {kind}.__format__"
        return abstract.raise_(trace, TypeError, said)
    held = value.storage.value if isinstance(value.storage, Constant) else None
    if held is None or raw is not type(held).__dict__.get("__format__"):
        raise Break(builtin_calls.STR_IN_C, object=value.describe())
    method: Any = raw
    return abstract.folded(trace, lambda: method(held, how))


def format_percent(trace: Trace, left: Value, right: Value) -> Value:
    """`"..." % values`."""
    made = templates.percent(trace, left, right)
    if made is not None:
        return made
    return abstract.call_now(
        trace, operator.mod, [abstract.constant_value(trace, v) for v in (left, right)], {}
    )


# Exceptions whose text is made of more than their arguments.
_OWN_TEXT = (OSError, SyntaxError, UnicodeError, ImportError, BaseExceptionGroup)
