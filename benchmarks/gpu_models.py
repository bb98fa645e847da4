"""More programs of benchmarks/gpu.py: models as people train and serve them."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from gpu_cases import Case
from torch import nn


class Bottleneck(nn.Module):
    def __init__(self, into: int, width: int, stride: int) -> None:
        super().__init__()
        out = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(into, width, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, out, 1, bias=False),
            nn.BatchNorm2d(out),
        )
        self.short = nn.Identity()
        if stride != 1 or into != out:
            self.short = nn.Sequential(
                nn.Conv2d(into, out, 1, stride, bias=False), nn.BatchNorm2d(out)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.body(x) + self.short(x))


def resnet(device: str, quick: bool) -> nn.Module:
    depths, width = ((1, 1), 16) if quick else ((2, 2, 2, 2), 64)
    layers: list[nn.Module] = [nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width)]
    layers += [nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    into = width
    for i, depth in enumerate(depths):
        for j in range(depth):
            layers.append(Bottleneck(into, width * 2**i, 2 if i and not j else 1))
            into = 4 * width * 2**i
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(into, 100)]
    return nn.Sequential(*layers).to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def images(device: str, quick: bool) -> torch.Tensor:
    made = torch.randn(8, 3, 32 if quick else 128, 32 if quick else 128, device=device)
    return made.to(memory_format=torch.channels_last)


def resnet_inference(device: str, quick: bool) -> Any:
    model = resnet(device, quick).eval()

    def fn(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast(device, torch.bfloat16):
            return model(x).float()  # type: ignore[no-any-return]

    return fn, (images(device, quick),)


def resnet_training(device: str, quick: bool) -> Any:
    """A step with automatic mixed precision and a gradient scaler."""
    model = resnet(device, quick).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    scaler = torch.amp.GradScaler(device, init_scale=1024.0)
    labels = torch.arange(8, device=device)

    def fn(x: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.float16 if device == "cuda" else torch.bfloat16):
            loss = F.cross_entropy(model(x), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    return fn, (images(device, quick),)


class Block(nn.Module):
    def __init__(self, size: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norms = nn.ModuleList([nn.LayerNorm(size), nn.LayerNorm(size)])
        self.into, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.mlp = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, n, size = x.shape
        q, k, v = self.into(self.norms[0](x)).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.out(y.transpose(1, 2).reshape(b, n, size))
        return x + self.mlp(self.norms[1](x))  # type: ignore[no-any-return]


class Transformer(nn.Module):
    """Of tokens (causal) or of patches."""

    def __init__(self, size: int, layers: int, vocabulary: int, causal: bool = True) -> None:
        super().__init__()
        self.causal = causal
        self.embed: nn.Module = nn.Embedding(vocabulary, size)
        if not causal:
            self.embed = nn.Conv2d(3, size, 8, 8)
        self.places = nn.Parameter(torch.zeros(1, 1024, size))
        self.blocks = nn.ModuleList(Block(size, 4, causal) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(size), nn.Linear(size, vocabulary)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        if not self.causal:
            x = x.flatten(2).transpose(1, 2)
        x = x + self.places[:, : x.shape[1]]
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        return self.head(x if self.causal else x.mean(1))  # type: ignore[no-any-return]


def vit_training(device: str, quick: bool) -> Any:
    """Clipped gradients, AdamW, and a learning rate that changes with each step."""
    model = Transformer(64 if quick else 256, 2 if quick else 6, 100, causal=False).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1000)
    labels = torch.arange(8, device=device)

    def fn(x: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        with torch.autocast(device, torch.bfloat16):
            loss = F.cross_entropy(model(x), labels, label_smoothing=0.1)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        return loss.detach()

    return fn, (images(device, quick),)


def gpt_accumulation(device: str, quick: bool) -> Any:
    """The model is compiled, and the loop around it, of four batches a step, is not."""
    model = Transformer(64 if quick else 256, 2 if quick else 6, 512).to(device)
    return model, (torch.randint(0, 512, (4, 8, 64), device=device),)


def accumulating(compiled: Any, args: tuple[Any, ...]) -> Callable[[], Any]:
    optimizer = torch.optim.AdamW(compiled.parameters(), lr=1e-3)

    def call() -> torch.Tensor:
        total = torch.zeros((), device=args[0].device)
        for batch in args[0]:
            made = compiled(batch[:, :-1])
            loss = F.cross_entropy(made.flatten(0, 1), batch[:, 1:].flatten()) / len(args[0])
            loss.backward()
            total += loss.detach()
        optimizer.step()
        optimizer.zero_grad()
        return total

    return call


class Denoiser(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(32, width), nn.SiLU(), nn.Linear(width, 4 * width))
        self.into = nn.Conv2d(3, width, 3, padding=1)
        self.down = nn.Conv2d(width, 2 * width, 3, 2, 1)
        self.mid = nn.Sequential(
            nn.GroupNorm(8, 2 * width), nn.SiLU(), nn.Conv2d(2 * width, 2 * width, 3, padding=1)
        )
        self.up = nn.ConvTranspose2d(2 * width, width, 4, 2, 1)
        self.out = nn.Conv2d(2 * width, 3, 3, padding=1)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        rates = torch.exp(-torch.arange(16, device=x.device) / 16 * 9.2)
        angles = t[:, None].float() * rates
        scale, shift = self.time(torch.cat([angles.sin(), angles.cos()], 1))[..., None, None].chunk(
            2, 1
        )
        high = self.into(x)
        low = self.down(high)
        low = low + self.mid(low * (1 + scale) + shift)
        return self.out(torch.cat([self.up(low), high], 1))  # type: ignore[no-any-return]


def denoising(device: str, quick: bool) -> Any:
    """A sampler: eight steps whose factors are numbers of Python."""
    model = Denoiser(16 if quick else 64).to(device)
    kept = torch.linspace(0.99, 0.01, 9).tolist()

    def fn(x: torch.Tensor) -> torch.Tensor:
        for step, (now, then) in enumerate(itertools.pairwise(reversed(kept))):
            t = torch.full((x.shape[0],), 8 - step, device=x.device)
            noise = model(x, t)
            clean = ((x - (1 - now) ** 0.5 * noise) / now**0.5).clamp(-1, 1)
            x = then**0.5 * clean + (1 - then) ** 0.5 * noise
        return x

    return fn, (torch.randn(4, 3, 32, 32, device=device),)


def growing_cache(device: str, quick: bool) -> Any:
    """Decoding with a cache that grows by concatenation, 24 tokens a call."""
    size, layers = 64 if quick else 256, 2 if quick else 4
    into = nn.ModuleList(nn.Linear(size, 3 * size) for _ in range(layers)).to(device)

    def step(x: torch.Tensor, cache: list[Any]) -> torch.Tensor:
        for i, layer in enumerate(into):
            q, k, v = layer(x).view(1, 1, 3, 4, -1).permute(2, 0, 3, 1, 4)
            if cache[i] is not None:
                k, v = torch.cat([cache[i][0], k], 2), torch.cat([cache[i][1], v], 2)
            cache[i] = (k, v)
            y = F.scaled_dot_product_attention(q, k, v)
            x = x + y.transpose(1, 2).reshape(1, 1, size)
        return x

    return step, (torch.randn(1, 1, size, device=device), layers)


def decoding(compiled: Any, args: tuple[Any, ...]) -> Callable[[], Any]:
    def call() -> torch.Tensor:
        x: torch.Tensor = args[0]
        cache: list[Any] = [None] * args[1]
        for _ in range(24):
            x = compiled(x, cache)
        return x

    return call


class TopTwo(nn.Module):
    """A mixture of experts whose rows are found by a mask of experts, two for each row."""

    def __init__(self, size: int, count: int) -> None:
        super().__init__()
        self.gate = nn.Linear(size, count, bias=False)
        self.up = nn.ModuleList(nn.Linear(size, 2 * size) for _ in range(count))
        self.down = nn.ModuleList(nn.Linear(2 * size, size) for _ in range(count))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(-1, x.shape[-1])
        weights, chosen = self.gate(flat).softmax(-1).topk(2, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        out = torch.zeros_like(flat)
        mask = F.one_hot(chosen, len(self.up)).permute(2, 1, 0)
        hit = (mask.sum(dim=(-1, -2)) > 0).nonzero()
        for expert in hit:
            which, rows = torch.where(mask[expert[0]])
            made = self.down[expert[0]](F.silu(self.up[expert[0]](flat[rows])))
            out.index_add_(0, rows, made * weights[rows, which, None])
        return x + out.reshape(x.shape)


def top_two(device: str, quick: bool) -> Any:
    model = nn.Sequential(*(TopTwo(64, 8) for _ in range(2 if quick else 4))).to(device)
    return model, (torch.randn(2, 32, 64, device=device),)


def averages(device: str, quick: bool) -> Any:
    """An exponential moving average of a model's parameters and buffers."""
    model = Transformer(64, 2 if quick else 6, 128).to(device)
    average = copy.deepcopy(model)

    def fn(decay: float) -> None:
        for mean, now in zip(average.parameters(), model.parameters(), strict=True):
            mean.lerp_(now, 1 - decay)
        for mean, now in zip(average.buffers(), model.buffers(), strict=True):
            mean.copy_(now)

    return fn, (0.99,)


