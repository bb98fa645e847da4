"""Subclasses of torch.Tensor that leave operations to torch are captured, and keep their class."""

from __future__ import annotations

import torch

from tests.harness import check


class Tagged(torch.Tensor):
    kind = "tagged"

    def doubled(self):
        return self * 2

    @property
    def first(self):
        return self[0]


class Inner(Tagged):
    def sin(self):
        return super().sin() + 1


def tagged(*shape, cls=Tagged):
    return torch.randn(*shape).as_subclass(cls)


def test_results_have_the_class_of_the_argument():
    def fn(x, y):
        return x + y, torch.stack([x, y]), x.max(0), x.shape, x.kind

    check(fn, tagged(4), torch.randn(4))


def test_methods_and_properties_of_the_class_are_followed():
    def fn(x):
        return x.doubled(), x.first, x.sin()

    check(fn, tagged(4, cls=Inner))


def test_the_more_derived_class_wins():
    def fn(x, y):
        return x * y

    check(fn, tagged(4), tagged(4, cls=Inner))


def test_a_change_in_place_gives_the_same_object():
    def fn(x):
        y = x.add_(1)
        return y is x, y

    check(fn, tagged(4))


def test_gradients_flow_through():
    def fn(x):
        return x.doubled().sum()

    check(fn, tagged(4).requires_grad_())


def test_as_subclass_in_the_graph():
    def fn(x):
        y = x.sin().as_subclass(Tagged)
        return y, y.doubled().as_subclass(torch.Tensor), isinstance(y, Tagged)

    check(fn, torch.randn(4))


def test_a_plain_tensor_of_the_same_shape_compiles_again():
    import suture

    def fn(x):
        return x + 1

    compiled = suture.compile(fn, backend="eager")
    for value in (tagged(4), torch.randn(4), tagged(4)):
        assert type(compiled(value)) is type(fn(value))


class Counted(torch.Tensor):
    def __len__(self):
        return 7


def test_a_subclass_with_its_own_length():
    check(lambda x: len(x), tagged(4, cls=Counted), graphs=0)


class Agreeing:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func(args[0], 1)


def test_an_object_that_takes_part_in_operations_is_asked():
    check(lambda x: torch.add(x.sin(), Agreeing()), torch.randn(4))
