"""What a variant makes is made once, however often it is handed over."""

import torch

from tests.harness import check


def pause():
    print(end="")


def test_array_flat_is_one_iterator_over_a_break():
    def fn(x):
        it = x.numpy().flat
        first, second = next(it), next(it)
        return float(first), float(second), [float(v) for v in it]

    check(fn, torch.arange(4.0), graphs=None, breaks=None, recompiles=None)


def test_a_loop_over_array_flat_meets_each_element_once():
    def fn(x):
        return [float(v) + 1 for v in (x * 2).numpy().flat], x.cos()

    check(fn, torch.arange(3.0), graphs=None, breaks=None, recompiles=None)


def test_a_bound_method_in_two_variables_is_one_object_behind_a_break():
    def fn(x):
        y = x.sin()
        one = other = y.add
        pause()
        return one is other, one(1)

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_a_method_of_a_list_in_two_variables_is_one_object_behind_a_break():
    def fn(x):
        kept = [x.sin()]
        one = other = kept.append
        pause()
        one(x)
        return one is other, kept

    check(fn, torch.ones(2), graphs=None, breaks=None)
