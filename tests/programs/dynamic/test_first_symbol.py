"""What the first symbolic size of a process costs."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys, torch, suture
f = suture.compile(lambda x: x.sum() * x.shape[0], backend="eager", dynamic=True)
assert f(torch.ones(5)) == 25
assert f(torch.ones(6)) == 36
print(sorted({"torch.export._trace", "torch._functorch.aot_autograd"} & set(sys.modules)))
"""


def test_a_symbol_imports_neither_export_nor_aot() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert ran.stdout.strip() == "[]", ran.stderr
