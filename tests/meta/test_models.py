"""Tables that files fill are filled: each file with a registration is found and loaded."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

import pytest
import torch

from suture.compiler import models, rooms

ROOT = Path(__file__).parents[2]
COMPILER = ROOT / "suture" / "compiler"
REGISTRIES = {"handles", "implements", "method", "op", "wraps"}

importlib.import_module("suture.compiler.pipeline")  # what the first miss loads


def registers(source: str) -> bool:
    """Whether a file fills a table when it is imported: `@handles(...)` or `handles(...)(fn)`."""
    for node in ast.walk(ast.parse(source)):
        called = list(getattr(node, "decorator_list", ()))
        if isinstance(node, ast.Call):
            called.append(node.func)
        for call in called:
            if isinstance(call, ast.Call) and ast.unparse(call.func) in REGISTRIES:
                return True
    return False


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_every_file_that_registers_something_is_found():
    written = {module_name(p) for p in COMPILER.rglob("*.py") if registers(p.read_text())}
    assert len(written) > 60
    found = set(rooms.files())
    packages = {name.rpartition(".")[0] for name in found}
    assert written <= found | packages, written - found - packages


def test_every_file_of_a_room_is_loaded():
    rooms_of = {COMPILER / room for room in rooms.ROOMS}
    files = {module_name(p) for room in rooms_of for p in room.rglob("*.py")}
    assert files <= set(sys.modules), files - set(sys.modules)


def test_what_a_registration_looks_like():
    assert registers("@handles(len)\ndef f(trace, args, kwargs): ...")
    assert registers("for f in fs:\n    handles(f)(make(f))")
    assert not registers("def handles(*targets): ...\nmodel_of(len)")


def test_a_callable_has_one_model():
    with pytest.raises(KeyError, match="has a model already"):
        models.handles(len)(lambda trace, args, kwargs: None)
    with pytest.raises(KeyError, match="has a model already"):
        models.handles("graph_break")(lambda trace, target, args, kwargs: None)


def test_a_model_takes_what_its_target_says():
    with pytest.raises(TypeError, match="takes 3 arguments, not 4"):
        models.handles(test_a_callable_has_one_model)(lambda trace, target, args, kwargs: None)
    with pytest.raises(TypeError, match="takes 4 arguments, not 3"):
        models.handles("a name of this test")(lambda trace, args, kwargs: None)
    assert models.model_of(test_a_callable_has_one_model) is None
    assert models.model_named("a name of this test") is None


def test_a_model_under_a_name_is_a_rules_or_a_methods():
    """A name that no rule gives would be the model of nothing."""
    source = "".join(path.read_text() for path in (ROOT / "suture" / "rules").rglob("*.py"))
    unknown = []
    for name in models.names():
        kind, _, rest = name.partition(".")
        if kind == "Tensor":
            known = hasattr(torch.Tensor, rest)
        elif kind == "higher_order":
            known = hasattr(torch.ops.higher_order, rest) or rest in ("base_hop", "wrap")
        else:
            known = f'"{kind}"' in source
        if not known:
            unknown.append(name)
    assert not unknown
