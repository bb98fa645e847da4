"""Programs that read much of the world around them, as texts, and a world that changes between the
calls and inside of them: globals, attributes, classes, functions, modules, parameters."""

from __future__ import annotations

import random

from tests.programs.fuzz import heads

# What is read and what is done, each behind " ; " or in a line of its own.
READS = """
LEVEL ; SCALE ; NAME ; FLAG ; NOTHING is None ; TABLE.get('a') ; TABLE.get('z', LEVEL)
list(TABLE.items()) ; len(ITEMS) ; ITEMS[-1] if ITEMS else None ; sorted(map(str, SEEN))
list(QUEUE) ; x * WEIGHT ; WEIGHT.sum() + LEVEL
(WEIGHT.dtype, WEIGHT.shape, WEIGHT.requires_grad) ; SPACE.a ; SPACE.b or x
getattr(SPACE, 'c', 'none') ; SPACE.t + x ; PART.k ; PART.size ; PART.grow(x) ; PART.half
PART.plus(x) ; PART.sized(x) ; Part.sized(y) ; PART.w * x
PART.child.grow(y) if PART.child else None ; PART is OTHER ; PART.child is OTHER ; len(PART)
isinstance(PART, Wide) ; type(PART).__name__ ; hasattr(PART, 'extra') ; bool(PART)
OTHER.grow(x) + PART.grow(y) ; LAYER(x) ; LAYER.training ; LAYER.mean + x ; LAYER.scale
len(LAYER.more) ; [p.requires_grad for p in LAYER.parameters()]
[n for n, _ in LAYER.named_modules()] ; LAYER.linear.weight.sum() ; helper(x) ; helper(x, LEVEL)
helper(y, scale=n) ; TICK() ; TICK(n) ; functools.reduce(lambda a, b: a + b, ITEMS, x)
[x * i for i in ITEMS if isinstance(i, int)] ; {k: x + v for k, v in TABLE.items() if v}
f'{NAME}-{LEVEL}' ; NAME * 2 ; max(TABLE, default=None) ; x[: len(ITEMS)] ; x if FLAG else y
x * (LEVEL or 1) ; tuple(ITEMS) + (LEVEL,) ; abs(n) ; round(SCALE, 2) ; x.clamp(max=SCALE or 1)
math.floor(SCALE) ; 'a' in TABLE ; 2 in SEEN ; WEIGHT is SPACE.t ; NAME.upper() ; len(NAME)
PART.__dict__.get('k') ; vars(SPACE).get('a') ; globals().get('NEW') ; helper.__defaults__
callable(getattr(PART, 'grow', None))
"""

