"""suture explain: one function, called once with inputs given on the command line."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

import torch

from suture.errors import SutureError
from suture.install import install, uninstall
from suture.tools.cli import run as run_
from suture.tools.cli.common import FOUND, OK, fail, nearest, out, print_json
from suture.tools.report import explain as explain_


def add(commands: Any) -> None:
    made = commands.add_parser(
        "explain",
        help="call a function compiled and show graphs, breaks, guards and times",
        description="TARGET is module:function, path.py:function or a script. Dotted names reach"
        " into classes; a module class of torch.nn is made without arguments.",
    )
    made.add_argument("target")
    made.add_argument(
        "-i",
        "--input",
        action="append",
        default=[],
        metavar="EXPRESSION",
        help="one argument, such as 'torch.randn(2, 3)' or 'eps=1e-6'; may be repeated",
    )
    made.add_argument("--backend", default=None, help="the backend (default: eager)")
    made.add_argument("--calls", type=int, default=1, help="how often to call it")
    made.add_argument("--save", metavar="FILE", help="save the report as .html or .json")
    made.add_argument("--json", action="store_true", help="print the report as JSON")
    made.set_defaults(do=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1 where the call raised."""
    module, colon, name = arguments.target.rpartition(":")
    if not colon:
        return _script(arguments)
    install()  # so that a torch.compile in the file means suture
    try:
        fn = resolve(module, name)
    finally:
        uninstall()
    args, kwargs = inputs(arguments.input)
    if arguments.save:
        run_.writable(Path(arguments.save))
    if arguments.calls < 1:
        fail(f"--calls is a number from 1 on, not {arguments.calls}")
    try:
        explained = explain_(fn, backend=arguments.backend or "eager", calls=arguments.calls)
    except (SutureError, TypeError) as error:
        fail(f"{arguments.target} cannot be compiled: {error}")
    report = explained(*args, **kwargs)
    if arguments.save:
        try:
            report.save(arguments.save)
        except (ValueError, OSError) as error:
            fail(str(error))
    if arguments.json:
        print_json(report.as_dict())
    else:
        out().print(report.__rich__())
    return FOUND if report.error else OK


def _script(arguments: argparse.Namespace) -> int:
    """A script is run, as `suture run` does."""
    if not arguments.target.endswith(".py"):
        fail(f"{arguments.target!r} is neither module:function nor a script")
    save = arguments.save or ""
    if save and not save.endswith((".html", ".json")):
        fail(f"a report is saved as .html or .json, not {save!r}")
    return run_.run(
        argparse.Namespace(
            script=arguments.target,
            module=False,
            arguments=[],
            cache=None,
            backend=arguments.backend,
            quiet=arguments.json,
            html=save if save.endswith(".html") else None,
            json="-" if arguments.json else save if save.endswith(".json") else None,
        )
    )


def resolve(module: str, name: str) -> Any:
    """The object that module:name means; the module may be a file."""
    space = _load(module)
    value: Any = space
    for part in name.split("."):
        found = getattr(value, part, None)
        if found is None:
            callables = [one for one in dir(value) if callable(getattr(value, one, None))]
            fail(f"{module} has no {name}", nearest(part, callables))
        value = found
    if isinstance(value, type) and issubclass(value, torch.nn.Module):
        try:
            return value()
        except TypeError as error:
            fail(
                f"{name} is made with arguments ({error}); name a function that makes and calls it"
            )
    if not callable(value):
        fail(f"{module}:{name} is a {type(value).__name__}, which cannot be called")
    return value


def _load(module: str) -> Any:
    path = Path(module)
    if path.suffix == ".py":
        if not path.is_file():
            near = nearest(module, [str(one) for one in path.parent.glob("*.py")])
            fail(f"there is no file {module}", near)
        sys.path.insert(0, str(path.resolve().parent))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            fail(f"{module} cannot be loaded")
        made = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = made
        spec.loader.exec_module(made)
        return made
    sys.path.insert(0, "")
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(error.name + ".")):
            tops = [*sys.modules, *(one.stem for one in Path().glob("*.py"))]
            fail(f"there is no module {module}", nearest(module, tops))
        raise


def inputs(expressions: list[str]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments from expressions, in which `torch` is known; `name=expression` is by keyword."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for text in expressions:
        name, equals, value = text.partition("=")
        by_keyword = bool(equals) and name.strip().isidentifier() and not value.startswith("=")
        try:
            made = eval(value if by_keyword else text, {"torch": torch})
        except Exception as error:
            fail(f"--input {text!r}: {type(error).__name__}: {error}")
        if by_keyword:
            kwargs[name.strip()] = made
        else:
            args.append(made)
    return args, kwargs
