"""The structured trace: every line is JSON, and a folder that cannot be written changes nothing."""

from __future__ import annotations

import json

import pytest
import torch

import suture
from suture import messages


def fn(x):
    y = x.sin()
    if y.sum() > 0:
        return y + 1
    return y


@pytest.fixture(autouse=True)
def closed():
    suture.reset()
    yield
    messages.trace_file.TRACE_FILE.close()


def run(folder):
    with suture.config.patch(trace_dir=str(folder)):
        suture.compile(fn, backend="eager")(torch.ones(3))
    messages.trace_file.TRACE_FILE.close()


def test_lines_follow_the_schema(tmp_path):
    run(tmp_path / "new" / "folder")
    (path,) = (tmp_path / "new" / "folder").glob("*.jsonl")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    head = records[0]
    assert (head["event"], head["schema"]) == ("Start", 1)
    assert {"pid", "argv", "python", "torch", "at", "clock"} <= set(head)
    kinds = {record["event"] for record in records}
    assert {"Traced", "Broke", "Captured", "Installed", "PhaseTimed", "BackendCompiled"} <= kinds
    assert all({"at", "thread", "point"} <= set(record) for record in records[1:])
    broke = next(record for record in records if record["event"] == "Broke")
    assert broke["number"] == "GB0170"
    assert broke["where"]["line"] > 0
    captured = next(record for record in records if record["event"] == "Captured")
    assert captured["nodes"][0]["target"] == "input"
    assert "f32[3]cpu" in captured["text"]


def test_the_timeline_is_chromes(tmp_path):
    run(tmp_path)
    (path,) = tmp_path.glob("*.timeline.json")
    text = path.read_text().rstrip().rstrip(",")
    events = json.loads(text + "]")
    bars = [event for event in events if event["ph"] == "X"]
    assert {"trace", "emit", "guard", "backend"} <= {bar["name"] for bar in bars}
    assert all(bar["dur"] >= 0 and bar["ts"] > 0 for bar in bars)
    assert any(event["name"] == "GB0170" for event in events if event["ph"] == "i")


def test_a_second_run_in_the_same_folder_is_appended(tmp_path):
    run(tmp_path)
    suture.reset()
    run(tmp_path)
    (path,) = tmp_path.glob("*.jsonl")
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [record["event"] for record in records].count("Start") == 2


def test_a_folder_that_cannot_be_made_is_a_warning_once(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    run(tmp_path / "file" / "below")
    assert len([r for r in caplog.records if r.name == "suture.trace_file"]) == 1


def test_nothing_is_written_unless_asked_for(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    suture.compile(fn, backend="eager")(torch.ones(3))
    assert list(tmp_path.iterdir()) == []
