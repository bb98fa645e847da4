"""What an object of the program is asked for: what Python asks, as often, and nothing more."""

from __future__ import annotations

import pytest
import torch

from tests.harness import check


class Asked:
    """Tells what it is asked for."""

    def __init__(self) -> None:
        self.__dict__["items"] = [1, 2]

    def __getattr__(self, name):
        print("getattr", name)
        raise AttributeError(name)

    def __call__(self, x):
        print("call")
        return x * 2

    def __len__(self):
        print("len")
        return 2

    def __iter__(self):
        print("iter")
        return iter(self.items)

    def __getitem__(self, at):
        print("item", at)
        return self.items[at]

    def __bool__(self):
        print("bool")
        return True


class Hinted:
    def __init__(self, hint):
        self.hint = hint

    def __iter__(self):
        yield from (1, 2)

    def __length_hint__(self):
        print("hint")
        if self.hint is TypeError:
            raise TypeError("no hint")
        return self.hint


class Loud(list):
    def __len__(self):
        print("len")
        return super().__len__()


USES = {
    "call": lambda a, x: a(x),
    "list": lambda a, x: list(a),
    "tuple": lambda a, x: tuple(a),
    "star": lambda a, x: [0, *a],
    "call with star": lambda a, x: max(*a),
    "extend": lambda a, x: [0].extend(a),
    "add in place": lambda a, x: [0].__iadd__(a),
    "sorted": lambda a, x: sorted(a),
    "set": lambda a, x: set(a),
    "sum": lambda a, x: sum(a),
    "max": lambda a, x: max(a),
    "loop": lambda a, x: [x + i for i in a],
    "unpacking": lambda a, x: (lambda: [p for p in [*zip(a)]])(),
    "map": lambda a, x: list(map(str, a)),
    "enumerate": lambda a, x: list(enumerate(a)),
    "in": lambda a, x: 2 in a,
    "truth": lambda a, x: 1 if a else 2,
    "hasattr": lambda a, x: hasattr(a, "nothing"),
    "callable": lambda a, x: callable(a),
    "held": lambda a, x: [a, {"a": a}][0] is a,
    "isinstance": lambda a, x: isinstance(a, torch.nn.Module),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_call_asks_what_python_asks(use):
    check(lambda x, a: (x.sin(), use(a, x)), make=lambda: (torch.ones(2), Asked()), graphs=None)


def test_an_object_of_the_closure_and_one_that_is_made():
    held = Asked()

    def fn(x):
        made = Asked()
        return held(x) + made(x), list(held) + list(made), len(made)

    check(fn, torch.ones(2))


@pytest.mark.parametrize("hint", [2, 0, -1, "text", NotImplemented, TypeError])
@pytest.mark.parametrize("take", [list, tuple, lambda a: [*a], lambda a: [].extend(a)])
def test_a_hint_is_asked_for_and_may_be_wrong(hint, take):
    check(lambda x: (x.sin(), take(Hinted(hint))), torch.ones(2), graphs=None)


def test_a_list_that_counts_how_often_it_is_measured():
    def fn(x):
        loud = Loud([1, 2])
        target = [5, 6, 7]
        target[1:] = loud
        return x.sin(), list(loud), [*loud], target, ",".join(map(str, loud))

    check(fn, torch.ones(2))
