"""Named tuples among the arguments of a node."""

import collections
import enum

import torch

from tests.harness import check

Meta = collections.namedtuple("Meta", ["shape", "inner"])


class Colour(enum.Enum):
    RED = 1


@torch.compiler.allow_in_graph
def first_of(x, meta):
    return x + meta.shape[0] + (0 if meta.inner is None else len(meta.inner))


def test_a_named_tuple_in_another():
    check(lambda x: first_of(x, Meta(x.shape, Meta((1,), None))), torch.ones(3), graphs=1)


def test_a_named_tuple_with_a_member_of_an_enumeration():
    check(lambda x: first_of(x, Meta((2,), [Colour.RED])), torch.ones(3), graphs=1)


def test_a_named_tuple_of_tensors_and_numbers():
    check(lambda x: first_of(x, Meta((x, 1.5), None)), torch.ones(3), graphs=1)
