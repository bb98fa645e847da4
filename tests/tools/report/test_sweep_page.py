"""The page of the sweep over real models."""

from __future__ import annotations

import importlib
import pathlib
from typing import Any

import pytest

_ROOT = pathlib.Path(__file__).resolve().parents[3]


def _row(graphs: int, **facts: Any) -> dict[str, Any]:
    plain = {"status": "ok", "breaks": graphs - 1, "captured": 1.0, "first_call_s": 0.5}
    return {**plain, "graphs": graphs, "given_up": 0, "wrong": [], "reasons": [], **facts}


def test_page_shows_both_sides_and_why_a_row_is_worse(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(_ROOT / "benchmarks"))
    page = importlib.import_module("sweep.page")
    rows = {
        ("Good", "eval", "suture"): _row(1),
        ("Good", "eval", "dynamo"): _row(3, reasons=["a <branch>"]),
        ("Bad", "eval", "suture"): _row(4),
        ("Bad", "eval", "dynamo"): _row(2),
        ("Gone", "eval", "suture"): {"status": "timeout", "error": "more than 5 s"},
        ("Left", "eval", "suture"): _row(1, given_up=2),
    }
    page.write(tmp_path / "index.html", rows)
    text = (tmp_path / "index.html").read_text()
    assert "torch.compile: a &lt;branch&gt;" in text
    assert text.count('<tr class="worse">') == 3
    assert "more graphs" in text and "more than 5 s" in text
    (line,) = page.summary(rows)
    assert line.startswith("eval: 3 of 4 equal to eager, 1 given up, 2 in one graph;")
    assert "fewer graphs on 1 of the 2" in line
    assert page.short_of_eager(rows) == ["Gone (eval)", "Left (eval)"]
    assert not page.short_of_eager({key: rows[key] for key in list(rows)[:4]})
