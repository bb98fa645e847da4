"""Views of one base differ in where they begin: what a program reads of that is right each time."""

from __future__ import annotations

import pytest
import torch
import torch.nn as nn

import suture


def offset(t):
    return t.storage_offset(), t + 1


def offset_in_a_product(t):
    return t * t.storage_offset()


def offset_of_a_view(t):
    return t[1:].storage_offset(), t.view(-1).storage_offset(), (t + 1).storage_offset(), t + 1


def strided(t):
    return t.as_strided((2,), (1,)) + 0, torch.as_strided(t, (2,), (2,)) + 0


def strided_from_the_beginning(t):
    return t.as_strided((2,), (1,), 3) + 0


def strided_from_its_own_beginning(t):
    return torch.as_strided(t.view(-1), (2,), (1,), storage_offset=t.storage_offset() + 1) + 0


def scattered(t):
    return torch.as_strided_scatter(t, torch.zeros(2), (2,), (1,))


def set_to_itself(t):
    return t.is_set_to(t), t.view(-1).is_set_to(t), t[1:].is_set_to(t), t + 1


def _same(fn, given, backend):
    suture.reset()
    compiled = suture.compile(fn, backend=backend)
    for args in given:
        assert str(fn(*args)) == str(compiled(*args))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "fn",
    [
        offset, offset_in_a_product, offset_of_a_view, strided, strided_from_the_beginning,
        strided_from_its_own_beginning, scattered, set_to_itself,
    ],
)  # fmt: skip
def test_views_at_other_places_of_their_memory(fn, backend):
    _same(fn, [(torch.arange(20.0)[o : o + 5],) for o in (0, 3, 7, 3, 0)], backend)


@pytest.mark.parametrize("fn", [strided_from_the_beginning, scattered])
def test_views_at_other_places_of_their_memory_through_inductor(fn):
    _same(fn, [(torch.arange(20.0)[o : o + 5],) for o in (0, 3)], "inductor")


def test_whether_two_tensors_are_one_place():
    def fn(a, b):
        return a.is_set_to(b), a + 1

    base = torch.arange(20.0)
    pairs = [(base[:5], base[:5]), (base[:5], base[3:8]), (torch.ones(5), torch.ones(5))]
    _same(fn, [*pairs, pairs[0], (base, base)], "eager")


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_an_encoder_with_padding_goes_the_way_it_goes_in_eager(grad):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2).eval()

    def fn(x, mask):
        return encoder(x * 2, src_key_padding_mask=mask) + 1

    x = torch.randn(2, 4, 8)
    left = torch.tensor([[0, 0, 1, 1], [0, 0, 0, 1]]).bool()
    holes = torch.tensor([[1, 0, 1, 1], [0, 0, 0, 1]]).bool()
    compiled = suture.compile(fn, backend="eager")
    with torch.set_grad_enabled(grad):
        for mask in (left, left, holes, left):
            torch.testing.assert_close(compiled(x, mask), fn(x, mask))


def test_whether_an_argument_is_a_view_is_asked_at_each_call():
    def fn(t):
        return t._is_view(), t[1:]._is_view(), (t + 1)._is_view(), t * 2

    suture.reset()
    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    base = torch.arange(6.0)
    for t in (torch.ones(4), base[1:5], torch.ones(4), base[:4]):
        assert compiled(t)[:3] == fn(t)[:3]
    assert suture.stats().variants == 2


@pytest.mark.parametrize("detach", [torch.Tensor.detach_, lambda t: t.detach_(), torch.detach_])
def test_a_view_is_not_detached_in_place_though_other_tensors_were(detach):
    def fn(t):
        t.mul_(2)
        detach(t)
        return t + 1

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for _ in range(2):
        assert torch.equal(compiled(torch.ones(4)), torch.full((4,), 3.0))
    view = torch.ones(6)[1:5]
    for _ in range(2):
        with pytest.raises(RuntimeError, match="Can't detach views") as caught:
            compiled(view)
        assert not getattr(caught.value, "__notes__", None)
    assert view.tolist() == [4.0] * 4
