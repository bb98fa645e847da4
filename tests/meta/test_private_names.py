"""torch's private names stand in suture/torch_private and nowhere else.

A name is private if a part of its dotted path starts with an underscore. Looked at are imports,
chains of attributes that start at an imported name of torch, `getattr` and `hasattr` with a text,
paths handed to `import_module` or looked up in `sys.modules`, and the attributes of torch's objects
that `ATTRIBUTES` lists.

Not looked at: texts in suture/rules and suture/tools/check, which name what programs call (a row
whose name does not exist has no effect), and the marks that TorchDynamo's decorators leave on
functions and tensors of the program.
"""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import suture.torch_private
from suture.torch_private import MissingName, is_missing, releases
from suture.torch_private.table import TOPICS, Topic, absent

ROOT = Path(__file__).parents[2]
HOME = ROOT / "suture" / "torch_private"
TORCH = ("torch", "functorch")
ATTRIBUTES = frozenset(
    ("_backward_hooks", "_base", "_cdata", "_expr", "_is_view")
    + ("_maybe_evaluate_static", "_opoverload", "_schema", "_version")
)
FILES = sorted(p for p in (ROOT / "suture").rglob("*.py") if not p.is_relative_to(HOME))
TOPIC_MODULES = [
    importlib.import_module(f"suture.torch_private.{found.name}")
    for found in pkgutil.iter_modules(suture.torch_private.__path__)
]


def is_private(part: str) -> bool:
    """Names of Python's own protocols are no secrets of torch."""
    return part.startswith("_") and not (part.startswith("__") and part.endswith("__"))


def torch_names(tree: ast.AST) -> dict[str, str]:
    """The names that a file binds to something of torch, with their full paths."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] in TORCH:
                    found[alias.asname or alias.name.split(".")[0]] = (
                        alias.name if alias.asname else alias.name.split(".")[0]
                    )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if node.module.split(".")[0] in TORCH:
                for alias in node.names:
                    found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def path_of(node: ast.AST, names: dict[str, str]) -> str:
    """The full path of a chain of attributes that starts at a name of torch; "" of others."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in names:
        return ""
    return ".".join([names[node.id], *reversed(parts)])


def looked_up(node: ast.Call, names: dict[str, str]) -> str:
    """What a call of getattr, hasattr, import_module or sys.modules.get looks up in torch."""
    called = ast.unparse(node.func)
    texts = [a.value for a in node.args if isinstance(a, ast.Constant) and type(a.value) is str]
    if called in ("getattr", "hasattr", "setattr") and len(node.args) > 1 and texts:
        if texts[0] in ATTRIBUTES:
            return texts[0]
        start = path_of(node.args[0], names)
        return f"{start}.{texts[0]}" if start else ""
    if called.endswith(("import_module", "sys.modules.get", "__import__")) and texts:
        return texts[0] if texts[0].split(".")[0] in TORCH else ""
    return ""


def private_torch(source: str) -> Iterator[str]:
    """The private names of torch that a source reaches for, with their lines."""
    tree = ast.parse(source)
    names = torch_names(tree)
    for node in ast.walk(tree):
        paths: list[str] = []
        if isinstance(node, ast.Import):
            paths = [alias.name for alias in node.names if alias.name.split(".")[0] in TORCH]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if node.module.split(".")[0] in TORCH:
                paths = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Attribute):
            own = isinstance(node.value, ast.Name) and node.value.id == "self"
            paths = [path_of(node, names)]
            if node.attr in ATTRIBUTES and not own:
                paths.append(node.attr)
        elif isinstance(node, ast.Call):
            paths = [looked_up(node, names)]
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "sys.modules":
            if isinstance(node.slice, ast.Constant):
                paths = [str(node.slice.value)] if str(node.slice.value).startswith(TORCH) else []
        for path in paths:
            if any(is_private(part) for part in path.split(".")):
                yield f"{node.lineno}: {path}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_private_name_outside(path):
    assert list(private_torch(path.read_text())) == []


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import torch._dynamo", ["1: torch._dynamo"]),
        ("from torch import _guards", ["1: torch._guards"]),
        ("from torch.utils._pytree import tree_map", ["1: torch.utils._pytree.tree_map"]),
        ("def f():\n    from torch._C import x", ["2: torch._C.x"]),
        ("import torch\ntorch._check(1)", ["2: torch._check"]),
        ("from torch import fx as g\ng.graph._loader", ["2: torch.fx.graph._loader"]),
        ("import torch\ngetattr(torch.nn, '_x')", ["2: torch.nn._x"]),
        ("import torch\nhasattr(torch, '_x')", ["2: torch._x"]),
        ("import sys\nsys.modules.get('torch._dynamo')", ["2: torch._dynamo"]),
        ("import sys\nsys.modules['torch._dynamo']", ["2: torch._dynamo"]),
        ("importlib.import_module('torch._numpy')", ["1: torch._numpy"]),
        ("def f(op):\n    return op._schema", ["2: _schema"]),
        ("def f(t):\n    return getattr(t, '_base', None)", ["2: _base"]),
        ("import torch\ntorch.Tensor.__add__\nimport torch.fx\nself._x", []),
    ],
)
def test_what_counts_as_private(source, names):
    assert list(private_torch(source)) == names


