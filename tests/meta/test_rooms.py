"""Imports go one way: a room imports rooms on lines above its own, and itself."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = "suture"


def room_order() -> list[list[str]]:
    with open(ROOT / "pyproject.toml", "rb") as file:
        return tomllib.load(file)["tool"]["suture"]["rooms"]["order"]


LEVEL = {room: level for level, rooms in enumerate(room_order()) for room in rooms}
PACKAGES = {f"{PACKAGE}.{room.split('.')[0]}" for room in LEVEL if "." in room}


def room_of(module: str) -> str:
    """The room of a dotted module name: suture.breaks.registry is in breaks,
    suture.compiler.objects.list in compiler.objects."""
    parts = module.split(".")[1:]
    if not parts:
        return "__init__"
    inner = ".".join(parts[:2])
    return inner if inner in LEVEL else parts[0]


def imported(source: str, module: str, is_package: bool) -> Iterator[tuple[int, str]]:
    """The (line, module of suture) pairs that a source imports, wherever in it."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            up = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*up, *([node.module] if node.module else [])])
            names = [base]
            if base == PACKAGE or base in PACKAGES:
                # `from suture import config` is the room; another name is of __init__ itself.
                names = [
                    f"{base}.{alias.name}" if room_of(f"{base}.{alias.name}") in LEVEL else base
                    for alias in node.names
                ]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names = [str(arg.value) for arg in node.args if isinstance(arg, ast.Constant)]
        for name in names:
            if name == PACKAGE or name.startswith(PACKAGE + "."):
                yield node.lineno, name


def wrong_way(source: str, module: str, is_package: bool = False) -> list[str]:
    """What is wrong with the imports of one module, as readable lines."""
    own = room_of(module)
    if own not in LEVEL:
        return [f"{module}: the room {own} is not in [tool.suture.rooms] of pyproject.toml"]
    found = []
    for line, name in imported(source, module, is_package):
        other = room_of(name)
        if other == own:
            continue
        if other not in LEVEL:
            found.append(f"{module}:{line}: {name} is in no room")
        elif LEVEL[other] >= LEVEL[own] and own != "__init__":
            found.append(f"{module}:{line}: {own} may not import {other}")
    return found


def modules() -> Iterator[tuple[Path, str, bool]]:
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = list(path.relative_to(ROOT).with_suffix("").parts)
        is_package = parts[-1] == "__init__"
        yield path, ".".join(parts[:-1] if is_package else parts), is_package


def test_every_import_goes_up_the_list():
    found = [
        line
        for path, module, is_package in modules()
        for line in wrong_way(path.read_text(), module, is_package)
    ]
    assert not found, "\n" + "\n".join(found)


def test_no_room_is_listed_twice():
    listed = [room for rooms in room_order() for room in rooms]
    assert len(listed) == len(set(listed))


def test_the_picture_in_the_architecture_page_is_the_list():
    text = (ROOT / "docs" / "architecture.md").read_text()
    picture = re.search(r"```rooms\n(.*?)```", text, re.DOTALL)
    assert picture is not None
    assert [line.split() for line in picture[1].splitlines()] == room_order()


def test_every_room_has_a_row_in_the_architecture_page():
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = text.partition("| room | what it is |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    listed = [room for rooms in room_order() for room in rooms]
    assert sorted(re.findall("`([^`]+)`", " ".join(rows))) == sorted(listed)


def test_the_tests_that_hold_the_invariants_exist():
    text = (ROOT / "docs" / "architecture.md").read_text()
    named = re.findall(r"`(tests/[^`:]+)::(\w+)`", text)
    assert named
    for path, name in named:
        assert re.search(rf"def {name}\b", (ROOT / path).read_text()), f"{path}::{name}"


@pytest.mark.parametrize(
    ("module", "source", "complaints"),
    [
        ("suture.breaks.registry", "from suture import config", 0),
        ("suture.breaks.registry", "from suture.breaks.page import read", 0),
        ("suture.breaks.registry", "from . import page\nfrom .page import read", 0),
        ("suture.breaks.registry", "from ..config import strict", 0),
        ("suture.breaks.registry", "import suture.compiler.core", 1),
        ("suture.breaks.registry", "from ..compiler.interpreter import run", 1),
        ("suture.breaks.registry", "from suture import api, config", 1),
        ("suture.breaks.registry", "import suture", 1),
        ("suture.breaks.registry", "from suture import compile", 1),
        ("suture.breaks.registry", "def f():\n    from suture.rules import lookup", 1),
        ("suture.breaks.registry", "if TYPE_CHECKING:\n    from suture.rules import lookup", 1),
        ("suture.breaks.registry", "importlib.import_module('suture.rules')", 1),
        ("suture.breaks.registry", "from suture.runtime.sources import Slot", 1),
        ("suture.config", "from suture import errors", 1),
        ("suture.cellar.wine", "", 1),
        ("suture.compiler.pipeline", "from suture.cellar import wine", 1),
        ("suture.compiler.objects.list", "from suture.compiler import abstract", 0),
        ("suture.compiler.objects.list", "from suture.compiler import interpreter", 1),
        ("suture.testing", "import suture.tools.report, suture.compiler.core", 0),
    ],
)
def test_the_check_itself(module, source, complaints):
    assert len(wrong_way(source, module)) == complaints
