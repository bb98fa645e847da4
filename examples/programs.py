"""Whole programs in small, as people write them.

    python examples/programs.py [NAME ...]

Each is a function of `compile`, which it applies to its step functions and models: the identity
for eager, `suture.compile` with some backend otherwise. Run as a script, each is run both ways,
compared, and its graphs and breaks are shown. The test suite does the same.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F


class CausalBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        # Without a bias: the gradient of the keys' is rounding alone, and Adam makes steps of it.
        self.mix = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)
        self.feed = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x, cache=None):
        b, t, w = x.shape
        q, k, v = self.mix(self.norm1(x)).split(w, dim=2)
        q, k, v = (p.view(b, -1, self.heads, w // self.heads).transpose(1, 2) for p in (q, k, v))
        if cache is not None:
            if cache:
                k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
            cache[:] = [k, v]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, w))
        return x + self.feed(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, words=31, width=16, layers=2, heads=2, length=32) -> None:
        super().__init__()
        self.embed, self.place = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList([CausalBlock(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens, targets=None, caches=None, start=0):
        place = torch.arange(start, start + tokens.shape[1])
        x = self.embed(tokens) + self.place(place)
        for i, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[i])
        logits = self.head(self.norm(x))
        loss = None
        if targets is not None:
            loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss


def train_gpt(compile: Any) -> Any:
    """Forward, loss, backward, clip, AdamW step and scheduler as one step function."""
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 8)

    def step(tokens, targets):
        optimizer.zero_grad(set_to_none=True)
        _, loss = model(tokens, targets)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        return loss.detach(), norm

    step = compile(step)
    out = []
    for _ in range(4):
        tokens = torch.randint(0, 31, (2, 9))
        out += step(tokens[:, :-1], tokens[:, 1:])
    return out, scheduler.get_last_lr(), list(model.parameters())


def decode_gpt(compile: Any) -> Any:
    """Greedy decoding with a cache of keys and values."""
    model = GPT().eval()
    run = compile(model)
    tokens = torch.randint(0, 31, (1, 4))
    caches: list[list[Any]] = [[] for _ in model.blocks]
    with torch.no_grad():
        logits, _ = run(tokens, caches=caches)
        for at in range(4, 16):
            last = logits[:, -1].argmax(-1, keepdim=True)
            tokens = torch.cat([tokens, last], dim=1)
            logits, _ = run(last, caches=caches, start=at)
    return tokens, logits


def train_gan(compile: Any) -> Any:
    """Two networks, two optimizers."""
    maker = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 6))
    judge = nn.Sequential(nn.Linear(6, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
    opt_m = torch.optim.Adam(maker.parameters(), lr=1e-2, betas=(0.5, 0.99))
    opt_j = torch.optim.Adam(judge.parameters(), lr=1e-2, betas=(0.5, 0.99))
    loss_of = nn.BCEWithLogitsLoss()

    def step(real):
        fake = maker(torch.randn(real.shape[0], 4))
        opt_j.zero_grad()
        loss_j = loss_of(judge(real), torch.ones(real.shape[0], 1))
        loss_j = loss_j + loss_of(judge(fake.detach()), torch.zeros(real.shape[0], 1))
        loss_j.backward()
        opt_j.step()
        opt_m.zero_grad()
        loss_m = loss_of(judge(fake), torch.ones(real.shape[0], 1))
        loss_m.backward()
        opt_m.step()
        return loss_j.item(), loss_m.item()

    step = compile(step)
    return [torch.tensor(step(torch.randn(5, 6))) for _ in range(4)], list(maker.parameters())


def train_vae(compile: Any) -> Any:
    """The reparametrisation trick: random numbers inside the step."""

    class VAE(nn.Module):
        def __init__(self):
            super().__init__()
            self.enc, self.mean, self.spread = nn.Linear(12, 8), nn.Linear(8, 3), nn.Linear(8, 3)
            self.dec = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 12), nn.Sigmoid())

        def forward(self, x):
            h = torch.relu(self.enc(x))
            mean, spread = self.mean(h), self.spread(h)
            z = mean + torch.exp(0.5 * spread) * torch.randn_like(spread)
            return self.dec(z), mean, spread

    model = VAE()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    forward = compile(model)
    out = []
    for _ in range(4):
        x = torch.rand(6, 12)
        back, mean, spread = forward(x)
        kl = -0.5 * torch.sum(1 + spread - mean.pow(2) - spread.exp())
        loss = F.binary_cross_entropy(back, x, reduction="sum") + kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        out.append(loss.detach())
    return out


def train_dqn(compile: Any) -> Any:
    """A target network that follows, epsilon-greedy actions, a replay buffer outside."""
    policy = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    target = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
    target.load_state_dict(policy.state_dict())
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=1e-2)

    def learn(state, action, reward, after, done):
        q = policy(state).gather(1, action)
        with torch.no_grad():
            best = target(after).max(1).values
            wanted = reward + 0.9 * best * (1 - done)
        loss = F.smooth_l1_loss(q.squeeze(1), wanted)
        optimizer.zero_grad()
        loss.backward()
        for p in policy.parameters():
            p.grad.clamp_(-1, 1)
        optimizer.step()
        with torch.no_grad():
            for ours, theirs in zip(target.parameters(), policy.parameters()):
                ours.mul_(0.95).add_(theirs, alpha=0.05)
        return loss.detach()

    learn = compile(learn)
    out = []
    for _ in range(4):
        batch = (torch.randn(8, 4), torch.randint(0, 2, (8, 1)), torch.randn(8))
        out.append(learn(*batch, torch.randn(8, 4), torch.zeros(8)))
    return out, list(target.parameters())


def train_lstm(compile: Any) -> Any:
    """A recurrent language model that carries its state, detached, from batch to batch."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.rnn = nn.Embedding(13, 8), nn.LSTM(8, 8, 2, batch_first=True)
            self.head = nn.Linear(8, 13)

        def forward(self, x, state):
            y, state = self.rnn(self.embed(x), state)
            return self.head(y), state

    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    forward = compile(model)
    state = (torch.zeros(2, 3, 8), torch.zeros(2, 3, 8))
    out = []
    for _ in range(3):
        x = torch.randint(0, 13, (3, 6))
        logits, state = forward(x[:, :-1], tuple(s.detach() for s in state))
        loss = F.cross_entropy(logits.flatten(0, 1), x[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        out.append(loss.detach())
    return out


def train_mixed_precision(compile: Any) -> Any:
    """autocast and a gradient scaler."""
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)

    def step(x, y):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(x)
            loss = F.mse_loss(out.float(), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach(), out.dtype

    step = compile(step)
    return [step(torch.randn(4, 6), torch.randn(4, 1)) for _ in range(3)]


def train_accumulating(compile: Any) -> Any:
    """Gradients of several micro-batches, a loader outside the compiled part."""
    data = torch.utils.data.TensorDataset(torch.randn(12, 5), torch.randint(0, 3, (12,)))
    loader = torch.utils.data.DataLoader(data, batch_size=2)
    model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Dropout(0.1), nn.Linear(7, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def micro(x, y):
        loss = F.cross_entropy(model(x), y) / 3
        loss.backward()
        return loss.detach()

    micro = compile(micro)
    out = []
    for i, (x, y) in enumerate(loader):
        out.append(micro(x, y))
        if i % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()
    return out, list(model.parameters())


def ensemble(compile: Any) -> Any:
    """torch.func: many models as one, by stack_module_state and vmap."""
    from torch.func import functional_call, stack_module_state, vmap

    models = [nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2)) for _ in range(3)]
    params, buffers = stack_module_state(models)
    base = models[0]

    def one(params, buffers, x):
        return functional_call(base, (params, buffers), (x,))

    def run(params, buffers, x):
        return vmap(one, in_dims=(0, 0, None))(params, buffers, x)

    return compile(run)(params, buffers, torch.randn(6, 4))


PROGRAMS = (
    train_gpt, decode_gpt, train_gan, train_vae, train_dqn, train_lstm, train_mixed_precision,
    train_accumulating, ensemble,
)  # fmt: skip


def compare(ours, plain):
    """Numbers and tensors are close, whatever else a program gives (dtypes) is equal."""
    if isinstance(plain, (list, tuple)):
        assert len(ours) == len(plain)
        for pair in zip(ours, plain):
            compare(*pair)
    elif isinstance(plain, (float, torch.Tensor)):
        torch.testing.assert_close(ours, plain, rtol=1e-3, atol=1e-4)
    else:
        assert ours == plain


def main() -> None:
    import suture

    wanted = sys.argv[1:]
    for program in PROGRAMS:
        if wanted and program.__name__ not in wanted:
            continue
        torch.manual_seed(0)
        plain = program(lambda fn: fn)
        suture.reset()
        torch.manual_seed(0)
        ours = program(lambda fn: suture.compile(fn, backend="aot_eager"))
        compare(ours, plain)
        stats = suture.stats()
        numbers = ", ".join(f"{r.number} (line {r.line})" for r in stats.breaks) or "none"
        print(f"{program.__name__}: equal to eager, {stats.graphs} graphs; breaks: {numbers}")


if __name__ == "__main__":
    main()