# ---- the tables


def declared(module) -> set[str]:
    """The names that a topic's file offers."""
    tables = [t for t in vars(module).values() if isinstance(t, Topic)]
    return {name for table in tables for name in table.names} | set(vars(module))


def test_files_use_only_declared_names():
    """mypy takes any attribute of a topic, because they are looked up late."""
    offered = {module.__name__.rpartition(".")[2]: declared(module) for module in TOPIC_MODULES}
    wrong = []
    for path in sorted((ROOT / "suture").rglob("*.py")):
        tree = ast.parse(path.read_text())
        bound = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module == "suture.torch_private":
                bound |= {a.asname or a.name: a.name for a in node.names if a.name in offered}
            elif isinstance(node, ast.ImportFrom) and node.module:
                room, _, topic = node.module.rpartition(".")
                if room == "suture.torch_private":
                    wrong += [
                        f"{path.name}:{node.lineno}: {topic}.{alias.name}"
                        for alias in node.names
                        if alias.name not in offered[topic]
                    ]
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                topic = bound.get(node.value.id)
                if topic is not None and node.attr not in offered[topic]:
                    wrong.append(f"{path.name}:{node.lineno}: {topic}.{node.attr}")
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.module.rpartition(".")[2])
def test_this_torch_has_the_names_that_it_should_have(topic):
    gone = [name.path for name in topic.missing() if name.expected(releases.nearest())]
    assert not gone


def test_importing_all_topics_imports_nothing_heavy():
    names = [module.__name__ for module in TOPIC_MODULES]
    script = (
        f"import importlib, sys\nfor name in {names!r}: importlib.import_module(name)\n"
        "print([m for m in ('sympy', 'torch._dynamo', 'torch._inductor') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


# ---- a name that is gone


def test_what_is_absent_fits_nothing_and_cannot_be_used():
    gone = absent("torch._C._gone")
    assert is_missing(gone)
    assert not gone
    assert not isinstance(1, (gone, str))
    assert {gone: 1}[gone] == 1
    with pytest.raises(MissingName, match=r"this torch has no torch\._C\._gone"):
        gone(1)
    with pytest.raises(MissingName):
        gone.attribute  # noqa: B018
    with pytest.raises(ZeroDivisionError):
        try:
            1 / 0  # noqa: B018
        except gone:
            pass


def test_a_class_can_be_derived_from_what_is_absent():
    class Derived(absent("torch._Gone")):
        pass

    with pytest.raises(MissingName):
        Derived()


def test_the_range_of_releases():
    table = Topic("nowhere", "a test", "2.11-2.15", {"a": "torch._a", "b": ("torch._b", "2.12")})
    TOPICS.remove(table)
    assert [table.names["a"].expected((2, minor)) for minor in (10, 11, 15, 16)] == [
        False,
        True,
        True,
        False,
    ]
    assert [table.names["b"].expected((2, minor)) for minor in (11, 12, 13)] == [False, True, False]
