"""Variants that are written when what they lack is known."""

from __future__ import annotations

import pytest

from suture.runtime.store import files, pending_writes
from suture.runtime.store.literals import Unstorable

KEY = "ab" * 32


@pytest.fixture
def leaving(tmp_path, monkeypatch):
    monkeypatch.setattr(pending_writes, "_WAITING", [])

    def make(*later):
        return pending_writes.PendingWrite(
            "fn:1", tmp_path, KEY, {"about": {}}, {}, list(later), set(), []
        )

    return make


def test_what_lacks_nothing_is_written_at_once(leaving):
    variant = leaving()
    assert pending_writes.write_when_complete(variant)
    (name,) = variant.stored
    assert files.read(files.find(variant.root, KEY, name)) == {"about": {}}


def test_what_is_not_known_yet_is_added_before_it_is_written(leaving):
    known: list[int] = []

    def add():
        variant.artefact["kernel"] = known[-1:]
        return bool(known)

    variant = leaving(add)
    assert not pending_writes.write_when_complete(variant)
    pending_writes.finish()
    assert not variant.stored
    known.append(7)
    assert pending_writes.write_when_complete(
        leaving()
    )  # the next one that is kept looks after those that wait
    (name,) = variant.stored
    assert files.read(files.find(variant.root, KEY, name)) == {"about": {}, "kernel": [7]}


def test_what_turns_out_to_have_no_form_is_given_up(leaving, tmp_path):
    def add():
        raise Unstorable("launched in another way")

    variant = leaving(add)
    assert pending_writes.write_when_complete(variant)
    assert variant.unkept == ["launched in another way"]
    assert not list(tmp_path.iterdir())
