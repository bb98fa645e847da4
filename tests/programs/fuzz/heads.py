"""What random programs find around them, as texts that come before the function."""

from __future__ import annotations

CONTROL = """
import collections
import contextlib
import functools
import torch
import suture

LOG = []
LEVEL = 1
SHARED = {"k": 1}


def state():
    return LOG, LEVEL, SHARED


def note(what):
    LOG.append(what)
    return what


class Swallow:
    def __init__(self, *kinds):
        self.kinds = kinds
        self.held = 0

    def __enter__(self):
        note("in")
        return self

    def __exit__(self, kind, error, trace):
        note(kind.__name__ if kind else "out")
        return kind is not None and issubclass(kind, self.kinds)


@contextlib.contextmanager
def around(t, swallow):
    note("begin")
    try:
        yield t * 2
    except swallow:
        note("caught")
    finally:
        note("end")


class Box:
    count = 0

    def __init__(self, value):
        self.value = value
        self._seen = 0

    @property
    def seen(self):
        self._seen += 1
        return self._seen

    @seen.setter
    def seen(self, value):
        if value > 3:
            raise ValueError(f"too many: {value}")
        self._seen = value

    @seen.deleter
    def seen(self):
        self._seen = -1

    def __iadd__(self, other):
        self.value = self.value + other
        return self

    def __bool__(self):
        note("asked")
        return self._seen >= 0


def logged(fn):
    @functools.wraps(fn)
    def inner(*args, **more):
        note(fn.__name__)
        return fn(*args, **more)

    return inner
"""

CHANGES = """
import collections
import contextlib
import functools
import math
import types
import torch
import suture

LEVEL = 1
SCALE = 0.5
NAME = "abc"
FLAG = True
NOTHING = None
TABLE = {"a": 1, "b": 2}
ITEMS = [1, 2, 3]
SEEN = {1, 2}
QUEUE = collections.deque([1, 2], maxlen=3)
WEIGHT = torch.ones(4)
SPACE = types.SimpleNamespace(a=1, b=None, t=torch.ones(4))


class Part:
    size = 2

    def __init__(self, k=1):
        self.k = k
        self.w = torch.ones(4)
        self.child = None

    def grow(self, t):
        return t * self.k + self.size

    @property
    def half(self):
        return self.k / 2

    @staticmethod
    def plus(t):
        return t + 1

    @classmethod
    def sized(cls, t):
        return t * cls.size

    def __len__(self):
        return self.size


class Wide(Part):
    size = 4

    def grow(self, t):
        return super().grow(t) - 1


PART = Part()
OTHER = Part(2)
PART.child = OTHER


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.default_generator.manual_seed(0)
        self.linear = torch.nn.Linear(4, 4)
        self.norm = torch.nn.BatchNorm1d(4)
        self.more = torch.nn.ModuleList([torch.nn.ReLU(), torch.nn.Tanh()])
        self.register_buffer("mean", torch.zeros(4))
        self.scale = 1.5
        self.calls = 0

    def forward(self, t):
        self.calls += 1
        if self.training:
            self.mean = self.mean * 0.5 + t.detach()
        for layer in self.more:
            t = layer(t)
        return self.linear(t) * self.scale


LAYER = Layer()


def helper(t, by=2, *, scale=1):
    return t * by + scale


def swapped(t, by=3, *, scale=2):
    return t - by * scale


def counter(value=0):
    def tick(by=1):
        nonlocal value
        value += by
        return value

    return tick


TICK = counter()


def plainly(of):
    kinds = (int, float, str, bool, type(None), torch.Tensor, list, dict, tuple)
    return {k: v for k, v in vars(of).items() if type(v) in kinds}


def state():
    parts = [plainly(PART), plainly(OTHER), plainly(SPACE), Part.size, type(PART).__name__]
    layer = [*LAYER.state_dict().items(), LAYER.calls, LAYER.scale, LAYER.training]
    return [LEVEL, SCALE, NAME, FLAG, NOTHING, TABLE, ITEMS, SEEN, QUEUE, WEIGHT, parts, layer]
"""

PLAIN = """
import torch
import suture

INTS = torch.tensor([3, 0, -2, 7])
BOOLS = torch.tensor([True, False, True, True])


def told(out, error):
    out.append((type(error).__name__, str(error).split("\\n")[0]))


def state():
    return INTS, BOOLS
"""

GRADIENTS = """
import torch
import torch.utils.checkpoint
import suture

torch.default_generator.manual_seed(0)
LAYER = torch.nn.Linear(4, 4)
W = torch.nn.Parameter(torch.ones(4))
OPT = torch.optim.SGD([W, *LAYER.parameters()], lr=0.1, momentum=0.5)


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, u):
        ctx.save_for_backward(u)
        return u * 2

    @staticmethod
    def backward(ctx, g):
        (u,) = ctx.saved_tensors
        return g * 2 + u * 0


@torch.no_grad()
def quietly(u):
    return u * 3


@torch.enable_grad()
def loudly(u):
    return u * 3


def told(out, error):
    out.append((type(error).__name__, str(error).split("\\n")[0]))


def state():
    return W, W.grad, [(p, p.grad) for p in LAYER.parameters()]
"""
