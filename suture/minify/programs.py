"""Making a function that suture fails on smaller, and what it is called with.

Statements go one after the other, then the arguments get smaller: parts of containers go, tensors
get sizes of 1, numbers become 1, anything becomes None. Each try is the text of a whole script that
is run, so what is left is a script that fails.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from suture import config, repro
from suture.api import compile as compile_
from suture.api import reset
from suture.errors import UserError
from suture.minify.found import Minified, kind_of

_BLOCKS = ("body", "orelse", "finalbody", "handlers")
Fails = Callable[["_Script"], bool]


@dataclass(frozen=True)
class _Script:
    """A script in its parts: what stands before the function, the function, what it is given."""

    before: str
    function: ast.FunctionDef
    args: list[Any]
    kwargs: dict[str, Any]

    def text(self) -> str:
        source = f"{self.before}\n\n\n{ast.unparse(self.function)}"
        given = repro.arguments_source(self.args, self.kwargs)
        return repro.program_script(source, self.function.name, given)

    def statements(self) -> int:
        return sum(isinstance(node, ast.stmt) for node in ast.walk(self.function)) - 1


def minified(path: Path) -> Minified:
    """Reduce the function of a script and its arguments; UserError if it does not fail."""
    text = path.read_text()
    script = _read(text, path)
    error = _failure(script.text())
    if error is None:
        raise UserError(f"{path} does not fail: suture compiles {script.function.name} and runs it")
    wanted = kind_of(error)

    def fails(tried: _Script) -> bool:
        found = _failure(tried.text())
        return found is not None and kind_of(found) == wanted

    small = _smaller(_shorter(script, fails), fails)
    head = ast.get_docstring(ast.parse(text)) or ""
    whole = f'"""{head}\n"""\n{small.text()}'
    return Minified(whole, error, script.statements(), small.statements(), "statements")


def _read(text: str, path: Path) -> _Script:
    tree = ast.parse(text)
    names: dict[str, Any] = {"__name__": "suture_repro"}
    exec(compile(text, str(path), "exec"), names)
    defined = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    function = defined.get(names["FUNCTION"])
    if function is None:
        raise UserError(f"{path} does not have the source of {names['FUNCTION']}")
    known = {"arguments", function.name}
    before = [
        node
        for node in tree.body[: tree.body.index(defined["arguments"])]
        if not isinstance(node, ast.Expr) and getattr(node, "name", "") not in known
    ]
    plain = [
        one for one in map(ast.unparse, before) if one not in ("import torch", "import suture")
    ]
    args, kwargs = names["arguments"]()
    return _Script("\n".join(plain), function, args, kwargs)


def _failure(text: str) -> Exception | None:
    """What suture raises for the script; None if it raises nothing, or if Python does too."""
    names: dict[str, Any] = {"__name__": "suture_repro"}
    try:
        exec(compile(text, "<minify>", "exec"), names)
        function = names[names["FUNCTION"]]
        _call(function, names)
    except Exception:
        return None
    reset()
    try:
        with config.patch(strict=True, repro_dir=""):
            _call(compile_(function, backend="eager"), names)
    except Exception as error:
        return error
    return None


def _call(function: Any, names: dict[str, Any]) -> None:
    args, kwargs = names["arguments"]()
    function(*args, **kwargs)


# ---- fewer statements


def _shorter(script: _Script, fails: Fails) -> _Script:
    """The script without the statements that are not needed, the last ones first."""
    at = 0
    while True:
        tried = _without(script, at)
        if tried is None:
            return script
        if fails(tried):
            script = tried
        else:
            at += 1


def _without(script: _Script, number: int) -> _Script | None:
    """The script without one statement, counted from the end; None if there are not so many."""
    function = copy.deepcopy(script.function)
    places = [
        (block, i) for block in _blocks(function) for i, one in enumerate(block) if _counts(one)
    ]
    if number >= len(places):
        return None
    block, index = places[-1 - number]
    block[index : index + 1] = [] if len(block) > 1 else [ast.Pass()]
    return replace(script, function=function)


def _counts(node: ast.AST) -> bool:
    return isinstance(node, ast.stmt) and not isinstance(node, ast.Pass)


def _blocks(node: ast.AST) -> Iterator[list[Any]]:
    for name in _BLOCKS:
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
            for inner in block:
                yield from _blocks(inner)


# ---- smaller arguments


def _smaller(script: _Script, fails: Fails) -> _Script:
    """The script with each argument as small as it can be."""
    for place in [*range(len(script.args)), *script.kwargs]:
        found = True
        while found:
            found = False
            value = script.args[place] if isinstance(place, int) else script.kwargs[place]
            for less in _less(value):
                tried = _with(script, place, less)
                if fails(tried):
                    script, found = tried, True
                    break
    return script


def _with(script: _Script, place: int | str, value: Any) -> _Script:
    if isinstance(place, int):
        return replace(script, args=[value if i == place else a for i, a in enumerate(script.args)])
    return replace(script, kwargs={**script.kwargs, place: value})


def _less(value: Any) -> Iterator[Any]:
    """Values that are smaller than this one, the smallest first."""
    if value is None:
        return
    yield None
    if isinstance(value, torch.Tensor):
        yield from _less_tensor(value)
    elif type(value) in (list, tuple):
        for i, one in enumerate(value):
            yield type(value)([*value[:i], *value[i + 1 :]])
            for less in _less(one):
                yield type(value)([*value[:i], less, *value[i + 1 :]])
    elif type(value) is dict:
        for key, one in value.items():
            yield {k: v for k, v in value.items() if k != key}
            for less in _less(one):
                yield {**value, key: less}
    elif type(value) in (int, float) and value != 1:
        yield type(value)(1)
    elif type(value) is str and value:
        yield ""


def _less_tensor(value: torch.Tensor) -> Iterator[torch.Tensor]:
    if value.requires_grad:
        yield value.detach()
    sizes = tuple(value.shape)
    every = [[1] * len(sizes)] + [[*sizes[:i], 1, *sizes[i + 1 :]] for i in range(len(sizes))]
    for less in every:
        if less != list(sizes):
            made = value.detach().new_ones(less)
            yield made.requires_grad_(value.requires_grad)
