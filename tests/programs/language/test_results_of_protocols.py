"""What Python makes of what special methods return: it takes it, changes it or refuses it."""

import collections
import operator

import pytest
import torch

from tests.harness import check

ASKED = {
    "__len__": [len, bool],
    "__bool__": [bool],
    "__hash__": [hash],
    "__index__": [operator.index, lambda o: [1, 2, 3][o], lambda o: [1] * o],
    "__int__": [int],
    "__float__": [float],
    "__iter__": [list],
    "__str__": [str],
    "__repr__": [repr],
    "__format__": [format],
    "__contains__": [lambda o: 3 in o],
    "__length_hint__": [operator.length_hint],
}
GIVEN = [None, 1.5, -1, -3, 2, 2**70, "a", [1]]


def answering(method, given):
    return type("Answering", (), {method: lambda self, *args: given})()


@pytest.mark.parametrize("method", ASKED)
def test_every_kind_of_answer(method):
    for ask in ASKED[method]:
        for given in GIVEN:

            def fn(x, obj, ask=ask):
                y = x.sin()
                try:
                    told = ask(obj)
                except Exception as error:
                    return y, type(error), str(error)
                return y, type(told), told

            made = answering(method, given)
            check(
                fn,
                torch.ones(2),
                make=lambda fn=fn, made=made: (torch.ones(2), made),
                graphs=None,
                breaks=None,
            )


def test_a_length_that_is_a_size():
    class Sized:
        def __init__(self, t):
            self.t = t

        def __len__(self):
            return self.t.shape[0]

    def fn(x):
        sized = Sized(x)
        return x * len(sized) if sized else x

    check(fn, torch.ones(5), dynamic=True)


class Keys:
    def __init__(self, keys):
        self.held = keys

    def keys(self):
        if self.held is None:
            raise LookupError("no keys")
        return self.held


def named(**given):
    return given


@pytest.mark.parametrize("keys", [None, (), ["a"]])
@pytest.mark.parametrize(
    "into", [dict, collections.OrderedDict, lambda o: {**o}, lambda o: named(**o)]
)
def test_an_object_with_keys_is_a_mapping(into, keys):
    def fn(x):
        y = x.sin()
        try:
            return y, into(Keys(keys))
        except (LookupError, TypeError) as error:
            return y, type(error), str(error)

    check(fn, torch.ones(2), graphs=None, breaks=None)
