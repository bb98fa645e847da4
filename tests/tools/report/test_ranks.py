"""Reports of several ranks as one: the table of ranks, and where they differ."""

from __future__ import annotations

import json

import pytest
import torch

import suture
from suture.tools.cli import main
from suture.tools.report import recording
from suture.tools.report.ranks import merge, ranks_in_words


def forward(x, breaks=False):
    y = x.sin()
    if breaks:
        suture.graph_break("only here")
    return y.cos()


def reported(*sizes, breaks=False, rank=None):
    """What a rank would save that calls `forward` with tensors of these sizes."""
    suture.reset()
    compiled = suture.compile(forward, backend="eager")
    with recording() as recorder:
        for size in sizes:
            compiled(torch.ones(size), breaks)
    report = recorder.report("forward")
    report.rank = rank
    return report


def test_ranks_that_did_the_same_do_not_differ():
    merged = merge([reported(3), reported(3)])
    assert merged.differences == []
    assert [row["rank"] for row in merged.rows()] == [0, 1]
    assert [(row["graphs"], row["operations"]) for row in merged.rows()] == [(1, 2), (1, 2)]


def test_a_rank_that_compiles_again_or_breaks_is_named():
    merged = merge([reported(3), reported(3, 4), reported(3, breaks=True)])
    told = {(one.kind, one.text): one.who() for one in merged.differences}
    assert told["graphs", "forward: 2 operations"] == "rank 1: 2; rank 0: 1; rank 2: 0"
    assert told["recompilations", "forward: x.size(0) == 3: was 3, is 4"] == "only rank 1"
    (broken,) = (key for key in told if key[0] == "breaks")
    assert "forward" in broken[1]
    assert told[broken] == "only rank 2"


def test_many_ranks_are_told_in_few_words():
    assert ranks_in_words([4]) == "rank 4"
    assert ranks_in_words([7, 0, 5, 6, 2, 3, *range(100, 1000)]) == "ranks 0, 2, 3, 5-7, 100-999"


def test_two_reports_of_one_rank_are_refused():
    with pytest.raises(ValueError, match="two of the reports are of rank 1"):
        merge([reported(3, rank=1), reported(3, rank=1)])


def test_the_command_shows_a_folder_of_ranks(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    for rank, sizes in ((10, (3, 4)), (9, (3,))):
        reported(*sizes, rank=rank).save(tmp_path / f"rank{rank}.json")
    assert main(["report", str(tmp_path)]) == 1
    text = capsys.readouterr().out
    assert text.index("\n   9 ") < text.index("\n  10 ") < text.index("Where ranks differ")
    assert "x.size(0) == 3: was 3, is 4\n    only rank 10" in text
    assert main(["report", "--json", str(tmp_path)]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [row["rank"] for row in found["ranks"]] == [9, 10]
    assert main(["report", str(tmp_path / "rank9.json")]) == 0
    assert "1 graph" in capsys.readouterr().out
    (tmp_path / "empty").mkdir()
    assert main(["report", str(tmp_path / "empty")]) == 2


def test_run_names_the_file_of_each_rank(tmp_path, capsys, monkeypatch):
    script = tmp_path / "script.py"
    script.write_text("import torch\ntorch.compile(torch.sin, backend='eager')(torch.ones(2))\n")
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        saved = str(tmp_path / "rank{rank}.json")
        assert main(["run", "-q", "--json", saved, str(script)]) == 0
        suture.reset()
    capsys.readouterr()
    assert main(["report", *(str(tmp_path / f"rank{rank}.json") for rank in (1, 0))]) == 0
    assert "All ranks did the same." in capsys.readouterr().out
