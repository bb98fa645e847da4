"""Tokenizers, sampling, beam search, caches of keys and values."""

from __future__ import annotations

import collections
import dataclasses
import functools
import heapq
import random
import re
import typing

import torch
import torch.nn.functional as F
from torch import nn

from tests.programs.people.registry import line, program


@program
def byte_pairs():
    merges = {("l", "o"): 0, ("lo", "w"): 1, ("e", "r"): 2}

    @functools.lru_cache
    def bpe_(w):
        p = list(w)
        while len(p) > 1:
            pairs = [(merges.get(q, 1000000000.0), i) for i, q in enumerate(zip(p, p[1:]))]
            r, i = min(pairs)
            if r >= 1000000000.0:
                break
            p[i : i + 2] = ["".join(p[i : i + 2])]
        return tuple(p)

    vocab = collections.defaultdict(lambda: len(vocab))

    def fn(emb, text):
        ids = [vocab[t] for w in text.split() for t in bpe_(w)]
        return (emb[torch.tensor(ids) % emb.shape[0]].sum(0), dict(vocab), bpe_.cache_info().misses)

    return (fn, [(torch.eye(5), t) for t in ("low lower", "newer low", "low lower", "xyz")])


@program
def word_pieces():
    vocab = {w: i for i, w in enumerate("[UNK] un ##aff ##able aff able a ##b".split())}

    def tok(w):
        out = []
        s = 0
        while s < len(w):
            for e in range(len(w), s, -1):
                sub = ("##" if s else "") + w[s:e]
                if sub in vocab:
                    out.append(vocab[sub])
                    s = e
                    break
            else:
                return [0]
        return out

    def fn(x, t):
        ids = sum((tok(w) for w in t.split()), [])
        return (x[torch.tensor(ids) % 4], ids)

    return (fn, [(line(), t) for t in ("unaffable", "aff ab", "zz unaffable", "unaffable")])


@program
def vocabulary_of_a_text():
    vocab = {}
    pat = re.compile("\\w+|[^\\w\\s]")
    emb = nn.Embedding(50, 3)

    def fn(t):
        ids = [vocab.setdefault(w.lower(), len(vocab)) for w in pat.findall(t)]
        return (
            emb(torch.tensor(ids)).mean(0),
            ids,
            " ".join(sorted(vocab, key=vocab.get, reverse=True)[:3]),
        )

    return (fn, [("Hello, world!",), ("hello there",), ("Hello, world!",)])


@program
def tokens_of_a_pattern():
    pat = re.compile("\\w+|[^\\w\\s]")

    def fn(x, t):
        return (
            x + 1,
            [m.group() for m in pat.finditer(t)],
            [(m.start(), m.end()) for m in re.finditer("o", t)],
        )

    return (fn, [(line(), t) for t in ("Hello, world", "foo", "Hello, world", "Hello, world")])


@program
def lists_of_matches():

    def fn(x, t):
        l = re.findall("a", t)
        l.append(len(l))
        m = re.match("(?P<k>a)", t)
        d = m.groupdict() if m else {}
        d["z"] = 1
        return (x + 1, l, d)

    return (fn, [(line(), t) for t in ("aa", "aa", "ba", "aa")])


@program
def replacing_with_a_function():
    cnt = [0]

    def rep(m):
        cnt[0] += 1
        print("r", m.group())
        return m.group().upper()

    pat = re.compile("[ab]")

    def fn(x, t):
        return (x + 1, pat.sub(rep, t), cnt[0], re.subn("a", lambda m: str(cnt[0]), t))

    return (fn, [(line(), t) for t in ("abc", "abc", "xab", "abc")])


@program
def beam_of_tuples():

    def fn(logp, k):
        beams = [((), 0.0)]
        for t in range(logp.shape[0]):
            cand = []
            for seq, s in beams:
                for v in range(logp.shape[1]):
                    cand.append((seq + (v,), s + logp[t, v].item()))
            beams = heapq.nlargest(k, cand, key=lambda c: c[1])
        return beams

    return (fn, [(torch.randn(2, 4).log_softmax(-1), k) for k in (2, 3)])


