"""The programs of the matrix: every place a break can stand in, times every cause of one.

A place is the text of a module with a function `fn(x)`. `STATEMENT` in it is replaced by a
statement that breaks, `EXPRESSION` by an expression that does; both take the tensor `x` and give
the next `x`. `note(...)` is a side effect whose order is compared with eager.
"""

from __future__ import annotations

import re

HEAD = '''
import contextlib
import torch
import suture

LOG = []


def note(value):
    LOG.append(value)


class Box:
    def __init__(self, value):
        self.value = value


@suture.disable
def tensor_from_outside(x):
    note("tensor")
    return x * 2 + 1


@suture.disable
def object_from_outside(x):
    note("object")
    return Box(3)


@suture.disable
def raises_outside(x):
    note("raises")
    raise ValueError("from outside")


class Manager:
    def __init__(self, name="m"):
        self.name = name

    def __enter__(self):
        note(("enter", self.name))
        return self

    def __exit__(self, kind, value, traceback):
        note(("exit", self.name, kind))
        return False


@contextlib.contextmanager
def managed(name):
    note(("enter", name))
    try:
        yield name
    finally:
        note(("exit", name))


'''

# cause -> (statements, expression)
CAUSES = {
    "graph_break": ("suture.graph_break()\nx = x + 1", "(suture.graph_break(), x + 1)[1]"),
    "tensor_call": ("x = tensor_from_outside(x)", "tensor_from_outside(x)"),
    "object_call": ("x = x + object_from_outside(x).value", "(x + object_from_outside(x).value)"),
    "raising_call": ("x = raises_outside(x)", "raises_outside(x)"),
    "branch": (
        "if x.sum() > 0:\n    x = x + 1\nelse:\n    x = x - 1",
        "(x + 1 if x.sum() > 0 else x - 1)",
    ),
    "item": ("x = x + x.sum().item()", "(x + x.sum().item())"),
    "print": ('print("x", x)', '(print("x", x), x)[1]'),
}

