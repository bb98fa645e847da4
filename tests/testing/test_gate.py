"""assert_captured, and the pytest plugin on a test suite of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import suture
import suture_pytest
from suture.testing import NotCaptured, assert_captured

ROOT = Path(__file__).parents[2]


def whole(x):
    return x.sin() + 1


def branch(x):
    if x.sum() > 0:
        return x + 1
    return x - 1


@pytest.fixture(autouse=True)
def fresh():
    suture.reset()


def test_what_is_captured_passes():
    report = assert_captured(whole, torch.ones(3))
    assert report.graphs == 1
    assert_captured(branch, torch.ones(3), graphs=2, breaks=["GB0170"])
    assert_captured(branch, torch.ones(3), graphs=None, breaks=None)


@pytest.mark.parametrize(
    ("fn", "expected", "said"),
    [
        (branch, {}, r"unexpected break: GB0170 at .*test_gate\.py:\d+: branch"),
        (branch, {"breaks": ["GB0170"]}, "2 graphs instead of 1"),
        (whole, {"breaks": ["GB0170"]}, "GB0170 was expected, and did not break"),
        (whole, {"recompilations": 1}, "0 recompilations instead of 1"),
    ],
)
def test_what_is_not_as_expected_is_named(fn, expected, said):
    with pytest.raises(NotCaptured, match=said) as caught:
        assert_captured(fn, torch.ones(3), **expected)
    assert caught.value.report.function == fn.__qualname__


def test_a_function_that_raises_fails():
    def fails(x):
        raise KeyError("k")

    with pytest.raises(NotCaptured, match="it raised KeyError"):
        assert_captured(fails, torch.ones(1), graphs=None)


SUITE = """\
import torch, suture

def step(x):
    return x.sin()

def run(fn):
    suture.reset()
    return suture.compile(fn, backend="eager")(torch.ones(3))

def test_step():
    run(step)

def test_other():
    assert True
"""


@pytest.fixture
def suite(tmp_path):
    path = tmp_path / "test_suite.py"
    path.write_text(SUITE)
    return path


def pytest_run(suite, *options):
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "suture_pytest", "-p", "no:cacheprovider",
         "--rootdir", str(suite.parent), str(suite), *options],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        cwd=suite.parent,
        capture_output=True, text=True,
    )  # fmt: skip


def test_a_run_against_its_baseline(suite):
    base = ("--suture-baseline", "breaks.json")
    assert pytest_run(suite, *base).returncode == 4  # there is no such file yet
    assert pytest_run(suite, *base, "--suture-update").returncode == 0
    assert pytest_run(suite, *base).returncode == 0
    suite.write_text("# a new line above changes nothing\n" + SUITE)
    assert pytest_run(suite, *base).returncode == 0
    suite.write_text(
        SUITE.replace("    return x.sin()", "    if x.sum() > 0:\n        x = x + 1\n    return x")
    )
    done = pytest_run(suite, *base)
    assert done.returncode == 1
    assert "new break at line 4: GB0170 test_suite.py step: if x.sum() > 0:" in done.stdout
    assert "2 graphs instead of 1" in done.stdout
    assert "1 passed" in done.stdout
    assert pytest_run(suite, *base, "--suture-update").returncode == 0
    assert pytest_run(suite, *base).returncode == 0


def test_bad_baselines_are_named(suite):
    (suite.parent / "bad.json").write_text("{}")
    done = pytest_run(suite, "--suture-baseline", "bad.json")
    assert done.returncode == 4
    assert "is no baseline of suture" in done.stderr
    done = pytest_run(suite, "--suture-update")
    assert "needs --suture-baseline" in done.stderr


def test_without_the_options_suture_is_not_imported(suite):
    suite.write_text("import sys\ndef test():\n    assert 'suture' not in sys.modules\n")
    assert pytest_run(suite).returncode == 0


def test_functions_under_torch_compile_count(suite):
    suite.write_text(SUITE.replace("suture.compile(fn", "torch.compile(fn"))
    base = ("--suture-baseline", "breaks.json")
    assert pytest_run(suite, *base, "--suture-update").returncode == 0
    record = json.loads((suite.parent / "breaks.json").read_text())
    assert record["tests"]["test_suite.py::test_step"]["graphs"] == 1


def test_a_run_that_compiles_nothing_fails(suite):
    base = ("--suture-baseline", "breaks.json")
    assert pytest_run(suite, *base, "--suture-update").returncode == 0
    done = pytest_run(suite, *base, "-k", "other")
    assert done.returncode == 1
    assert "nothing was compiled" in done.stdout


def test_a_baseline_elsewhere_means_the_same_wherever_pytest_takes_its_root_to_be(suite):
    """Without a file of options pytest looks for its root among its arguments, and a baseline that
    exists by then is one of them."""
    folder = suite.parent / "suite"
    folder.mkdir()
    moved = suite.rename(folder / suite.name)
    suite_of = SUITE.replace("return x.sin()", "suture.graph_break()\n    return x.sin()")
    moved.write_text(suite_of)
    path = suite.parent / "kept" / "breaks.json"
    path.parent.mkdir()

    def run(*options):
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "suture_pytest", "-p", "no:cacheprovider",
             "--suture-baseline", str(path), moved.name, *options],
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            cwd=folder, capture_output=True, text=True,
        )  # fmt: skip

    assert run("--suture-update").returncode == 0
    assert list(json.loads(path.read_text())["tests"]) == ["../suite/test_suite.py::test_step"]
    done = run()
    assert done.returncode == 0, done.stdout


def test_workers_of_xdist_compare_and_write_one_baseline(suite):
    pytest.importorskip("xdist")
    suite.write_text(SUITE + "\ndef test_again():\n    run(lambda x: (print(x), x + 1)[1])\n")
    base = ("--suture-baseline", "breaks.json")
    spread = ("-p", "xdist", "-n", "2", *base)
    assert pytest_run(suite, *spread, "--suture-update").returncode == 0
    kept = json.loads((suite.parent / "breaks.json").read_text())["tests"]
    assert list(kept) == ["test_suite.py::test_again", "test_suite.py::test_step"]
    assert pytest_run(suite, *base).returncode == 0
    suite.write_text(SUITE.replace("    return x.sin()", "    print(x)\n    return x.sin()"))
    done = pytest_run(suite, *spread)
    assert done.returncode == 1 and "test_step: new break at line 4: GB0059" in done.stdout


def test_what_workers_did_is_merged():
    class Node:
        def __init__(self, **seen):
            self.workeroutput = {"suture_seen": seen, "suture_news": list(seen)}

    gate = suture_pytest.Gate.__new__(suture_pytest.Gate)
    gate.seen, gate.news = {}, []
    record = {"graphs": 1, "breaks": {}, "recompilations": {}, "interpreted": {}}
    gate.pytest_testnodedown(Node(a=record), None)
    gate.pytest_testnodedown(Node(b=record), None)
    gate.pytest_testnodedown(object(), "crashed")
    assert gate.seen == {"a": record, "b": record}
    assert gate.news == ["a", "b"]
