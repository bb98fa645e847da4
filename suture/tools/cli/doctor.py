"""suture doctor: is everything here that compiling needs, and does it work?"""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import platform
import shutil
import sys
from collections.abc import Callable
from typing import Any

import torch
from rich.text import Text

from suture import _core, api, config, torch_private
from suture.runtime import state_words
from suture.tools.cli.common import FOUND, OK, out, print_json
from suture.torch_private import releases
from suture.torch_private.table import TOPICS
from suture.version import VERSION

Answer = tuple[bool, str]


def add(commands: Any) -> None:
    made = commands.add_parser("doctor", help="check versions, compilers, the core; a smoke test")
    made.add_argument("--json", action="store_true")
    made.set_defaults(do=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1 if anything that is needed is missing or does not work."""
    results = [(name, *_answer(ask)) for name, ask in CHECKS]
    if arguments.json:
        print_json([{"check": n, "ok": ok, "detail": detail} for n, ok, detail in results])
    else:
        console = out()
        for name, ok, detail in results:
            text = Text("  ok  " if ok else " FAIL ", style="green" if ok else "bold red")
            text.append(f"{name:15}", style="bold")
            text.append(detail, style="")
            console.print(text)
    return OK if all(ok for _, ok, _ in results) else FOUND


def _answer(ask: Callable[[], Answer]) -> Answer:
    try:
        return ask()
    except Exception as error:
        return False, f"{type(error).__name__}: {error}"


def _suture() -> Answer:
    return True, VERSION


def _python() -> Answer:
    known = (3, 11) <= sys.version_info[:2] <= (3, 15)
    fits = known and platform.python_implementation() == "CPython"
    need = "" if fits else " (CPython 3.11 to 3.15 is needed)"
    return fits, f"{platform.python_implementation()} {platform.python_version()}{need}"


def _torch() -> Answer:
    fits = releases.was_tried()
    return fits, torch.__version__ + ("" if fits else f" ({releases.tried()} were tried)")


def _private_names() -> Answer:
    """Whether this torch has every name that it should have; looks all of them up."""
    for found in pkgutil.iter_modules(torch_private.__path__):
        importlib.import_module(f"{torch_private.__name__}.{found.name}")
    here = releases.nearest()
    count = sum(name.expected(here) for topic in TOPICS for name in topic.names.values())
    gone = [
        f"{name.path} (off: {topic.feature})"
        for topic in TOPICS
        for name in topic.missing()
        if name.expected(here)
    ]
    return not gone, "missing: " + "; ".join(gone) if gone else f"all {count} are here"


def _memory() -> Answer:
    """Whether guards read tensors and torch's state in memory. Off is no fault: they are slower."""
    if not config.native_layout:
        return True, "not read: config.native_layout is off"
    if not releases.was_tried():
        return True, f"not read: this torch was not tried ({releases.tried()} were)"
    layout = _core.tensor_layout()
    if not layout["known"]:
        return False, "not read: the probes do not agree on where tensors keep what"
    sizes = "sizes, dtype and keys" + (", requires_grad" if layout["grad_known"] else "")
    return True, f"{sizes} of tensors; {len(state_words.install())} settings of torch"


def _core_built() -> Answer:
    return True, str(_core.__file__)


def _compiler() -> Answer:
    names = [os.environ.get("CXX", ""), "g++", "clang++"]
    found = next((path for path in map(shutil.which, filter(None, names)) if path), None)
    return found is not None, found or "no C++ compiler: Inductor needs one on the CPU"


def _devices() -> Answer:
    if torch.cuda.is_available():
        return True, ", ".join(
            torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())
        )
    return True, "cpu only"


def _options() -> Answer:
    changed = [f"{d.name}={d.value!r}" for d in config.describe() if d.value != d.default]
    return True, ", ".join(changed) or "all at their defaults"


def _eager() -> Answer:
    def smoke(x: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        if y.sum() > 0:
            return y + 1
        return y - 1

    x = torch.ones(4)
    same = torch.equal(api.compile(smoke, backend="eager")(x), smoke(x))
    return same, "a function with a break gives eager's result" if same else "a wrong result"


def _inductor() -> Answer:
    def smoke(x: torch.Tensor) -> torch.Tensor:
        return (x * 2).relu().sum()

    x = torch.ones(8)
    same = torch.allclose(api.compile(smoke)(x), smoke(x))
    return same, "compiles and gives eager's result" if same else "a wrong result"


def _libraries() -> Answer:
    names = ("rich", "jinja2", "pygments", "markdown_it")
    missing = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    return not missing, f"missing: {', '.join(missing)}" if missing else ", ".join(names)


CHECKS: tuple[tuple[str, Callable[[], Answer]], ...] = (
    ("suture", _suture),
    ("python", _python),
    ("torch", _torch),
    ("private names", _private_names),
    ("memory", _memory),
    ("core", _core_built),
    ("libraries", _libraries),
    ("compiler", _compiler),
    ("devices", _devices),
    ("options", _options),
    ("eager", _eager),
    ("inductor", _inductor),
)
