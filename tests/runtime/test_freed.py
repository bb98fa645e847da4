"""What a call was given is freed when the program lets go of it, without a garbage collector."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from torch.testing._internal.two_tensor import TwoTensor

import suture


@pytest.fixture(autouse=True)
def _no_collector():
    suture.compile(torch.neg, backend="eager")(torch.ones(1))  # imports leave frames in cycles
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_input_is_freed_after_the_first_call():
    def fn(x):
        return x + x

    compiled = suture.compile(fn, backend="eager")
    for size in (4, 5, 6):
        x = torch.rand(size)
        ref = weakref.ref(x)
        compiled(x)
        del x
        assert ref() is None


def test_module_is_freed_after_the_first_call():
    def fn(module, x):
        return module(x)

    module = torch.nn.Linear(4, 4)
    refs = weakref.ref(module), weakref.ref(module.weight)
    suture.compile(fn, backend="eager")(module, torch.rand(2, 4))
    del module
    assert [ref() for ref in refs] == [None, None]


def test_gradients_are_freed_after_a_step_that_broke():
    model = torch.nn.Linear(4, 4, bias=False)
    optimizer = torch.optim.Adadelta(model.parameters(), lr=0.1)

    def fn():
        suture.graph_break()
        optimizer.step()

    model(torch.ones(4)).sum().backward()
    suture.compile(fn, backend="eager")()
    ref = weakref.ref(model.weight.grad)
    optimizer.zero_grad()
    assert ref() is None


def test_inputs_of_compiled_graphs_are_freed_whichever_way_they_are_called():
    compiled = suture.compile(lambda x: x * 3 + 1)
    for grad in (False, True):
        x = torch.rand(4, requires_grad=grad)
        for _ in range(2):
            compiled(x)
        gc.collect()  # what compiling itself leaves in cycles
        for _ in range(2):
            x = torch.rand(4, requires_grad=grad)
            ref = weakref.ref(x)
            compiled(x)
            del x
            assert ref() is None


class Told:
    """An object whose end the program is told of."""

    def __init__(self, factor, ended=None):
        self.factor, self.ended = factor, ended

    def __del__(self):
        if self.ended is not None:
            self.ended.append(self.factor)


class Kept:
    """One that the program keeps by weak references."""

    def __init__(self, factor):
        self.factor = factor


HELD = {}


def test_a_guard_keeps_no_object_whose_end_the_program_is_told_of():
    ended = []
    remembered = weakref.WeakValueDictionary()

    def put(factor):
        HELD["told"], HELD["list"] = Told(factor, ended), [Told(factor + 1, ended)]
        HELD["kept"] = remembered[factor] = Kept(factor + 2)

    def fn(x):
        return x * HELD["told"].factor + HELD["list"][0].factor + HELD["kept"].factor

    compiled = suture.compile(fn, backend="eager")
    for factor in (2, 5):
        put(factor)
        for _ in range(2):
            assert torch.equal(compiled(torch.ones(2)), fn(torch.ones(2)))
        HELD.clear()
        assert sorted(ended) == [factor, factor + 1] and not remembered
        ended.clear()


def test_input_is_freed_after_an_operation_that_fails():
    """The failure on fake tensors is the context of the break, not its cause."""

    def fn(x):
        try:
            torch.where(1 > 0, 1, 1)
        except TypeError:
            pass
        return x + 1

    compiled = suture.compile(fn, backend="eager")
    x = torch.rand(4)
    ref = weakref.ref(x)
    compiled(x)
    del x
    assert ref() is None


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("kind", ["plain", "subclass"])
def test_compiled_parameters_can_be_exchanged(backend, kind):
    """torch exchanges the contents of no tensor that has a weak reference."""
    layer = torch.nn.Linear(2, 2)
    if kind == "subclass":
        layer.weight = torch.nn.Parameter(TwoTensor(layer.weight.detach(), layer.weight.detach()))
    compiled = suture.compile(layer, backend=backend)
    compiled(torch.ones(1, 2))
    assert not weakref.getweakrefs(layer.weight) + weakref.getweakrefs(layer.bias)
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        layer.to(torch.float64)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(before)
    assert compiled(torch.ones(1, 2, dtype=torch.float64)).dtype == torch.float64
