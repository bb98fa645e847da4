"""Programs that run from the cache: breaks, loops, effects, symbols, training, several variants."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import suture

ROOT = Path(__file__).parents[3]
X = torch.arange(6.0).reshape(2, 3)

PROGRAMS = {
    "a break on data": (
        "def fn(x):\n    y = x.sin()\n    if y.sum() > 0:\n        y = y + 1\n"
        "    return y * 2\n"
    ),
    "a break in an inlined call": (
        "def inner(x):\n    if x.sum() > 0:\n        return x + 1\n    return x - 1\n"
        "def fn(x):\n    return inner(x.cos()) * 3\n"
    ),
    "a loop behind a break": (
        "def fn(x):\n    for i in range(3):\n        x = x + i\n"
        "        if x.sum() < 0:\n            x = x * 2\n    return x\n"
    ),
    "rows by a mask that may be empty": (
        "def fn(x):\n    out = torch.zeros_like(x)\n    for n in range(3):\n"
        "        mask = (x[:, 0] - 3 * n).abs() < 1\n        if mask.any():\n"
        "            idx = torch.where(mask)[0]\n            out.index_add_(0, idx, x[idx] + n)\n"
        "    return out\n"
    ),
    "exceptions": (
        "def fn(x):\n    try:\n        x = x + 1\n        int('no')\n        x = x * 5\n"
        "    except ValueError:\n        x = x * 2\n    return x\n"
    ),
    "effects": (
        "seen = []\nclass Box: pass\nbox = Box()\n"
        "def fn(x):\n    seen.append(1)\n    box.value = x * 2\n    global last\n    last = 3\n"
        "    return box.value + len(seen) * 0\n"
    ),
    "containers": (
        "def fn(x):\n    a = {'x': x, 'y': [x + 1]}\n    a['y'].append(x * 2)\n"
        "    return a['y'][1] + a['x'], (x,)\n"
    ),
    "an argument that is written to": "def fn(x):\n    x.add_(1)\n    return x * 2\n",
    "random numbers": "def fn(x):\n    torch.manual_seed(3)\n    return x + torch.rand(3)\n",
    "a generator": (
        "def parts(x):\n    for i in range(3):\n        yield x * i\n"
        "def fn(x):\n    return sum(parts(x))\n"
    ),
    "print": "def fn(x):\n    y = x + 1\n    print('between')\n    return y * 2\n",
    "classes": (
        "from dataclasses import dataclass\n@dataclass\nclass Pair:\n    a: object\n"
        "    b: int = 2\n"
        "def fn(x):\n    p = Pair(x)\n    return p.a * p.b\n"
    ),
    "with": "def fn(x):\n    with torch.no_grad():\n        y = x * 2\n    return y + 1\n",
    "a Sequential": (
        "net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)).requires_grad_(False)\n"
        "torch.nn.init.ones_(net[0].weight)\n"
        "def fn(x):\n    return net(x)\n"
    ),
    "attention": (
        "torch.manual_seed(0)\nnet = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()\n"
        "def fn(x):\n    return net(x.new_ones(1, 2, 4))\n"
    ),
    "no operation": "def fn(x):\n    return x\n",
    "tensors that share memory": (
        "def fn(x):\n    y = x.view(-1)\n    if y.sum() > 1e9:\n        return x, y\n"
        "    y.add_(1)\n    return x * 2, y\n"
    ),
    "a logger": (
        "import logging\nlog = logging.getLogger('kept')\n"
        "def fn(x):\n    log.debug('not said')\n    return x * 2\n"
    ),
    "an exception that is handled while another is": (
        "def fn(x):\n    try:\n        raise KeyError('a')\n    except KeyError as first:\n"
        "        if x.sum() > 1e9:\n            x = x + 1\n"
        "        try:\n            raise ValueError(str(first))\n"
        "        except ValueError as second:\n            x = x * len(str(second))\n"
        "    return x\n"
    ),
    "abstract classes": (
        "from collections.abc import Sequence\nclass Own(list): pass\nheld = Own([1, 2])\n"
        "def fn(x):\n    return x * len(held) if isinstance(held, Sequence) else x\n"
    ),
    "sets and their order": (
        "names = {'a', 'b', 'c'}\nkinds = {int, float}\n"
        "def fn(x):\n    return x * len(sorted(names)) if int in kinds else x\n"
    ),
    "arrays": (
        "import numpy\ntable = numpy.arange(3.0)\nscale = numpy.float32(2.0)\n"
        "def fn(x):\n    return x * torch.from_numpy(table) * float(scale)\n"
    ),
    "a number in a buffer": (
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.register_buffer('on', torch.tensor(True))\n"
        "    def forward(self, x):\n        return x * 2 if self.on else x\n"
        "fn = Net()\n"
    ),
    "backward": (
        "def fn(x):\n    w = torch.ones(3, requires_grad=True)\n    (x * w).sum().backward()\n"
        "    return w.grad\n"
    ),
}  # fmt: skip


# In a new process the body of a loop comes from the cache before the loop was seen to break: other
# points are met than before, and compiled, once more.
LOOPS = {
    "a module as an argument": (
        "torch.manual_seed(0)\nnets = [nn.Linear(3, 3), nn.Linear(3, 3)]\n"
        "def run(net, x):\n    if x.sum() > 1e9:\n        return x\n    return net(x).relu()\n"
        "def fn(x):\n    return [run(net, x) for net in nets]\n"
    ),
    "a loop over a zip behind a break": (
        "def fn(x):\n    for i, k in zip(range(3), [1.0, 2.0, 3.0]):\n        x = x * k + i\n"
        "        if x.sum() > 1e9:\n            x = x + 1\n    return x\n"
    ),
    "a loop over a dict behind a break": (
        "def fn(x):\n    table = {'a': 1, 'b': 2}\n    for name, k in table.items():\n"
        "        x = x * k\n        if x.sum() > 1e9:\n            x = x + 1\n    return x\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_loops_and_what_they_call_settle(cache, name):
    seen = [cache.run(LOOPS[name], (X.clone(),), (-X,)) for _ in range(3)]
    assert seen[0][1] > 0
    assert seen[2][0] > 0
    assert seen[2][1] == 0, (seen, cache.lines)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_one_process_kept_another_uses(cache, name):
    calls = [(X.clone(),), (-X,)]
    _, kept = cache.run(PROGRAMS[name], *[(a.clone(),) for (a,) in calls])
    assert kept > 0, cache.lines
    used, more = cache.run(PROGRAMS[name], *[(a.clone(),) for (a,) in calls])
    assert (used > 0, more) == (True, 0), cache.lines


def test_a_branch_that_another_process_kept_is_learned(cache):
    program = (
        "def fn(x):\n    y = x * 2\n    if y.sum() > 1e6:\n        y = y + 1\n    return y.sin()\n"
    )
    calls = [(X + n,) for n in range(suture.config.speculate_after + 2)]
    assert cache.run(program, calls[0]) == (0, 2)
    assert cache.run(program, *calls) == (2, 1), cache.lines  # the one that expects it
    assert cache.run(program, *calls) == (3, 0), cache.lines


def test_symbolic_sizes(cache):
    program = "def fn(x):\n    return x.sum(0) * x.shape[0]\n"
    calls = [(torch.ones(n, 3),) for n in (2, 5, 7)]
    assert cache.run(program, *calls) == (0, 2)
    assert cache.run(program, *calls) == (1, 0)  # the one with a symbol fits all of them
    assert cache.run(program, (torch.ones(11, 3),)) == (1, 0)


def test_numbers_that_change(cache):
    program = "def fn(x, n):\n    return x * n + n // 2\n"
    calls = [(X, n) for n in (2, 5, 7)]
    cache.run(program, *calls)
    assert cache.run(program, (X, 2), (X, 9)) == (1, 0)


def test_floats_that_change(cache):
    program = "def fn(x, k):\n    return x * k if k > 1 else x + k\n"
    cache.run(program, (X, 2.5), (X, 3.5), (X, 4.5))
    assert cache.run(program, (X, 5.5)) == (1, 0), cache.lines
    assert cache.run(program, (X, 0.5))[0] == 0


def test_derivatives(cache):
    program = "def fn(x):\n    return (x * x.sin()).sum()\n"

    def run():
        x = X.clone().requires_grad_()
        suture.reset()
        module = cache.load(program)
        with suture.config.patch(cache_dir=str(cache.folder)), cache.told():
            suture.compile(module.fn, backend="eager")(x).backward()
        y = X.clone().requires_grad_()
        module.fn(y).backward()
        torch.testing.assert_close(x.grad, y.grad)
        return cache.used()

    assert (run(), run()) == (0, 1)


def test_a_module_and_its_methods(cache):
    program = """
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)
    def forward(self, x):
        return self.lin(x).relu()
