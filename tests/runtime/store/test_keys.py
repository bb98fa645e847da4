"""Each thing on which a variant depends, changed between two processes: it is not used, or its use
makes no difference."""

from __future__ import annotations

import gc

import pytest
import torch

import suture
from suture.rules import mark_table
from suture.rules.mark_table import described_marks
from suture.runtime.store import environment

X = torch.arange(6.0).reshape(2, 3)

PLAIN = """
SCALE = 2
def helper(x, k=3):
    return x * k
def fn(x, flag=True):
    return helper(x.sin()) + SCALE if flag else x
"""
MODULE = """
torch.manual_seed(0)
class Layer(nn.Module):
    gain = 2.0
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.register_buffer("shift", torch.ones(3))
        self.times = 2
    def forward(self, x):
        return self.act(self.lin(x)) * self.gain * self.times + self.shift
    def act(self, x):
        return x.relu()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Layer(), Layer()
    def forward(self, x):
        return self.second(self.first(x))
net = Net()
def fn(x):
    return net(x)
"""


def test_the_same_program_is_found(cache):
    assert cache.run(PLAIN, (X,)) == (0, 1)
    assert cache.run(PLAIN, (X,)) == (1, 0)


def test_lines_that_move_change_nothing(cache):
    cache.run(PLAIN, (X,))
    assert cache.run("# a remark\n\n" + PLAIN, (X,)) == (1, 0)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x.sin()", "x.cos()"),
        ("x * k", "x / k"),
        ("k=3", "k=4"),
        ("SCALE = 2", "SCALE = 5"),
        ("def helper(x, k=3):", "def helper(x, k=3, *, j=1):"),
        ("flag=True", "flag=False"),
        ("SCALE = 2", "SCALE = torch.ones(3)"),
        ("SCALE = 2", "SCALE = 2.0"),
        ("SCALE = 2", "SCALE = True"),
    ],
)
def test_a_changed_function(cache, before, after):
    cache.run(PLAIN, (X,))
    assert before in PLAIN
    used, _ = cache.run(PLAIN.replace(before, after), (X,))
    assert used == 0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("gain = 2.0", "gain = 3.0"),
        ("x.relu()", "x.tanh()"),
        ("self.times = 2", "self.times = 3"),
        ("nn.Linear(3, 3)", "nn.Linear(3, 3, bias=False)"),
        ("nn.Linear(3, 3)", "nn.Linear(3, 3, dtype=torch.float64).float().double().float()"),
        ("torch.ones(3)", "torch.ones(1)"),
        ("torch.ones(3)", "torch.ones(3).expand(2, 3)"),
        ("self.second(self.first(x))", "self.first(self.second(x))"),
        ("Layer(), Layer()", "Layer(), nn.Linear(3, 3)"),
        ("class Net(nn.Module):", "class Net(nn.Sequential):"),
        ("net = Net()", "net = Net().requires_grad_(False)"),
        ("net = Net()", "net = Net(); net.second.lin.weight = net.first.lin.weight"),
        ("net = Net()", "net = Net(); net.second = net.first"),
        ("net = Net()", "net = Net(); net.first.register_forward_hook(lambda m, i, o: o + 1)"),
        ("net = Net()", "net = Net(); net.first.forward = lambda x: x * 7"),
        ("net = Net()", "net = Net(); Layer.act = lambda self, x: x * 7"),
        ("net = Net()", "net = Net(); net.second.lin.weight.data = net.first.lin.weight.data"),
    ],
)
def test_a_changed_module(cache, before, after):
    cache.run(MODULE, (X,))
    assert before in MODULE
    cache.run(MODULE.replace(before, after), (X,))  # compares with eager
    if "dtype=torch.float64" not in after:
        assert cache.used() == 0


def test_other_weights_are_the_new_process_s_own(cache):
    assert cache.run(MODULE, (X,)) == (0, 1)
    assert cache.run(MODULE.replace("manual_seed(0)", "manual_seed(1)"), (X,)) == (1, 0)


def test_evaluation_and_training(cache):
    dropping = MODULE.replace("x.relu()", "x.relu() if self.training else x.neg()")
    cache.run(dropping, (X,))
    assert cache.run(dropping, (X,), prepare=lambda m: m.net.eval())[0] == 0
    assert cache.run(dropping, (X,), prepare=lambda m: m.net.eval())[0] == 1


@pytest.mark.parametrize(
    "args",
    [
        (torch.ones(3, 3),),
        (torch.ones(3),),
        (X.double(),),
        (X.t().contiguous().t(),),
        (X.clone().requires_grad_(),),
        (X, False),
    ],
)
def test_other_arguments(cache, args):
    cache.run(PLAIN, (X,))
    assert cache.run(PLAIN, args)[0] == 0


def test_closures_are_read_again(cache):
    program = """
def make(k):
    def inner(x):
        return x * k
    return inner
fn = make(3)
"""
    assert cache.run(program, (X,)) == (0, 1)
    assert cache.run(program, (X,)) == (1, 0)
    assert cache.run(program.replace("make(3)", "make(4)"), (X,))[0] == 0


