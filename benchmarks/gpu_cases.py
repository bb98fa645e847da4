"""The programs of benchmarks/gpu.py. Each makes (function, arguments, settings of compile)."""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

log = logging.getLogger("benchmark")
log.addHandler(logging.NullHandler())
log.propagate = False


@dataclass
class Case:
    """`make(device, quick)` gives the function to compile and the arguments of a call.

    `around(compiled, args)` makes the call that is timed, by default a plain one. `mode` is that of
    compile; `grad`: grad mode is on; `count` is a rough number of calls in a sample. `installed`:
    the function calls torch.compile itself, which is to mean the front end.
    """

    name: str
    make: Callable[[str, bool], tuple[Any, tuple[Any, ...]]]
    mode: str | None = None
    grad: bool = False
    around: Callable[[Any, tuple[Any, ...]], Callable[[], Any]] | None = None
    count: int = 50
    needs: tuple[str, ...] = field(default_factory=tuple)
    installed: bool = False


@torch.compiler.disable
def step_done() -> None:
    """What a program does between its steps: nothing that a graph could hold."""


def add_one(device: str, quick: bool) -> Any:
    return (lambda x: x + 1), (torch.randn(64, device=device),)


def keeping(compiled: Any, args: tuple[Any, ...]) -> Callable[[], Any]:
    """A call whose result is kept while the next one runs."""
    kept: list[Any] = []

    def call() -> None:
        kept.append(compiled(*args))
        del kept[:-1]

    return call


def encoder(device: str, quick: bool) -> Any:
    size = 64 if quick else 512
    layer = nn.TransformerEncoderLayer(size, 8, 4 * size, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).to(device).train()
    return model, (torch.randn(4, 32, size, device=device),)


