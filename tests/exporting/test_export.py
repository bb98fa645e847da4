"""suture.export: one graph of suture as torch.export's program."""

from __future__ import annotations

import pytest
import torch

import suture


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 3)
        self.register_buffer("scale", torch.full((3,), 2.0))
        self.layers = 2

    def forward(self, x, *, shift=0.0):
        for _ in range(self.layers):
            x = self.fc(x).relu() * self.scale
        return {"out": x + shift, "rows": x.shape[0]}


def test_a_module_keeps_the_names_of_its_state():
    net = Net()
    x = torch.randn(4, 3)
    program = suture.export(net, (x,), {"shift": 1.5})
    assert list(program.state_dict) == ["fc.weight", "fc.bias", "scale"]
    result = program.module()(x, shift=1.5)
    torch.testing.assert_close(result["out"], net(x, shift=1.5)["out"])
    assert result["rows"] == 4 and "forward" not in net.__dict__
    assert not program.constants
    exported = program.module()
    with torch.no_grad():
        exported.fc.bias.add_(1)
        assert not torch.equal(exported(x, shift=1.5)["out"], result["out"])


def test_dynamic_shapes():
    net = Net()
    rows = torch.export.Dim("rows")
    program = suture.export(net, (torch.randn(4, 3),), dynamic_shapes={"x": {0: rows}})
    x = torch.randn(7, 3)
    result = program.module()(x)
    torch.testing.assert_close(result["out"], net(x)["out"])
    assert result["rows"] == 7


def test_a_spec_of_sizes_is_refused_as_argument_and_as_decorator():
    words = pytest.importorskip("torch.fx.experimental.dynamic_spec")
    spec = {"x": words.TensorSpec([words.ShapeVar("b")])}

    def fn(x):
        return x + 1

    x = torch.randn(3)
    for shapes in (spec, words.ShapesSpec(spec)):
        with pytest.raises(suture.exc.UserError, match=r"torch\.export\.Dim"):
            suture.export(fn, (x,), dynamic_shapes=shapes)
    fn._dynamic_spec = words.ShapesSpec(spec)  # as torch 2.15's decorator leaves it
    with pytest.raises(suture.exc.UserError, match=r"torch\.export\.Dim"):
        suture.export(fn, (x,))
    del fn._dynamic_spec
    rows = torch.export.Dim("rows")
    program = suture.export(fn, (x,), dynamic_shapes={"x": {0: rows}})
    assert program.module()(torch.randn(5)).shape == (5,)


def test_a_decision_on_a_size_is_not_lost():
    def branching(x):
        return x + 1 if x.shape[0] > 5 else x - 1

    rows = torch.export.Dim("rows", min=2, max=100)
    with pytest.raises(Exception, match="rows"):
        suture.export(branching, (torch.randn(9),), dynamic_shapes={"x": {0: rows}})
    narrow = torch.export.Dim("rows", min=6, max=100)
    program = suture.export(branching, (torch.randn(9),), dynamic_shapes={"x": {0: narrow}})
    x = torch.randn(7)
    torch.testing.assert_close(program.module()(x), x + 1)


def test_what_torch_export_cannot_trace_but_suture_can():
    class Counting(dict):
        def __missing__(self, key):
            return key + 1

    def program(x):
        table = Counting(a=2)
        assert isinstance(table, Counting)
        return x * table["a"] + table[4]

    exported = suture.export(program, (torch.ones(2),))
    torch.testing.assert_close(exported.module()(torch.ones(2)), torch.full((2,), 7.0))


def test_a_break_is_an_error_with_its_number_and_line():
    def breaking(x):
        print(x)
        return x + 1

    with pytest.raises(suture.exc.Unsupported) as caught:
        suture.export(breaking, (torch.ones(2),))
    assert caught.value.number.startswith("GB") and "test_export.py" in str(caught.value)


def test_nothing_of_the_program_runs():
    net = torch.nn.BatchNorm1d(3)
    before = net.running_mean.clone()
    program = suture.export(net, (torch.randn(4, 3),))
    assert torch.equal(net.running_mean, before)
    x = torch.randn(4, 3)
    exported = program.module()
    torch.testing.assert_close(exported(x), net(x))
    torch.testing.assert_close(exported.running_mean, net.running_mean)


def test_an_error_of_the_program_is_its_own():
    with pytest.raises(RuntimeError, match="inconsistent tensor size"):
        suture.export(lambda x: x @ torch.ones(5), (torch.ones(3),))


def test_sizes_that_happen_to_be_equal_are_two_sizes():
    scale = torch.full((4,), 2.0)
    rows = torch.export.Dim("rows", min=2, max=64)
    program = suture.export(
        lambda x: x @ x.mT.new_ones(x.shape[1], 4) * scale,
        (torch.randn(4, 4),),
        dynamic_shapes={"x": {0: rows}},
    )
    x = torch.randn(7, 4)
    torch.testing.assert_close(program.module()(x), x @ torch.ones(4, 4) * scale)


@pytest.mark.filterwarnings("ignore")  # torch's own, while it packs the program
@pytest.mark.skipif(
    torch.__version__ < (2, 12) and torch.cuda.is_available(),
    reason="beside a GPU torch 2.11 ends the process when it loads a package of torch.export too",
)
def test_a_program_goes_through_aotinductor_with_sizes_that_change(tmp_path):
    net = Net().eval()
    rows = torch.export.Dim("rows", min=1, max=64)
    with torch.no_grad():
        program = suture.export(net, (torch.randn(3, 3),), dynamic_shapes={"x": {0: rows}})
        path = torch._inductor.aoti_compile_and_package(
            program, package_path=str(tmp_path / "net.pt2")
        )
        loaded = torch._inductor.aoti_load_package(path)
        for count in (3, 1, 20):
            x = torch.randn(count, 3)
            result = loaded(x)
            torch.testing.assert_close(result["out"], net(x)["out"])
            assert result["rows"] == count
