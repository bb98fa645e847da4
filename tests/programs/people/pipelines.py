"""Loops around models: environments in NumPy, progress bars, observers, milestones, samplers."""

from __future__ import annotations

import collections
import weakref

import numpy as np
import torch
from torch import nn

from tests.programs.people.registry import line, program


@program
def advantages_in_numpy():
    net = nn.Linear(2, 1)
    pixels = np.array([3, 250, 0, 5], "uint8")

    def fn(rewards, done, counts):
        values = net(torch.stack([rewards, rewards + 1], 1)).squeeze(-1).detach().numpy()
        found, given = rewards.numpy(), done.numpy()
        scale = counts.numpy()
        scale //= np.array([2, 0, 1])
        out, last = np.zeros(len(found), dtype=np.float32), 0.0
        for t in reversed(range(len(out))):
            following = values[t + 1] if t + 1 < len(out) else 0.0
            last = found[t] + 0.9 * following * (1.0 - given[t]) - values[t]
            out[t] = last
        return torch.from_numpy(out), scale, np.clip(pixels, -1, 300), out[..., 0]

    return fn, [
        (torch.ones(3), torch.tensor([False, True, False]), torch.tensor([4, 5, 6])),
        (torch.ones(3), torch.tensor([True, True, False]), torch.tensor([4, 0, 6])),
        (torch.ones(3), torch.ones(3).bool(), torch.tensor([1, 2, 3])),
    ]


class Bar:
    def __init__(self, items, name):
        self.items, self.name, self.done, self.note = items, name, 0, ""

    def __iter__(self):
        try:
            for item in self.items:
                yield item
                self.done += 1
                print(f"\r{self.name} {self.done}/{len(self.items)} {self.note}", end="")
        finally:
            print(" end")


@program
def progress_bar_left_early():
    net = nn.Linear(2, 1)
    optimizer = torch.optim.SGD(net.parameters(), 0.1)

    def fn(batches, stop):
        bar, total = Bar(batches, "train"), 0.0
        for i, batch in enumerate(bar):
            loss = net(batch).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            bar.note = f"loss={total:.3f} {tuple(batch.shape)}"
            if i == stop:
                break
        print("after", bar.done)
        return net.weight.detach().clone()

    ones = torch.ones(2, 2)
    return fn, [
        ([ones] * 3, 5),
        ([ones] * 3, 1),
        ([ones, torch.ones(3, 2)], 0),
        ([ones] * 4, 2),
    ]


class Observer:
    def __init__(self, rank):
        self.rank, self.last = rank, None

    def see(self, x):
        self.last = x
        return x * self.rank


@program
def observers_held_weakly():
    watching, kept = weakref.WeakSet(), [Observer(1), Observer(2)]
    watching.update(kept)

    def fn(x, passing):
        if passing:
            guest = Observer(10)
            watching.add(guest)
        seen = [o.see(x) for o in sorted(watching, key=lambda o: o.rank)]
        count = len(watching)
        if passing:
            del guest
        return seen, count, len(watching)

    def calls():
        yield line(), False
        yield line(), True
        yield line(), True
        kept.pop()
        yield line(), False
        yield line(), True

    return fn, calls()


@program
def slopes_of_a_model_with_other_weights():
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))

    def fn(x, scale):
        weights = {name: p.detach() * scale for name, p in net.named_parameters()}

        def called(row):
            return torch.func.functional_call(net, weights, (row,))

        slope = torch.func.jacrev(called)(x[0])
        curved = torch.func.hessian(lambda row: called(row).sum())(x[0])
        each = torch.vmap(torch.func.grad(lambda row: called(row).sum()))(x)
        with torch.no_grad():
            net[0].bias += slope.sum()
        return slope, curved, each, sorted(weights)

    return fn, [(torch.ones(2, 3), 1.0), (torch.ones(2, 3), 2.0), (torch.ones(4, 3), 0.5)]


@program
def milestones_and_phases():
    history = collections.Counter()
    milestones, phases = [3, 6], {0: "warm", 5: "main"}

    def fn(x, step):
        phase = phases[max(start for start in phases if start <= step)]
        history[phase] += 1
        if step in milestones:
            x = x * 0.1
        elif (step, phase) == (7, "main") or step in (None, "last"):
            x = x - 1
        return x + step, phase, dict(history), list(enumerate("ab", step == 1))

    return fn, [(line(), step) for step in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)]


@program
def sampler_of_two_orders():
    table = torch.linspace(0.9, 0.1, 8)
    net = nn.Linear(3, 2)
    state = {"outputs": [None, None], "step": 0}

    @torch.no_grad()
    def fn(count, steps, generator):
        state.update(outputs=[None, None], step=0)
        x = torch.randn(count, 2, generator=generator)
        order = torch.from_numpy(np.linspace(0, 7, steps + 1).round()[::-1][:-1].copy()).long()
        for t in order:
            guess = net(torch.cat([x, table[t].expand(count, 1)], 1))
            state["outputs"] = [state["outputs"][1], guess]
            before, now = state["outputs"]
            slope = now if before is None else 1.5 * now - 0.5 * before
            x = x * table[t] + (1 - table[t]) * slope
            state["step"] += 1
        return x, state["step"]

    def called(count, steps, seed):
        return fn(count, steps, None if seed is None else torch.Generator().manual_seed(seed))

    return called, [(2, 3, 1), (2, 3, 2), (3, 3, 1), (3, 4, 1), (2, 3, None)]
