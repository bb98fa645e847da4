"""Functions given to torch._dynamo.comptime run while their line is compiled."""

from __future__ import annotations

import io
import sys

import pytest
import torch
from torch._dynamo.comptime import comptime

import suture
import suture.errors
from tests.harness import Graphs, check

X = torch.ones(3)
SEEN: list[object] = []


@pytest.fixture(autouse=True)
def _fresh():
    suture.reset()
    SEEN.clear()
    yield
    SEEN.clear()


def printed(fn, *args, capsys, **options):
    """What compiling `fn` prints; a second call prints nothing."""
    compiled = suture.compile(fn, backend="eager", **options)
    expected = compiled(*args)
    out = capsys.readouterr().out
    assert torch.equal(compiled(*args), expected)
    assert capsys.readouterr().out == ""
    return out


def test_print_shows_what_is_known(capsys):
    def fn(x, n):
        y = x.sin()
        comptime.print(y)
        comptime.print([n, "a", (y,), {"k": None}])
        return y + n

    out = printed(fn, X, 2, capsys=capsys)
    assert out.splitlines() == [
        "Tensor(float32[3] cpu)",
        "[2, 'a', (Tensor(float32[3] cpu),), {'k': None}]",
    ]


def test_print_of_a_size_that_changes_is_its_symbol(capsys):
    def fn(x):
        comptime.print(x.size(0))
        comptime.print(x)
        return x + 1

    number, tensor = printed(fn, X, capsys=capsys, dynamic=True).splitlines()
    assert number.startswith("s") and tensor == f"Tensor(float32[{number}] cpu)"


def test_eager_mode_prints_the_value(capsys):
    def fn(x):
        comptime.print("text")
        return x + 1

    fn(X)
    assert capsys.readouterr().out == "text\n"
    assert printed(fn, X, capsys=capsys) == "'text'\n"


def helper(z):
    comptime.print_bt()
    comptime.print_locals()
    comptime.print_locals(stacklevel=1)
    return z * 2


def test_the_stack_and_the_locals_of_its_frames(capsys):
    def fn(x, unused):
        y = x.sin()
        return helper(y)

    lines = printed(fn, X, {"a": [1, X]}, capsys=capsys).splitlines()
    assert lines[0].endswith(", in fn") and lines[1].strip() == "return helper(y)"
    assert lines[2].endswith(", in helper") and lines[3].strip() == "comptime.print_bt()"
    assert lines[4:] == [
        "",
        "z = Tensor(float32[3] cpu)",
        "x = Tensor(float32[3] cpu)",
        "unused = {'a': [1, Tensor(float32[3] cpu)]}",
        "y = Tensor(float32[3] cpu)",
    ]


def test_printing_locals_adds_no_guard():
    def fn(x, unused):
        comptime.print_locals()
        return x + 1

    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    compiled(X, 1)
    compiled(X, 2)
    assert len(graphs) == 1


def test_the_graph_so_far(capsys):
    def fn(x):
        y = x.sin()
        comptime.print_graph()
        return y.cos()

    out = printed(fn, X, capsys=capsys)
    assert 'def forward(self, l_x: "f32[3]"):' in out
    assert "l_x.sin()" in out and "cos" not in out


def test_guards_disassembly_and_the_value_stack(capsys):
    def fn(x):
        y = x + comptime.print_value_stack_and_return(x.sin())
        comptime.print_guards()
        comptime.print_disas()
        return y

    out = printed(fn, X, capsys=capsys)
    assert "- Tensor(float32[3] cpu)\n" in out  # x, while the call is under way
    assert "L['x']: TensorSpec(Tensor, torch.float32, cpu, size [3], stride [1]" in out
    assert "-->" in out and "RETURN_VALUE" in out


def test_a_decorated_function_gets_a_context():
    def fn(x, n):
        y = x.sin() * 2

        @comptime
        def _(ctx):
            y, n = ctx.get_local("y"), ctx.get_local("n")
            SEEN.append((y.size(), y.size(0), y.python_type(), y.is_proxy(), y.is_dynamic()))
            SEEN.append((n.as_python_constant(), n.is_python_constant(), n.is_proxy()))
            SEEN.append((y.as_proxy().node.name, y.is_python_constant(), str(y.as_fake().dtype)))
            SEEN.append([node.op for node in ctx.graph().nodes])
            copy = ctx.graph()
            copy.erase_node(list(copy.nodes)[-1])
            with pytest.raises(ValueError, match="not known while compiling"):
                y.as_python_constant()
            with pytest.raises(KeyError):
                ctx.get_local("nothing")

        return y + n

    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    assert torch.equal(compiled(X, 4), X.sin() * 2 + 4)
    assert SEEN == [
        (torch.Size([3]), 3, torch.Tensor, True, False),
        (4, True, False),
        ("mul", False, "torch.float32"),
        ["placeholder", "call_method", "call_function"],
    ]
    compiled(X, 4)
    assert len(SEEN) == 4


