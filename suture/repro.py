"""config.repro_dir: a runnable script for what failed.

For a graph a backend could not compile: the graph as a module, inputs with the same metadata, and
the versions. For a function suture failed on: its source, if there is any, what it reads from
outside, and how it was called.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import platform
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
import torch.fx

from suture import config
from suture.backends import lookup
from suture.errors import InvalidBackend

_PLAIN = (int, float, complex, str, bytes, bool, type(None))
_NO_SOURCE = (OSError, TypeError, SyntaxError, ValueError)
_numbers = itertools.count(1)


def graph_failed(
    module: torch.fx.GraphModule, inputs: list[Any], name: str, backend: Any, error: Any
) -> str:
    """Write a script that compiles `module` again; gives its path, "" if none is wanted. `backend`
    is the callable, which has that name."""
    if not config.repro_dir:
        return ""
    return _save("graph", graph_script(module, inputs, name, backend, error))


def graph_script(
    module: torch.fx.GraphModule, inputs: list[Any], name: str, backend: Any, error: Any
) -> str:
    """A script that compiles `module` with a backend and runs it. `suture minify` runs it under
    the name suture_repro, and reads `Region`, `inputs` and `BACKEND` of it."""
    made, spelled = _backend(name, backend)
    body = f"""
import torch
from torch import device, float32, inf, nan

{made}
{textwrap.dedent(_module_source(module))}

def inputs():
    torch.manual_seed(0)
    return [
{textwrap.indent(_inputs(inputs), " " * 8)}
    ]


BACKEND = {spelled}

if __name__ != "suture_repro":
    from suture.backends import lookup

    compiled = lookup(BACKEND)(torch.fx.symbolic_trace(Region()), inputs())
    print(compiled(*inputs()))
"""
    return _head(error) + body


def function_failed(function: Any, given: Mapping[str, Any], error: Any) -> str:
    """Write a script with the function's source and how it was called; gives its path. `given` are
    its parameters by name; those that are missing are None in the script."""
    if not config.repro_dir:
        return ""
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        source = f"# the source of {getattr(function, '__qualname__', function)} is not available"
    args, kwargs = call_of(function, given)
    name = getattr(function, "__name__", "fn")
    text = program_script(f"{_needed(function)}{source}", name, arguments_source(args, kwargs))
    return _save("function", _head(error) + text)


def program_script(source: str, name: str, arguments: str) -> str:
    """A script that compiles a function and calls it once. `suture minify` runs it under the name
    suture_repro, and reads `FUNCTION` and `arguments` of it."""
    return f"""
import torch

import suture

{source.strip()}


{arguments.strip()}


FUNCTION = {name!r}

if __name__ != "suture_repro":
    suture.config.strict = True
    args, kwargs = arguments()
    print(suture.compile({name}, backend="eager")(*args, **kwargs))
"""


def arguments_source(args: list[Any], kwargs: dict[str, Any]) -> str:
    """The function `arguments` of a script: it gives the positional and the named ones."""
    named = "".join(f"{key!r}: {_spelled(value)}, " for key, value in kwargs.items())
    return f"""
def arguments():
    torch.manual_seed(0)
    args = [
{textwrap.indent(_inputs(args), " " * 8)}
    ]
    return args, {{{named.removesuffix(", ")}}}
"""


def call_of(function: Any, given: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The call that gives the parameters of a function these values."""
    code = function.__code__
    names = iter(code.co_varnames)
    args = [given.get(next(names)) for _ in range(code.co_argcount)]
    kwargs = {name: given.get(name) for name in itertools.islice(names, code.co_kwonlyargcount)}
    if code.co_flags & inspect.CO_VARARGS:
        args += given.get(next(names)) or ()
    if code.co_flags & inspect.CO_VARKEYWORDS:
        kwargs |= given.get(next(names)) or {}
    return args, kwargs


def _backend(name: str, backend: Any) -> tuple[str, str]:
    """Lines that make a backend of the program, and how it is spelled after them. One that can be
    neither imported nor written down is its name, and the script says so when it is run."""
    module = getattr(backend, "__module__", None) or ""
    if module.partition(".")[0] in ("suture", "torch") and backend_named(name) is backend:
        return "", repr(name)
    if _is_importable(backend):
        return f"from {module} import {backend.__name__}\n", backend.__name__
    if inspect.isfunction(backend) and backend.__name__.isidentifier():
        try:
            return _needed(backend) + _definition(backend) + "\n", backend.__name__
        except _NO_SOURCE:
            pass
    return "", repr(name)


