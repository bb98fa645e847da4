"""The fixture `cache`: a cache folder of its own for each test."""

from __future__ import annotations

import gc
import sys

import pytest
import torch

import suture
from tests.runtime.store.kept import NAME, Cache, own_marks_only


@pytest.fixture
def cache(tmp_path, monkeypatch):
    torch.manual_seed(0)
    own_marks_only(monkeypatch)
    yield Cache(tmp_path, monkeypatch)
    sys.modules.pop(NAME, None)
    suture.reset()
    gc.collect()  # functions of the program that have marks
