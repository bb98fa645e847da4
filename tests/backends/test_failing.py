"""A backend that fails on a graph that eager can run does not end the program."""

from __future__ import annotations

import logging

import pytest
import torch

import suture


class Fails:
    """A backend that spoils the graph and fails, as often as it is told to."""

    def __init__(self, times):
        self.times = times
        self.seen = 0

    def __call__(self, gm, inputs):
        self.seen += 1
        if self.seen <= self.times:
            for node in list(gm.graph.nodes):
                if node.op == "call_function":
                    node.target = torch.sub
            gm.recompile()
            raise RuntimeError("not today")
        return gm.forward


def doubled(x):
    return (x + 1) * 2, x.shape[0]


def test_the_region_runs_uncompiled_and_is_told_of_once(caplog):
    suture.reset()
    compiled = suture.compile(doubled, backend=Fails(100))
    with caplog.at_level(logging.WARNING):
        for size in (2, 2, 2):
            out, count = compiled(torch.ones(size))
            assert torch.equal(out, torch.full((size,), 4.0)) and count == size
    told = [r.getMessage() for r in caplog.records if "not today" in r.getMessage()]
    assert len(told) == 1 and "uncompiled" in told[0] and "SUTURE_REPRO_DIR=" in told[0]


def test_another_variant_of_the_region_is_compiled_again():
    suture.reset()
    backend = Fails(1)
    compiled = suture.compile(lambda x: x * 3, backend=backend, dynamic=False)
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 3.0))
    assert torch.equal(compiled(torch.ones(3)), torch.full((3,), 3.0))
    assert backend.seen == 2


def test_the_script_of_the_failure_is_written(tmp_path):
    suture.reset()
    with suture.config.patch(repro_dir=str(tmp_path)):
        suture.compile(lambda x: x.cos(), backend=Fails(100))(torch.ones(2))
    assert list(tmp_path.glob("graph_*.py"))


@pytest.mark.parametrize("how", [{"raise_backend_errors": True}, {"strict": True}])
def test_who_wants_the_error_gets_it(how):
    suture.reset()
    with suture.config.patch(**how), pytest.raises(suture.exc.BackendFailed, match="not today"):
        suture.compile(lambda x: x + 1, backend=Fails(100))(torch.ones(2))


def test_a_whole_graph_is_compiled_or_raises():
    suture.reset()
    with pytest.raises(suture.exc.BackendFailed):
        suture.compile(lambda x: x + 1, backend=Fails(100), fullgraph=True)(torch.ones(2))


def fills(x, o):
    return torch.add(x, 1, out=o)


def fills_and_looks(x, o):
    view = o.view(-1)[:2]
    torch.add(x, 1, out=o)
    return o * 2, view


def fills_a_row(x, o):
    torch.add(x, 1, out=o[0])
    return o


def fills_two(x, o):
    return torch.max(x, 0, out=(o, torch.empty(0, dtype=torch.long)))[0] + o


SHAPES = [((2, 3), (0,)), ((2, 3), (2, 3)), ((2,), (2, 3)), ((3,), (2, 3))]


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("fn", [fills, fills_and_looks, fills_a_row, fills_two])
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_an_output_of_another_shape_is_resized(fn, backend):
    suture.reset()
    compiled = suture.compile(fn, backend=backend)
    for given, held in SHAPES if backend != "inductor" else SHAPES[:2]:
        results = []
        for run in (fn, compiled):
            out = torch.zeros(held)
            try:
                results.append(f"{run(torch.ones(given), out)} {out}")
            except (IndexError, RuntimeError) as error:
                results.append(type(error).__name__)
        assert results[0] == results[1]
