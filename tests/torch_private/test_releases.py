"""Memory is read on releases of torch that were tried, and where the option says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from suture import config
from suture.runtime import state_words
from suture.torch_private import releases

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys, warnings
import torch
if len(sys.argv) > 1:
    torch.__version__ = sys.argv[1]
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    import suture
from suture import _core
from suture.runtime import state_words
print(_core.tensor_layout()["known"], len(state_words.install()) > 0)
print(len([w for w in told if "was tried on torch" in str(w.message)]))

@suture.compile(backend="eager")
def fn(x, n):
    return x.sin() * n

for shape in ((2,), (2,), (3,), (2, 3)):
    x = torch.randn(shape, requires_grad=len(shape) > 1)
    assert torch.equal(fn(x, 2), x.sin() * 2)
x = torch.randn(3, dtype=torch.float64)
assert torch.equal(fn(x, 2), x.sin() * 2)
with torch.inference_mode():
    assert torch.equal(fn(x, 2), x.sin() * 2)
"""


def run(*args: str, **environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *args],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_release_that_was_tried():
    assert run() == ["True True", "0"]


def test_switched_off():
    assert run(SUTURE_NATIVE_LAYOUT="0") == ["False False", "0"]


def test_a_release_that_is_newer_than_any_that_was_tried():
    newer = f"{releases.NEWEST[0]}.{releases.NEWEST[1] + 1}.0"
    assert run(newer) == ["False False", "1"]


@pytest.mark.parametrize(
    ("version", "tried"),
    [("2.10.1", False), ("2.11.0", True), ("2.13.0+cpu", True), ("2.99.0a0+git1", False)],
)
def test_which_releases_were_tried(monkeypatch, version, tried):
    monkeypatch.setattr(torch, "__version__", version)
    assert releases.was_tried() is tried
    assert releases.reads_memory() is tried
    assert bool(state_words.install()) is tried


def test_names_that_are_expected_of_a_release_that_was_not_tried(monkeypatch):
    for version, expected in (("2.99.0", releases.NEWEST), ("2.4.0", releases.OLDEST)):
        monkeypatch.setattr(torch, "__version__", version)
        assert releases.nearest() == expected


def test_the_option_is_read_at_import():
    with pytest.raises(AttributeError, match="SUTURE_NATIVE_LAYOUT=0"):
        config.native_layout = False
