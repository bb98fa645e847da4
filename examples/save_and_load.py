"""Compile a model once, ship what was compiled with it, and run that without the compiler.

python examples/save_and_load.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import torch

import suture


def model() -> torch.nn.Module:
    """The model that is shipped; both processes make it, with weights of their own."""
    return torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.GELU(), torch.nn.Linear(32, 4))


def build(path: str) -> None:
    """Compile for training and for inference, and save both."""
    with tempfile.TemporaryDirectory() as folder, suture.config.patch(cache_dir=folder):
        compiled = suture.compile(model(), backend="aot_eager")
        compiled(torch.randn(2, 8)).sum().backward()
        with torch.no_grad():
            compiled(torch.randn(2, 8))
        suture.save(compiled, path)


def use(path: str) -> None:
    """Run what was saved."""
    net = model()
    compiled = suture.load(net, path)
    x = torch.randn(2, 8)
    out = compiled(x)
    assert (out - net(x)).abs().max() < 1e-6
    out.sum().backward()
    with torch.no_grad():
        compiled(x)
    loaded = [name for name in ("suture.compiler", "torch._dynamo", "sympy") if name in sys.modules]
    print(f"ran from {Path(path).name}; imported of the compiler: {loaded or 'nothing'}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        use(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as folder:
            build(str(Path(folder) / "model.suture"))
            subprocess.run(
                [sys.executable, __file__, str(Path(folder) / "model.suture")], check=True
            )