class Attention(nn.Module):
    """Attention over a cache that is written in place, as language models do it."""

    def __init__(self, size: int, heads: int, longest: int) -> None:
        super().__init__()
        self.heads = heads
        self.into = nn.Linear(size, 3 * size, bias=False)
        self.out = nn.Linear(size, size, bias=False)
        shape = (1, heads, longest, size // heads)
        self.keys, self.values = torch.zeros(shape), torch.zeros(shape)

    def place(self, device: str) -> None:
        """The cache is no buffer, but it stays where it is."""
        self.keys, self.values = self.keys.to(device), self.values.to(device)
        for one in (self.keys, self.values):
            torch._dynamo.mark_static_address(one, guard=False)

    def forward(self, x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        b, n, size = x.shape
        q, k, v = self.into(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        self.keys.index_copy_(2, at, k)
        self.values.index_copy_(2, at, v)
        scores = q @ self.keys.transpose(-1, -2) / math.sqrt(q.shape[-1])
        seen = torch.arange(self.keys.shape[2], device=x.device) <= at
        weights = scores.masked_fill(~seen, -1e9).softmax(-1)
        return self.out((weights @ self.values).transpose(1, 2).reshape(b, n, size))


class Decoder(nn.Module):
    """A language model that makes one token a call."""

    def __init__(self, size: int, layers: int, longest: int = 128) -> None:
        super().__init__()
        self.embed = nn.Embedding(512, size)
        self.attention = nn.ModuleList(Attention(size, 8, longest) for _ in range(layers))
        self.norms = nn.ModuleList(nn.RMSNorm(size) for _ in range(2 * layers))
        self.up = nn.ModuleList(nn.Linear(size, 4 * size) for _ in range(layers))
        self.down = nn.ModuleList(nn.Linear(4 * size, size) for _ in range(layers))

    def forward(self, token: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        x = self.embed(token)
        for i, attention in enumerate(self.attention):
            x = x + attention(self.norms[2 * i](x), at)
            x = x + self.down[i](F.silu(self.up[i](self.norms[2 * i + 1](x))))
        return x @ self.embed.weight.t()


def decode(device: str, quick: bool) -> Any:
    model = Decoder(64 if quick else 512, 4 if quick else 16).to(device)
    for one in model.attention:
        one.place(device)
    return model, (
        torch.tensor([[3]], device=device),
        torch.tensor([5], device=device),
    )


def _llama(device: str, layers: int) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=512,
        intermediate_size=1376,
        num_hidden_layers=layers,
        num_attention_heads=8,
        num_key_value_heads=8,
        vocab_size=2048,
        max_position_embeddings=512,
    )
    return LlamaForCausalLM(config).to(device).eval()


def llama_decode(device: str, quick: bool) -> Any:
    """One decode step of transformers' Llama with its static cache."""
    from transformers import StaticCache

    model = _llama(device, 4 if quick else 16)
    cache = StaticCache(config=model.config, max_cache_len=128)
    at = torch.tensor([5], device=device)
    token = torch.tensor([[3]], device=device)
    places = at.unsqueeze(0)

    def step(token: torch.Tensor, places: Any, at: Any, cache: Any) -> torch.Tensor:
        made = model(token, position_ids=places, cache_position=at, past_key_values=cache)
        return made.logits

    step(token, places, at, cache)  # the prompt: the cache gets its memory outside of any graph
    return step, (token, places, at, cache)


def llama_generate(device: str, quick: bool) -> Any:
    """What people call: generate() with the static cache, which compiles the decode step itself."""
    model = _llama(device, 4 if quick else 16)
    tokens = torch.randint(0, 1000, (1, 8), device=device)

    def generate(tokens: torch.Tensor) -> torch.Tensor:
        made: torch.Tensor = model.generate(
            tokens,
            cache_implementation="static",
            do_sample=False,
            max_new_tokens=64,
            min_new_tokens=64,
        )
        return made

    return generate, (tokens,)


def rewinding(compiled: Any, args: tuple[Any, ...]) -> Callable[[], Any]:
    """Calls over a cache, the last argument, that is emptied before it is full: newer ones count
    the tokens themselves."""
    turns = itertools.cycle(range(100))

    def call() -> None:
        if next(turns) == 99:
            args[-1].reset()
        compiled(*args)

    return call


def loop_with_breaks(device: str, quick: bool) -> Any:
    mlp = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64)).to(device)

    def fn(x: torch.Tensor) -> torch.Tensor:
        for _ in range(16):
            x = mlp(x) + x
            step_done()
        return x

    return fn, (torch.randn(8, 64, device=device),)


def try_log_float(device: str, quick: bool) -> Any:
    layer = nn.Linear(64, 64).to(device)

    def fn(x: torch.Tensor) -> torch.Tensor:
        for i in range(8):
            try:
                x = torch.tanh(layer(x)) * 2 + x
                log.info("step %d", i)
            except RuntimeError:
                log.exception("failed")
        return x * float(x.sum() > 0)

    return fn, (torch.randn(8, 64, device=device),)


class Experts(nn.Module):
    """A mixture of experts that asks which rows go where."""

    def __init__(self, size: int, experts: int) -> None:
        super().__init__()
        self.gate = nn.Linear(size, experts)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(size, 2 * size), nn.SiLU(), nn.Linear(2 * size, size))
            for _ in range(experts)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        chosen = self.gate(x).argmax(-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            (rows,) = torch.where(chosen == i)
            if rows.numel() == 0:
                continue
            out = out.index_add(0, rows, expert(x[rows]))
        return x + out


def experts(device: str, quick: bool) -> Any:
    model = nn.Sequential(*(Experts(64, 8) for _ in range(4))).to(device)
    return model, (torch.randn(64, 64, device=device),)


def adam(device: str, quick: bool) -> Any:
    params = [nn.Parameter(torch.randn(64, 64, device=device)) for _ in range(60)]
    for one in params:
        one.grad = torch.randn_like(one)
    optimizer = torch.optim.Adam(params, lr=1e-3, capturable=device == "cuda", foreach=True)

    def fn() -> None:
        optimizer.step()

    return fn, ()


def training_step(device: str, quick: bool) -> Any:
    size = 64 if quick else 256
    layer = nn.TransformerEncoderLayer(size, 4, 4 * size, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def fn(x: torch.Tensor) -> torch.Tensor:
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return fn, (torch.randn(8, 32, size, device=device),)


CASES = (
    Case("x + 1", add_one, count=2000),
    Case("x + 1, reduce-overhead, kept", add_one, "reduce-overhead", around=keeping, count=500),
    Case("encoder, 6 layers, reduce-overhead", encoder, "reduce-overhead"),
    Case("decode step, static cache, reduce-overhead", decode, "reduce-overhead"),
    Case(
        "transformers Llama decode, reduce-overhead",
        llama_decode,
        "reduce-overhead",
        around=rewinding,
        needs=("transformers",),
    ),
    Case(
        "transformers Llama generate, 64 tokens",
        llama_generate,
        count=1,
        needs=("transformers",),
        installed=True,
    ),
    Case("loop of 16 breaks, reduce-overhead", loop_with_breaks, "reduce-overhead"),
    Case("loop of 16 breaks", loop_with_breaks),
    Case("try, log and float() in a loop", try_log_float),
    Case("4 layers of experts", experts, count=10),
    Case("capturable Adam, 60 tensors", adam),
    Case("training step", training_step, grad=True, count=20),
    Case("training step, reduce-overhead", training_step, "reduce-overhead", grad=True, count=20),
)
