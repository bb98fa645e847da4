"""Custom operators, marks, arrays."""

from __future__ import annotations

import dataclasses
import random
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch.library import custom_op

import suture
from tests.harness import check

torch.manual_seed(0)
x = torch.randn(3, 4)
g = torch.randn(3, 4, requires_grad=True)
i = torch.tensor([0, 2])


@custom_op("pt::mysin", mutates_args=())
def mysin(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.sin(x.detach().numpy()))


@mysin.register_fake
def _(x):
    return torch.empty_like(x)


@custom_op("pt::nofake", mutates_args=())
def nofake(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@custom_op("pt::mut", mutates_args={"x"})
def mut(x: torch.Tensor) -> None:
    x.add_(1)


lib = torch.library.Library("ptl", "DEF")
lib.define("foo(Tensor x, int n) -> Tensor")
lib.impl("foo", lambda x, n: x * n, "CPU")
torch.library.register_fake("ptl::foo", lambda x, n: torch.empty_like(x), lib=lib)


@torch.compiler.allow_in_graph
def aig(x):
    return x.sin() + 1


@suture.allow_in_graph
def aig2(d):
    return {"a": d["x"] + 1, "b": [d["y"]]}


@suture.nonstrict_trace
def nst(x, d):
    return x * d["k"], [x + d["t"]]


@torch.compiler.assume_constant_result
def acr():
    return 5


@torch.compiler.disable
def dis(x):
    return x + 1


class TF(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        r = super().__torch_function__(func, types, args, kwargs)
        return r


def test_custom_op():
    def cop(x):
        return mysin(x) + 1, torch.ops.pt.mysin(x)

    check(cop, x, graphs=1)


def test_custom_op_without_fake_kernel():
    def cop_nofake(x):
        return nofake(x) + 1

    check(cop_nofake, x, graphs=1, breaks=("GB0090",))


def test_custom_op_that_writes():
    def cop_mut(x):
        mut(x)
        return x * 2

    check(cop_mut, x, graphs=1)


def test_library_operator():
    def lib_def(x):
        return torch.ops.ptl.foo(x, 3) + 1

    check(lib_def, x, graphs=1)


def test_allow():
    def allow(x):
        return aig(x) * 2

    check(allow, g, graphs=1)


def test_allow_tree():
    def allow_tree(x):
        r = aig2({"x": x, "y": x * 2})
        return r["a"] + r["b"][0]

    check(allow_tree, x, graphs=1)


def test_nonstrict():
    def nonstrict(x):
        a, b = nst(x, {"k": 2, "t": x})
        return a + b[0]

    check(nonstrict, g, graphs=1)


def test_assume():
    def assume(x):
        return x + acr()

    check(assume, x, graphs=1)


def test_disabled():
    def disabled(x):
        return dis(x * 2) * 3

    check(disabled, x, graphs=2, breaks=("GB0098",))


def test_py_random():
    def py_random(x):
        return x + random.random(), random.randint(0, 10)

    check(py_random, x)


def test_as_subclass():
    def as_sub(x):
        return x.as_subclass(TF) + 1

    check(as_sub, x)


def test_sparse_make():
    def sparse_make(x):
        s = x.to_sparse()
        return s.to_dense() + 1

    check(sparse_make, x, graphs=1)


def test_an_operator_that_was_never_asked_for_is_compiled_once():
    with torch.library._scoped_library("suture_lazy", "FRAGMENT") as library:
        library.define("double(Tensor x) -> Tensor")
        library.impl("double", lambda x: x * 2, "CompositeExplicitAutograd")
        check(lambda x: torch.ops.suture_lazy.double(x), torch.randn(3), fullgraph=True)


def test_the_kernel_of_an_operator_may_be_compiled():
    inner = suture.compile(lambda x: x.sin().cos(), backend="eager", fullgraph=True)
    with torch.library._scoped_library("suture_inner", "FRAGMENT") as library:
        library.define("run(Tensor x) -> Tensor")
        library.impl("run", lambda x: inner(x), "CompositeExplicitAutograd")
        fn = suture.compile(
            lambda x: torch.ops.suture_inner.run(x) + 1, backend="eager", fullgraph=True
        )
        x = torch.randn(3)
        assert torch.equal(fn(x), x.sin().cos() + 1)
        assert torch.equal(inner(x), x.sin().cos())


def test_a_compiled_function_under_another_tracer_runs_plainly():
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    fn = suture.compile(lambda x: x.sin() + 1, backend="eager", fullgraph=True)
    with FakeTensorMode():
        fake = torch.ones(3)
        assert fn(fake).shape == (3,)
    assert fn(fake).shape == (3,)
    traced = make_fx(lambda x: fn(x) * 2)(torch.ones(2))
    assert torch.equal(traced(x), (x.sin() + 1) * 2)


class Pair(NamedTuple):
    first: torch.Tensor
    times: int = 3

    def scaled(self):
        return self.first * self.times


@dataclasses.dataclass(frozen=True)
class Fixed:
    first: torch.Tensor
    second: torch.Tensor
    shift: list = dataclasses.field(default_factory=lambda: [5])

    def total(self):
        return self.first + self.second + self.shift[0]


@suture.allow_in_graph
def of_pair(pair):
    return pair.scaled()


@suture.allow_in_graph
def of_fixed(fixed):
    return fixed.total()


@pytest.mark.parametrize("backend", [None, "aot_eager"])
def test_records_go_to_functions_in_the_graph_as_what_they_are(backend):
    given = Fixed(torch.ones(3), torch.ones(3))

    def fn(x):
        return of_pair(Pair(x)) + of_fixed(Fixed(x, x + 1)) + of_fixed(given)

    check(fn, torch.randn(3), backend=backend, fullgraph=True)


def test_named_tuples_go_to_operations():
    def fn(x):
        return torch.stack(Pair(x, x + 1)), x[None][Pair(0, 1)], x.new_zeros(Pair(2, 3))

    check(fn, torch.randn(3), fullgraph=True)
