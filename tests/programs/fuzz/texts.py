"""Programs as texts, drawn from a seed: derivatives, views of one memory, containers of C.

Each generator gives the same program for the same seed. A program defines `fn(x, y, n, items)`; all
it computes is returned, so that a wrong value anywhere shows.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.programs.fuzz.changes import changes
from tests.programs.fuzz.control import control
from tests.programs.fuzz.operations import aliases, gradients, mixed
from tests.programs.fuzz.sets import sets

HEAD = """
import array, bisect, collections, functools, heapq, itertools, math, operator, re, struct
import torch
import suture
"""


class Writer:
    """Lines of one function, and the names that are bound so far."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.names: list[str] = ["x", "y"]
        self.depth = 1
        self.made = 0

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def name(self) -> str:
        return self.random.choice(self.names)

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def bind(self, text: str) -> str:
        self.made += 1
        made = f"v{self.made}"
        self.line(f"{made} = {text}")
        if self.depth == 1:
            self.names.append(made)
        return made

    def block(self, head: str, body: Callable[[], None], count: int = 2) -> None:
        self.line(head)
        self.depth += 1
        names = list(self.names)
        for _ in range(self.random.randint(1, count)):
            body()
        self.names = names
        self.depth -= 1

    def statements(self, one: Callable[[], None], count: int) -> None:
        for _ in range(count):
            roll = self.random.random()
            if roll < 0.08:
                self.line("suture.graph_break()")
            elif roll < 0.16:
                self.block(f"for i in range({self.pick('2', '3', 'n')}):", one)
            elif roll < 0.22:
                self.block(f"if {self.pick('n > 2', 'len(items) > 2', 'x.sum() > 0')}:", one)
            else:
                one()

    def text(self, results: str) -> str:
        body = "\n".join(self.lines)
        return f"{HEAD}\n\ndef fn(x, y, n, items):\n{body}\n    return {results}\n"


def autograd(seed: int) -> str:
    """Derivatives of what was computed: grad, backward, detach, no_grad, hooks, new leaves."""
    w = Writer(seed)
    w.line("x = x.detach().clone().requires_grad_()")
    w.line("y = y.detach().clone().requires_grad_(n > 2)")
    w.line("seen = []")
    unary = ("sin()", "exp().log1p()", "square()", "relu()", "abs().sqrt()", "flip(0)", "cumsum(0)")

    def one() -> None:
        kind = w.random.randrange(9)
        if kind < 3:
            w.bind(f"{w.name()}.{w.pick(*unary)}")
        elif kind == 3:
            w.bind(f"{w.name()} {w.pick('+', '*', '-')} {w.name()}")
        elif kind == 4:
            w.bind(f"{w.name()}.{w.pick('detach()', 'clone()', 'detach().requires_grad_()')}")
        elif kind == 5:
            w.line("with torch.no_grad():")
            w.depth += 1
            w.line(f"seen.append(({w.name()} * 2).requires_grad)")
            w.depth -= 1
        elif kind == 6:
            of = w.name()
            w.line(f"if {of}.requires_grad:")
            w.depth += 1
            w.line(
                f"seen.append(torch.autograd.grad(({of} * {of}).sum(), {of},"
                f" retain_graph=True, create_graph={w.pick('True', 'False')})[0].detach())"
            )
            w.depth -= 1
        elif kind == 7:
            w.line(f"seen.append(({w.name()}.requires_grad, {w.name()}.is_leaf))")
        else:
            of = w.name()
            w.line(f"if {of}.requires_grad:")
            w.depth += 1
            w.line(f"{of}.register_hook(lambda g: g * {w.pick('1', '2')})")
            w.depth -= 1

    w.statements(one, w.random.randint(4, 10))
    last = " + ".join(f"{name}.sum()" for name in w.names)
    w.line(f"total = {last}")
    w.line("if total.requires_grad:")
    w.line("    total.backward()")
    return w.text("total.detach(), x.grad, y.grad, seen, [v.requires_grad for v in (x, y)]")


