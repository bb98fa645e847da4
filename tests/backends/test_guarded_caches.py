"""torch's own caches for graphs with symbolic sizes: found again, with all that was assumed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import torch
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from suture.torch_private import guarded_caches

ROOT = Path(__file__).resolve().parent.parent.parent

PROGRAM = """
import json, sys, torch, suture
from torch._dynamo.utils import counters

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 2))

def trained(x):
    return net(x).softmax(-1).sum(0) * x.shape[0]

def inferred(x, y):
    return (x.sin() @ y.cos()).relu().sum(1) + y.mean()

functions = [suture.compile(fn, dynamic=True) for fn in (trained, inferred)]
for n in map(int, sys.argv[1:]):
    x, y = torch.randn(n, 4), torch.randn(4, n + 7)
    ours, theirs = functions[0](x), trained(x)
    torch.testing.assert_close(ours, theirs)
    weights = list(net.parameters())
    grads = [torch.autograd.grad(out.square().sum(), weights) for out in (ours, theirs)]
    torch.testing.assert_close(*grads, rtol=1e-4, atol=1e-4)
    with torch.no_grad():
        torch.testing.assert_close(functions[1](x, y), inferred(x, y))
hits = counters["inductor"]["fxgraph_cache_hit"], counters["aot_autograd"]["autograd_cache_hit"]
guards = [str(suture.guards(fn)) for fn in functions]
print(json.dumps([suture.stats().graphs, hits, guards]))
"""


def run(folder, *sizes, program=PROGRAM):
    """How many graphs there were, how many of them torch's caches had, and what guards say."""
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT), "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
    }  # fmt: skip
    environment.pop("SUTURE_CACHE", None)
    script = folder / "program.py"
    script.write_text(program)
    done = subprocess.run(
        [sys.executable, str(script), *map(str, sizes)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "Failed to pickle" not in done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_two_dynamic_graphs_are_found_again_in_a_second_process(tmp_path):
    first = run(tmp_path, 3, 5, 8)
    second = run(tmp_path, 6, 7)
    assert first[:2] == [2, [0, 0]]
    assert second[:2] == [2, [3, 2]]  # one of them has a backward graph
    assert second[2] == first[2]


TRANSFORMS = """
import json, torch, suture
from torch._dynamo.utils import counters

def over_rows(x): return torch.vmap(lambda a: a.cumsum(0), in_dims=0)(x)
def over_columns(x): return torch.vmap(lambda a: a.cumsum(0), in_dims=1)(x)
def first(x): return torch.func.grad(lambda a, b: (a * b * b).sum(), argnums=0)(x, x)
def second(x): return torch.func.grad(lambda a, b: (a * b * b).sum(), argnums=1)(x, x)
def forward_mode(x): return torch.func.jvp(torch.sin, (x,), (torch.ones_like(x),))[1]
def pulled(x): return torch.func.vjp(torch.sin, x)[1](x)[0]
def jacobian(x): return torch.func.jacrev(torch.square)(x[0])

x = torch.arange(9.0).reshape(3, 3)
functions = [over_rows, over_columns, first, second, forward_mode, pulled, jacobian]
for fn in functions:
    torch.testing.assert_close(suture.compile(fn)(x), fn(x))
hits = counters["inductor"]["fxgraph_cache_hit"], counters["aot_autograd"]["autograd_cache_hit"]
print(json.dumps([suture.stats().graphs, hits, len(functions)]))
"""


def test_transforms_of_functions_are_told_apart_and_found_again(tmp_path):
    first = run(tmp_path, program=TRANSFORMS)
    second = run(tmp_path, program=TRANSFORMS)
    assert first[1][1] == 0
    assert second[1][1] == second[0] == first[0]


# ---- the guards of an entry


def symbols(*sizes):
    env = ShapeEnv()
    made = [
        env.create_symintnode(
            env.create_symbol(size, torch._dynamo.source.ConstantSource(f"s{size}")), hint=size
        )
        for size in sizes
    ]
    return env, made


def holds(text, *numbers):
    names = {f"t{i}": number for i, number in enumerate(numbers)}
    return eval(text, {"L": names})


def test_what_the_compiler_has_specialised_is_in_the_guards():
    env, (s, other) = symbols(5, 9)
    assert s + other > 7
    assert s == 5  # it is the number 5 from here on
    text = guarded_caches.guards_on(env, [s, other])
    assert holds(text, 5, 9)
    assert not holds(text, 6, 9)
    assert not holds(text, 5, 2)


def test_ranges_are_in_the_guards():
    env, (s,) = symbols(5)
    text = guarded_caches.guards_on(env, [s])
    assert holds(text, 7)
    assert not holds(text, 1)


def test_what_hangs_on_other_symbols_fits_nothing():
    env, (s, other, third) = symbols(5, 9, 4)
    assert third < 20
    assert holds(guarded_caches.guards_on(env, [s]), 5)
    assert s < other
    assert not holds(guarded_caches.guards_on(env, [s]), 5)
    assert holds(guarded_caches.guards_on(env, [s, other]), 5, 9)


def test_symbols_are_found_in_sizes():
    from torch._subclasses import FakeTensorMode

    env, (s, other) = symbols(5, 9)
    with FakeTensorMode(shape_env=env):
        x = torch.empty(s, 3, other)
    found = guarded_caches.symbols_among([x, 4, s])
    assert [int(one) for one in found] == [5, 9]
