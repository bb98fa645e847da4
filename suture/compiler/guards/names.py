"""Sources in the words of the program: `self.step`, not `L['self'].__dict__['step']`.

Sources are written so that they can be found again (`Source.path`). A person knows them by the
names of the program: a local by its name, a layer or a parameter as an attribute, a global of
another module with the module's name, a value in the midst of an expression by the expression.
"""

from __future__ import annotations

import builtins
import inspect
import linecache
import re
import sys
from collections.abc import Mapping

from suture.bytecode import CANONICAL, decode
from suture.compiler.guards.reads_in_words import in_words
from suture.events import Where
from suture.runtime import Chain, FrameSpec, slot_names, where

_STEPS = r"((?:\.[A-Za-z_]\w*|\[(?:'[^'\\]*'|\"[^\"\\]*\"|[^\[\]'\"]*)\])*)"
_SOURCE = re.compile(
    r"L\['(\w+)'\]" + _STEPS + r"|(?<![\w.'\]])([A-Za-z_][\w.]*)\['([A-Za-z_]\w*)'\]" + _STEPS
)
_STEP = re.compile(r"\.[A-Za-z_]\w*|\[(?:'[^'\\]*'|\"[^\"\\]*\"|[^\[\]'\"]*)\]")
_TABLES = ("['_modules']", "['_parameters']", "['_buffers']")
_LONGEST = 60
_EXIT = ".__exit__"  # what a `with` keeps of its manager


def spoken(text: str, slots: Mapping[str, str], module: type | None = None) -> str:
    """A text about sources, with each in the words of the program.

    `slots` are the names of the point's slots (see `slot_words`); `module` is the class of the
    module that is called, where the point is the start of its call.
    """

    def word(found: re.Match[str]) -> str:
        slot, steps, owner, name, below = found.groups()
        if slot is None:
            known = _global(owner, name)
            return found.group() if known is None else known + _joined(_STEP.findall(below))
        parts = _STEP.findall(steps)
        if module is not None and slot in ("args", "kwargs") and parts:
            return _parameter(module, slot, parts[0]) + _joined(parts[1:])
        return slots.get(slot, slot) + _joined(parts)

    return in_words(_SOURCE.sub(word, text).replace(f"{_EXIT}.__self__", ""))


def slot_words(chain: Chain) -> dict[str, str]:
    """What a person calls each slot of a point's state, by the name that the slot has."""
    out: dict[str, str] = {}
    taken: set[str] = set()
    names = iter(slot_names(chain))
    for depth, spec in enumerate(chain):
        for plain in spec.names():
            word = _word(spec, plain)
            if depth and word in taken:
                word = f"<{word} of {spec.code.co_name}>"
            taken.add(word)
            out[next(names)] = word
    return out


def called_module(chain: Chain, owner: type | None) -> type | None:
    """`owner`, the class of the first argument, if the point is the start of a module's call."""
    is_call = chain[0].code.co_name in ("_wrapped_call_impl", "_call_impl") and len(chain) == 1
    return owner if is_call and hasattr(owner, "forward") else None


def point_location(chain: Chain, owner: type | None = None) -> Where:
    """Where a point is; for the call of a module of class `owner`, the module's forward."""
    function, file, line = where(chain)
    forward = getattr(called_module(chain, owner), "forward", None)
    code = getattr(inspect.unwrap(forward), "__code__", None) if forward is not None else None
    if code is not None:
        function, file, line = code.co_qualname, code.co_filename, code.co_firstlineno
    return Where(function, file, line)


def _word(spec: FrameSpec, name: str) -> str:
    found = re.fullmatch(r"stack_(\d+)", name)
    if found is not None and name not in decode(spec.code).localsplus:
        return _on_stack(spec, int(found.group(1)))
    if name == "handled":
        return "<the exception being handled>"
    return spec.code.co_name if name == "fn" and not _is_local(spec, name) else name


def _is_local(spec: FrameSpec, name: str) -> bool:
    return name in decode(spec.code).localsplus


def _on_stack(spec: FrameSpec, slot: int) -> str:
    """A value in the midst of an expression, by the text of what made it. `slot` counts from the
    bottom of the stack."""
    code = decode(spec.code)
    for index in range(min(spec.index, len(code.instructions)) - 1, -1, -1):
        depth = code.depth(index)
        inst = code.instructions[index]
        popped, pushed = CANONICAL[inst.op].counts(inst)
        if inst.op == "FOR_ITER":  # it leaves the iterator where it was
            popped, pushed = popped - 1, pushed - 1
        if depth is not None and depth - popped <= slot < depth - popped + pushed:
            # These have the position of the whole statement; what they take is made before them.
            made = index - 1 if inst.op in ("GET_ITER", "BEFORE_WITH") else index
            text = _source(spec.code.co_filename, code.positions(made))
            if text is None:
                break
            if inst.op == "GET_ITER":
                return f"iter({text})"
            if inst.op == "BEFORE_WITH" and slot == depth - popped:
                return f"({text}){_EXIT}"
            return text if re.fullmatch(r"[\w.]+", text) else f"({text})"
    return f"<value {slot} on the stack of {spec.code.co_name}>"


def _source(file: str, location: tuple[int | None, ...]) -> str | None:
    line, end_line, column, end = location
    if line is None or end_line != line or column is None or end is None:
        return None
    text = linecache.getline(file, line).encode("utf-8", "replace")[column:end]
    shown = text.decode("utf-8", "replace")
    return shown if shown.isprintable() and 0 < len(shown) <= _LONGEST else None


def _joined(parts: list[str]) -> str:
    """Steps behind a name: what is in an object's dict, or a module's tables, is an attribute."""
    out = ""
    at = 0
    while at < len(parts):
        if parts[at] == ".__dict__" and at + 1 < len(parts):
            table = parts[at + 1] in _TABLES and at + 2 < len(parts)
            at += 2 if table else 1
            out += _attribute(parts[at])
        else:
            out += parts[at]
        at += 1
    return out


def _attribute(step: str) -> str:
    name = step[2:-2]
    if name.isdigit():
        return f"[{name}]"  # a layer of a Sequential or a ModuleList
    return f".{name}" if name.isidentifier() else step


def _global(owner: str, name: str) -> str | None:
    """A global of a module: with the module's name, unless it is the script or builtins."""
    if owner not in sys.modules:
        return None
    plain = owner == "__main__" or owner == builtins.__name__
    return name if plain else f"{owner}.{name}"


def _parameter(module: type, slot: str, step: str) -> str:
    """An argument of a module's call as its forward names it."""
    key = step[1:-1].strip("'\"")
    if slot == "kwargs":
        return key
    try:
        names = list(inspect.signature(module.forward).parameters.values())[1:]  # type: ignore[attr-defined]
        parameter = names[int(key)]
    except (TypeError, ValueError, IndexError):
        return f"args[{key}]"
    positional = parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    return parameter.name if positional else f"args[{key}]"
