"""explain(): what the report says of a call."""

from __future__ import annotations

import functools

import pytest
import torch

import suture
from suture.events import Where
from suture.tools.report import Report, load
from suture.tools.report.build import _users_location
from suture.tools.report.model import BreakRow, Region
from tests.tools.report.programs import Model, broken, whole


@pytest.fixture(autouse=True)
def fresh():
    suture.reset()


def line_of(text):
    from pathlib import Path

    import tests.tools.report.programs as programs

    lines = Path(programs.__file__).read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if text in line)


def test_a_function_that_is_one_graph(capsys):
    report = suture.explain(whole)(torch.ones(3))
    assert (report.graphs, report.ops, report.breaks) == (1, 2, [])
    assert report.captured_fraction() == 1.0
    assert torch.equal(report.result, whole(torch.ones(3)))
    assert report.regions[0].exit == "return"
    assert report.regions[0].calls == 1
    assert "whole" in report.frames
    assert capsys.readouterr().out == ""


def test_breaks_have_line_reason_hint_hits_and_time():
    report = suture.explain(broken, calls=2)(torch.ones(3))
    rows = {row.where.line: row for row in report.breaks}
    branch = rows[line_of("if y.sum() > 0")]
    assert (branch.number, branch.hits) == ("GB0170", 2)
    assert branch.hints
    assert branch.source == "if y.sum() > 0:"
    assert rows[line_of("note(z.sum())")].hits == 6
    inside = rows[line_of("note(y.mean())")]
    assert [where.function for where in inside.stack] == ["helper", "broken"]
    assert all(row.seconds > 0 for row in report.breaks)
    assert 0 < report.captured_fraction() < 1


def test_generated_code_below_a_break_is_no_region_of_its_own(capsys):
    def printing(x):
        print(x)  # torch makes named tuples to print a tensor
        return x + 1

    report = suture.explain(printing)(torch.ones(2))
    assert "<string>" not in {region.where.file for region in report.regions}


def test_times_are_told_apart():
    report = suture.explain(broken, calls=3)(torch.ones(3))
    assert {"trace", "emit", "guard", "backend"} <= set(report.phase_seconds())
    assert 0 < report.compile_seconds < report.call_seconds
    assert 0 < report.graph_seconds < report.call_seconds - report.compile_seconds
    total = report.compile_seconds + report.graph_seconds + report.break_seconds
    assert total + report.other_seconds == pytest.approx(report.call_seconds)


def test_recompilations_have_their_guard():
    def by_flag(x, flag):
        return x + 1 if flag == "a" else x - 1

    compiled = suture.compile(by_flag, backend="eager")
    with suture.testing.recorded() as report:
        compiled(torch.ones(2), "a")
        compiled(torch.ones(2), "b")
    (row,) = report.recompilations
    assert "flag == 'a': was 'a', is 'b'" == row.reasons[0]


def test_guards_have_the_line_that_asked():
    report = suture.explain(whole)(torch.ones(3))
    found = [g for g in report.regions[0].guards if "L['x']" in g.text]
    assert found[0].line == line_of("return torch.relu(x) + 1")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Model(),
        lambda: suture.compile(Model(), backend="eager"),
        lambda: Model().forward,
        lambda: functools.partial(Model()),
    ],
    ids=["module", "compiled module", "method", "partial"],
)
def test_whatever_can_be_called_can_be_explained(make):
    report = suture.explain(make())(torch.ones(2, 3))
    assert [row.number for row in report.breaks] == ["GB0170"]
    assert report.breaks[0].where.function == "Model.forward"
    assert not report.error


def test_a_function_that_torch_compiled_is_compiled_by_suture():
    report = suture.explain(torch.compile(whole))(torch.ones(3))
    assert report.graphs == 1
    assert report.function == "whole"


def test_an_exception_is_in_the_report():
    def fails(x):
        raise ValueError("no luck")

    report = suture.explain(fails)(torch.ones(2))
    assert report.error == "ValueError: no luck"
    assert "no luck" in str(report)


def test_fullgraph_shows_the_break_that_was_an_error():
    report = suture.explain(broken, fullgraph=True)(torch.ones(3))
    assert report.breaks[0].raised
    assert "Unsupported" in report.error
    assert report.note == "The call raised before anything was compiled."


