"""What Inductor's CUDA graphs need to know, as far as a machine without a GPU can show it."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
from torch._dynamo.mutation_guard import GenerationTracker
from torch._functorch.aot_autograd import aot_module_simplified
from torch._guards import TracingContext

import suture


def generations(fn: Any, *args: Any) -> int:
    """How many generations a call begins."""
    before = GenerationTracker.generation
    fn(*args)
    return GenerationTracker.generation - before


def test_each_outermost_call_begins_a_generation():
    compiled = suture.compile(lambda x: x + 1, mode="reduce-overhead")
    x = torch.ones(3)
    compiled(x)  # CUDA graphs are in use from here on
    assert [generations(compiled, x) for _ in range(3)] == [1, 1, 1]


def test_calls_below_compiled_code_belong_to_the_outermost_one():
    inner = suture.compile(lambda x: x * 2, mode="reduce-overhead")

    def outer(x):
        x = x + 1
        suture.graph_break()
        for _ in range(3):
            x = torch.compiler.disable(inner)(x) + 1
        return x

    compiled = suture.compile(outer, mode="reduce-overhead")
    x = torch.ones(3)
    torch.testing.assert_close(compiled(x), outer(x))
    assert generations(compiled, x) == 1
    assert generations(lambda: [inner(x), inner(x), compiled(x)]) == 3


def test_a_generator_begins_one_each_time_it_is_resumed():
    @suture.compile(mode="reduce-overhead")
    def numbers(x):
        for i in range(3):
            x = x + i
            yield x

    list(numbers(torch.ones(2)))
    turns = numbers(torch.ones(2))
    assert generations(lambda: [next(turns), next(turns)]) >= 2


def test_a_call_that_raises_has_begun_one_and_the_next_begins_another():
    @suture.compile(mode="reduce-overhead")
    def fails(x):
        y = x + 1
        raise KeyError(y.shape)

    def run():
        with pytest.raises(KeyError):
            fails(torch.ones(3))

    run()
    assert generations(run) == 1
    assert generations(run) == 1


def test_steps_that_the_program_marks_count_instead():
    from torch._inductor.cudagraph_trees import CUDAGraphTreeManager, MarkStepBox

    compiled = suture.compile(lambda x: x + 1, mode="reduce-overhead")
    compiled(torch.ones(3))
    try:
        torch.compiler.cudagraph_mark_step_begin()
        first = CUDAGraphTreeManager.get_curr_generation()
        compiled(torch.ones(3))
        compiled(torch.ones(3))
        assert CUDAGraphTreeManager.get_curr_generation() == first
        torch.compiler.cudagraph_mark_step_begin()
        assert CUDAGraphTreeManager.get_curr_generation() == first - 1
    finally:
        MarkStepBox.mark_step_counter = 0


def test_who_uses_no_cuda_graphs_pays_nothing_for_them():
    program = (
        "import sys, torch, suture\n"
        "print('torch._dynamo.mutation_guard' in sys.modules)\n"
        "compiled = suture.compile(lambda x: x + 1)\n"
        "compiled(torch.ones(2))\n"
        "from torch._dynamo.mutation_guard import GenerationTracker\n"
        "before = GenerationTracker.generation\n"
        "compiled(torch.ones(2))\n"
        "print(GenerationTracker.generation - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\n0\n", done.stderr


class Listening:
    """A backend that notes which inputs AOTAutograd takes for static ones, by their names."""

    def __init__(self) -> None:
        self.static: list[list[str]] = []

    def __call__(self, gm: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        names = [node.name for node in gm.graph.find_nodes(op="placeholder")]

        def listen(made: Any, example: Any) -> Any:
            context = TracingContext.try_get()
            assert context is not None and context.fw_metadata is not None
            self.static.append([names[i] for i in context.fw_metadata.static_input_indices])
            return made.forward

        return aot_module_simplified(gm, inputs, fw_compiler=listen)


class Cache:
    """Keys that are written in place, as caches of language models do it."""

    def __init__(self, mark: bool) -> None:
        self.keys = torch.zeros(4, 2)
        if mark:
            torch._dynamo.mark_static_address(self.keys, guard=False)

    def update(self, at, new):
        self.keys.index_copy_(0, at, new)
        return self.keys


@pytest.mark.parametrize("mark", [True, False])
def test_marked_tensors_are_static_inputs(mark):
    def step(cache, at, x):
        return cache.update(at, x).sum()

    backend = Listening()
    cache, at, x = Cache(mark), torch.tensor([1]), torch.ones(1, 2)
    suture.compile(step, backend=backend)(cache, at, x)
    assert len(backend.static) == 1
    assert [name for name in backend.static[0] if "keys" in name] == backend.static[0]
    assert len(backend.static[0]) == mark
    assert cache.keys.sum() == 2


def test_parameters_and_buffers_are_static_inputs():
    backend = Listening()
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).eval()
    with torch.no_grad():
        suture.compile(model, backend=backend)(torch.ones(3, 2))
    assert len(backend.static[0]) == 6


def test_parameters_that_are_arguments_are_static_inputs():
    backend = Listening()
    weight = torch.nn.Parameter(torch.ones(2))
    with torch.no_grad():
        suture.compile(lambda w, x: w * x, backend=backend)(weight, torch.ones(2))
    assert len(backend.static[0]) == 1


def test_a_mark_of_one_tensor_says_nothing_of_the_values_of_another():
    compiled = suture.compile(lambda t, x: t.add_(x) * 2, mode="reduce-overhead")
    marked, plain = torch.zeros(3), torch.ones(3)
    torch._dynamo.mark_static_address(marked)
    assert compiled(marked, torch.ones(3)).tolist() == [2, 2, 2]
    assert compiled(plain, torch.ones(3)).tolist() == [4, 4, 4]
    assert marked.tolist() == [1, 1, 1] and plain.tolist() == [2, 2, 2]
