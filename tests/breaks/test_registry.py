"""Entries, the exception, the exported forms and the audit."""

from __future__ import annotations

import pickle
import re
import textwrap

import pytest
import torch

from suture.breaks import (
    Break,
    BreakType,
    Kind,
    Leaves,
    NodeText,
    RegistryError,
    Status,
    audit,
    calls,
    catalog,
    control_flow,
    export,
    registry,
)


@pytest.fixture
def table(monkeypatch):
    """A registry to add to, thrown away afterwards."""
    monkeypatch.setattr(registry, "_by_number", dict(registry._by_number))
    monkeypatch.setattr(registry, "_by_type", dict(registry._by_type))


def define(number="GB2999", type="A type of the tests", **texts):
    texts = {"message": "met {thing}", "explanation": "because", "hints": ("do",)} | texts
    return registry.define(number, type, **{"kind": Kind.FUNDAMENTAL} | texts)


class TestDefine:
    def test_fields_come_from_message_and_context(self, table):
        entry = define(message="{a} of {b}", context="{c}, {a}", explanation="{c}", hints=("{b}",))
        assert entry.fields == ("a", "b", "c")

    def test_an_entry_cannot_be_changed(self):
        with pytest.raises(AttributeError):
            control_flow.TENSOR_BRANCH.number = "GB0001"  # type: ignore[misc]

    @pytest.mark.parametrize(
        ("change", "complaint"),
        [
            ({"number": "GB0170"}, "taken by 'Data-dependent branching'"),
            ({"type": "Data-dependent branching"}, "is the type of GB0170"),
            ({"number": "GB170"}, "not a number of the form"),
            ({"type": " "}, "has no type"),
            ({"explanation": ""}, "has no explanation"),
            ({"hints": ()}, "has no hints"),
            ({"hints": ("do", " ")}, "has no hints"),
            ({"message": ""}, "has no message"),
            ({"explanation": "because of {other}"}, "no raise site gives: other"),
            ({"hints": ("use {other}",)}, "no raise site gives: other"),
            ({"message": "met {thing.attribute}"}, "not the name of a field"),
            ({"message": "met {}"}, "not the name of a field"),
            ({"message": "met {thing"}, "not a template"),
            ({"kind": Kind.NOT_YET}, "needs a note"),
            ({"kind": None, "status": Status.NOT_APPLICABLE}, "needs a note"),
            ({"kind": None}, "a kind goes with"),
            ({"status": Status.CAPTURED}, "a kind goes with"),
        ],
    )
    def test_a_wrong_entry_is_refused(self, table, change, complaint):
        before = registry.defined()
        with pytest.raises(RegistryError, match=re.escape(complaint)):
            define(**change)
        assert registry.defined() == before


class TestBreak:
    def test_texts_are_filled_in(self):
        exc = Break(calls.DISABLED, function="report", reason="slow")
        assert exc.type is calls.DISABLED
        assert exc.number == "GB0098"
        assert exc.fields == {"function": "report", "reason": "slow"}
        assert exc.message() == "report is disabled (slow)"
        assert "`report` was wrapped" in exc.explanation()
        assert all("{" not in hint for hint in exc.hints())
        assert str(exc).startswith("GB0098 Skip calling")

    @pytest.mark.parametrize(
        ("fields", "complaint"),
        [
            ({"function": "f"}, "GB0098 lacks reason"),
            ({}, "GB0098 lacks function, reason"),
            ({"function": "f", "reason": "r", "more": 1}, "GB0098 does not know more"),
            ({"function": "f", "more": 1}, "lacks reason and does not know more"),
        ],
    )
    def test_fields_have_to_match(self, fields, complaint):
        with pytest.raises(TypeError, match=complaint):
            Break(calls.DISABLED, **fields)

    @pytest.mark.parametrize("no_entry", ["GB0098", None, Break])
    def test_there_is_none_without_an_entry(self, no_entry):
        with pytest.raises(TypeError, match="an entry of the registry"):
            Break(no_entry)

    def test_values_become_one_line_of_text(self):
        class Rude:
            def __repr__(self):
                raise RuntimeError("no")

        exc = Break(calls.DISABLED, function=Rude(), reason="two\nlines  " + "x" * 1000)
        assert exc.fields["function"] == "<Rude object>"
        assert exc.fields["reason"].startswith("two lines xxx")
        assert len(exc.fields["reason"]) == 200

    def test_braces_in_a_value_are_no_placeholders(self):
        exc = Break(control_flow.TENSOR_BRANCH, tensor="{y}")
        assert exc.message() == "branch on the value of {y}"

    def test_it_survives_pickling(self):
        exc = pickle.loads(pickle.dumps(Break(control_flow.TENSOR_BRANCH, tensor="y")))
        assert exc.type is control_flow.TENSOR_BRANCH
        assert exc.message() == "branch on the value of y"

    def test_it_keeps_no_tensor_alive(self):
        import weakref

        tensor = torch.ones(3)
        ref = weakref.ref(tensor)
        exc = Break(control_flow.TENSOR_BRANCH, tensor=tensor)
        del tensor
        assert ref() is None
        assert exc.fields["tensor"] == "tensor([1., 1., 1.])"

    @pytest.mark.parametrize("entry", catalog.entries(), ids=lambda entry: entry.number)
    def test_every_entry_can_be_raised(self, entry):
        exc = Break(entry, **dict.fromkeys(entry.fields, "<here>"))
        texts = [exc.message(), exc.context(), exc.explanation(), *exc.hints()]
        assert exc.message()
        assert not re.search(r"\{\w+\}", " ".join(texts))