def test_the_settings_of_torch(cache):
    cache.run(PLAIN, (X,))
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        assert cache.run(PLAIN, (X,))[0] == 0
    finally:
        torch.set_float32_matmul_precision(before)
    with torch.no_grad():
        assert cache.run(PLAIN, (X,))[0] == 0
    torch.set_default_dtype(torch.float64)
    try:
        assert cache.run(PLAIN, (X,))[0] == 0
    finally:
        torch.set_default_dtype(torch.float32)
    assert cache.run(PLAIN, (X,)) == (1, 0)


@pytest.mark.parametrize(
    "options",
    [{"fullgraph": True}, {"dynamic": True}, {"dynamic": False}, {"backend": "aot_eager"}],
)
def test_the_options_of_compile(cache, options):
    cache.run(PLAIN, (X,))
    assert cache.run(PLAIN, (X,), **options)[0] == 0


def test_the_options_of_suture(cache):
    cache.run(PLAIN, (X,))
    with suture.config.patch(inline_limit=7):
        assert cache.run(PLAIN, (X,))[0] == 0


@pytest.mark.parametrize("place", range(9))
def test_the_machine_and_the_versions(cache, monkeypatch, place):
    """Python, processor, torch and its commit, suture and its files, capabilities, environment."""
    cache.run(PLAIN, (X,))
    machine = list(environment._machine())
    assert len(machine) == 9
    machine[place] = ["another"]
    monkeypatch.setattr(environment, "_machine", lambda: machine)
    assert cache.run(PLAIN, (X,)) == (0, 1)


def test_marks_of_the_program(cache):
    cache.run(PLAIN, (X,))

    def disable(module):
        module.helper = suture.disable(module.helper)

    assert cache.run(PLAIN, (X,), prepare=disable)[0] == 0


def test_results_that_are_assumed_constant_are_of_one_process(cache):
    program = PLAIN.replace("SCALE if", "now() if").replace("SCALE = 2", "def now():\n    return 3")

    def mark(module):
        module.now = suture.assume_constant_result(module.now)

    used, kept = cache.run(program, (X,), prepare=mark)
    assert (used, kept) == (0, 0)
    assert any("has no name" in line for line in cache.lines)


def test_a_mark_ends_with_its_function_even_if_the_code_is_still_known(monkeypatch):
    monkeypatch.setattr(mark_table, "_marks", {})  # other tests may have marked what is still alive

    def now():
        return 3

    suture.assume_constant_result(now)
    code = now.__code__
    assert described_marks() is None
    del now
    gc.collect()
    assert described_marks() is not None, code


def test_a_function_of_torch_that_the_program_replaced(cache, monkeypatch):
    program = "def fn(x):\n    return torch.nn.functional.silu(x) + 1\n"
    cache.run(program, (X,))
    monkeypatch.setattr(torch.nn.functional, "silu", lambda x: x * 2)
    assert cache.run(program, (X,))[0] == 0


def test_one_object_where_two_were(cache):
    program = """
class Box:
    def __init__(self, value):
        self.value = value
first, second = Box(2), Box(2)
def fn(x):
    first.value = 3
    return x * second.value
"""

    def again(module):
        module.first.value = 2
        module.second.value = 2

    def run(text):
        suture.reset()
        module = cache.load(text)
        with suture.config.patch(cache_dir=str(cache.folder)), cache.told():
            mine = suture.compile(module.fn, backend="eager")(X)
        again(module)
        torch.testing.assert_close(mine, module.fn(X))
        return cache.used()

    run(program)
    assert run(program.replace("Box(2), Box(2)", "(Box(2),) * 2")) == 0


SAYING = """
import dataclasses, inspect, typing
@dataclasses.dataclass
class Row:
    a: int = 1
FIELD = dataclasses.fields(Row)[0]
SIGNATURE = inspect.signature(lambda a, b=1: a)
FORM = typing.Optional[int]
def fn(x):
    return x * 10 + ASKED
"""


@pytest.mark.parametrize(
    ("asked", "before", "after"),
    [
        ("FIELD.default", "a: int = 1", "a: int = 2"),
        ("len(SIGNATURE.parameters)", "lambda a, b=1", "lambda a, b, c"),
        ("len(typing.get_args(FORM))", "typing.Optional[int]", "typing.Union[int, str, float]"),
    ],
)
def test_what_an_object_says_that_never_changes_is_not_that_of_another(cache, asked, before, after):
    text = SAYING.replace("ASKED", asked)
    cache.run(text, (X,))
    assert cache.run(text.replace(before, after), (X,))[0] == 0


def test_a_backend_of_the_program_is_known_by_what_it_is_not_by_its_name(cache):
    def eager(gm, inputs):
        eager.called = True
        return gm.forward

    cache.run(PLAIN, (X,))
    assert cache.run(PLAIN, (X,), backend=eager) == (0, 0)
    assert eager.called
