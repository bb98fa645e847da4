"""On a GPU: the same results as eager, Inductor's kernels, streams, autocast, devices."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import suture
from tests.harness import check

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="needs a CUDA GPU, and this machine has none"
)


def small_model() -> nn.Module:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).cuda()


def test_one_graph_on_the_gpu():
    def fn(x, y):
        return torch.relu(x @ y) + x.sum(), x.device

    check(fn, torch.randn(4, 4, device="cuda"), torch.randn(4, 4, device="cuda"), graphs=1)


def test_a_break_on_the_gpu():
    def fn(x):
        x = x * 2
        suture.graph_break()
        if x.sum() > 0:
            x = x + 1
        return x.cpu()

    check(fn, torch.ones(3, device="cuda"), graphs=3, breaks=None)


def test_another_device_is_another_variant():
    compiled = suture.compile(lambda x: x + 1, backend="eager")
    assert compiled(torch.ones(2)).device.type == "cpu"
    assert compiled(torch.ones(2, device="cuda")).device.type == "cuda"
    assert compiled(torch.ones(2)).device.type == "cpu"


@pytest.mark.filterwarnings("ignore:TensorFloat32")
def test_inductor_forward_and_backward():
    model, plain = small_model(), small_model()
    plain.load_state_dict(model.state_dict())
    compiled = suture.compile(model)
    x = torch.randn(2, 8, 32, device="cuda")
    for _ in range(2):
        ours, theirs = compiled(x), plain(x)
        torch.testing.assert_close(ours, theirs, rtol=1e-2, atol=1e-2)
    ours.sum().backward()
    theirs.sum().backward()
    for a, b in zip(model.parameters(), plain.parameters()):
        torch.testing.assert_close(a.grad, b.grad, rtol=2e-2, atol=2e-2)


def test_autocast():
    linear = nn.Linear(8, 8).cuda()

    def fn(x):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            y = linear(x)
            suture.graph_break()
            return linear(y.float()), y.dtype

    check(fn, torch.randn(4, 8, device="cuda"), graphs=2, breaks=None, grads=False)


def test_streams_and_synchronisation():
    def fn(x):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            y = x * 2
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        return y + 1

    check(fn, torch.ones(64, device="cuda"), graphs=None, breaks=None)


def test_default_device():
    def fn(n):
        with torch.device("cuda"):
            return torch.ones(n) * 2

    check(fn, 3, graphs=None, breaks=None)


def test_random_numbers_on_the_gpu():
    compiled = suture.compile(lambda x: x + torch.rand_like(x), backend="eager")
    x = torch.zeros(16, device="cuda")
    torch.cuda.manual_seed(3)
    plain = x + torch.rand_like(x)
    torch.cuda.manual_seed(3)
    assert torch.equal(compiled(x), plain)


@pytest.mark.filterwarnings("ignore:TensorFloat32")
def test_cuda_graphs_by_mode():
    model = small_model().eval()
    compiled = suture.compile(model, mode="reduce-overhead")
    x = torch.randn(2, 8, 32, device="cuda")
    with torch.no_grad():
        for _ in range(4):
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-2, atol=1e-2)


class Routed(nn.Module):
    """Each row goes to two experts, which are found by a mask of those that are hit."""

    def __init__(self, count: int = 6) -> None:
        super().__init__()
        self.gate = nn.Linear(8, count)
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(count))

    def forward(self, x):
        weights, chosen = self.gate(x).softmax(-1).topk(2)
        mask = nn.functional.one_hot(chosen, len(self.experts)).permute(2, 1, 0)
        out = torch.zeros_like(x)
        for expert in (mask.sum((-1, -2)) > 0).nonzero():
            which, rows = torch.where(mask[expert[0]])
            made = self.experts[expert[0]](x[rows])
            out.index_add_(0, rows, made * weights[rows, which, None])
        return x + out


def test_experts_that_a_mask_finds_are_one_graph_on_the_gpu():
    torch.manual_seed(0)
    model = Routed().cuda()
    with torch.no_grad():
        check(model, torch.randn(32, 8, device="cuda"), graphs=1)
        compiled = suture.compile(model, backend="aot_eager")
        for rows in (5, 3, 1, 8):
            x = torch.randn(32, 8, device="cuda")[:1].repeat(rows, 1)
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