class TestCatalog:
    def test_numbers_are_in_order_and_unique(self):
        numbers = [entry.number for entry in catalog.entries()]
        assert numbers == sorted(set(numbers))

    def test_every_entry_has_one_name(self):
        assert set(catalog.names()) == {entry.number for entry in catalog.entries()}
        held = [
            value
            for family in catalog.FAMILIES
            for value in vars(family).values()
            if isinstance(value, BreakType)
        ]
        assert len(held) == len(catalog.entries())

    def test_lookup(self):
        assert catalog.lookup("gb0170") is control_flow.TENSOR_BRANCH
        assert catalog.family_of(control_flow.TENSOR_BRANCH) == "control_flow"

    @pytest.mark.parametrize("number", ["GB0700", "GB9999", "", "170", "GB0170\n"])
    def test_lookup_of_an_unknown_number(self, number):
        with pytest.raises(KeyError, match="no break has the number"):
            catalog.lookup(number)

    def test_lookup_names_the_nearest(self):
        with pytest.raises(KeyError, match="near it: .*GB017"):
            catalog.lookup("GB1070")


class TestExport:
    def test_the_form_that_existing_tools_read(self):
        data = export.export_dynamo()
        assert len(data) == len(catalog.entries())
        for records in data.values():
            (record,) = records
            assert list(record) == ["Gb_type", "Context", "Explanation", "Hints"]
        assert data["GB0170"][0]["Context"] == "branch on the value of {tensor}"

    def test_the_plain_form_can_be_written(self):
        text = export.as_json(export.export_plain())
        assert text.endswith("]\n")
        assert '"number": "GB0170"' in text

    def test_readable(self):
        assert export.readable("{a} and {{b}}") == "<a> and {b}"


class TestAudit:
    @pytest.fixture
    def scanned(self, tmp_path):
        def scan(source):
            path = tmp_path / "tracer" / "file.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(textwrap.dedent(source))
            return list(audit.scan(tmp_path)), audit.check(tmp_path)

        return scan

    def test_a_raise_site_is_found_with_its_fields(self, scanned):
        references, problems = scanned(
            """
            from suture.breaks import Break, control_flow
            def branch(tensor):
                raise Break(control_flow.TENSOR_BRANCH, tensor=tensor)
            """
        )
        (found,) = references
        assert (found.family, found.name) == ("control_flow", "TENSOR_BRANCH")
        assert found.fields == {"tensor"}
        assert not [problem for problem in problems if "GB0170" in problem]

    def test_a_table_of_entries_counts(self, scanned):
        references, problems = scanned(
            """
            from suture.breaks.tensors import ITEM as item
            TABLE = {"item": item}
            """
        )
        assert [(found.family, found.name) for found in references] == [("tensors", "ITEM")]
        assert not [problem for problem in problems if "GB0124" in problem]

    def test_what_is_raised_has_to_be_an_entry(self, scanned):
        _, problems = scanned(
            """
            from suture.breaks import Break, control_flow
            def one():
                raise Break(control_flow.NO_SUCH_ENTRY, tensor="x")
            def two():
                raise Break("free text")
            """
        )
        assert "tracer/file.py:4: control_flow.NO_SUCH_ENTRY is no entry" in problems
        assert "tracer/file.py:6: 'free text' is no entry" in problems

    def test_fields_are_compared(self, scanned):
        _, problems = scanned(
            """
            from suture.breaks import Break, calls
            def one():
                raise Break(calls.DISABLED, function="f", why="slow")
            def two(fields):
                raise Break(calls.DISABLED, **fields)
            """
        )
        wrong = [problem for problem in problems if problem.startswith("tracer/file.py")]
        assert wrong == ["tracer/file.py:4: GB0098 takes (function, reason), not (function, why)"]

    def test_an_entry_that_nothing_raises_is_named(self, scanned):
        _, problems = scanned("")
        assert "GB0170: nothing raises control_flow.TENSOR_BRANCH" in problems
        assert not [problem for problem in problems if "GB0014" in problem]  # captured

    def test_the_registry_is_whole(self):
        assert audit.check() == []

    def test_ninety_of_dynamos_breaks_are_captured(self):
        theirs = [entry for entry in catalog.entries() if entry.from_dynamo]
        captured = [entry for entry in theirs if entry.status is Status.CAPTURED]
        assert len(theirs) == 222
        assert len(captured) >= 90

    @pytest.mark.parametrize(
        ("number", "leaves"),
        [
            ("GB0170", Leaves.OPERATION),
            ("GB2000", Leaves.FRAME),
            ("GB2050", Leaves.FRAME),
            ("GB2051", Leaves.FRAME),
            ("GB2052", Leaves.FRAME),
            ("GB0003", Leaves.YIELD),
            ("GB2024", Leaves.NOTHING),
        ],
    )
    def test_what_a_break_leaves_to_python(self, number, leaves):
        assert catalog.lookup(number).leaves is leaves


def test_a_field_that_names_a_node_says_so_also_when_it_was_pickled():
    made = Break(control_flow.TENSOR_BRANCH, tensor=NodeText("the tensor mul"))
    told = Break(control_flow.TENSOR_BRANCH, tensor="the tensor of the year")
    assert made.nodes == {"tensor"} == pickle.loads(pickle.dumps(made)).nodes
    assert not told.nodes
