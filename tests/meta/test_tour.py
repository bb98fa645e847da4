"""docs/tour.py runs, prints what it says at each stage, and computes what eager computes."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[2]
TOUR = ROOT / "docs" / "tour.py"
VERSIONS = ("3.11", "3.12", "3.13")
OFFSET = 100


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tour = load(TOUR)


def run(python):
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([python, str(TOUR)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_output(text):
    """Each stage prints what the prose of the tour promises."""
    stages = re.split(r"^== .*\n", text, flags=re.MULTILINE)[1:]
    code, symbols, left, looped, again, shape, turns, where = stages

    assert "FOR_ITER" in code
    assert re.search(r"BINARY_OP +'mul' +live: log, i\n", code)
    assert "('constant', 4)" in symbols

    for stage in (left, looped):
        assert "_type(steps) is _int and _repr(steps) == '3'" in stage
        assert "_facts(x) == (_torch.float32, 'cpu', (4,), False)" in stage
        assert "log.append(0)\n        log.append(1)\n        _result = _globals['print']" in stage
        assert "Python has to call _globals['print']" in stage
    assert left.count("def forward") == 1
    assert re.search(r"return _enter\(_function, \d+, _locals, \(\*_stack, _result, \)\)", left)

    assert looped.count("def forward") == 2
    first, second = looped.split("def forward")[1:]
    assert (first.count("torch.sin("), first.count(" * 2.0")) == (2, 2)
    assert (second.count("torch.sin("), second.count(" + 1")) == (1, 1)
    assert "return _Jump(_point, (*_locals, *_stack, _result, ))" in first
    assert "log.append(2)" in second
    assert "_rest(stack_0) == (2,)" in looped

    assert again.count("hit, variant 0") == 2
    assert "miss" not in again
    assert "def forward" not in again
    assert shape.count("miss, _facts(x) ==") == 2
    assert shape.count("def forward") == 2
    assert "miss, _type(steps) is _int and _repr(steps) == '3'" in turns
    assert "miss, _rest(stack_0) == (2,)" in turns
    for stage in (left, looped, again, shape, turns):
        assert stage.count("program: turn 1\n") == 1
        assert "as eager:" in stage
    assert "suture/compiler/guards" in where


def test_each_stage():
    check_output(run(sys.executable))


@pytest.mark.parametrize("version", VERSIONS)
def test_on(version):
    """On the other Pythons of this machine that have torch and a core."""
    if version == "{}.{}".format(*sys.version_info[:2]):
        pytest.skip("this is the Python that runs the tests")
    find = load(ROOT / "tests" / "bytecode" / "test_versions.py")
    python = next((p for p in find.interpreters(version) if find.works(p, version)), None)
    if python is None:
        pytest.skip(f"NOT TESTED: no Python {version} on this machine")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [python, "-c", "import torch, suture._core"]
    if subprocess.run(command, env=environment, capture_output=True).returncode:
        pytest.skip(f"NOT TESTED: no torch or no core for Python {version}")
    check_output(run(python))


def outcome(function, args):
    """What a call returns or raises, and the lists it was given, as text."""
    copies = [list(a) if isinstance(a, list) else a for a in args]
    try:
        return repr((function(*copies), copies))
    except Exception as error:
        return repr((error, copies))


def same(function, *args, resumes=True):
    """Two calls end as eager ends; returns the compiled function."""
    compiled = tour.Compiled(function, resumes=resumes)
    for _ in range(2):
        assert outcome(compiled, args) == outcome(function, args)
    return compiled


def note(log, value):
    log.append(("noted", value))
    return value


def test_effects_are_there_when_python_runs():
    def fn(x, log):
        log.append(1)
        log.append(note(log, 2))
        log.append(x + 1)
        return x * 2

    assert len(same(fn, torch.ones(2), []).points) == 2


@pytest.mark.parametrize("resumes", [True, False])
def test_nested_loops_with_a_break_inside(resumes):
    def fn(x, log):
        for i in range(3):
            for j in range(2):
                x = x + i * j
                if i == 1:
                    note(log, j)
            x = torch.cos(x)
        return x

    same(fn, torch.ones(2), [], resumes=resumes)


def test_a_try_block_belongs_to_cpython():
    def fail(x):
        raise ValueError("no")

    def fn(x, fail):
        x = torch.sin(x)
        try:
            fail(x)
        except ValueError:
            return x + 1
        return x

    same(fn, torch.ones(2), fail)


def test_branch_on_a_tensor_is_left_to_cpython():
    def fn(x):
        y = torch.sin(x)
        if y:
            return y + 1
        return y - 1

    same(fn, torch.ones(()))
    same(fn, torch.zeros(()))


def test_errors_are_those_of_eager():
    def unbound(x, flag):
        if flag:
            y = x
        return y + 1

    def shapes(x, y):
        return torch.matmul(x, y)

    same(unbound, torch.ones(2), False)
    same(shapes, torch.ones(2, 3), torch.ones(2, 3))


def change_offset():
    global OFFSET
    OFFSET += 1


def test_a_global_that_the_break_changes():
    def fn(x):
        y = x + OFFSET
        change_offset()
        return y, OFFSET, x + OFFSET

    global OFFSET
    OFFSET = 100
    expected = [fn(torch.ones(1)) for _ in range(3)]
    OFFSET = 100
    compiled = tour.Compiled(fn)
    assert repr([compiled(torch.ones(1)) for _ in range(3)]) == repr(expected)


def test_values_that_differ_only_in_sign_or_type_are_not_mixed_up():
    def fn(x, k):
        return x * k

    compiled = tour.Compiled(fn)
    for k in (0.0, -0.0, 1, True, 1.0):
        assert repr(compiled(torch.ones(1), k)) == repr(fn(torch.ones(1), k))
    assert len(compiled.point(0).variants) == 5


def test_what_passes_through_keeps_its_identity():
    def fn(x, log):
        note(log, 1)
        return x

    x = torch.ones(1)
    assert tour.Compiled(fn)(x, []) is x


def test_a_break_among_the_arguments_of_a_call():
    def fn(x, log):
        return torch.sin(x + note(log, 3)) * note(log, 2)

    same(fn, torch.ones(2), [])
    same(fn, torch.ones(2), [], resumes=False)


def test_an_exception_of_the_operation_leaves_what_was_done_before():
    def fn(x, log):
        log.append(x + 1)
        int("no number")
        log.append(2)

    same(fn, torch.ones(1), [])


def test_a_long_loop_is_left_to_cpython():
    def fn(n):
        total = 0
        for i in range(n):
            total = total + i
        return total

    same(fn, 3000)