@program
def beam_of_hypotheses():
    W = torch.randn(5, 5)

    @dataclasses.dataclass(order=True)
    class Hyp:
        score: float
        toks: tuple = dataclasses.field(compare=False)
        done: bool = dataclasses.field(default=False, compare=False)

    def fn(start, k, steps):
        beams = [Hyp(0.0, (start,))]
        for _ in range(steps):
            new = []
            for b in beams:
                if b.done:
                    new.append(b)
                    continue
                lp = W[b.toks[-1]].log_softmax(-1)
                v, i = lp.topk(k)
                for s, t in zip(v.tolist(), i.tolist()):
                    new.append(Hyp(b.score + s, b.toks + (t,), t == 0))
            beams = sorted(new, reverse=True)[:k]
            if all((b.done for b in beams)):
                break
        return [(round(b.score, 3), b.toks) for b in beams]

    return (fn, [(s, k, 4) for s, k in ((1, 2), (2, 3), (1, 2))])


@program
def penalty_and_top_k():

    def fn(logits, k, temp, pen, prev):
        l = logits.clone()
        for t in set(prev):
            l[t] = l[t] / pen if l[t] > 0 else l[t] * pen
        l = l / temp
        v, _ = l.topk(min(k, l.size(-1)))
        l[l < v[-1]] = -float("inf")
        p = l.softmax(-1)
        return (torch.multinomial(p, 1), p)

    return (
        fn,
        [
            (torch.randn(8), k, t, 1.2, pr)
            for k, t, pr in ((3, 1.0, [1, 2]), (5, 0.7, []), (3, 1.0, [0, 0]))
        ],
    )


@program
def sampler_with_state():

    class M:
        def __init__(s, tau):
            s.mu = 2 * tau
            s.tau = tau

        def __call__(s, l):
            p = l.softmax(-1)
            sur = -p.log2()
            m = sur <= s.mu
            if not m.any():
                m[l.argmax()] = True
            q = p * m
            q /= q.sum()
            i = torch.multinomial(q, 1)
            s.mu -= 0.1 * (sur[i].item() - s.tau)
            return i

    m = M(3.0)

    def fn(l):
        return (m(l), round(m.mu, 4))

    return (fn, [(torch.randn(8),) for _ in range(4)])


@program
def nucleus():

    def fn(logits, p, gen_seed):
        g = torch.Generator().manual_seed(gen_seed)
        s, i = logits.sort(descending=True)
        c = s.softmax(-1).cumsum(-1)
        mask = c - s.softmax(-1) > p
        s = s.masked_fill(mask, -float("inf"))
        t = torch.multinomial(s.softmax(-1), 1, generator=g)
        return i.gather(-1, t).item()

    return (fn, [(torch.randn(10), p, s) for p, s in ((0.9, 1), (0.5, 2), (0.9, 1))])


@dataclasses.dataclass
class Layer:
    k: typing.Optional[torch.Tensor] = None
    v: typing.Optional[torch.Tensor] = None
    pos: int = 0

    def update(s, k, v):
        s.k = k if s.k is None else torch.cat([s.k, k], 1)
        s.v = v if s.v is None else torch.cat([s.v, v], 1)
        s.pos += k.shape[1]
        return (s.k, s.v)

    def crop(s, n):
        s.k = s.k[:, :n]
        s.v = s.v[:, :n]
        s.pos = n


class Cache:
    def __init__(s, n):
        s.layers = [Layer() for _ in range(n)]

    def __deepcopy__(s, m):
        return s


@program
def cache_of_dataclasses():
    cache = Cache(3)
    ws = [torch.randn(4, 4) for _ in range(3)]

    def fn(x, c, crop):
        if crop:
            for l in c.layers:
                l.crop(crop)
        for w, l in zip(ws, c.layers):
            q = x @ w
            k, v = l.update(x @ w.T, x)
            x = x + F.scaled_dot_product_attention(q, k, v)
        return (x, c.layers[0].pos)

    return (
        fn,
        [
            (torch.randn(1, n, 4), cache, cr)
            for n, cr in ((5, 0), (1, 0), (1, 0), (1, 0), (1, 4), (1, 0), (1, 0))
        ],
    )


@program
def cache_by_shape():

    class Rope(nn.Module):
        def __init__(s):
            super().__init__()
            s.cache = {}

        def forward(s, x):
            k = (x.shape[1], x.dtype)
            if k not in s.cache:
                t = torch.arange(x.shape[1])[:, None] * torch.arange(2)[None]
                s.cache[k] = (t.cos(), t.sin())
            c, sn = s.cache[k]
            return x * c[None, :, :] + sn

    m = Rope()
    return (lambda x: (m(x), len(m.cache)), [(torch.ones(1, n, 2),) for n in (3, 3, 5, 7, 3)])


