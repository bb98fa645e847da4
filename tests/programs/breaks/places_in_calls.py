"""Places of a break inside what a function calls or defines."""

from __future__ import annotations

PLACES = {
    "lambda": """
def fn(x):
    scale = lambda x, k: EXPRESSION * k
    return scale(x + 1, 2) + scale(x, 3)
""",
    "closure": """
def fn(x):
    total = 0

    def step(by):
        nonlocal x, total
        x = x + by
        STATEMENT
        total += by
        return x

    y = step(1)
    z = step(2)
    return x, y, z, total
""",
    "method": """
class Counter:
    def __init__(self):
        self.calls = 0

    def step(self, x):
        self.calls += 1
        x = x * 2
        STATEMENT
        self.last = x
        return x + self.calls


def fn(x):
    c = Counter()
    x = c.step(x)
    x = c.step(x)
    return x, c.calls, c.last
""",
    "property": """
class Holder:
    def __init__(self, x):
        self.x = x

    @property
    def doubled(self):
        x = self.x * 2
        STATEMENT
        return x + 1


def fn(x):
    h = Holder(x + 1)
    return h.doubled * 2 + h.x
""",
    "call_operator": """
class Layer:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        x = x * self.k
        STATEMENT
        return x + self.k


def fn(x):
    layer = Layer(2)
    return layer(x) + 1
""",
    "init": """
class Holder:
    def __init__(self, x):
        self.before = x * 2
        STATEMENT
        self.after = x + 1


def fn(x):
    h = Holder(x + 1)
    return h.before, h.after * 2
""",
    "modules": """
class Inner(torch.nn.Module):
    def forward(self, x):
        x = x * 2
        STATEMENT
        return x + 1


class Middle(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x + 1) * 3


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.middle = Middle()

    def forward(self, x):
        return self.middle(x * 2) + 4


OUTER = Outer()


def fn(x):
    return OUTER(x)
""",
    "recursion": """
def down(x, n):
    if n == 0:
        STATEMENT
        return x
    x = down(x + n, n - 1)
    note(n)
    return x * 2


def fn(x):
    return down(x, 3) + 1
""",
    "default_argument": """
def fn(x):
    def inner(x, y=EXPRESSION):
        return x * y

    return inner(x + 1)
""",
    "decorator": """
import functools


def logged(f):
    @functools.wraps(f)
    def wrapper(x):
        x = x + 1
        STATEMENT
        out = f(x)
        note(f.__name__)
        return out * 2

    return wrapper


@logged
def body(x):
    return x * 3


def fn(x):
    return body(x) + 1
""",
    "inlined_generator": """
def layers(x, n):
    for i in range(n):
        x = x + i
        STATEMENT
        note(("yield", i))
        yield x * 2
    note("end")


def fn(x):
    total = 0
    for y in layers(x, 3):
        total = total + y
        note("body")
    return total
""",
    "yield_from": """
def inner(x):
    x = x + 1
    STATEMENT
    got = yield x
    note(("got", got))
    return x * 2


def outer(x):
    last = yield from inner(x)
    note("inner returned")
    yield last + 1


def fn(x):
    out = []
    for y in outer(x):
        out.append(y * 3)
    return out
""",
    "class_body": """
def fn(x):
    class Made:
        start = x + 1
        value = EXPRESSION

        def get(self):
            return self.value * 2

    return Made().get(), Made.start
""",
}