def backend_named(name: str) -> Any:
    """The backend of that name, None if there is none."""
    try:
        return lookup(name)
    except InvalidBackend:
        return None


def _is_importable(value: Any) -> bool:
    """Whether a script can import the object under its own name."""
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    known = module is not None and module.__name__ != "__main__"
    return known and getattr(module, getattr(value, "__name__", ""), None) is value


def _definition(function: Any) -> str:
    """The source of a function, without its decorators: they are of the program around it."""
    source = textwrap.dedent(inspect.getsource(function))
    (found,) = ast.parse(source).body
    if not isinstance(found, ast.FunctionDef):
        raise ValueError("a lambda, which has no statement of its own")
    return "".join(source.splitlines(keepends=True)[found.lineno - 1 :])


def _needed(function: Any, seen: tuple[Any, ...] = ()) -> str:
    """Lines that bind what the function reads from outside, as far as text can say it: modules,
    what can be imported, plain values, and functions with what they need."""
    lines = []
    for name, value in _outside(function).items() if inspect.isfunction(function) else ():
        if inspect.ismodule(value):
            line = f"import {value.__name__} as {name}"
            lines.append(line if value.__name__ != name else f"import {name}")
        elif isinstance(value, (torch.Tensor, *_PLAIN)):
            lines.append(f"{name} = {_spelled(value)}")
        elif _is_importable(value):
            lines.append(f"from {value.__module__} import {value.__name__} as {name}")
        elif inspect.isfunction(value) and value not in (function, *seen):
            try:
                lines += [_needed(value, (function, *seen)) + _definition(value)]
            except _NO_SOURCE:
                lines.append(f"# the source of {name} is not available")
    return "".join(f"{line}\n" for line in lines if line not in ("import torch", "import suture"))


def _outside(function: Any) -> dict[str, Any]:
    """What a function, and the functions in it, read from outside, by name."""
    names: list[str] = []
    codes = [function.__code__]
    for code in codes:
        names += code.co_names
        codes += [const for const in code.co_consts if inspect.iscode(const)]
    known = function.__globals__
    nonlocals = inspect.getclosurevars(function).nonlocals
    return {name: known[name] for name in names if name in known} | dict(nonlocals)


def _module_source(module: torch.fx.GraphModule) -> str:
    code = textwrap.indent(module.code.strip(), "    ")
    return f"class Region(torch.nn.Module):\n{code}\n"


def _inputs(values: list[Any]) -> str:
    return "\n".join(f"{_spelled(v)}," for v in values)


def _spelled(value: Any) -> str:
    """An expression that makes a value like this one; None for what cannot be written."""
    if type(value) in (list, tuple):
        inside = ", ".join(map(_spelled, value))
        return f"[{inside}]" if type(value) is list else f"({inside}{',' * (len(value) == 1)})"
    if type(value) is dict and all(type(key) in _PLAIN for key in value):
        return "{" + ", ".join(f"{key!r}: {_spelled(one)}" for key, one in value.items()) + "}"
    if not isinstance(value, torch.Tensor):
        return repr(value) if type(value) in _PLAIN else "None"
    try:
        size, stride = [int(s) for s in value.shape], [int(s) for s in value.stride()]
    except (RuntimeError, TypeError, ValueError, AttributeError):
        return f"torch.zeros(())  # {type(value).__name__}, {value.layout}"
    made = (
        f"torch.empty_strided({size}, {stride}, dtype={value.dtype}, device={str(value.device)!r})"
    )
    fill = ".normal_()" if value.dtype.is_floating_point else ".fill_(1)"
    grad = ".requires_grad_()" if value.requires_grad else ""
    return made + fill + grad


def _head(error: Any) -> str:
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    return (
        f'"""What failed: {type(error).__name__}: {first}\n\n'
        f"Python {platform.python_version()}, torch {torch.__version__}.\n"
        '"""\n'
    )


def _save(kind: str, text: str) -> str:
    path = Path(config.repro_dir)
    path.mkdir(parents=True, exist_ok=True)
    name = path / f"{kind}_{next(_numbers)}.py"
    name.write_text(text)
    return str(name)
