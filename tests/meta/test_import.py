"""Importing suture stays cheap: nothing heavy comes along before it is needed."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("sympy", "torch._dynamo", "torch._inductor", "rich", "jinja2", "pytest")


def test_nothing_heavy_is_imported():
    script = f"import sys, torch, suture; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


# On a machine with a GPU a backward pass starts threads of autograd, and a process that has them
# cannot be forked by a program that trains in its children.
NO_BACKWARD = """
import torch

def engine(*args, **kwargs):
    raise AssertionError("a backward pass while suture was imported")

torch.autograd._engine_run_backward = engine
torch.autograd.graph._engine_run_backward = engine

import suture
print(suture._core.tensor_layout()["known"])
"""


def test_no_backward_pass_is_run():
    done = subprocess.run([sys.executable, "-c", NO_BACKWARD], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "True"
