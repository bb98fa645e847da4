"""torch.compiler.set_stance, reset and set_default_backend, and torch._dynamo's own names."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
import torch._dynamo

import suture
from tests.harness import Graphs


def test_force_backend_holds_for_what_was_compiled_and_what_will_be():
    own, forced = Graphs(), Graphs()
    before = torch.compile(lambda x: x + 1, backend=own)
    before(torch.ones(2))
    with torch.compiler.set_stance("default", force_backend=forced):
        assert torch.equal(before(torch.ones(2)), torch.full((2,), 2.0))
        torch.compile(lambda x: x + 2, backend=own)(torch.ones(2))
        assert (len(own), len(forced)) == (1, 2)
    before(torch.ones(2))
    assert (len(own), len(forced)) == (1, 2)


def test_force_backend_goes_with_the_default_stance_only():
    with pytest.raises(RuntimeError):
        torch.compiler.set_stance("force_eager", force_backend="eager")


def breaking(x):
    x = x.sin()
    torch._dynamo.graph_break()
    return x.cos(), torch.compiler.is_compiling()


def test_eager_then_compile_runs_one_call_eagerly():
    graphs = Graphs()
    fn = torch.compile(breaking, backend=graphs)
    with torch.compiler.set_stance("eager_then_compile"):
        assert fn(torch.ones(3))[1] is False and len(graphs) == 0
        assert fn(torch.ones(3))[1] is True and len(graphs) == 2


def test_eager_then_compile_learns_what_changes_from_the_first_call():
    graphs = Graphs()
    fn = torch.compile(lambda x, n: x * n, backend=graphs)
    with torch.compiler.set_stance("eager_then_compile"):
        for size in (3, 4, 5):
            fn(torch.ones(size), size)
    assert len(graphs) == 1


def test_aot_eager_then_compile_uses_aot_eager_once():
    graphs = Graphs()
    fn = torch.compile(lambda x: x + torch.compiler.is_compiling(), backend=graphs)
    with torch.compiler.set_stance("aot_eager_then_compile"):
        assert fn(torch.zeros(1)).item() == 1 and len(graphs) == 0
        assert fn(torch.zeros(1)).item() == 1 and len(graphs) == 1


def test_a_stance_nobody_knows_is_the_error_it_is_in_torch():
    with pytest.raises(RuntimeError, match="invalid torch.compile stance 'no such stance'"):
        torch.compiler.set_stance("no such stance")


def test_reset_of_dynamo_forgets():
    graphs = Graphs()
    fn = torch.compile(lambda x: x + 1, backend=graphs)
    fn(torch.ones(1))
    torch._dynamo.reset()
    fn(torch.ones(1))
    assert len(graphs) == 2


def test_default_backend():
    if not hasattr(torch.compiler, "set_default_backend"):
        pytest.skip("this torch has no default backend to set")
    graphs = Graphs()
    torch.compiler.set_default_backend(graphs)
    torch.compile(lambda x: x + 1)(torch.ones(1))
    assert len(graphs) == 1 and torch.compiler.get_default_backend() is graphs


def test_optimize_of_dynamo_is_suture():
    graphs = Graphs()
    fn = torch._dynamo.optimize(graphs)(lambda x: x + 1)
    fn(torch.ones(1))
    assert len(graphs) == 1 and suture.stats().variants == 1
    whole = torch._dynamo.optimize(graphs, nopython=True)(breaking)
    with pytest.raises(torch._dynamo.exc.Unsupported):
        whole(torch.ones(1))
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch._dynamo.optimize_assert(graphs)(breaking)(torch.ones(1))


def test_dynamo_imported_after_install_is_installed_too():
    program = (
        "import sys, torch, suture; suture.install();"
        "assert 'torch._dynamo' not in sys.modules;"
        "f = torch.compile(lambda x: x + 1, backend='eager'); f(torch.ones(1));"
        "assert suture.stats().variants == 1;"
        "import torch._dynamo; torch._dynamo.reset();"
        "assert suture.stats().variants == 0; suture.uninstall();"
        "assert torch._dynamo.reset.__module__ == 'torch._dynamo';"
        "assert not hasattr(torch._dynamo.reset, '__wrapped__')"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def own_error(x):
    return x @ torch.ones(5)


def test_fullgraph_keeps_the_programs_own_error_without_frames_of_ours():
    fn = torch.compile(own_error, backend="eager", fullgraph=True)
    with pytest.raises(RuntimeError) as eager:
        own_error(torch.ones(3))
    with pytest.raises(RuntimeError) as ours:
        fn(torch.ones(3))
    assert type(ours.value) is RuntimeError and str(ours.value) == str(eager.value)
    assert [entry.name for entry in ours.traceback][1:] == ["own_error"]


def test_unsupported_has_no_frames_of_ours():
    with pytest.raises(torch._dynamo.exc.Unsupported) as caught:
        torch.compile(breaking, backend="eager", fullgraph=True)(torch.ones(3))
    assert len(caught.traceback) == 1


@torch.library.custom_op("switches::wrong_fake", mutates_args=())
def wrong_fake(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@wrong_fake.register_fake
def _(x):
    raise RuntimeError("this fake kernel is wrong")


def test_fullgraph_is_an_error_where_only_the_fake_kernel_raises():
    fn = torch.compile(lambda x: wrong_fake(x) + 1, backend="eager", fullgraph=True)
    with pytest.raises(torch._dynamo.exc.Unsupported, match="this fake kernel is wrong"):
        fn(torch.ones(3))
