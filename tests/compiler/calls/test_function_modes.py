"""TorchFunctionMode and default devices: inside a compiled function, around it, across breaks."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch.overrides import (
    BaseTorchFunctionMode,
    TorchFunctionMode,
    _get_current_function_mode,
    _get_current_function_mode_stack,
)

import suture
from tests.harness import Graphs, check


class Scaling(TorchFunctionMode):
    def __init__(self, factor=2):
        super().__init__()
        self.factor = factor

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result * self.factor if func is torch.Tensor.add else result


class Noting(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append((func.__name__, len(args), sorted(kwargs or {})))
        return func(*args, **(kwargs or {}))


def test_a_mode_entered_inside_is_traced_through():
    def fn(x):
        with Scaling(3):
            y = x + 1
        return y + 1

    check(fn, torch.randn(4))


def test_modes_nest_and_each_sees_what_the_inner_ones_do():
    def fn(x):
        outer, inner = Noting(), Noting()
        with outer, inner, Scaling():
            y = torch.sin(x) + 1
        return y, outer.names, inner.names

    check(fn, torch.randn(4))


def test_a_mode_sees_operators_methods_fields_items_and_functions():
    def fn(x):
        mode = Noting()
        with mode:
            a = (x + 1, 1 - x, x @ x, -x, abs(x), 2**x, x // 2, x > 0, ~(x > 0))
            b = (x[0], x.shape, x.T, x.dtype, x.dim(), len(x), x.size(0), F.relu(x))
            c = x.clone()
            c += 1
            c[0] = 2
            d = torch.cat([torch.ones(2, 4), c])
            rows = [r.sum() for r in x]
        return a, b, c, d, rows, mode.names

    check(fn, torch.randn(4, 4))


def test_a_mode_may_be_entered_again():
    def fn(x):
        mode = Noting()
        with mode:
            y = x.sin()
        with mode:
            y = y.cos()
        return y, mode.names

    check(fn, torch.randn(4, requires_grad=True))


def test_a_base_mode_changes_nothing():
    def fn(x):
        with BaseTorchFunctionMode():
            return F.softmax(x, -1).max(-1).values

    check(fn, torch.randn(4, 4))


def test_an_exception_in_a_mode_is_the_programs():
    class Refusing(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func is torch.sin:
                raise ValueError("no sin")
            return func(*args, **(kwargs or {}))

    def fn(x):
        try:
            with Refusing():
                return torch.sin(x)
        except ValueError as error:
            return torch.cos(x), str(error)

    check(fn, torch.randn(4))


def test_breaks_inside_a_mode_leave_it_active_and_behind_it_not():
    def fn(x):
        with Scaling(3):
            y = x + 1
            torch._dynamo.graph_break()
            y = y + 1
            with Scaling(5):
                y = y + 1
                torch._dynamo.graph_break()
                y = y + 1
            y = y + 1
        torch._dynamo.graph_break()
        return y + 1

    check(fn, torch.randn(4), graphs=4, breaks=["GB0025"] * 3)


def test_a_break_in_a_mode_leaves_the_operation_to_python():
    class Breaking(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            torch._dynamo.graph_break()
            return func(*args, **(kwargs or {}))

    def fn(x):
        with Breaking():
            y = x.sin()
        return y + 1

    check(fn, torch.randn(4), graphs=None, breaks=None, recompiles=None)


def test_questions_about_the_stack_are_answered():
    def fn(x):
        with Scaling() as mode:
            now, count = _get_current_function_mode(), len(_get_current_function_mode_stack())
        return x + 1, now is mode, count, _get_current_function_mode() is None

    check(fn, torch.randn(4))


def around(fn, x, make):
    """Called under a mode twice, without it, and under it again; as eager, and nothing leaks."""
    suture.reset()
    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    for mode in (make(), make(), None, make()):
        outcomes = []
        for run in (fn, compiled):
            if mode is None:
                outcomes.append((run(x), None))
            else:
                with type(mode)() as entered:
                    outcomes.append((run(x), getattr(entered, "names", None)))
        torch.testing.assert_close(outcomes[0][0], outcomes[1][0])
        assert outcomes[0][1] == outcomes[1][1]
        assert torch._C._len_torch_function_stack() == 0
    return graphs


@pytest.mark.parametrize("make", [Scaling, Noting])
def test_a_mode_around_the_call_is_traced_through(make):
    def fn(x):
        return F.softmax(x.sin() + 1, -1)[0] * 2

    assert len(around(fn, torch.randn(4, 4), make)) == 2  # one with it, one without


def test_a_mode_with_another_state_is_another_variant():
    def fn(x):
        return x + 1

    compiled = suture.compile(fn, backend="eager")
    x = torch.randn(3)
    for factor in (2, 3, 2):
        with Scaling(factor):
            torch.testing.assert_close(compiled(x), fn(x))


def test_a_device_as_a_block_is_the_default_of_what_is_made_in_it():
    def fn(x):
        with torch.device("meta"):
            y = torch.ones(4)
            with torch.device("cpu"):
                z = torch.ones(4)
            w = torch.zeros(2, device="cpu")
            now = torch.get_default_device()
        return x + z, y.device, w, now, torch.get_default_device(), torch.ones(1).device

    check(fn, torch.randn(4))


def test_breaks_inside_the_block_of_a_device():
    def fn(x):
        with torch.device("meta"):
            torch._dynamo.graph_break()
            y = torch.ones(4)
            torch._dynamo.graph_break()
        z = torch.ones(4)
        return y.device, x + z

    check(fn, torch.randn(4), graphs=2, breaks=["GB0025"] * 2)


def test_an_exception_leaves_the_block_of_a_device():
    def fn(x):
        try:
            with torch.device("meta"):
                raise ValueError("left")
        except ValueError:
            return x + torch.ones(4)

    check(fn, torch.randn(4))


def test_numbers_in_tensors_index_under_vmap():
    def fn(x):
        def item(i, j):
            return x[i, j] > 0

        rows, columns = torch.arange(4), torch.arange(3)
        return torch.vmap(torch.vmap(item, (None, 0)), (0, None))(rows, columns)

    check(fn, torch.randn(4, 3))


def test_no_mode_is_asked_where_torch_functions_are_disabled():
    class Zeros(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func is torch.add:
                return torch.zeros(2)
            return func(*args, **(kwargs or {}))

    def fn(x):
        return torch.add(x, 3)

    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    x = torch.ones(2)
    for disabled in (torch._C.DisableTorchFunctionSubclass, torch._C.DisableTorchFunction) * 2:
        with Zeros():
            with disabled():
                assert torch.equal(compiled(x), fn(x))
            assert torch.equal(compiled(x), fn(x))
        assert torch.equal(compiled(x), fn(x))