def test_a_function_that_never_compiled_says_why():
    report = suture.explain(whole)()
    assert (report.graphs, report.regions) == (0, [])
    assert "missing 1 required positional argument" in report.error
    assert report.note in str(report)


def test_calls_is_a_number_from_one_on():
    with pytest.raises(ValueError, match="from 1 on"):
        suture.explain(whole, calls=0)


def test_the_users_exception_has_no_frame_of_the_profile():
    def callee():
        raise KeyError("inside")

    callee = suture.disable(callee)

    def outer(x):
        callee()
        return x

    with suture.tools.report.recording():
        compiled = suture.compile(outer, backend="eager")
        with pytest.raises(KeyError) as caught:
            compiled(torch.ones(2))
    files = [entry.frame.code.path.name for entry in caught.traceback]
    assert "profile.py" not in files


def test_a_report_survives_json():
    report = suture.explain(broken)(torch.ones(3))
    again = load(report.to_json())
    assert again.to_json() == report.to_json()
    assert str(again) == str(report)


def test_a_source_that_is_not_there():
    space = {"torch": torch}
    exec("def made(x):\n    print(x)\n    return x + 1\n", space)
    report = suture.explain(space["made"])(torch.ones(2))
    assert report.breaks[0].number == "GB0059"
    assert report.sources == {}
    assert "made" in str(report)


def test_breaks_come_in_the_order_of_what_they_cost():
    def row(name, **cost):
        where = Where(name, __file__, 1)
        outer = Where("outer", __file__, 2)
        return BreakRow("GB0170", "a type", name, where, [where, outer], "", ["a hint"], **cost)

    report = Report("f")
    report.breaks = [
        row("asked", kind="by request"),
        row("never"),
        row("often", hits=10),
        row("slow", seconds=1.0, hits=1),
        row("error", raised=True),
    ]
    order = ["error", "slow", "often", "never", "asked"]
    assert [one.message for one in report.by_cost()] == order
    text = str(report)
    places = [text.index(f"in {name}") for name in order]
    assert places == sorted(places)
    assert text.count("called from tests/tools/report/test_explain.py:2 in outer") == 5


def test_times_of_phases_inside_phases_add_up():
    from suture import events
    from suture.tools.report.build import build

    seen = [
        events.PhaseTimed("guard", 0.25, point="b", at=1.5, thread=1),
        events.PhaseTimed("backend", 1.0, point="a", at=1.0, thread=1),
        events.PhaseTimed("emit", 0.5, point="a", at=2.5, thread=1),
        events.PhaseTimed("emit", 0.5, point="c", at=1.2, thread=2),
    ]
    report = build(seen, "f")
    assert report.phase_seconds() == {"guard": 0.25, "backend": 0.75, "emit": 1.0}
    assert report.compile_seconds == 2.0


def test_the_shares_on_the_page_are_all_of_the_time():
    from suture.tools.report.html import _largest

    parts = [(str(n), float(n)) for n in range(20)]
    kept = _largest(parts, 12)
    assert len(kept) == 13
    assert sum(seconds for _, seconds in kept) == sum(seconds for _, seconds in parts)
    assert kept[0] == ("19", 19.0) and kept[-1][0] == "8 more"


def test_a_region_starts_in_a_file_that_can_be_read(tmp_path):
    """Code of dataclasses has no file; a model of a package is nearer to the user than torch."""
    torchs = torch.nn.modules.module.__file__
    package = tmp_path / "site-packages" / "models" / "llama.py"
    own = tmp_path / "model.py"
    package.parent.mkdir(parents=True)
    for path in (package, own):
        path.write_text("a = 1\nb = 2\n")
    region = Region(1, Where("Module._call_impl", torchs, 10), variant=1)
    region.lines = [(torchs, 10), ("<string>", 3), (str(package), 2)]
    assert _users_location(region).file == str(package)
    region.lines.append((str(own), 1))
    assert _users_location(region).file == str(own)
    region.lines = [(torchs, 10), ("<string>", 3)]
    assert _users_location(region).file == torchs
