"""What is remembered of operations on fake tensors is what torch says of them."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from suture.compiler.graph import GraphBuilder
from suture.compiler.graph.known_numbers import make_known, watched_mode
from suture.compiler.graph.results import Calls, Results, Views, gives_several
from suture.torch_private.tensor_parts import storage_key
from tests.harness import check


def facts(value):
    return (
        value.dtype, value.device, tuple(value.shape), value.stride(), value.storage_offset(),
        value.requires_grad, value.is_leaf, value.is_inference(), value.is_conj(), type(value),
        value.untyped_storage().nbytes(), value._is_view(), type(value.grad_fn).__name__,
    )  # fmt: skip


@pytest.fixture
def hits(monkeypatch):
    """How many results were remembered ones."""
    seen = []
    find = Results.find

    def counted(self, mode, key):
        found = find(self, mode, key)
        seen.append(found is not None)
        return found

    monkeypatch.setattr(Results, "find", counted)
    return seen


OPERATIONS = {
    "add": lambda x: x + 1,
    "promoted": lambda x: x + 1.5,
    "matmul": lambda x: x @ x,
    "mean": lambda x: x.mean(-1, keepdim=True),
    "softmax": lambda x: x.softmax(-1),
    "gelu": F.gelu,
    "cat": lambda x: torch.cat([x, x], 1),
    "where": lambda x: torch.where(x > 0, x, 0.0),
    "transposed": lambda x: x.t() + 1,
    "channels last": lambda x: x.reshape(1, 2, 2, 4).to(memory_format=torch.channels_last) * 2,
    "cast": lambda x: x.to(torch.float64),
    "compared": lambda x: x > 0,
    "made": lambda x: torch.zeros(3, 2, dtype=x.dtype),
    "index": lambda x: x[:, torch.arange(2)],
    "empty": lambda x: x[:0] + 1,
    "linear": lambda x: F.linear(x, x, x[0]),
    "attention": lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
    "one": lambda x: x.sum(),
    "pad": lambda x: F.pad(x, (1, 2)),
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("grad", [False, True])
def test_a_remembered_result_is_like_the_first(name, grad, hits):
    mode = watched_mode(allow_non_fake_inputs=False)
    x = mode.from_tensor(torch.randn(4, 4, requires_grad=grad))
    with mode:
        first, second = OPERATIONS[name](x), OPERATIONS[name](x)
    assert facts(first) == facts(second)
    # Newer torches have one operator for attention, with several results.
    one_operator = name == "attention" and not hits and torch.__version__ >= "2.14"
    assert (any(hits) or one_operator) and first is not second
    assert storage_key(first) != storage_key(second)


def test_a_remembered_result_in_inference_mode_is_of_that_mode(hits):
    mode = watched_mode(allow_non_fake_inputs=False)
    x = mode.from_tensor(torch.randn(4, 4))
    with torch.inference_mode(), mode:
        first, second = x + 1, x + 1
    assert facts(first) == facts(second) and any(hits)


@pytest.mark.parametrize(
    "one",
    [
        lambda x: x.view(-1), lambda x: x.t(), lambda x: x.add_(1), lambda x: x.expand(2, 4, 4),
        lambda x: x.detach(), lambda x: torch.ops.aten._unsafe_view(x, [16]), lambda x: x[1:],
    ],
)  # fmt: skip
def test_what_shares_memory_is_asked_of_torch(one):
    mode = watched_mode(allow_non_fake_inputs=False)
    x = mode.from_tensor(torch.randn(4, 4))
    with mode:
        made = [one(x), one(x)]
    assert [storage_key(m) for m in made] == [storage_key(x)] * 2


# ---- several results


SEVERAL = {
    "attention": lambda x: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        x[None, None], x[None, None], x[None, None]
    ),
    "moments": lambda x: torch.var_mean(x, -1),
    "largest": lambda x: x.max(0),
    "sorted": lambda x: x.sort(),
    "of other sizes": lambda x: x.topk(2),
}


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("grad", [False, True])
def test_several_remembered_results_are_like_the_first(name, grad, hits):
    mode = watched_mode(allow_non_fake_inputs=False)
    x = mode.from_tensor(torch.randn(4, 4, requires_grad=grad))
    with mode:
        made = [SEVERAL[name](x) for _ in range(2)]
    assert [list(map(facts, made[0]))] == [list(map(facts, made[1]))]
    assert any(hits) and len({storage_key(one) for values in made for one in values}) == 4


def test_results_that_share_memory_are_not_remembered():
    mode, results = watched_mode(allow_non_fake_inputs=False), Results()
    x = mode.from_tensor(torch.randn(4, 4))
    with mode:
        one, other = x + 1, x * 2
    given = ((x,), {})
    for number, values in enumerate([(one, one), (one, x), (one, one[1:]), (one, None)]):
        results.remember(number, given, values)
        assert results.find(mode, number) is None
    results.remember("apart", given, (one, other))
    assert list(map(facts, results.find(mode, "apart"))) == [facts(one), facts(other)]


def test_operators_that_write_or_give_views_or_lists_do_not_give_several_new_tensors():
    aten = torch.ops.aten
    assert gives_several(aten.max.dim) and gives_several(aten.aminmax.default)
    assert not any(map(gives_several, [aten.split.Tensor, aten.add.Tensor, aten.aminmax.out]))
    assert not any(map(gives_several, [aten._unique2.default, aten.native_batch_norm.out]))


# ---- views


@pytest.fixture
def views(monkeypatch):
    """How many views were remembered ones."""
    seen = []
    find = Views.find_in

    def counted(self, mode, key, of):
        found = find(self, mode, key, of)
        seen.append(found is not None)
        return found

    monkeypatch.setattr(Views, "find_in", counted)
    return seen


VIEWS = {
    "view": lambda x: x.view(-1),
    "of another dtype": lambda x: x.view(torch.int32),
    "transposed": lambda x: x.t(),
    "expanded": lambda x: x.expand(2, 4, 4),
    "detached": lambda x: x.detach(),
    "slice": lambda x: x[1:, ::2],
    "row": lambda x: x[2],
    "permuted": lambda x: x[None].permute(2, 0, 1),
    "diagonal": lambda x: x.diagonal(),
    "unfolded": lambda x: x.unfold(0, 2, 1),
    "empty": lambda x: x[4:],
    "view of a view": lambda x: x[1:].t().unsqueeze(0)[..., 1:],
}


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("grad", [False, True])
def test_a_remembered_view_is_like_the_first(name, grad, views):
    mode = watched_mode(allow_non_fake_inputs=False)
    real = torch.randn(4, 4, requires_grad=grad)
    one, other = mode.from_tensor(real), mode.from_tensor(torch.randn(4, 4, requires_grad=grad))
    with mode:
        made = [VIEWS[name](one), VIEWS[name](one), VIEWS[name](other)]
    assert facts(made[0]) == facts(made[1]) == facts(made[2])
    expected = VIEWS[name](real)
    for fake in made:
        assert (fake.shape, fake.stride()) == (expected.shape, expected.stride())
        assert fake.storage_offset() == expected.storage_offset()
        assert fake.requires_grad == expected.requires_grad
    assert any(views)
    assert [storage_key(m) for m in made] == [storage_key(x) for x in (one, one, other)]
    assert [m._base is x for m, x in zip(made, (one, one, other))] == [
        expected._base is not None and expected._base is real
    ] * 3


def test_writing_to_a_remembered_view_is_writing_to_its_base(views):
    mode = watched_mode(allow_non_fake_inputs=False)
    x = mode.from_tensor(torch.randn(4, 4))
    with mode:
        x.t()
        before = x._version
        x.t().add_(1)
    assert any(views) and x._version == before + 1


def test_views_in_inference_mode_are_of_the_mode_of_their_base(views):
    mode = watched_mode(allow_non_fake_inputs=False)
    x = mode.from_tensor(torch.randn(4, 4))
    with torch.inference_mode(), mode:
        own = x + 1
        made = [x.t(), x.t(), own.t(), own.t()]
    assert [m.is_inference() for m in made] == [False, False, True, True]
    with mode:
        assert own.t().is_inference() and own.t().is_inference() and not x.t().is_inference()


def test_a_view_of_any_memory_is_asked_of_torch(views):
    mode = watched_mode(allow_non_fake_inputs=False)
    x = mode.from_tensor(torch.randn(8)[:2])
    with mode:
        made = [x.as_strided((4,), (1,)), x.as_strided((4,), (1,))]
    assert [m.shape for m in made] == [(4,), (4,)] and views == []


# ---- what counts


def test_arguments_that_are_equal_and_not_the_same_are_told_apart(hits):
    mode = watched_mode(allow_non_fake_inputs=False)
    x = mode.from_tensor(torch.ones(2, dtype=torch.int64))
    with mode:
        kinds = [(x * n).dtype for n in (1, 1.0, True, 1j)]
    expected = [(torch.ones(2, dtype=torch.int64) * n).dtype for n in (1, 1.0, True, 1j)]
    assert kinds == expected and not any(hits)


def test_the_default_dtype_counts():
    mode = watched_mode(allow_non_fake_inputs=False)
    with mode:
        first = torch.zeros(2).dtype
        torch.set_default_dtype(torch.float64)
        try:
            second = torch.zeros(2).dtype
        finally:
            torch.set_default_dtype(torch.float32)
    assert (first, second) == (torch.float32, torch.float64)


def test_a_number_that_is_known_is_not_lost(hits):
    mode = watched_mode(allow_non_fake_inputs=False)
    real = torch.tensor(3)
    plain, known = mode.from_tensor(torch.tensor(5)), mode.from_tensor(real)
    make_known(mode, known, real)
    with mode:
        unknown, number = plain + 1, known + 1
    assert unknown.constant is None and number.constant.item() == 4
    assert not any(hits)


def test_layers_are_captured_as_before():
    weights = [torch.randn(4, 4, requires_grad=True) for _ in range(4)]

    def fn(x):
        for w in weights:
            x = (x @ w).relu() + x.mean(0)
        return x

    check(fn, torch.randn(3, 4, requires_grad=True))


# ---- whole calls


@pytest.fixture
def calls(monkeypatch):
    """How many whole calls gave remembered results."""
    seen = []
    find = Calls.find

    def counted(self, mode, key):
        found = find(self, mode, key)
        if isinstance(self, Calls):
            seen.append(found is not None)
        return found

    monkeypatch.setattr(Calls, "find", counted)
    return seen


def _twice(op, target, *args, grad=False, **kwargs):
    builder = GraphBuilder()
    fakes = [
        builder.fake.from_tensor(a, static_shapes=True) if isinstance(a, torch.Tensor) else a
        for a in args
    ]
    with torch.set_grad_enabled(grad):
        return [builder.execute(op, target, tuple(fakes), kwargs) for _ in range(2)]


CALLS = {
    "linear": (F.linear, torch.randn(2, 3, 4), torch.randn(5, 4)),
    "matmul": (torch.matmul, torch.randn(2, 3, 4), torch.randn(4, 5)),
    "add": (torch.add, torch.randn(2, 3), 1.5),
    "conv": (torch.conv2d, torch.randn(1, 3, 8, 8), torch.randn(4, 3, 3, 3)),
    "layer_norm": (torch.layer_norm, torch.randn(2, 3), [3]),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("grad", [False, True])
def test_a_remembered_call_gives_what_the_first_gave(name, grad, calls):
    target, *args = CALLS[name]
    first, second = _twice("call_function", target, *args, grad=grad)
    assert facts(first) == facts(second) and calls == [False, True]
    assert first is not second and storage_key(first) != storage_key(second)


def test_a_view_of_what_the_call_made_is_no_new_tensor(calls):
    args = torch.randn(2, 3, 4), torch.randn(5, 4), torch.randn(5)
    first, second = _twice("call_function", F.linear, *args)
    assert first._is_view() or torch.__version__ >= "2.14"  # newer torches give no view here
    assert facts(first) == facts(second) and any(calls) is not first._is_view()


def test_a_call_that_autograd_records_is_made(calls):
    weight = torch.randn(4, 4, requires_grad=True)
    first, second = _twice("call_function", torch.matmul, weight, weight, grad=True)
    assert first.grad_fn is not None and facts(first) == facts(second)
    assert calls == []


@pytest.mark.parametrize(
    ("method", "args"),
    [("add_", (1,)), ("view", (-1,)), ("contiguous", ()), ("t", ()), ("detach", ())],
)
def test_a_method_that_writes_or_shares_memory_is_called(method, args, calls):
    first, second = _twice("call_method", method, torch.randn(4, 4), *args)
    assert storage_key(first) == storage_key(second) and not any(calls)


def test_calls_that_give_views_are_not_described_for_ever(calls):
    builder = GraphBuilder()
    x = builder.fake.from_tensor(torch.randn(4, 6), static_shapes=True)
    for _ in range(8):
        made = builder.execute("call_method", "reshape", (x, -1), {})
        assert made._is_view() and storage_key(made) == storage_key(x)
    described = len(calls)
    copied = [builder.execute("call_method", "reshape", (x.t(), (24,)), {}) for _ in range(2)]
    assert described < 8 and len(calls) == described and facts(copied[0]) == facts(copied[1])
    assert len({storage_key(made) for made in (x, *copied)}) == 3


def test_calls_that_gave_something_to_remember_once_are_described_for_ever(calls):
    builder = GraphBuilder()
    x = builder.fake.from_tensor(torch.randn(4, 6), static_shapes=True)
    turned = x.t()
    builder.execute("call_method", "contiguous", (turned,), {})
    for _ in range(8):
        assert builder.execute("call_method", "contiguous", (x,), {}) is x
    made = builder.execute("call_method", "contiguous", (turned,), {})
    assert calls[-1] and len(calls) == 10 and storage_key(made) != storage_key(turned)


def test_what_is_only_read_is_no_call_to_remember(calls):
    leaf = torch.randn(2, requires_grad=True)
    leaf.grad = torch.ones(2)
    first, second = _twice("call_function", getattr, leaf, "grad")
    assert first is second and calls == []


def test_modes_of_torch_are_asked(calls):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        made = _twice("call_function", torch.matmul, torch.randn(2, 2), torch.randn(2, 2))
    assert [m.dtype for m in made] == [torch.bfloat16] * 2 and calls == []
