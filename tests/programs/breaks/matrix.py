"""The programs of the matrix: every place a break can stand in, times every cause of one.

A place is the text of a module with a function `fn(x)`. `STATEMENT` in it is replaced by a
statement that breaks, `EXPRESSION` by an expression that does; both take the tensor `x` and give
the next `x`. `note(...)` is a side effect whose order is compared with eager.
"""

from __future__ import annotations

import re

from tests.programs.breaks import places_in_blocks, places_in_calls

HEAD = """
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


"""

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

PLACES = {**places_in_blocks.PLACES, **places_in_calls.PLACES}


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
