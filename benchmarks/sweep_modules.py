"""Every layer of torch.nn from torch's own test database, compiled, forward and backward.

    python benchmarks/sweep_modules.py                 all layers, suture next to torch.compile
    python benchmarks/sweep_modules.py --only Conv     those whose name contains the text

Each layer is made and called with the first inputs that the database has for it, in train and in
eval mode, float32 on the CPU, and differentiated. Compared with eager are the result, the
gradients of parameters and inputs, the buffers and, where eager raises, the error. Printed are the
layers that are not equal in one graph, and a table of totals.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import sys
import time
import warnings
from typing import Any

import torch
from sweep_ops import compiled_by, conclude, difference
from torch.testing._internal.common_modules import module_db
from torch.utils import _pytree as pytree

SAMPLES = 6


def main() -> None:
    options = _options()
    warnings.simplefilter("ignore")
    infos = [info for info in module_db if options.only in info.name]
    rows = []
    for number, info in enumerate(infos):
        for training in (True, False):
            row = {"op": f"{info.name} {'train' if training else 'eval'}"}
            for frontend in options.frontends:
                row[frontend] = run_module(info, training, frontend)
            rows.append(row)
        print(f"\r{number + 1}/{len(infos)} {info.name:60.60}", end="", file=sys.stderr, flush=True)
    conclude(rows, options)


def _options() -> Any:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="layers whose name contains this")
    parser.add_argument("--frontends", nargs="*", default=["suture", "dynamo"])
    parser.add_argument("--json", help="write the rows to this file")
    return parser.parse_args()


def run_module(info: Any, training: bool, frontend: str) -> dict[str, Any]:
    """What became of a layer: of its samples the first that is not equal, else the most graphs."""
    torch.manual_seed(0)
    given = info.module_inputs_func(
        info, device="cpu", dtype=torch.float32, requires_grad=True, training=training
    )
    worst: dict[str, Any] = {"outcome": "no samples", "graphs": 0, "breaks": []}
    for sample in itertools.islice(given, SAMPLES):
        if sample.forward_input is None or worst["outcome"] not in ("no samples", "equal"):
            continue
        found = _run_sample(info, sample, training, frontend)
        graphs = max(worst["graphs"], found["graphs"])
        worst = {**found, "graphs": graphs, "breaks": sorted({*worst["breaks"], *found["breaks"]})}
    return worst


def _run_sample(info: Any, sample: Any, training: bool, frontend: str) -> dict[str, Any]:
    torch.manual_seed(1)
    made = sample.constructor_input
    plain = info.module_cls(*made.args, **made.kwargs).train(training)
    module = copy.deepcopy(plain)
    graphs: list[Any] = []

    def backend(gm: Any, inputs: Any) -> Any:
        graphs.append(gm)
        return gm.forward

    expected = _outcome(plain, plain, sample.forward_input)
    breaks: list[str] = []

    def run(*args: Any, **kwargs: Any) -> Any:
        def call(target: Any, args: Any, kwargs: Any) -> Any:
            return target(*args, **kwargs)

        result, seen = compiled_by(frontend, call, (module, args, kwargs), backend)
        breaks.extend(seen)
        return result

    found = _outcome(module, run, sample.forward_input)
    outcome: dict[str, Any] = {"outcome": "equal", "graphs": len(graphs), "breaks": breaks}
    differs = difference(expected, found)
    if differs is not None:
        outcome.update(outcome="differs", detail=differs[:300])
    return outcome


def _outcome(module: Any, call: Any, given: Any) -> Any:
    """The result, the gradients and the buffers after a call; or the error."""
    args, kwargs = pytree.tree_map_only(torch.Tensor, _copied, (given.args, given.kwargs))
    torch.manual_seed(0)
    try:
        result = call(*args, **kwargs)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    tensors = [t for t in pytree.tree_leaves(result) if isinstance(t, torch.Tensor)]
    total = [t.double().sum() for t in tensors if t.requires_grad and t.is_floating_point()]
    if total:
        torch.stack(total).sum().backward()
    inputs = [t for t in pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
    grads = [t.grad for t in (*module.parameters(), *inputs) if t.is_leaf]
    detached = pytree.tree_map_only(torch.Tensor, torch.Tensor.detach, result)
    return detached, grads, list(module.buffers())


def _copied(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


if __name__ == "__main__":
    begun = time.perf_counter()
    main()
    print(f"{time.perf_counter() - begun:.0f} s")