def views(seed: int) -> str:
    """Views of one memory, written and read through one another, also those of arguments."""
    w = Writer(seed)

    def one() -> None:
        kind = w.random.randrange(10)
        of = w.name()
        if kind < 2:
            cut = w.pick("1:", ":-1", "::2", "...", "None", ":2")
            w.bind(f"{of}[{cut}]")
        elif kind == 2:
            w.bind(f"{of}.{w.pick('view_as(' + of + ')', 'unsqueeze(0)', 'detach()', 'flatten()')}")
        elif kind == 3:
            w.bind(f"{of}.reshape(-1)")
        elif kind == 4:
            w.line(f"{of}.{w.pick('add_(1)', 'mul_(2)', 'neg_()', 'zero_()', 'clamp_(-1, 1)')}")
        elif kind == 5:
            w.line(f"{of}[{w.pick('0', '-1', '...', '::2')}] = {w.pick('1.5', 'n', 'n * 0.5')}")
        elif kind == 6:
            w.line(f"{of} += {w.pick('1', '0.5', 'n')}")
        elif kind == 7:
            w.bind(f"{of}.{w.pick('clone()', 'contiguous()', 'sin()')}")
        elif kind == 8:
            other = w.name()
            w.bind(f"({of}.data_ptr() == {other}.data_ptr(), {of} is {other}, {of}._is_view())")
            if w.depth == 1:
                w.names.pop()
        else:
            w.line(f"items.append({of}.sum().{w.pick('clone()', 'detach()')})")

    w.statements(one, w.random.randint(4, 10))
    given = ", ".join(f"v{i + 1}" for i in range(w.made) if f"v{i + 1} " in _outer(w))
    return w.text(f"x, y, items, [{given}]")


def _outer(w: Writer) -> str:
    """The lines that always run."""
    return "\n".join(line for line in w.lines if not line.startswith("     "))


_MADE = (
    "collections.deque([1, n, 3], maxlen={k})", "collections.OrderedDict(a=1, b=n)",
    "collections.defaultdict(list, {{'a': [n]}})", "collections.Counter('abca')",
    "array.array('i', [1, n, 2])", "bytearray(b'ab')",
    "collections.ChainMap({{'a': n}}, {{'b': 2}})",
    "itertools.count(n)", "itertools.cycle([1, x, n])", "iter([x, n, 2])", "zip(items, [x, y, n])",
    "map(abs, [n, -2, x])", "enumerate([x, n])", "itertools.chain(items, [n])",
    "itertools.accumulate([n, 2, 3])", "(m.group() for m in re.finditer('[a-b]', 'abcab'))",
    "memoryview(b'abc')",
    "itertools.islice(itertools.count(), n)", "reversed([n, x, 3])",
    "struct.iter_unpack('b', b'ab')",
    "itertools.groupby([1, 1, n])", "itertools.tee([n, 2])[0]", "itertools.product([1, n], [x])",
)  # fmt: skip
_USED = {
    "deque": ("append(n)", "appendleft(x)", "rotate(1)", "extend([n, 1])", "reverse()", "copy()"),
    "OrderedDict": ("move_to_end('a')", "setdefault('c', x)", "update(d=n)", "copy()", "keys()"),
    "defaultdict": ("__getitem__('q')", "setdefault('a', 1)", "get('z')", "copy()", "items()"),
    "Counter": ("update('ab')", "most_common(1)", "subtract('a')", "total()", "elements()"),
    "array": ("append(n)", "extend([1, 2])", "tolist()", "reverse()", "index(1)", "tobytes()"),
    "bytearray": ("append(65)", "extend(b'x')", "find(b'b')", "upper()", "reverse()", "hex()"),
    "ChainMap": ("new_child({'z': x})", "get('b')", "setdefault('y', n)", "keys()", "copy()"),
}


def containers(seed: int) -> str:
    """Containers and iterators that are written in C: changed, read, kept, returned."""
    w = Writer(seed)
    w.line("log = []")
    held: list[tuple[str, str]] = []

    def one() -> None:
        kind = w.random.randrange(8)
        if kind < 3 or not held:
            text = w.random.choice(_MADE).format(k=w.random.choice(("None", "2", "3")))
            name = w.bind(text)
            if w.depth == 1:
                w.names.pop()
                called = text.removeprefix("collections.").removeprefix("array.").split("(")[0]
                held.append((name, called))
            return
        name, called = w.random.choice(held)
        uses = _USED.get(called)
        if uses is None:
            w.line(f"log.append(next({name}, None))")
        elif kind < 6:
            w.line(f"log.append({name}.{w.random.choice(uses)})")
        elif kind == 6:
            w.line(f"log.append((len({name}), list({name})))")
        else:
            w.line(f"log.append({name} == type({name})({name}) if n > 9 else {name})")

    w.statements(one, w.random.randint(4, 10))
    rest = ", ".join(f"list(itertools.islice({name}, 3))" for name, _ in held)
    return w.text(f"x + n, log, [{rest}]")


GENERATORS: dict[str, Callable[[int], str]] = {
    "autograd": autograd, "views": views, "containers": containers, "sets": sets,
    "control": control, "changes": changes, "mixed": mixed, "aliases": aliases,
    "gradients": gradients,
}  # fmt: skip
