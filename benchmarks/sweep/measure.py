"""One model under one front-end: equal to eager, in how many graphs, how fast."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable
from typing import Any

import numpy
import torch
from torch.autograd.profiler import profile, record_function

from sweep.values import Record, difference, leaves, record

CALLS = 3
INSIDE = "suture sweep: inside a graph"


class Counting:
    """A backend that runs each graph as it is, counts graphs, and marks them for the profiler."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.marking = False

    def __call__(self, module: torch.fx.GraphModule, inputs: Any) -> Callable[..., Any]:
        self.sizes.append(sum(node.op.startswith("call_") for node in module.graph.nodes))

        def run(*args: Any) -> Any:
            around = record_function(INSIDE) if self.marking else contextlib.nullcontext()
            with around:
                return module.forward(*args)

        return run


class Model:
    """A freshly built model and how it is called."""

    def __init__(self, build: Callable[[str], Any], name: str, mode: str) -> None:
        self.module, self.inputs = build(name)
        self.train = mode == "train"
        self.module.train(self.train)

    def call(self, fn: Callable[..., Any], around: Any = None) -> tuple[Record, float]:
        """What a call on fresh inputs gave and did, and the CPU seconds of the forward, which
        alone runs under `around`."""
        seed()  # a model may make its inputs with its own layers, which drop values
        args, kwargs = self.inputs()
        seed()
        self.module.zero_grad(set_to_none=True)
        with torch.set_grad_enabled(self.train), around or contextlib.nullcontext():
            start = time.process_time()
            out = fn(*args, **kwargs)
            spent = time.process_time() - start
        seen = record(out=out, args=args, kwargs=kwargs)
        if self.train:
            backward(out)
            grads = {name: p.grad for name, p in self.module.named_parameters()}
            seen += record(grad=grads)
        return seen, spent


def seed() -> None:
    """Start all generators of random numbers anew."""
    torch.manual_seed(1)
    numpy.random.seed(1)
    random.seed(1)


def backward(out: Any) -> None:
    """Differentiate a loss over every output that can be differentiated."""
    losses = [
        v.float().mean()
        for _, v in leaves(out)
        if isinstance(v, torch.Tensor) and v.requires_grad and v.is_floating_point()
    ]
    if losses:
        torch.stack(losses).sum().backward()


def measure(build: Callable[[str], Any], name: str, mode: str, frontend: str) -> dict[str, Any]:
    """The row of one model: `status` is ok or wrong; an exception is the caller's to note."""
    eager = Model(build, name, mode)
    wanted, _ = eager.call(eager.module)
    again, plain = eager.call(eager.module)
    model, backend = Model(build, name, mode), Counting()
    compiled, facts = _compile(frontend, model.module, backend)
    new, wrong, first = [], [], 0.0
    for number in range(CALLS):
        before = len(backend.sizes)
        got, spent = model.call(compiled)
        first = first or spent
        new.append(len(backend.sizes) - before)
        found = difference(wanted, got)
        if found:
            wrong.append(f"call {number + 1}: {found}")
    row = {
        "status": "wrong" if wrong else "ok",
        "wrong": wrong,
        "unstable": difference(wanted, again) or "",  # eager itself, from call to call
        "graphs": len(backend.sizes),
        "operations": sum(backend.sizes),
        "recompiled": sum(new[1:]),
        "first_call_s": max(0.0, first - plain),
        **facts(),
    }
    backend.marking = True
    profiled = profile()
    model.call(compiled, profiled)
    return row | {"captured": captured(profiled)}


def captured(profiled: Any) -> float:
    """The part of the outermost operations that ran inside graphs."""
    inside = outside = 0
    for event in profiled.function_events:
        if "::" not in event.name:
            continue
        above, marked, nested = event.cpu_parent, False, False
        while above is not None and not nested:
            marked = marked or above.name == INSIDE
            nested = "::" in above.name
            above = above.cpu_parent
        if not nested:
            inside, outside = inside + marked, outside + (not marked)
    return inside / max(1, inside + outside)


def _compile(frontend: str, module: Any, backend: Any) -> tuple[Any, Callable[[], dict[str, Any]]]:
    if frontend == "suture":
        import suture

        suture.reset()

        def facts() -> dict[str, Any]:
            stats = suture.stats()
            return {
                "breaks": sum(r.count for r in stats.breaks),
                "given_up": len(stats.interpreted),
                "reasons": [f"{r.number} {r.file}:{r.line} {r.reason}"[:300] for r in stats.breaks],
                "interpreted": [f"{r.file}:{r.line} {r.reason}"[:300] for r in stats.interpreted],
            }

        return suture.compile(module, backend=backend), facts
    import torch._dynamo
    from torch._dynamo.utils import counters

    torch._dynamo.reset()
    counters.clear()
    compiled = torch.compile(module, backend=backend)
    return compiled, lambda: {
        "breaks": sum(counters["graph_break"].values()),
        "given_up": counters["frames"]["total"] - counters["frames"]["ok"],
        "reasons": [str(k)[:300] for k in counters["graph_break"]],
        "interpreted": [],
    }
