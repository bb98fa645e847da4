"""From `import torch` done to the first result: the first process, and those that follow it.

Every figure is CPU seconds of one process, its children included, with caches of its own: "cold" is
the process that finds them empty, "warm" the median of those behind it. Beside suture with its
cache: torch.compile, torch.compile with `caching_precompile`, and AOTInductor (whose cold process
compiles and packs, and whose warm one loads the package). Run with `make bench-start`;
`ARGS=--write` puts the table into docs/benchmarks.md; `--programs encoder` takes one.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAMS = {
    "encoder": "TransformerEncoder, 4 layers",
    "llama": "36 Llama-like layers",
    "blocks": "TransformerEncoder, 24 layers",
    "training": "TransformerEncoder, 4 layers, training",
    "blocks-training": "TransformerEncoder, 24 layers, training",
}
WAYS = ("suture", "torch.compile", "caching_precompile", "AOTInductor")
ALLOWED = {"encoder": 0.3, "llama": 0.6}  # seconds of a warm process of suture
RUNS = 3

_CHILD = """
import resource, sys, time
import torch
import torch.nn.functional as F
from torch import nn

def spent():
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    used = [resource.getrusage(kind) for kind in kinds]
    return sum(one.ru_utime + one.ru_stime for one in used)

class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 2 * width), nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
    def forward(self, x, turn):
        b, n, w = x.shape
        q, k, v = self.qkv(self.first(x)).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k = self.turned(q, turn), self.turned(k, turn)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, n, w))
        y = self.second(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))
    def turned(self, x, turn):
        first, second = x.chunk(2, -1)
        return x * turn.cos() + torch.cat((-second, first), -1) * turn.sin()

class Llama(nn.Module):
    def __init__(self, layers=36, width=64, heads=4):
        super().__init__()
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm = nn.RMSNorm(width)
        self.register_buffer("turn", torch.randn(16, width // heads))
    def forward(self, x):
        for layer in self.layers:
            x = layer(x, self.turn)
        return self.norm(x)

torch.manual_seed(0)
program, way, folder = sys.argv[1:]
if program == "llama":
    net = Llama().eval()
else:
    layer = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
    layers = 24 if program.startswith("blocks") else 4
    net = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
    torch.backends.mha.set_fastpath_enabled(False)
    net.train(program.endswith("training"))
x = torch.randn(2, 16, 64)
began = spent()
if way == "suture":
    import suture
    run = suture.compile(net)
elif way == "AOTInductor":
    import os
    path = os.path.join(folder, "net.pt2")
    if not os.path.exists(path):
        with torch.no_grad():
            program_ = torch.export.export(net, (x,))
            torch._inductor.aoti_compile_and_package(program_, package_path=path)
    run = torch._inductor.aoti_load_package(path)
else:
    if way == "caching_precompile":
        import torch._dynamo.config
        torch._dynamo.config.caching_precompile = True
    run = torch.compile(net)
if program.endswith("training"):
    out = run(x)
    torch.autograd.grad(out.square().mean(), list(net.parameters()))
else:
    with torch.no_grad():
        out = run(x)
took = spent() - began
with torch.no_grad():
    assert (out - net(x)).abs().max() < 1e-4
if way == "caching_precompile":
    from torch._dynamo.precompile_context import PrecompileContext
    PrecompileContext.save_to_dynamo_cache()
print(took)
"""


def seconds(program: str, way: str, folder: Path) -> float | None:
    """One process; None if this way cannot take the program."""
    environment = {
        **os.environ,
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "TORCH_CACHE_DIR": str(folder / "torch"),
        "SUTURE_CACHE": str(folder / "suture"),
        "PYTHONPATH": str(Path(__file__).resolve().parent.parent),
        "OMP_WAIT_POLICY": "passive",  # threads that wait are not at work
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, program, way, str(folder)],
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        print(f"{program}, {way}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}")
        return None
    return float(done.stdout.split()[-1])


def measured(program: str, way: str) -> tuple[float | None, float | None]:
    """Cold and warm."""
    if program.endswith("training") and way == "AOTInductor":
        return None, None  # it has no derivatives
    with tempfile.TemporaryDirectory() as name:
        cold = seconds(program, way, Path(name))
        if cold is None:
            return None, None
        warm = [seconds(program, way, Path(name)) for _ in range(RUNS)]
        return cold, statistics.median(one for one in warm if one is not None)


def text(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", nargs="+", default=list(PROGRAMS), choices=list(PROGRAMS))
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    from table import finish

    rows, kept = [], True
    for program in options.programs:
        theirs = None
        for way in reversed(options.ways):
            cold, warm = measured(program, way)
            theirs = warm if way == "torch.compile" else theirs
            ratio = "-" if warm is None or theirs is None else f"{warm / theirs:.2f}"
            rows.append([PROGRAMS[program], way, text(cold), text(warm), ratio])
            print(" | ".join(rows[-1]), flush=True)
            if way == "suture" and warm is not None:
                kept &= warm <= ALLOWED.get(program, float("inf"))
    head = ["program", "way", "cold", "warm", "warm, of torch.compile's"]
    finish(options, "start", head, rows)
    print("the limits are kept" if kept else f"a limit is broken: {ALLOWED}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
