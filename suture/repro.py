"""config.repro_dir: a runnable script for what failed.

For a graph a backend could not compile: the graph as a module, inputs with the same metadata, and
the versions. For a function suture failed on: its source, if there is any, and how it was called.
"""

from __future__ import annotations

import inspect
import itertools
import platform
import textwrap
from pathlib import Path
from typing import Any

import torch
import torch.fx

from suture import config

_numbers = itertools.count(1)


def graph_failed(module: torch.fx.GraphModule, inputs: list[Any], backend: str, error: Any) -> str:
    """Write a script that compiles `module` again; gives its path, "" if none is wanted."""
    if not config.repro_dir:
        return ""
    return _save("graph", graph_script(module, inputs, backend, error))


def graph_script(module: torch.fx.GraphModule, inputs: list[Any], backend: str, error: Any) -> str:
    """A script that compiles `module` with a backend and runs it. `suture minify` runs it under
    the name suture_repro, and reads `Region`, `inputs` and `BACKEND` of it."""
    body = f"""
import torch
from torch import device, float32, inf, nan

{textwrap.dedent(_module_source(module))}

def inputs():
    torch.manual_seed(0)
    return [
{textwrap.indent(_inputs(inputs), " " * 8)}
    ]


BACKEND = {backend!r}

if __name__ != "suture_repro":
    from suture.backends import lookup

    compiled = lookup({backend!r})(torch.fx.symbolic_trace(Region()), inputs())
    print(compiled(*inputs()))
"""
    return _head(error) + body


def function_failed(function: Any, state: tuple[Any, ...], error: Any) -> str:
    """Write a script with the function's source and how it was called; gives its path."""
    if not config.repro_dir:
        return ""
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        source = f"# the source of {getattr(function, '__qualname__', function)} is not available"
    body = f"""
import torch

import suture

{source}

def arguments():
    torch.manual_seed(0)
    return [
{textwrap.indent(_inputs(list(state[1:])), " " * 8)}
    ]


compiled = suture.compile({getattr(function, "__name__", "fn")}, backend="eager")
print(compiled(*arguments()))
"""
    return _save("function", _head(error) + body)


def _module_source(module: torch.fx.GraphModule) -> str:
    code = textwrap.indent(module.code.strip(), "    ")
    return f"class Region(torch.nn.Module):\n{code}\n"


def _inputs(values: list[Any]) -> str:
    return "\n".join(f"{_spelled(v)}," for v in values)


def _spelled(value: Any) -> str:
    """An expression that makes a value like this one."""
    if not isinstance(value, torch.Tensor):
        return repr(value) if isinstance(value, (int, float, str, bool, type(None))) else "None"
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
