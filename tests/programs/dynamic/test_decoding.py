"""A small causal language model with a growing cache, decoded token by token."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

import suture


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, cache, index):
        batch, length, width = x.shape
        q, k, v = (
            t.view(batch, length, self.heads, -1).transpose(1, 2)
            for t in self.qkv(self.norm1(x)).chunk(3, -1)
        )
        k, v = cache.update(k, v, index)
        mask = None
        if length > 1:
            mask = torch.ones(length, k.shape[2], dtype=torch.bool).tril(k.shape[2] - length)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Cache:
    """Keys and values by layer, longer with every step, as transformers' DynamicCache."""

    def __init__(self):
        self.keys, self.values = [], []

    def length(self):
        return self.keys[0].shape[2] if self.keys else 0

    def update(self, k, v, index):
        if len(self.keys) <= index:
            self.keys.append(k)
            self.values.append(v)
        else:
            self.keys[index] = torch.cat([self.keys[index], k], 2)
            self.values[index] = torch.cat([self.values[index], v], 2)
        return self.keys[index], self.values[index]


class Model(nn.Module):
    def __init__(self, words=50, width=32, layers=2, heads=4, positions=128):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(positions, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.head = nn.Linear(width, words)

    def forward(self, tokens, cache):
        start = cache.length()
        where = torch.arange(start, start + tokens.shape[1])
        x = self.words(tokens) + self.places(where)
        for index, layer in enumerate(self.layers):
            x = layer(x, cache, index)
        return self.head(x)


def generate(model, prompt, count):
    """Greedy decoding; gives the tokens and the scores of each step."""
    cache, tokens, scores = Cache(), [prompt], []
    step = prompt
    with torch.no_grad():
        for _ in range(count):
            last = model(step, cache)[:, -1]
            scores.append(last)
            step = last.argmax(-1, keepdim=True)
            tokens.append(step)
    return torch.cat(tokens, 1), torch.stack(scores)


def test_decoding_64_tokens_takes_at_most_three_compilations():
    torch.manual_seed(0)
    model = Model()
    prompt = torch.randint(50, (2, 7))
    want_tokens, want_scores = generate(model, prompt, 64)
    suture.reset()
    compiled = suture.compile(model, backend="eager")
    with suture.config.patch(strict=True):
        tokens, scores = generate(compiled, prompt, 64)
    assert torch.equal(tokens, want_tokens)
    torch.testing.assert_close(scores, want_scores)
    stats = suture.stats()
    assert not stats.interpreted
    assert not stats.breaks
    assert stats.variants <= 3, [r.reason for r in stats.recompilations]


def test_another_prompt_and_a_new_cache_compile_little_more():
    torch.manual_seed(0)
    model = Model()
    suture.reset()
    compiled = suture.compile(model, backend="eager")
    for length in (7, 5, 9, 11):
        prompt = torch.randint(50, (2, length))
        want, _ = generate(model, prompt, 8)
        assert torch.equal(generate(compiled, prompt, 8)[0], want)
    assert suture.stats().variants <= 4, [r.reason for r in suture.stats().recompilations]
