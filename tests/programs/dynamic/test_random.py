"""Random programs over sizes, each called with five random shapes, give what eager gives."""

from __future__ import annotations

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import suture
from tests.programs.dynamic.counting import compilations

# Steps of a program: each takes a matrix and gives a matrix.
STEPS = {
    "add": "x = x + {k}",
    "scale": "x = x * x.shape[0]",
    "transpose": "x = x.t()",
    "rows": "x = x[: x.shape[0] // 2 + 1]",
    "last": "x = x[-1:]",
    "middle": "x = x[x.shape[0] // 2].unsqueeze(0)",
    "columns": "x = x[:, : max(x.shape[1] - {k}, 1)]",
    "double": "x = torch.cat([x, x], {d})",
    "flatten": "x = x.reshape(-1, x.shape[{d}])",
    "product": "x = x @ x.t() / (x.shape[1] + 1)",
    "mean": "x = x.mean({d}, keepdim=True) + x",
    "pad": "x = torch.nn.functional.pad(x, (0, x.shape[0] % {k}))",
    "branch": "x = x.sin() if x.shape[0] > {k} else x.cos()",
    "even": "x = x + 1 if x.numel() % 2 == 0 else x - 1",
    "square": "x = x * 2 if x.shape[0] == x.shape[1] else x",
    "ends": "x = x[min(x.shape[0] - 1, {k}) :]",
    "loop": "for i in range(min(x.shape[0], {k})):\n        x = x + i",
    "root": "x = x / math.sqrt(x.shape[{d}])",
    "arange": "x = x + torch.arange(x.shape[1])",
    "mask": "x = x * (torch.ones(x.shape[0], x.shape[0]).tril().sum(1, keepdim=True) > {k})",
    "sizes": "x = x * (x.shape[0] * 3 - x.shape[1] // 2 + int(x.shape[0] / 2))",
    "contiguous": "x = x.contiguous().view(x.shape[1], x.shape[0])",
}


@st.composite
def programs(draw):
    """The source of a function of one matrix."""
    lines = []
    for name in draw(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=5)):
        step = STEPS[name].format(k=draw(st.integers(1, 5)), d=draw(st.integers(0, 1)))
        lines.append("    " + step)
    return "\n".join(["def program(x):", *lines, "    return x, x.shape[0]"])


shapes = st.tuples(st.integers(1, 9), st.integers(1, 9))


@given(programs(), st.lists(shapes, min_size=5, max_size=5), st.sampled_from([None, True]))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_programs(source, sizes, dynamic):
    import math

    namespace = {"torch": torch, "math": math}
    exec(source, namespace)
    torch.manual_seed(0)
    calls = [(torch.randn(*size),) for size in sizes]
    compilations(namespace["program"], *calls, dynamic=dynamic, raises=True)
    assert not suture.stats().interpreted


def test_each_call_gets_a_seed_of_its_own():
    def fn(x):
        seed = torch.seed()
        return x.sin() + torch.rand(1), seed

    compiled = suture.compile(fn, backend="eager")
    made = [compiled(torch.ones(1)) for _ in range(3)]
    assert len({seed for _, seed in made}) == 3
    assert len({out.item() for out, _ in made}) == 3


def test_the_seed_that_was_set_is_asked_at_each_call():
    def fn(x):
        return x.sin(), torch.initial_seed()

    compiled = suture.compile(fn, backend="eager")
    for seed in (3, 4, 5):
        torch.manual_seed(seed)
        assert compiled(torch.ones(1))[1] == seed
