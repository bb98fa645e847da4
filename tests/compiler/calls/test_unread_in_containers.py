"""Arguments that nobody has looked at, in `*args` and `**kwargs` that are used as a whole."""

import torch
import torch.utils._pytree as pytree
import torch.utils.checkpoint

from tests.harness import check

A, B = torch.ones(2), torch.full((2,), 3.0)


def test_operations_on_all_arguments():
    def stacked(*xs):
        return torch.stack(xs) + torch.cat(xs).sum() + sum(xs)

    check(
        lambda a, b: stacked(a, b), A, B, ops=[["stack", "cat", "sum", "add", "add", "add", "add"]]
    )


def test_operations_on_all_keywords():
    def of_all(**named):
        return torch.stack(list(named.values())), sorted(named), len(named), dict(named)

    check(lambda a, b: of_all(a=a, b=b), A, B, ops=[["stack"]])


def test_wrappers_that_pass_everything_on():
    def wrap(fn):
        def wrapper(*args, **kwargs):
            assert len(args) == 2
            return fn(*args, **kwargs)

        return wrapper

    @wrap
    @wrap
    def inner(x, y, scale=None, name="a"):
        return x * y if scale is None else x * scale

    check(lambda a, b: inner(a, b, name="b"), A, B, ops=[["mul"]])
    check(lambda a, b, s: inner(a, b, scale=s), A, B, 2.0, ops=[["mul"]])


def test_trees():
    def doubled(*args, **kwargs):
        return pytree.tree_map(lambda x: x * 2, (args, kwargs))

    check(lambda a, b: doubled(a, {"k": b}, c=a), A, B, ops=[["mul", "mul", "mul"]])


def test_checkpoints_and_transforms():
    def inner(x, y, flag):
        return (x * y).sin() if flag else x

    def saved(*args):
        return torch.utils.checkpoint.checkpoint(inner, *args, use_reentrant=False)

    check(lambda a, b, f: saved(a, b, f), A, B, True, breaks=())

    def mapped(*args):
        return torch.vmap(torch.mul)(*args)

    check(lambda a, b: mapped(a, b), A, B, breaks=())


def test_functions_of_autograd():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, times):
            ctx.times = times
            return x * times

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.times, None

    def called(*args):
        return Twice.apply(*args)

    check(lambda a, n: called(a, n), A.clone().requires_grad_(), 2, breaks=())


def test_comparisons_and_membership():
    def found(*args):
        return args.index(3), 3 in args, args == (1, 3), args[::-1], args + (1,), args * 2

    check(lambda x, a, b: (x.sin(), found(a, b)), A, 1, 3, ops=[["sin"]])


def test_methods_of_bases():
    class Base:
        def run(self, x, mask=None):
            return x * self.scale

    class Derived(Base):
        scale = 2

        def run(self, x, mask=None):
            return super().run(x, mask) + Base.run(self, x, mask=mask)

    check(lambda o, x, m: o.run(x, m), Derived(), A, None, ops=[["mul", "mul", "add"]])