PLACES = {
    "straight_line": '''
def fn(x):
    x = x * 2
    STATEMENT
    return x - 3
''',
    "if_else": '''
def fn(x):
    x = x * 2
    if x.dim() == 1:
        x = x + 1
        STATEMENT
        x = x * 3
    else:
        x = x - 1
    if x.dim() == 2:
        x = x * 7
    else:
        STATEMENT
    return x
''',
    "for_range": '''
def fn(x):
    for i in range(4):
        x = x + i
        STATEMENT
        note(i)
        x = x * 0.5
    return x
''',
    "for_list": '''
def fn(x):
    parts = [1.0, 2.0, 3.0]
    for part in parts:
        x = x + part
        STATEMENT
        x = x * 0.5
    return x, parts
''',
    "for_generator": '''
def numbers(n):
    for i in range(n):
        note(("make", i))
        yield i * 2


def fn(x):
    for i in numbers(3):
        x = x + i
        STATEMENT
        x = x * 0.5
        note(("used", i))
    return x
''',
    "for_zip": '''
def fn(x):
    for i, w in zip(range(3), [0.5, 1.5, 2.5]):
        x = x * w + i
        STATEMENT
        x = x * 0.5
    return x
''',
    "for_enumerate": '''
def fn(x):
    for i, w in enumerate((0.5, 1.5, 2.5)):
        x = x * w + i
        STATEMENT
        x = x * 0.5
    return x
''',
    "for_items": '''
def fn(x):
    table = {"a": 1.5, "b": 2.5, "c": 3.5}
    for key, w in table.items():
        x = x * w
        STATEMENT
        note(key)
        x = x * 0.5
    return x
''',
    "while": '''
def fn(x):
    i = 0
    while i < 3:
        x = x + i
        STATEMENT
        i += 1
    return x, i
''',
    "nested_loops": '''
def fn(x):
    for i in range(4):
        if i == 3:
            break
        for j in range(3):
            if j == 1:
                continue
            x = x + i * j
            STATEMENT
            note((i, j))
        else:
            x = x * 0.5
    else:
        x = x * 100
    return x
''',
    "list_comprehension": '''
def fn(x):
    return [EXPRESSION * i for i in range(3) for x in (x + i,)]
''',
    "dict_comprehension": '''
def fn(x):
    y = x + 1
    return {i: EXPRESSION for i, x in enumerate((x, y))}
''',
    "set_comprehension": '''
def fn(x):
    y = x + 1
    return len({EXPRESSION for x in (x, y)})
''',
    "generator_expression": '''
def fn(x):
    return sum(EXPRESSION * i for i, x in enumerate((x, x + 1)))
''',
    "try": '''
def fn(x):
    try:
        x = x * 2
        STATEMENT
        x = x + 5
    except ValueError as error:
        note(str(error))
        x = x - 5
    else:
        x = x * 3
    return x
''',
    "except": '''
def fn(x):
    try:
        x = x * 2
        raise KeyError("here")
    except KeyError as error:
        note(error.args)
        x = x + 1
        STATEMENT
        x = x * 3
    return x
''',
    "finally": '''
def fn(x):
    try:
        x = x * 2
    finally:
        x = x + 1
        STATEMENT
        note("finally")
    return x
''',
    "finally_with_exception": '''
def fn(x):
    try:
        try:
            x = x * 2
            raise KeyError("here")
        finally:
            x = x + 1
            STATEMENT
            note("finally")
    except KeyError:
        x = x * 5
    return x
''',
    "nested_try": '''
def fn(x):
    try:
        try:
            x = x * 2
            STATEMENT
        except TypeError:
            x = x * 100
        finally:
            note("inner")
            x = x + 1
    except ValueError as error:
        note(repr(error))
        x = x * 3
    return x
''',
    "with_manager": '''
def fn(x):
    with Manager("a") as m:
        x = x * 2
        STATEMENT
        note(m.name)
        x = x + 1
    return x * 3
''',
    "with_decorated_generator": '''
def fn(x):
    with managed("g") as name:
        x = x * 2
        STATEMENT
        note(name)
        x = x + 1
    return x * 3
''',
    "with_no_grad": '''
def fn(x):
    with torch.no_grad():
        x = x * 2
        STATEMENT
        note(torch.is_grad_enabled())
        x = x + 1
    note(torch.is_grad_enabled())
    return x * 3
''',
    "with_autocast": '''
def fn(x):
    w = x.reshape(1, -1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        x = (w @ w.T).reshape(1)
        STATEMENT
        note(torch.is_autocast_enabled("cpu"))
        y = w @ w.T
    note(torch.is_autocast_enabled("cpu"))
    return x, y, w @ w.T
''',
    "with_inference_mode": '''
def fn(x):
    with torch.inference_mode():
        x = x * 2
        STATEMENT
        note(torch.is_inference_mode_enabled())
        x = x + 1
    note(torch.is_inference_mode_enabled())
    return x.is_inference(), x.sum().item()
''',
    "exit_stack": '''
def fn(x):
    with contextlib.ExitStack() as stack:
        m = stack.enter_context(Manager("one"))
        stack.callback(note, "callback")
        x = x * 2
        STATEMENT
        note(m.name)
        x = x + 1
    return x * 3
''',
    "match": '''
def fn(x):
    command = ("scale", 2)
    match command:
        case ("shift", by):
            x = x + by
        case ("scale", by) if by > 1:
            x = x * by
            STATEMENT
            x = x + by
        case _:
            x = x * 100
    return x
''',
    "lambda": '''
def fn(x):
    scale = lambda x, k: EXPRESSION * k
    return scale(x + 1, 2) + scale(x, 3)
''',
    "closure": '''
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
''',
    "method": '''
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
''',
    "property": '''
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
''',
    "call_operator": '''
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
''',
    "init": '''
class Holder:
    def __init__(self, x):
        self.before = x * 2
        STATEMENT
        self.after = x + 1


def fn(x):
    h = Holder(x + 1)
    return h.before, h.after * 2
''',
    "modules": '''
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
''',
    "recursion": '''
def down(x, n):
    if n == 0:
        STATEMENT
        return x
    x = down(x + n, n - 1)
    note(n)
    return x * 2


def fn(x):
    return down(x, 3) + 1
''',
    "default_argument": '''
def fn(x):
    def inner(x, y=EXPRESSION):
        return x * y

    return inner(x + 1)
''',
    "decorator": '''
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
''',
    "inlined_generator": '''
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
''',
    "yield_from": '''
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
''',
    "class_body": '''
def fn(x):
    class Made:
        start = x + 1
        value = EXPRESSION

        def get(self):
            return self.value * 2

    return Made().get(), Made.start
''',
}


def program(place: str, cause: str) -> str:
    """The module's text."""
    statement, expression = CAUSES[cause]
    text = HEAD + PLACES[place].replace("EXPRESSION", expression)
    return re.sub(
        r"^( *)STATEMENT$",
        lambda found: "\n".join(found[1] + line for line in statement.split("\n")),
        text,
        flags=re.M,
    )