CHANGES = """
LEVEL = {k} ; LEVEL = {k} * 0.5 ; LEVEL += 1 ; SCALE = {k} ; SCALE = -SCALE ; SCALE = SCALE / 3
NAME = 'n{k}' ; FLAG = not FLAG ; FLAG = {k} ; NOTHING = {k} ; NOTHING = None ; TABLE['a'] = {k}
TABLE['z'] = {k} ; TABLE.pop('a', None) ; TABLE['b'] = TABLE.pop('b', 0) ; TABLE = dict(TABLE)
TABLE = {{'b': {k}, 'a': 0}} ; TABLE.clear() ; ITEMS.append({k}) ; ITEMS.clear()
ITEMS = [*ITEMS] ; ITEMS[:1] = [{k}] ; ITEMS = (1, {k}) ; ITEMS = range({k})
ITEMS = [1.5, {k}] ; SEEN.add({k}) ; SEEN.discard(2) ; SEEN = frozenset(SEEN)
QUEUE.append({k}) ; QUEUE.rotate() ; QUEUE = collections.deque(QUEUE, maxlen=2)
WEIGHT = WEIGHT.double() ; WEIGHT.add_(1) ; WEIGHT = torch.full((4,), {k}.0)
WEIGHT = torch.ones(1) ; WEIGHT = torch.ones(2, 4) ; WEIGHT = SPACE.t
WEIGHT = WEIGHT.detach().clone().requires_grad_() ; SPACE.a = {k} ; SPACE.b = {k}
SPACE.c = {k} ; SPACE.__dict__.pop('c', None) ; SPACE.t = PART.w
SPACE.t = torch.ones(4, dtype=torch.int64) ; PART.k = {k} ; PART.k = 0.5 ; PART.size = {k}
PART.__dict__.pop('size', None) ; Part.size = {k} ; Wide.size = {k}
Part.grow = lambda self, t: t - self.k ; PART.grow = lambda t: t + 10
PART.__dict__.pop('grow', None) ; PART.__class__ = Wide ; PART.__class__ = Part
PART = Part({k}) ; PART = OTHER ; PART.child = None ; PART.child = PART ; PART.child = OTHER
PART.extra = {k} ; Part.__len__ = lambda self: {k} ; Part.__bool__ = lambda self: self.k > 1
PART.w = PART.w * 2 ; PART.w.mul_(0.5) ; PART.w = torch.ones(4, requires_grad=True)
Part.half = property(lambda self: {k}) ; Part.plus = staticmethod(lambda t: t - {k})
Part.half = {k} ; LAYER.eval() ; LAYER.train() ; LAYER.linear.weight.data.mul_(0.5)
LAYER.linear = torch.nn.Identity() ; LAYER.scale = {k} ; LAYER.mean.zero_()
LAYER.mean = torch.ones(4) * {k} ; LAYER.requires_grad_(False)
LAYER.more.append(torch.nn.Sigmoid()) ; LAYER.more[0] = torch.nn.Identity()
del LAYER.more[-1:] ; LAYER.register_forward_hook(lambda m, a, out: out + {k})
LAYER._forward_hooks.clear() ; LAYER.forward = lambda t: t * {k}
LAYER.__dict__.pop('forward', None) ; LAYER.extra = PART
LAYER.linear.register_forward_pre_hook(lambda m, a: (a[0] + 1,)) ; LAYER.linear.bias = None
helper = swapped ; helper.__defaults__ = ({k},) ; helper.__kwdefaults__ = {{'scale': {k}}}
helper.__code__ = swapped.__code__ ; TICK = counter({k}) ; TICK = lambda by=1: by ; TICK({k})
globals()['NEW'] = {k} ; globals().pop('NEW', None) ; globals()['abs'] = lambda v: -{k}
globals().pop('abs', None) ; globals()['len'] = lambda v: {k} ; globals().pop('len', None)
"""

GLOBAL = (
    "    global LEVEL, SCALE, NAME, FLAG, NOTHING, TABLE, ITEMS, SEEN, QUEUE, WEIGHT, PART, helper,"
    " TICK"
)


def each(table: str) -> list[str]:
    return [one for line in table.strip().splitlines() for one in line.split(" ; ")]


def changes(seed: int) -> str:
    """A few reads, called many times; most calls follow a change."""
    draw = random.Random(seed)
    reads, acts = each(READS), each(CHANGES)

    def change() -> str:
        return draw.choice(acts).format(k=draw.choice((0, 1, 2, 3, 5)))

    def read() -> str:
        return draw.choice(reads)

    lines = ["    out = []"]
    for _ in range(draw.randint(2, 7)):
        roll = draw.random()
        if roll < 0.12:
            lines.append("    suture.graph_break()")
        elif roll < 0.3:
            lines.append("    " + change())
        elif roll < 0.4:
            lines.append(f"    for i in range({draw.choice(('2', 'n'))}):")
            lines.append(f"        out.append({read()})")
        elif roll < 0.5:
            lines += [f"    if {read()} is not None and n > 2:", f"        {change()}"]
        else:
            lines.append(f"    out.append({read()})")
    lines.append(f"    out.append({read()})")
    turns = []
    for turn in range(1, 7):
        for _ in range(draw.choice((0, 1, 1, 1, 2))):
            turns.append("    with contextlib.suppress(Exception):")
            turns.append(f"        if turn == {turn}: {change()}")
    body, between = "\n".join(lines), "\n".join(turns)
    return (
        f"{heads.CHANGES}\n\ndef between(turn):\n{GLOBAL}\n{between}\n\n\n"
        "def given():\n    x = torch.tensor([0.5, -1.0, 2.0, 0.25])\n"
        "    return [(x + (i > 4), x * 2, 3 - (i == 5), [1]) for i in range(7)]\n\n\n"
        f"def fn(x, y, n, items):\n{GLOBAL}\n{body}\n    return out\n"
    )