@program
def causal_and_padded():

    def fn(q, lens):
        n = q.shape[1]
        m = torch.arange(n)[None] < lens[:, None]
        c = torch.ones(n, n, dtype=torch.bool).tril()
        am = m[:, None, :] & c
        s = (q @ q.transpose(1, 2)).masked_fill(~am, float("-inf"))
        return s.softmax(-1).nan_to_num() @ q

    return (fn, [(torch.randn(2, n, 3), torch.tensor([n, l])) for n, l in ((3, 2), (4, 1), (5, 5))])


@program
def attention_in_blocks():

    def fn(q, k, v, bs):
        o = torch.zeros_like(q)
        mx = torch.full(q.shape[:1], -float("inf"))
        l = torch.zeros(q.shape[0])
        for i in range(0, k.shape[0], bs):
            s = q @ k[i : i + bs].T
            m = torch.maximum(mx, s.max(1).values)
            p = (s - m[:, None]).exp()
            c = (mx - m).exp()
            l = l * c + p.sum(1)
            o = o * c[:, None] + p @ v[i : i + bs]
            mx = m
        return o / l[:, None]

    return (
        fn,
        [
            (torch.randn(3, 4), torch.randn(n, 4), torch.randn(n, 4), b)
            for n, b in ((6, 2), (7, 2), (6, 3))
        ],
    )


@program
def recurrence():

    def fn(x, A, B):
        h = torch.zeros(A.shape[0])
        ys = []
        for t in range(x.shape[0]):
            h = A * h + B * x[t]
            ys.append(h.sum())
        return torch.stack(ys)

    return (fn, [(torch.randn(n), torch.rand(3), torch.rand(3)) for n in (4, 5, 6)])


@program
def state_that_is_carried():
    l = nn.LSTM(4, 4, 2, batch_first=True)
    st = {"h": None}

    def fn(x):
        o, st["h"] = l(x, st["h"])
        st["h"] = tuple((h.detach() for h in st["h"]))
        return (o, st["h"][0].sum())

    return (fn, [(torch.randn(1, n, 4),) for n in (3, 3, 2)])


@program
def batch_of_unlike_lengths():

    def fn(batch):
        m = max((len(b["ids"]) for b in batch))
        out = {k: [] for k in batch[0]}
        for b in batch:
            for k, v in b.items():
                out[k].append(F.pad(v, (0, m - len(v))) if torch.is_tensor(v) and v.dim() else v)
        return {k: torch.stack(v) if torch.is_tensor(v[0]) else v for k, v in out.items()}

    mk = lambda n: {"ids": torch.arange(n), "y": torch.tensor(1.0), "name": f"s{n}"}
    return (fn, [([mk(2), mk(3)],), ([mk(4), mk(1), mk(2)],), ([],)])


@program
def layers_left_out():
    ls = nn.ModuleList([nn.Linear(4, 4) for _ in range(6)])

    def fn(x, p):
        for l in ls:
            if random.random() < p:
                continue
            x = l(x).relu()
        return x

    return (fn, [(line(), 0.4) for _ in range(20)])


@program
def boxes_without_overlap():

    def fn(boxes, scores, thr):
        order = scores.argsort(descending=True)
        keep = []
        while order.numel() > 0:
            i = order[0]
            keep.append(i)
            if order.numel() == 1:
                break
            b = boxes[i]
            o = boxes[order[1:]]
            lt = torch.maximum(b[:2], o[:, :2])
            rb = torch.minimum(b[2:], o[:, 2:])
            wh = (rb - lt).clamp(min=0)
            inter = wh[:, 0] * wh[:, 1]
            a = (b[2] - b[0]) * (b[3] - b[1])
            ao = (o[:, 2] - o[:, 0]) * (o[:, 3] - o[:, 1])
            iou = inter / (a + ao - inter)
            order = order[1:][iou <= thr]
        return torch.stack(keep)

    def mk(n):
        g = torch.Generator().manual_seed(n)
        xy = torch.rand(n, 2, generator=g) * 5
        return (
            torch.cat([xy, xy + 1 + torch.rand(n, 2, generator=g)], 1),
            torch.rand(n, generator=g),
        )

    return (fn, [(*mk(n), 0.3) for n in (8, 12, 8)])
