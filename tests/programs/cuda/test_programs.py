"""Programs as people write them for a GPU, through Inductor, against eager."""

from __future__ import annotations

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops import while_loop

import suture

pytestmark = [
    pytest.mark.skipif(
        not torch.cuda.is_available(), reason="needs a CUDA GPU, and this machine has none"
    ),
    pytest.mark.filterwarnings("ignore:TensorFloat32"),
    pytest.mark.filterwarnings("ignore:The CUDA Graph is empty"),
]


def randn(*shape, **options):
    return torch.randn(*shape, device="cuda", **options)


def same(fn, *args, calls=3, graphs=None, tolerance=1e-3, **options):
    """Compiled and eager give the same on copies of the arguments, call after call."""
    suture.reset()
    compiled = suture.compile(fn, **options)
    for _ in range(calls):
        ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
        torch.cuda.manual_seed(1)
        expected = fn(*theirs)
        torch.cuda.manual_seed(1)
        found = compiled(*ours)
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)
        torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance)
    if graphs is not None:
        assert suture.stats().graphs == graphs


def trained(make, step, tolerance=1e-2, **options):
    """Three steps of training end in the same parameters; `step(model, optimizer)` gives a loss."""
    ended = []
    for compiles in (False, True):
        suture.reset()
        torch.manual_seed(0)
        model, optimizer = make()
        run = suture.compile(step, **options) if compiles else step
        losses = [run(model, optimizer).clone() for _ in range(3)]
        ended.append((losses, [one.detach().clone() for one in model.parameters()]))
    torch.testing.assert_close(ended[1], ended[0], rtol=tolerance, atol=tolerance)


def mlp(size=32):
    return nn.Sequential(nn.Linear(size, 64), nn.GELU(), nn.Linear(64, size)).cuda()


# ---- kernels of the program


def test_a_kernel_of_the_program():
    triton = pytest.importorskip("triton")
    tl = pytest.importorskip("triton.language")

    @triton.jit
    def scaled(x, out, factor, n, BLOCK: tl.constexpr):  # noqa: N803
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, mask=at < n) * factor, mask=at < n)

    def fn(x, factor):
        out = torch.empty_like(x)
        n = x.numel()
        scaled[(triton.cdiv(n, 128),)](x.sin(), out, factor, n, BLOCK=128)
        return out + 1

    same(fn, randn(1000), 2.5, graphs=1)
    same(fn, randn(7, 33), 0.5, graphs=1)


def test_an_operator_made_of_a_kernel():
    triton = pytest.importorskip("triton")
    tl = pytest.importorskip("triton.language")

    @triton.jit
    def added(x, y, out, n, BLOCK: tl.constexpr):  # noqa: N803
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)

    @torch.library.triton_op("suture_tests::added", mutates_args=())
    def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        grid = (triton.cdiv(x.numel(), 64),)
        torch.library.wrap_triton(added)[grid](x, y, out, x.numel(), BLOCK=64)
        return out

    same(lambda x, y: add(x.sin(), y).relu(), randn(500), randn(500), graphs=1)


# ---- attention


def test_flexible_attention():
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def causal(b, h, q, k):
        return q >= k

    mask = create_block_mask(causal, None, None, 256, 256, device="cuda")

    def fn(q, k, v):
        return flex_attention(q * 2, k, v, block_mask=mask).tanh()

    q, k, v = (randn(2, 4, 256, 64) for _ in range(3))
    suture.reset()
    compiled = suture.compile(fn)
    expected = F.scaled_dot_product_attention(q * 2, k, v, is_causal=True).tanh()
    torch.testing.assert_close(compiled(q, k, v), expected, rtol=1e-2, atol=1e-2)
    assert suture.stats().graphs == 1


