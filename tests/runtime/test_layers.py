"""The runtime needs nothing of the compiler, which is loaded at the first miss and not before."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUNTIME = sorted((ROOT / "suture" / "runtime").rglob("*.py"))
LOADED = """
def loaded():
    import sys
    heavy = ("suture.compiler", "suture.messages", "sympy", "torch._dynamo", "torch._inductor")
    return sorted({m for m in sys.modules for h in heavy if m == h or m.startswith(h + ".")})
"""


def run(program: str, **environment: str) -> str:
    """What a program prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED + program],
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("path", RUNTIME, ids=lambda path: path.stem)
def test_nothing_of_the_compiler_is_imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module)]
        for name in names:
            assert not name.startswith(("suture.compiler", "sympy", "torch._", "torch.fx"))


def test_importing_and_compiling_load_no_compiler():
    program = """
import torch, suture
suture.compile(lambda x: x + 1, backend="eager")
suture.compile(torch.nn.Linear(2, 2))
class Thing:
    def method(self, x):
        return x
suture.compile(Thing().method)
print(loaded())
"""
    assert run(program) == "[]"


def test_a_miss_loads_it_outside_of_the_modes_of_the_program():
    program = """
import sys, torch, suture
from torch.overrides import TorchFunctionMode
class Counting(TorchFunctionMode):
    count = 0
    def __torch_function__(self, func, types, args=(), kwargs=None):
        Counting.count += 1
        return func(*args, **(kwargs or {}))
if early:
    suture.compile(lambda x: x - 1, backend="eager")(torch.ones(2))
fn = suture.compile(lambda x: x + 1, backend="eager")
x = torch.ones(2)
before = "suture.compiler" in loaded()
with Counting(), torch.device("meta"):
    out = fn(x)
assert out.tolist() == [2.0, 2.0]
assert "suture.compiler" in loaded()
print(before, Counting.count)
"""
    early = run("early = True" + program).split()
    late = run("early = False" + program).split()
    assert (early[0], late[0]) == ("True", "False")
    assert early[1] == late[1]


def test_near_the_end_of_the_stack_the_program_runs_plainly():
    program = """
import sys, torch, suture
fn = suture.compile(lambda x: x + 1, backend="eager")
x = torch.ones(2)
def deep(n):
    return fn(x) if n == 0 else deep(n - 1)
depth = sys.getrecursionlimit() - 100
assert deep(depth).tolist() == [2.0, 2.0]
print(loaded())
assert fn(x).tolist() == [2.0, 2.0]
print(suture.stats().graphs)
"""
    assert run(program).splitlines() == ["[]", "1"]


def test_what_is_asked_for_later_is_there():
    program = """
import torch, suture
def fn(x):
    return x + 1
compiled = suture.compile(fn, backend="eager")
print(suture.code(compiled).strip(), loaded())
compiled(torch.ones(2))
assert "x" in str(suture.guards(compiled))
assert suture.explain is suture.explain
print(suture.explain(fn)(torch.ones(2)).graphs)
"""
    first, second = run(program).splitlines()
    assert first == "# nothing has been compiled yet: call it first []"
    assert second == "1"
