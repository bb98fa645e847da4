"""The numbers that people search for: TorchDynamo's 222 types keep their numbers and their words.

tests/breaks/data/break_types.json lists them, as TorchDynamo's own registry has them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from suture.breaks import catalog
from suture.breaks.registry import Kind, Status

SEED = json.loads((Path(__file__).parents[1] / "breaks/data/break_types.json").read_text())
FROM_DYNAMO = [entry for entry in catalog.entries() if entry.from_dynamo]


def test_the_seed_is_whole():
    assert [record["id"] for record in SEED] == [f"GB{number:04}" for number in range(222)]


@pytest.mark.parametrize("record", SEED, ids=lambda record: record["id"])
def test_number_keeps_its_type(record):
    assert catalog.lookup(record["id"]).type == record["type"]


def test_no_other_number_below_2000():
    assert {entry.number for entry in FROM_DYNAMO} == {record["id"] for record in SEED}


def test_at_least_90_are_captured():
    captured = [entry for entry in FROM_DYNAMO if entry.status is Status.CAPTURED]
    assert len(captured) >= 90


def test_what_is_missing_is_said():
    for entry in catalog.entries():
        if entry.kind is Kind.NOT_YET or entry.status is Status.NOT_APPLICABLE:
            assert len(entry.note.split()) >= 3, entry.number