def test_flexible_attention_with_a_score_and_gradients():
    from torch.nn.attention.flex_attention import flex_attention

    slopes = torch.tensor([0.5, 0.25], device="cuda")

    def alibi(score, b, h, q, k):
        return score + slopes[h] * (k - q)

    def fn(q, k, v):
        return flex_attention(q, k, v, score_mod=alibi)

    inputs = [randn(1, 2, 128, 32).requires_grad_() for _ in range(3)]
    suture.compile(fn)(*inputs).sum().backward()
    found = [one.grad.clone() for one in inputs]
    at = torch.arange(128, device="cuda")
    bias = slopes[:, None, None] * (at[None, :] - at[:, None])
    for one in inputs:
        one.grad = None
    F.scaled_dot_product_attention(*inputs, attn_mask=bias[None]).sum().backward()
    torch.testing.assert_close(found, [one.grad for one in inputs], rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_grouped_attention_with_a_mask(dtype):
    def fn(q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)

    q, k, v = randn(2, 8, 16, 32), randn(2, 2, 16, 32), randn(2, 2, 16, 32)
    mask = torch.ones(16, 16, dtype=torch.bool, device="cuda").tril()
    same(fn, q.to(dtype), k.to(dtype), v.to(dtype), mask, graphs=1, tolerance=2e-2)


def test_jagged_sequences():
    layer = nn.Linear(16, 16).cuda()

    def fn(x):
        return F.relu(layer(x)).sum(-1).values()

    x = torch.nested.nested_tensor([randn(3, 16), randn(5, 16)], layout=torch.jagged)
    with torch.no_grad():
        torch.testing.assert_close(suture.compile(fn)(x), fn(x), rtol=1e-3, atol=1e-3)


# ---- numbers of few bits


def test_products_of_eight_bits():
    if torch.cuda.get_device_capability() < (8, 9):
        pytest.skip("needs a GPU that multiplies numbers of eight bits")

    def fn(x, w, scale):
        x, w = x.to(torch.float8_e4m3fn), w.to(torch.float8_e4m3fn)
        return torch._scaled_mm(x, w.t(), scale, scale, out_dtype=torch.bfloat16)

    same(fn, randn(32, 64), randn(48, 64), torch.ones((), device="cuda"), tolerance=0.2)


def test_a_scaler_and_automatic_precision():
    def make():
        model = mlp()
        return model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

    x = torch.linspace(-1, 1, 8 * 32, device="cuda").view(8, 32)
    scalers = {}

    def step(model, optimizer):
        scaler = scalers.setdefault(id(model), torch.amp.GradScaler("cuda", init_scale=128.0))
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.float16):
            loss = F.mse_loss(model(x), x.flip(0))
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    trained(make, step)


@pytest.mark.parametrize("kind", [{"fused": True}, {"foreach": True}, {"capturable": True}])
def test_a_whole_step(kind):
    def make():
        model = mlp()
        return model, torch.optim.AdamW(model.parameters(), lr=1e-2, **kind)

    x = torch.linspace(-1, 1, 8 * 32, device="cuda").view(8, 32)

    def step(model, optimizer):
        optimizer.zero_grad()
        loss = (model(x) - x.flip(0)).square().mean()
        loss.backward()
        optimizer.step()
        return loss.detach()

    trained(make, step)


def test_sparse_gradients():
    def make():
        model = nn.EmbeddingBag(32, 8, sparse=True, mode="sum").cuda()
        return model, torch.optim.SparseAdam(list(model.parameters()), lr=1e-2)

    tokens = torch.arange(12, device="cuda").view(3, 4)

    def step(model, optimizer):
        optimizer.zero_grad()
        loss = model(tokens).square().sum()
        loss.backward()
        optimizer.step()
        return loss.detach()

    trained(make, step)


# ---- devices, streams, memory


def test_a_batch_that_comes_from_the_host():
    model = mlp()

    def fn(batch):
        x = batch["x"].pin_memory().to("cuda", non_blocking=True)
        y = model(x).softmax(-1)
        return y.cpu(), {"best": y.argmax(-1).tolist()}

    with torch.no_grad():
        same(fn, {"x": torch.randn(4, 32)})


def test_another_stream():
    side = torch.cuda.Stream()

    def fn(x):
        y = x * 2
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            z = y.sin() + 1
        torch.cuda.current_stream().wait_stream(side)
        z.record_stream(torch.cuda.current_stream())
        return y + z

    same(fn, randn(256))


