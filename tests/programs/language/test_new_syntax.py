"""Syntax that only newer Pythons have: programs as text, compiled where Python can."""

from __future__ import annotations

import sys
import textwrap
import types
from typing import Any

import pytest
import torch

import suture
from tests.harness import check

X = torch.ones(3)
since_314 = pytest.mark.skipif(sys.version_info < (3, 14), reason="syntax of Python 3.14")
since_315 = pytest.mark.skipif(sys.version_info < (3, 15), reason="syntax of Python 3.15")


def made(text: str, **names: Any) -> Any:
    """The function `fn` that a text defines."""
    space: dict[str, Any] = {"__name__": "made", "torch": torch, **names}
    exec(compile(textwrap.dedent(text), "<made>", "exec"), space)
    return space["fn"]


@since_314
@pytest.mark.parametrize("wrong", ["1 / 0", "int('x')", "[][1]"], ids=["first", "second", "none"])
def test_exceptions_without_parentheses(wrong):
    fn = made(f"""
        def fn(x):
            try:
                y = x + 1
                {wrong}
            except ZeroDivisionError, ValueError:
                return y * 2, "caught"
            finally:
                x = x - 1
            return x
    """)
    check(fn, X, graphs=None, breaks=None)


@since_314
def test_groups_of_exceptions_without_parentheses():
    fn = made("""
        def fn(x):
            try:
                raise ExceptionGroup("some", [ValueError("a"), KeyError("b")])
            except* ValueError, KeyError:
                x = x + 1
            return x
    """)
    check(fn, X, graphs=None, breaks=None, interpreted=None)


@since_314
def test_parts_of_a_template():
    fn = made("""
        def fn(x, name):
            y = x + 1
            template = t"{name!r:>5} of {y.shape[0]:{len(name)}} {name=}"
            first, second, third = template.interpolations
            parts = [first.value, second.expression, first.conversion, second.format_spec]
            return y * 2, parts, third.value, template.strings, type(template).__name__
    """)
    check(fn, X, "rows", graphs=None, breaks=None)


@since_314
def test_a_template_breaks_once_and_capture_goes_on():
    fn = made("""
        def fn(x):
            y = x + 1
            template = t"{y} and {x}"
            return y * template.values[1], template.interpolations[0].expression
    """)
    graphs = check(fn, X, graphs=2, breaks=None)
    assert set(graphs.numbers) == {"GB0177"}


@since_314
def test_a_template_in_a_loop_sees_the_values_of_each_turn():
    fn = made("""
        def fn(x, n):
            out = []
            for i in range(n):
                x = x + i
                out.append(t"{i}".values[0])
            return x, out
    """)
    check(fn, X, 3, graphs=None, breaks=None, recompiles=None)


@since_314
def test_finally_with_a_return_behind_a_branch():
    fn = made("""
        def fn(x, flag):
            try:
                if flag:
                    return x + 1
                raise ValueError
            except ValueError, TypeError:
                return x + 2
    """)
    check(fn, X, True)
    check(fn, X, False)


@since_315
@pytest.mark.parametrize(
    ("imported", "read"),
    [
        ("lazy import {0}", "{0}.VALUE"),
        ("lazy import {0} as other", "other.VALUE"),
        ("lazy from {0} import VALUE", "VALUE"),
        ("import {1} as outer", "outer.{0}.VALUE"),
        ("", "taken()"),
        ("lazy import {0}_is_missing", "{0}_is_missing.VALUE"),
    ],
    ids=["module", "renamed", "name", "attribute", "taken", "missing"],
)
def test_a_lazy_import_happens_where_the_program_uses_it(imported, read, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)

    def run(name: str, compile: Any) -> Any:
        inner, outer = f"lazy_{name}", f"lazy_{name}_outer"
        (tmp_path / f"{inner}.py").write_text("import loads\nloads.count += 1\nVALUE = 3\n")
        (tmp_path / f"{outer}.py").write_text(f"lazy import {inner}\n")
        loads = types.ModuleType("loads")
        loads.count = 0  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "loads", loads)
        text = f"""
            {imported.format(inner, outer)}

            def taken():
                from {outer} import {inner}
                return {inner}.VALUE

            def fn(x):
                before = loads.count
                y = x.sin()
                try:
                    return (y * {read.format(inner)}).tolist(), before, loads.count
                except ImportError as error:
                    return before, type(error)
        """
        fn = compile(made(text, loads=loads))
        return [fn(X) for _ in range(3)]

    found = run("compiled", lambda fn: suture.compile(fn, backend="eager"))
    assert found == run("eager", lambda fn: fn)