def test_the_fallback_is_for_eager_mode():
    def fn(x):
        comptime(lambda ctx: SEEN.append("compiling"), lambda: SEEN.append("eager"))
        return x + 1

    suture.compile(fn, backend="eager")(X)
    fn(X)
    assert SEEN == ["compiling", "eager"]


def test_a_break_is_asked_for():
    def fn(x):
        y = x.sin()
        comptime.graph_break()
        return y + 1

    check(fn, X, graphs=2, breaks=["GB0030"])
    with pytest.raises(suture.errors.Unsupported, match="GB0030"):
        suture.compile(fn, backend="eager", fullgraph=True)(X)


def test_a_break_on_a_condition_with_a_message():
    def fn(x):
        y = x.sin()
        comptime(lambda ctx: ctx.graph_break("wide") if ctx.get_local("x").size(0) > 3 else None)
        return y + 1

    compiled = suture.compile(fn, backend="eager", dynamic=False)
    compiled(X)
    assert suture.stats().breaks == []
    compiled(torch.ones(4))
    assert [b.reason for b in suture.stats().breaks] == ["torch._dynamo.comptime: wide"]


def test_a_function_with_variables_of_the_one_around_it_is_passed_over():
    def fn(x):
        inner = 3
        comptime(lambda ctx: SEEN.append(inner))
        return x + inner

    check(fn, X, graphs=1, breaks=["GB0030"])
    assert SEEN == []


def test_static_and_dynamic():
    def fn(x):
        comptime.force_static(x.size(0))
        comptime.assert_static(x.size(0))
        return x * x.size(0)

    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs, dynamic=True)
    for size in (3, 4, 3):
        assert torch.equal(compiled(torch.ones(size)), torch.ones(size) * size)
    assert len(graphs) == 2


def test_a_size_that_is_to_be_static_and_is_not_raises():
    def fn(x):
        comptime.assert_static(x.size(0))
        return x + 1

    with pytest.raises(AssertionError, match="may change from call to call"):
        suture.compile(fn, backend="eager", dynamic=True)(X)
    assert torch.equal(suture.compile(fn, backend="eager", dynamic=False)(X), X + 1)


def test_what_the_function_raises_arrives_behind_a_break_too():
    def fn(x, late):
        try:
            if late:
                suture.graph_break()
            comptime(lambda ctx: {}["key"])
        finally:
            SEEN.append("left")
        return x + 1

    for late in (False, True):
        with pytest.raises(KeyError, match="key"):
            suture.compile(fn, backend="eager")(X, late)
    assert SEEN == ["left"]  # compiling the whole call failed before it began


def test_breakpoint_stops_while_compiling(monkeypatch):
    def hook():
        ctx = sys._getframe(1).f_locals["ctx"]
        SEEN.append(repr(ctx.get_local("y")))

    def fn(x):
        y = x.sin()
        comptime.breakpoint()
        return y + 1

    monkeypatch.setattr(sys, "breakpointhook", hook)
    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    compiled(X)
    compiled(X)
    assert SEEN == ["Tensor(float32[3] cpu)"]


def test_files_to_print_to():
    def fn(x):
        comptime(lambda ctx: ctx.print_locals(file=FILE))
        comptime.sleep(0)
        return x + 1

    suture.compile(fn, backend="eager")(X)
    assert FILE.getvalue() == "x = Tensor(float32[3] cpu)\n"


FILE = io.StringIO()


def test_torchdynamos_own_objects_are_refused_by_name():
    def fn(x):
        comptime(lambda ctx: ctx._i_will_not_complain_if_bc_breaks_InstructionTranslator())
        return x + 1

    with pytest.raises(AttributeError, match="TorchDynamo does not run"):
        suture.compile(fn, backend="eager")(X)