def adversaries(device: str, quick: bool) -> Any:
    """A step of a generator and of a discriminator, each with its optimizer."""
    size = 64 if quick else 256
    maker = nn.Sequential(nn.Linear(32, size), nn.ReLU(), nn.Linear(size, 64), nn.Tanh())
    judge = nn.Sequential(nn.Linear(64, size), nn.LeakyReLU(0.2), nn.Linear(size, 1))
    maker, judge = maker.to(device), judge.to(device)
    ours = torch.optim.Adam(maker.parameters(), lr=2e-4, betas=(0.5, 0.999))
    theirs = torch.optim.Adam(judge.parameters(), lr=2e-4, betas=(0.5, 0.999))

    def fn(real: torch.Tensor, noise: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        one, zero = torch.ones(len(real), 1).to(real), torch.zeros(len(real), 1).to(real)
        fake = maker(noise)
        theirs.zero_grad()
        judged = F.binary_cross_entropy_with_logits(judge(real), one)
        judged = judged + F.binary_cross_entropy_with_logits(judge(fake.detach()), zero)
        judged.backward()
        theirs.step()
        ours.zero_grad()
        fooled = F.binary_cross_entropy_with_logits(judge(fake), one)
        fooled.backward()
        ours.step()
        return judged.detach(), fooled.detach()

    return fn, (torch.randn(64, 64, device=device), torch.randn(64, 32, device=device))


def batches(device: str, quick: bool) -> Any:
    """Inference on batches of changing size and length."""
    model = Transformer(64 if quick else 256, 2 if quick else 6, 512).to(device).eval()
    sizes = ((4, 32), (7, 48), (2, 61), (8, 20), (5, 33))
    return model, tuple(torch.randint(0, 512, size, device=device) for size in sizes)


def in_turn(compiled: Any, args: tuple[Any, ...]) -> Callable[[], Any]:
    return lambda: [compiled(one) for one in args][-1]


def two_towers(device: str, quick: bool) -> Any:
    """Two towers with embedding bags, and the numbers of a table beside them."""
    size, count = 32, 8
    bags = nn.ModuleList(nn.EmbeddingBag(1000, size, mode="sum") for _ in range(count)).to(device)
    dense = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, size)).to(device)
    top = nn.Sequential(nn.Linear(size + 36, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)

    def fn(numbers: torch.Tensor, kinds: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        x = dense(numbers)
        rows = torch.stack([x, *(bag(k, offsets) for bag, k in zip(bags, kinds, strict=True))], 1)
        products = rows @ rows.transpose(1, 2)
        upper = torch.triu_indices(count + 1, count + 1, 1, device=rows.device)
        return top(torch.cat([x, products[:, upper[0], upper[1]]], 1)).sigmoid()  # type: ignore[no-any-return]

    many = 128
    kinds = torch.randint(0, 1000, (count, 4 * many), device=device)
    offsets = torch.arange(0, 4 * many, 4, device=device)
    return fn, (torch.randn(many, 13, device=device), kinds, offsets)


def sampling(device: str, quick: bool) -> Any:
    """Greedy decoding inside of the compiled function, until all rows have ended."""
    model = Transformer(64, 2, 64).to(device).eval()

    def fn(tokens: torch.Tensor) -> torch.Tensor:
        done = torch.zeros(len(tokens), dtype=torch.bool, device=tokens.device)
        for _ in range(12):
            token = model(tokens)[:, -1].argmax(-1)
            token = torch.where(done, 0, token)
            tokens = torch.cat([tokens, token[:, None]], 1)
            done = done | (token == 0)
            if done.all():
                break
        return tokens

    return fn, (torch.randint(1, 64, (4, 8), device=device),)


def recurrent(device: str, quick: bool) -> Any:
    """A recurrent cell written by hand, over 32 places."""
    size = 64 if quick else 128
    cell, out = nn.GRUCell(size, size).to(device), nn.Linear(size, 10).to(device)

    def fn(x: torch.Tensor) -> torch.Tensor:
        state = x.new_zeros(x.shape[0], x.shape[2])
        made = []
        for at in range(x.shape[1]):
            state = cell(x[:, at], state)
            made.append(out(state))
        return torch.stack(made, 1)

    return fn, (torch.randn(8, 32, size, device=device),)


MODELS = (
    Case("ResNet, bfloat16, inference", resnet_inference, count=20),
    Case("ResNet, float16, training with a scaler", resnet_training, grad=True, count=10),
    Case("vision transformer, training, clipped", vit_training, grad=True, count=10),
    Case(
        "language model, four batches a step",
        gpt_accumulation,
        grad=True,
        around=accumulating,
        count=5,
    ),
    Case(
        "language model, four batches a step, reduce-overhead",
        gpt_accumulation,
        "reduce-overhead",
        grad=True,
        around=accumulating,
        count=5,
    ),
    Case("denoising, 8 steps", denoising, count=10),
    Case("denoising, 8 steps, reduce-overhead", denoising, "reduce-overhead", count=10),
    Case("cache that grows, 24 tokens", growing_cache, around=decoding, count=5),
    Case("4 layers of experts, two for each row", top_two, count=10),
    Case("average of parameters", averages, count=20),
    Case("generator and discriminator", adversaries, grad=True, count=10),
    Case("batches of 5 sizes", batches, around=in_turn, count=5),
    Case(
        "batches of 5 sizes, reduce-overhead", batches, "reduce-overhead", around=in_turn, count=5
    ),
    Case("embedding bags, reduce-overhead", two_towers, "reduce-overhead"),
    Case("greedy decoding until all have ended", sampling, count=5),
    Case("recurrent cell over 32 places", recurrent, count=10),
)
