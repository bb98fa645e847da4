"""Objects that a second process finds again by a name or a place of their own."""

from __future__ import annotations

import pytest
import torch

from suture.torch_private import torchdynamo
from tests.runtime.store.kept import NAME
from tests.runtime.store.test_programs import finished, start

X = torch.arange(6.0).reshape(2, 3)

PROGRAMS = {
    "a property, and one of a class of its own": (
        "class cached(property):\n    pass\n"
        "class Config:\n    size = 3\n"
        "    @property\n    def doubled(self):\n        return self.size * 2\n"
        "    @cached\n    def half(self):\n        return self.size / 2\n"
        "config = Config()\n"
        "def fn(x):\n    return x * config.doubled + config.half\n"
    ),
    "a dict whose keys are classes": (
        "table = {int: 1, float: 2, type(NotImplemented): 3, nn.Linear: 4}\n"
        "def fn(x):\n    return x * table[type(2.0)] + len(list(table))\n"
    ),
    "a dict whose keys are parameters": (
        "w, b = nn.Parameter(torch.ones(3)), nn.Parameter(torch.zeros(3))\n"
        "scales = {w: 2, b: 3}\n"
        "def fn(x):\n    return x * scales[w] + scales[b] + len(list(scales))\n"
    ),
    "items of a class with a way of its own to give them": (
        "class Output(dict):\n"
        "    def __getitem__(self, key):\n"
        "        return dict.__getitem__(self, key) if type(key) is str else self['a']\n"
        "kept = Output(a=2, b=3)\n"
        "def fn(x):\n    return x * kept[0] + kept['b']\n"
    ),
    "the modules that are loaded": (
        "import sys\n"
        "def fn(x):\n    return x + ('json' in sys.modules) + (sys.modules.get('torch') is torch)\n"
    ),
    "a range of a profiler": (
        "from torch.autograd.profiler import record_function\n"
        "def fn(x):\n"
        "    with record_function('part'):\n        y = x.sin()\n"
        "        if y.sum() > 1e9:\n            y = y + 1\n"
        "    return y.cos()\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_was_compiled_is_used_again(cache, name):
    cache.assert_used_again(PROGRAMS[name], (X,))


STEP = """
import sys, torch, suture
from torch import nn
torch.manual_seed(0)
x = torch.randn(2, 3)
nets = [nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)) for _ in range(2)]
nets[1].load_state_dict(nets[0].state_dict())
optimizers = [torch.optim.{}(net.parameters(), lr=0.1, foreach=False) for net in nets]
def step(net, optimizer):
    optimizer.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss.detach()
compiled = suture.compile(step, backend="eager")
for _ in range(4):
    ours, theirs = compiled(nets[0], optimizers[0]), step(nets[1], optimizers[1])
    torch.testing.assert_close(ours, theirs)
print(sum(name.startswith("suture.compiler") for name in sys.modules))
"""


@pytest.mark.parametrize("kind", ["AdamW", "SGD"])
def test_a_training_step_with_its_optimizer(tmp_path, kind):
    script = tmp_path / "program.py"
    script.write_text(STEP.format(kind))
    assert finished(start(tmp_path / "cache", script)) > 0
    assert finished(start(tmp_path / "cache", script)) == 0


def test_other_keys_in_the_same_places_are_another_program(cache):
    program = PROGRAMS["a dict whose keys are parameters"]
    _, kept = cache.run(program, (X,))
    swapped = program.replace("{w: 2, b: 3}", "{b: 2, w: 3}")
    assert cache.run(swapped, (X,))[0] < kept, cache.lines


# ---- functions that the program has marked in torch's tables


MARKED = (
    "def scale(x):\n    return x * 2\n"
    "def other(x):\n    return x * 2\n"
    "def fn(x):\n    return scale(x).sin() + other(x)\n"
)


MARKED_BY_PROGRAMS = torchdynamo.marked_by_programs  # which `own_marks_only` replaces


def allow(module, *names):
    import torch._dynamo

    for name in names:
        torch._dynamo.allow_in_graph(getattr(module, name))


@pytest.fixture
def tables(cache, monkeypatch):
    """torch's tables of marks, with the marks of this test alone."""
    import torch._dynamo.trace_rules as rules

    monkeypatch.setattr(torchdynamo, "marked_by_programs", MARKED_BY_PROGRAMS)
    monkeypatch.setattr(torchdynamo, "_found", {})  # an id that was not found may be used again
    names = [name for name in torchdynamo._MARKS if name != torchdynamo._POLYFILLS]
    found = [getattr(rules, name)() for name in names if hasattr(rules, name)]
    before = [set(ids) for ids in found]  # marks of other tests, on functions that may be gone
    for ids in found:
        ids.clear()
    yield rules._allowed_callable_ids.function_ids
    for ids, old in zip(found, before):
        ids.clear()
        ids.update(old)


def marked_run(cache, *names, program=MARKED):
    def prepare(module):
        import torch._dynamo.trace_rules as rules

        rules._allowed_callable_ids.function_ids.clear()
        allow(module, *names)

    return cache.run(program, (X,), prepare=prepare)


def test_marked_functions_are_part_of_the_key(cache, tables):
    assert marked_run(cache, "scale") == (0, 1), cache.lines
    assert marked_run(cache, "scale") == (1, 0), cache.lines
    assert marked_run(cache, "other")[0] == 0, cache.lines
    assert marked_run(cache)[0] == 0, cache.lines


def test_a_marked_function_without_a_name_of_its_own(cache, tables):
    program = "def make():\n    def inner(x):\n        return x * 2\n    return inner\n" + (
        "scale = make()\ndef fn(x):\n    return scale(x).sin()\n"
    )
    assert marked_run(cache, "scale", program=program) == (0, 0)
    assert any("has no name" in line for line in cache.lines)


def test_marked_functions_are_looked_for_in_classes(cache, tables):
    module = cache.load(
        "class Model:\n    @property\n    def size(self):\n        return 3\n"
        "    @staticmethod\n    def scale(x):\n        return x\n"
    )
    tables.update({id(module.Model.size.fget), id(module.Model.scale)})
    found = torchdynamo.marked_by_programs()
    assert {one.__qualname__ for _, one in found} == {"Model.size", "Model.scale"}
    assert {one.__module__ for _, one in found} == {NAME}
