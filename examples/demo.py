"""Compile a small transformer and show what happened: graphs, guards, a break, the speed.

make demo
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from rich.console import Console
from rich.panel import Panel
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from torch import nn

import suture
from suture.breaks import catalog

console = Console()


class Attention(nn.Module):
    """Causal self-attention with several heads."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.mix = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.mix(x).chunk(3, dim=-1)
        )
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """Attention and a feed-forward part, each behind a norm and around a skip connection."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.attention = Attention(width, heads)
        self.feed = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norms[0](x))
        return x + self.feed(self.norms[1](x))


class Transformer(nn.Module):
    """A small language model. `watch` prints the mean of a block's output: a graph break."""

    def __init__(self, words: int = 256, width: int = 64, layers: int = 4, heads: int = 4) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words)

    def forward(self, tokens: torch.Tensor, watch: bool = False) -> torch.Tensor:
        x = self.embed(tokens)
        for i, block in enumerate(self.blocks):
            x = block(x)
            if watch and i == 1:
                print(f"   (the program itself prints) block {i}: mean {x.mean().item():+.4f}")
        return self.head(self.norm(x))


def timed(fn: Callable[..., Any], *args: Any, turns: int = 30) -> float:
    """The best of some calls, in milliseconds."""
    best = float("inf")
    for _ in range(turns):
        began = time.perf_counter()
        fn(*args)
        best = min(best, time.perf_counter() - began)
    return best * 1e3


def main() -> None:
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    model = Transformer().eval()
    tokens = torch.randint(0, 256, (4, 64))

    console.rule("[bold]suture: a small transformer, default backend (Inductor)")
    compiled = suture.compile(model)
    began = time.perf_counter()
    result = compiled(tokens)
    first = time.perf_counter() - began
    torch.testing.assert_close(result, model(tokens), rtol=1e-3, atol=1e-4)
    stats = suture.stats()
    console.print(
        f"equal to eager; {stats.graphs} graph, {stats.ops} operations, {len(stats.breaks)} breaks;"
        f" first call {first:.1f} s, most of it Inductor's C++ compiler\n"
    )

    console.print("[bold]The variant[/] (suture.code): what runs at each call")
    console.print(Syntax(suture.code(compiled), "python", word_wrap=True))

    text = suture.guards(compiled).rstrip()
    console.print(Panel(Text(text), title="guards (suture.guards): checked in C at each call"))

    console.print("\n[bold]A graph break[/]: the same model, printing a value half way")
    compiled(tokens, watch=True)
    for record in suture.stats().breaks:
        entry = catalog.lookup(record.number)
        body = f"{record.reason}\nin {record.function}, line {record.line}\nhint: {entry.hints[0]}"
        console.print(Panel(body, title=f"{record.number} {entry.type}"))
    stats = suture.stats()
    console.print(
        f"now {stats.graphs} graphs; frames finished in the interpreter: {len(stats.interpreted)}\n"
    )

    table = Table(title="time per call (best of 30)")
    table.add_column("")
    table.add_column("ms", justify="right")
    eager, ours = timed(model, tokens), timed(compiled, tokens)
    table.add_row("eager", f"{eager:.2f}")
    table.add_row("suture + Inductor", f"{ours:.2f}  ({eager / ours:.2f}x)")
    console.print(table)


if __name__ == "__main__":
    main()
