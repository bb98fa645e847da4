"""The tables themselves: every name exists, no two rows disagree, every row has a reason."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from suture.rules import packages, polyfills
from suture.rules.errors import ConflictingRules, UnknownName
from suture.rules.rows import MISSING, NamedTable, Row, split_name, table_rows
from suture.rules.substitutes import all_substitutes, files
from suture.rules.verdict import IN_GRAPH, INLINE, RUN, Kind
from suture.rules.wrapped import home

WHERE = "here.py:1"


def test_every_row_names_something():
    table = NamedTable(table_rows())
    lacking = table.load_all()
    optional = {row.module for row in table_rows() if row.absent}
    assert set(lacking) <= optional
    assert len(table.rows()) > 300


def test_rows_that_name_nothing_are_an_error():
    row = Row(RUN, "math", "no_such_function", "because", WHERE)
    with pytest.raises(UnknownName, match=r"math.no_such_function \(rule at here.py:1\)"):
        NamedTable([row]).rows()
    assert NamedTable([Row(RUN, "math", "nothing", "because", WHERE, absent="new")]).rows() == []


def test_rows_that_disagree_are_an_error():
    rows = [
        Row(RUN, "os.path", "join", "because", "a.py:1"),
        Row(INLINE, "posixpath", "join", "because", "b.py:2"),
    ]
    with pytest.raises(ConflictingRules, match=r"a.py:1|b.py:2") as caught:
        NamedTable(rows).rows()
    assert "a.py:1" in str(caught.value)
    assert "b.py:2" in str(caught.value)


def test_modules_that_are_not_loaded_wait():
    table = NamedTable([Row(IN_GRAPH, "no_such_module_at_all", "x", "because", WHERE)])
    assert table.rows() == []


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("torch.sin", ("torch", "sin")),
        ("torch.Tensor.split", ("torch", "Tensor.split")),
        ("torch._C.Generator.seed", ("torch._C", "Generator.seed")),
        ("torch.nn.Parameter", ("torch.nn", "Parameter")),
    ],
)
def test_names_are_split_at_the_class(name, parts):
    assert split_name(name) == parts


def test_every_row_has_a_reason_and_a_place():
    for row in table_rows():
        assert len(row.reason) > 10, row
        assert row.where.startswith("suture/rules/"), row
        assert (row.kind is Kind.SPECIAL) == bool(row.handler), row


def test_every_package_rule_has_a_reason():
    for table in (packages.to_inline, packages.to_run):
        for rule in table.rules.values():
            assert len(rule.reason) > 10
    assert not set(packages.to_inline.rules) & set(packages.to_run.rules)


def test_packages_of_torch_that_are_inlined_exist():
    missing = []
    for name in packages.to_inline.rules:
        if name.partition(".")[0] == "torch" and importlib.util.find_spec(name) is None:
            missing.append(name)
    assert missing == []


def test_every_polyfill_stands_for_something():
    found = all_substitutes()
    assert len(found) >= 60
    for each in found:
        assert each.replacement.__module__.startswith("suture.rules.polyfills."), each
    written = {path.stem for path in Path(polyfills.__file__).parent.glob("[!_]*.py")}
    assert {each.replacement.__module__.rpartition(".")[2] for each in found} >= written
    assert {name for names in files().values() for name in names} == written


def test_polyfills_are_found_by_the_module_of_what_they_stand_for():
    for each in all_substitutes():
        module = home(each.original).lstrip("_")
        assert each.replacement.__module__.rpartition(".")[2] in files()[module], each


def test_a_row_is_found_by_its_parts():
    assert Row(RUN, "os", "nothing.at.all", "because", WHERE).find() is MISSING