fn = Net()
"""
    assert cache.run(program, (X,)) == (0, 1)
    assert cache.run(program, (X,)) == (1, 0)


MAIN = """
import sys, torch, suture
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(3)])
    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        if x.sum() > 1e6:
            x = x * 2
        return x
torch.manual_seed(0)
net = Net()
x = torch.ones(2, 4)
out = suture.compile(net, backend="eager")(x)
assert torch.equal(out, net(x))
heavy = ("suture.compiler", "sympy", "torch._dynamo", "torch._inductor")
print(sum(m == h or m.startswith(h + ".") for m in sys.modules for h in heavy))
"""


def start(folder, script):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SUTURE_CACHE": str(folder)}
    return subprocess.Popen(
        [sys.executable, str(script)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process):
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return int(output)


def test_a_warm_process_imports_nothing_of_the_compiler(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(MAIN)
    assert finished(start(tmp_path / "cache", script)) > 0
    assert finished(start(tmp_path / "cache", script)) == 0


def test_processes_that_start_at_once_leave_one_good_entry(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(MAIN)
    running = [start(tmp_path / "cache", script) for _ in range(8)]
    for process in running:
        finished(process)
    found = list((tmp_path / "cache").glob("??/*/*"))
    entries = {path.parent for path in found}
    assert len(found) == len(entries)
    assert not [path for path in found if path.name.startswith(".")]
    assert finished(start(tmp_path / "cache", script)) == 0


def test_items_at_an_index_that_changes(cache):
    text = "def fn(x, items, i):\n    return x * items[i]\n"
    items = [torch.full((3,), float(n)) for n in range(4)]
    calls = [(X, items, i) for i in (0, 2, 1, 3)]
    assert cache.run(text, *calls) == (0, 2)
    assert cache.run(text, *calls) == (1, 0)  # the second variant serves all
