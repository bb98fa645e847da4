"""A compiled module stays the module it was."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import weakref

import pytest
import torch

import suture
from suture import _core
from tests.harness import check


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = torch.nn.Linear(3, 3)
        self.norm = torch.nn.BatchNorm1d(3)
        self.register_buffer("scale", torch.ones(3))
        self.note = "here"

    def forward(self, x, *, times=1):
        return self.norm(self.fc(x)) * self.scale * times


@pytest.fixture
def pair():
    module = Block()
    return module, suture.compile(module, backend="eager")


def test_it_is_of_the_same_class(pair):
    module, compiled = pair
    assert isinstance(compiled, Block) and compiled.__class__ is Block
    assert repr(compiled) == repr(module)


def test_state_dict_has_no_prefix_and_the_same_tensors(pair):
    module, compiled = pair
    assert list(compiled.state_dict()) == list(module.state_dict())
    assert all(a is b for a, b in zip(module.parameters(), compiled.parameters()))
    assert [n for n, _ in compiled.named_parameters()] == [n for n, _ in module.named_parameters()]
    restored = pickle.loads(pickle.dumps(compiled.state_dict()))
    compiled.load_state_dict(restored)


def test_attributes_are_shared_both_ways(pair):
    module, compiled = pair
    compiled.note = "there"
    assert module.note == "there"
    module.extra = 3
    assert compiled.extra == 3
    del compiled.extra
    assert not hasattr(module, "extra")
    compiled.added = torch.nn.Linear(1, 1)
    assert "added.weight" in module.state_dict()


def test_train_eval_and_to(pair):
    module, compiled = pair
    x = torch.randn(4, 3)
    compiled.eval()
    assert not module.training
    torch.testing.assert_close(compiled(x), module(x))
    compiled.double()
    assert compiled(x.double()).dtype is torch.float64


def test_keyword_arguments_and_buffers_in_train_mode():
    torch.manual_seed(0)
    check(Block(), torch.randn(4, 3), kwargs={"times": 2}, graphs=1)


def test_copy_and_pickle(pair):
    _, compiled = pair
    compiled.eval()
    x = torch.randn(4, 3)
    twin = copy.deepcopy(compiled)
    assert isinstance(twin, Block) and twin.fc.weight is not compiled.fc.weight
    torch.testing.assert_close(twin(x), compiled(x))
    buffer = io.BytesIO()
    torch.save(compiled, buffer)
    buffer.seek(0)
    loaded = torch.load(buffer, weights_only=False)
    assert type(loaded) is Block
    torch.testing.assert_close(loaded(x), compiled(x))


def test_hooks_registered_before_the_call_run(pair):
    module, compiled = pair
    seen = []
    module.register_forward_hook(lambda m, a, out: seen.append(out.shape))
    compiled(torch.randn(4, 3))
    assert seen == [torch.Size([4, 3])]


def test_a_hook_added_later_is_noticed(pair):
    module, compiled = pair
    x = torch.randn(4, 3)
    compiled(x)
    seen = []
    handle = module.fc.register_forward_hook(lambda m, a, out: seen.append(1))
    compiled(x)
    handle.remove()
    compiled(x)
    assert seen == [1]


def test_inside_another_module_it_is_one_graph(pair):
    _, compiled = pair

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = compiled

        def forward(self, x):
            return self.inner(x) + 1

    outer = Outer()
    assert all("_orig" not in key for key in outer.state_dict())
    check(outer.eval(), torch.randn(4, 3), graphs=1)


def test_a_deleted_model_is_freed():
    module = Block()
    weight, ref = weakref.ref(module.fc.weight), weakref.ref(module)
    compiled = suture.compile(module, backend="eager")
    compiled(torch.randn(4, 3))
    del module, compiled
    gc.collect()
    assert ref() is None and weight() is None


def test_a_model_used_by_a_compiled_function_is_freed_with_its_variant():
    @suture.compile(backend="eager")
    def run(model, x):
        return model(x) + 1

    module = Block()
    weight = weakref.ref(module.fc.weight)
    run(module, torch.randn(4, 3))
    del module
    gc.collect()
    assert weight() is None
    other = Block()
    run(other, torch.randn(4, 3))


def test_module_compile_under_install():
    suture.install()
    try:
        module = Block()
        module.compile(backend="eager")
        x = torch.randn(4, 3)
        before = suture.stats().graphs
        module(x)
        assert suture.stats().graphs == before + 1
    finally:
        suture.uninstall()
    assert torch.compile.__module__.startswith("torch")


def test_the_dict_that_both_modules_share_tells_of_stores_to_attributes():
    """Otherwise every call looks at all of the module, which is slow."""

    class Small(torch.nn.Module):
        def forward(self, x):
            return x * self.scale

    module = Small()
    module.scale = 2
    compiled = suture.compile(module, backend="eager")
    assert _core.own_table(module)
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0))
    module.scale = 3
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 3.0))
    compiled.scale = 4
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 4.0))
    assert module.scale == 4 and list(vars(module))[-1] == "scale"


@pytest.mark.filterwarnings("ignore:.*torch.jit")
def test_a_scripted_module_is_called_by_python():
    module = torch.jit.script(torch.nn.Linear(3, 2))
    suture.reset()
    compiled = suture.compile(module, backend="eager")
    x = torch.ones(3)
    assert torch.equal(compiled(x), module(x))
    assert list(compiled.state_dict()) == ["weight", "bias"] and compiled._orig_mod is module
    assert len(suture.stats().breaks) == 1
    with pytest.raises(suture.exc.Unsupported):
        suture.compile(module, backend="eager", fullgraph=True)(x)
