"""The stub names what the core has, and nothing else."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path

import pytest
from core_under_test import core

STUB = Path(__file__).parents[2] / "suture" / "_core.pyi"


def names_of(body):
    """What a module or class body defines."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign):
            yield node.target.id


def public(names):
    return {name for name in names if not name.startswith("_")}


def test_stub_names_the_module():
    assert public(names_of(ast.parse(STUB.read_text()).body)) == public(dir(core))


def test_stub_names_each_class():
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.ClassDef):
            assert public(names_of(node.body)) == public(dir(getattr(core, node.name))), node.name


@pytest.mark.skipif(
    sysconfig.get_config_var("WITH_DOC_STRINGS") == 0, reason="this Python has no doc strings"
)
def test_everything_is_explained():
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            assert ast.get_docstring(node), node.name
            assert getattr(core, node.name).__doc__, node.name
