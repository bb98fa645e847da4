"""Marks that the program breaks, and `dynamic_shapes`, which torch 2.13 calls `shapes_spec`."""

from __future__ import annotations

import pytest
import torch
from torch.fx.experimental.symbolic_shapes import ConstraintViolationError

from tests.harness import Graphs


def words_of_specs():
    """torch's module for `dynamic_shapes`; torch 2.11 has none, which skips the test that asks."""
    return pytest.importorskip("torch.fx.experimental.dynamic_spec")


def test_a_broken_mark_is_torchs_error():
    x = torch.ones(3, 4)
    torch._dynamo.mark_dynamic(x, 0)
    fn = torch.compile(lambda x: x + 1 if x.shape[0] == 3 else x - 1, backend="eager")
    with pytest.raises(ConstraintViolationError, match="size\\(0\\) is marked dynamic"):
        fn(x)


def compiled(fn, spec, **kwargs):
    graphs = Graphs()
    return torch.compile(fn, backend=graphs, dynamic_shapes=spec, **kwargs), graphs


def test_a_spec_makes_sizes_and_ints_symbols_and_the_rest_constant():
    dynamic_spec = words_of_specs()
    spec = {"x": dynamic_spec.TensorSpec([dynamic_spec.ShapeVar("b"), None])}
    spec["n"] = dynamic_spec.IntVar("n")
    fn, graphs = compiled(lambda x, n, m: x * n + m, dynamic_spec.ParamsSpec(spec))
    for size, n in ((3, 2), (5, 3), (7, 4)):
        fn(torch.ones(size, 2), n, 1)
    assert len(graphs) == 1
    for width, m in ((3, 1), (4, 1), (2, 5), (2, 6)):
        fn(torch.ones(3, width), 2, m)
    assert len(graphs) == 5


def test_a_spec_of_a_module_is_about_forward():
    dynamic_spec = words_of_specs()

    class Net(torch.nn.Module):
        def forward(self, x, y):
            return x.sum() + y.sum()

    variable = dynamic_spec.ShapeVar("b")
    fn, graphs = compiled(Net(), {"y": dynamic_spec.TensorSpec([variable])})
    for size in (3, 4, 5):
        fn(torch.ones(2), torch.ones(size))
        fn(torch.ones(2), y=torch.ones(size))
    assert len(graphs) == 2  # one for each way of passing y


def test_a_size_of_the_spec_that_the_program_makes_constant_is_an_error():
    dynamic_spec = words_of_specs()
    spec = {"x": dynamic_spec.TensorSpec([dynamic_spec.ShapeVar("b")])}
    fn, _ = compiled(lambda x: x + 1 if x.shape[0] == 3 else x, spec)
    with pytest.raises(ConstraintViolationError):
        fn(torch.ones(3))


def test_what_cannot_be_done_is_refused():
    dynamic_spec = words_of_specs()
    variable = dynamic_spec.ShapeVar("b")
    tensor = dynamic_spec.TensorSpec([variable])
    for spec, what in (
        (dynamic_spec.ShapesSpec({"x": tensor}, assumptions=[variable > 3]), "assumptions"),
        ({"x": dynamic_spec.TensorSpec([variable * 2])}, "derived"),
        ({"*args": [tensor]}, "args"),
        ({"z": tensor}, "no parameter"),
    ):
        with pytest.raises(torch._dynamo.exc.UserError, match=what):
            torch.compile(lambda x: x, dynamic_shapes=spec)
    with pytest.raises(ValueError, match="not both"):
        torch.compile(lambda x: x, dynamic=True, dynamic_shapes={"x": tensor})


@pytest.mark.parametrize("name", ["dynamic_shapes", "shapes_spec"])
def test_a_spec_is_taken_under_both_names_of_the_argument(name):
    dynamic_spec = words_of_specs()
    spec = {"x": dynamic_spec.TensorSpec([dynamic_spec.ShapeVar("b")])}
    graphs = Graphs()
    fn = torch.compile(lambda x: x + 1, backend=graphs, **{name: spec})
    through_dynamo = torch._dynamo.optimize(graphs, **{name: spec})(lambda x: x + 2)
    for size in (3, 5):
        assert fn(torch.ones(size)).shape == through_dynamo(torch.ones(size)).shape == (size,)
    assert len(graphs) == 2


def marked(spec):
    """torch's decorator `dynamic_spec`; before torch 2.15 the mark that it leaves."""
    dynamic_spec = words_of_specs()

    def mark(fn):
        fn._dynamic_spec = dynamic_spec.ShapesSpec(spec)
        return fn

    return getattr(dynamic_spec, "dynamic_spec", lambda spec: mark)(spec)


def test_a_spec_that_a_decorator_gives_counts_as_the_argument():
    dynamic_spec = words_of_specs()
    spec = {"x": dynamic_spec.TensorSpec([dynamic_spec.ShapeVar("b")])}

    class Net(torch.nn.Module):
        @marked(spec)
        def forward(self, x):
            return x + 1

    function = marked(spec)(lambda x: x * 2)
    for model in (function, Net(), Net().forward):
        graphs = Graphs()
        fn = torch.compile(model, backend=graphs)
        for size in (3, 5):
            assert fn(torch.ones(size)).shape == (size,)
        assert len(graphs) == 1
        with pytest.raises(ValueError, match="one of"):
            torch.compile(model, dynamic_shapes=spec)
        with pytest.raises(ValueError, match="not both"):
            torch.compile(model, dynamic=True)