def test_events_and_questions_to_the_device():
    def fn(x):
        begun, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begun.record()
        y = (x @ x).relu()
        ended.record()
        torch.cuda.synchronize()
        took = begun.elapsed_time(ended)
        count = torch.cuda.device_count() + torch.cuda.current_device()
        with torch.cuda.device(0):
            y = y + torch.ones(1, device="cuda") * count
        return y, took >= 0, len(torch.cuda.get_device_properties(0).name)

    same(fn, randn(32, 32))


def test_numbers_of_the_host_among_tensors_of_the_device():
    def fn(x, scale, index):
        y = x * scale + torch.tensor(2.0)
        return y[index] + torch.tensor([1.0, 2.0], device="cuda").sum(), y.max().item()

    same(fn, randn(6, 3), torch.tensor(3.0), torch.tensor([0, 2]))


def test_a_generator_of_the_device():
    def fn(x):
        draw = torch.Generator(device="cuda").manual_seed(3)
        return x + torch.randn(x.shape, generator=draw, device="cuda")

    same(fn, randn(16))


def test_frequencies():
    def fn(x):
        spectrum = torch.fft.rfft(x * torch.hann_window(x.shape[-1], device="cuda"))
        power = spectrum.abs().square()
        return torch.fft.irfft(spectrum * (power > power.mean()), n=x.shape[-1]), power.log1p()

    same(fn, randn(4, 128))


def test_a_recurrent_layer():
    lstm = nn.LSTM(16, 24, num_layers=2, batch_first=True).cuda()

    def fn(x):
        y, (h, c) = lstm(x)
        return y.tanh(), h + c

    with torch.no_grad():
        same(fn, randn(3, 7, 16))


def test_control_flow_in_the_graph():
    def fn(x):
        x = torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))
        return while_loop(
            lambda i, x: i < 3, lambda i, x: (i + 1, x * 1.5), (torch.zeros((), device="cuda"), x)
        )

    same(fn, randn(8).abs(), graphs=1)
    same(fn, -randn(8).abs(), graphs=1)


# ---- CUDA graphs


def test_inputs_that_are_written_under_cuda_graphs():
    def fn(x, total):
        total.add_(x.sum())
        return x * total

    same(fn, randn(16), torch.zeros((), device="cuda"), calls=5, mode="reduce-overhead")


def test_work_of_the_host_under_cuda_graphs():
    def fn(x):
        y = x.relu() * 2
        rows = y.sum(-1).cpu().numpy().argsort()
        return y[torch.from_numpy(rows.copy()).cuda()].cumsum(0)

    same(fn, randn(6, 4), calls=5, mode="reduce-overhead")


def test_dropout_under_cuda_graphs_draws_anew():
    compiled = suture.compile(lambda x: F.dropout(x * 2, 0.5), mode="reduce-overhead")
    x = torch.ones(256, device="cuda")
    seen = []
    for _ in range(6):
        seen.append(compiled(x).clone())
    assert all(set(one.unique().tolist()) == {0.0, 4.0} for one in seen)
    assert not any(torch.equal(one, two) for one, two in zip(seen[2:], seen[3:]))
    torch.cuda.manual_seed(5)
    first = compiled(x).clone()
    torch.cuda.manual_seed(5)
    assert torch.equal(compiled(x), first)


def test_gradients_that_accumulate_under_cuda_graphs():
    model = mlp()
    compiled = suture.compile(model, mode="reduce-overhead")
    batches = [randn(4, 32) for _ in range(3)]
    for _ in range(4):
        model.zero_grad(set_to_none=False)
        for x in batches:
            torch.compiler.cudagraph_mark_step_begin()
            compiled(x).square().mean().backward()
        found = [one.grad.clone() for one in model.parameters()]
        model.zero_grad()
        for x in batches:
            model.forward(x).square().mean().backward()
        expected = [one.grad.clone() for one in model.parameters()]
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("mode", ["max-autotune", "max-autotune-no-cudagraphs"])
def test_kernels_that_are_tuned(mode):
    model = mlp(64)
    with torch.no_grad():
        same(model, randn(16, 64), mode=mode, tolerance=1e-2)
