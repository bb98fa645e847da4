"""Programs that the benchmarks time, in plain torch, and what they have in common.

Each `Program` has a `make()` that gives a fresh callable and its arguments. Timings are taken
with a backend that does nothing: `nothing` hands back the graph's own forward for a first call,
and `stub` hands back a function that returns prepared outputs, so that a warm call costs only
what the front-end itself costs.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn


@dataclass(frozen=True)
class Program:
    """A name for tables and a function that makes (callable, arguments)."""

    name: str
    make: Callable[[], tuple[Any, tuple[Any, ...]]]


# ---- models


class RMSNorm(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * (x * scale)


def rotate_half(x: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


class Attention(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(dim, dim, bias=False)
        self.key = nn.Linear(dim, dim, bias=False)
        self.value = nn.Linear(dim, dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        batch, length, dim = x.shape
        shape = (batch, length, self.heads, dim // self.heads)
        query = self.query(x).view(shape).transpose(1, 2)
        key = self.key(x).view(shape).transpose(1, 2)
        value = self.value(x).view(shape).transpose(1, 2)
        query = query * cos + rotate_half(query) * sin
        key = key * cos + rotate_half(key) * sin
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, dim))


class FeedForward(nn.Module):
    def __init__(self, dim: int, hidden: int) -> None:
        super().__init__()
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.up = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(dim)
        self.attention = Attention(dim, heads)
        self.feed_norm = RMSNorm(dim)
        self.feed = FeedForward(dim, 2 * dim)

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x), cos, sin)
        return x + self.feed(self.feed_norm(x))


class LlamaLike(nn.Module):
    """36 layers, 327 parameters: rotary attention, gated feed-forward, RMS norms."""

    def __init__(self, layers: int = 36, dim: int = 32, heads: int = 2, words: int = 64) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, dim)
        self.layers = nn.ModuleList(Block(dim, heads) for _ in range(layers))
        self.norm = RMSNorm(dim)
        self.head = nn.Linear(dim, words, bias=False)
        size = dim // heads
        frequency = 1.0 / (10000 ** (torch.arange(0, size, 2) / size))
        self.register_buffer("frequency", frequency)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)
        places = torch.arange(ids.shape[1], device=ids.device)
        angles = torch.outer(places, self.frequency)
        angles = torch.cat((angles, angles), dim=-1)
        cos, sin = angles.cos(), angles.sin()
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.head(self.norm(x))


class Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.first_norm(self.first(x)))
        return torch.relu(self.second_norm(self.second(y)) + x)


class ResNetLike(nn.Module):
    """A stem, 16 residual blocks, a head."""

    def __init__(self, channels: int = 8, blocks: int = 16) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels), nn.ReLU()
        )
        self.blocks = nn.Sequential(*(Residual(channels) for _ in range(blocks)))
        self.head = nn.Linear(channels, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


# ---- programs


def _chained_adds() -> tuple[Any, tuple[Any, ...]]:
    def fn(x: torch.Tensor) -> torch.Tensor:
        for _ in range(2000):
            x = torch.add(x, 1)
        return x

    return fn, (torch.ones(3),)


def _one_add() -> tuple[Any, tuple[Any, ...]]:
    def fn(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    return fn, (torch.ones(3),)


def _twelve_arguments() -> tuple[Any, tuple[Any, ...]]:
    def fn(a, b, c, d, e, f, g, h, i, j, k, m):  # type: ignore[no-untyped-def]
        return (a + b * i) * (c - d * j) + (e + f) * k + (g - h if m == "minus" else g + h)

    return fn, (*(torch.ones(3) for _ in range(8)), 2, 0.5, True, "minus")


def _mlp() -> tuple[Any, tuple[Any, ...]]:
    layers: list[nn.Module] = []
    for _ in range(20):
        layers += [nn.Linear(8, 8), nn.ReLU()]
    return nn.Sequential(*layers).eval(), (torch.ones(2, 8),)


def _encoder() -> tuple[Any, tuple[Any, ...]]:
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    return nn.TransformerEncoder(layer, 12).eval(), (torch.ones(2, 6, 32),)


def _llama() -> tuple[Any, tuple[Any, ...]]:
    return LlamaLike().eval(), (torch.ones(2, 6, dtype=torch.long),)


def _resnet() -> tuple[Any, tuple[Any, ...]]:
    return ResNetLike().eval(), (torch.ones(1, 3, 8, 8),)


ENCODER = Program("TransformerEncoder, 12 layers", _encoder)
LLAMA = Program("36 Llama-like layers, 327 parameters", _llama)

CAPTURE = (
    Program("2000 chained torch.add", _chained_adds),
    ENCODER,
    LLAMA,
    Program("ResNet-like, 33 convolutions", _resnet),
)
DISPATCH = (
    Program("x + 1", _one_add),
    Program("8 tensors and 4 Python values", _twelve_arguments),
    Program("MLP of 20 Linear", _mlp),
    ENCODER,
    LLAMA,
)


# ---- backends and clocks


def nothing(module: Any, inputs: Any) -> Any:
    """Runs the graph as it is."""
    return module.forward


def stub(module: Any, inputs: Any) -> Any:
    """Computes the graph once, on the first call, and hands out its results ever after."""
    held: list[Any] = []

    def run(*args: Any) -> Any:
        if not held:
            held.append(module.forward(*args))
        return held[0]

    return run


def low(samples: list[float]) -> float:
    """The 20th percentile: on a shared machine, preempted samples must not count."""
    return sorted(samples)[len(samples) // 5]


def middle(samples: list[float]) -> float:
    return statistics.median(samples)


def timed(fn: Callable[[], Any]) -> float:
    """CPU seconds of one call, with the collector at rest."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        fn()
        return time.process_time() - start
    finally:
        gc.enable()
