"""Every operation of torch's own test database, compiled: equal to eager, in how many graphs.

    python benchmarks/sweep_ops.py                 all operations, suture next to torch.compile
    python benchmarks/sweep_ops.py --only linalg   those whose name contains the text
    python benchmarks/sweep_ops.py --frontends suture --slice 0:100

Each operation is called on its first two float32 samples on the CPU with a backend that runs the
graph as it is. Printed are the operations that are not equal to eager in one graph, with the
number of the break, and a table of totals.
"""

from __future__ import annotations

import argparse
import collections
import copy
import itertools
import json
import sys
import time
import warnings
from typing import Any

import torch
from torch.testing._internal import common_methods_invocations
from torch.utils import _pytree as pytree

import suture
from suture import events

SAMPLES = 2
# Operations whose result is memory as it was found: only its form can be compared.
UNDEFINED = (
    "empty",
    "empty_like",
    "empty_strided",
    "empty_permuted",
    "new_empty",
    "new_empty_strided",
)


def _plainly(op: Any, *args: Any, **kwargs: Any) -> Any:
    return op(*args, **kwargs)


# The database wraps what draws random numbers in code that seeds the generator; here that is done
# around the call, and the operation itself is looked at.
common_methods_invocations.wrapper_set_seed = _plainly
op_db = common_methods_invocations.op_db


def main() -> None:
    options = _options()
    warnings.simplefilter("ignore")
    ops = [op for op in op_db if options.only in _name(op)]
    start, _, stop = options.slice.partition(":")
    ops = ops[int(start or 0) : int(stop) if stop else None]
    rows = []
    for number, op in enumerate(ops):
        row = {"op": _name(op)}
        for frontend in options.frontends:
            row[frontend] = run_op(op, frontend)
        rows.append(row)
        print(f"\r{number + 1}/{len(ops)} {_name(op):60.60}", end="", file=sys.stderr, flush=True)
    conclude(rows, options)


def conclude(rows: list[dict[str, Any]], options: Any) -> None:
    """Print the table, and write the rows where they are asked for."""
    print(file=sys.stderr)
    report(rows, options.frontends)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)


def _options() -> Any:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="", help="operations whose name contains this")
    parser.add_argument("--slice", default=":", help="which operations, as START:STOP")
    parser.add_argument("--frontends", nargs="*", default=["suture", "dynamo"])
    parser.add_argument("--json", help="write the rows to this file")
    return parser.parse_args()


def _name(op: Any) -> str:
    return str(op.name) + (f".{op.variant_test_name}" if op.variant_test_name else "")


def samples(op: Any) -> list[Any]:
    """The first samples of an operation; none if it has none for float32 on the CPU."""
    if torch.float32 not in op.supported_dtypes("cpu"):
        return []
    torch.manual_seed(0)
    return list(
        itertools.islice(op.sample_inputs("cpu", torch.float32, requires_grad=False), SAMPLES)
    )


def run_op(op: Any, frontend: str) -> dict[str, Any]:
    """What became of an operation: "equal", "differs", "eager fails", "no samples", "error"."""
    try:
        given = samples(op)
    except Exception as error:
        return {"outcome": "no samples", "detail": repr(error)}
    worst: dict[str, Any] = {"outcome": "no samples", "graphs": 0, "breaks": []}
    for sample in given:
        found = _run_sample(op, sample, frontend)
        if worst["outcome"] in ("no samples", "equal"):
            graphs = max(worst.get("graphs", 0), found.get("graphs", 0))
            breaks = sorted({*worst.get("breaks", []), *found.get("breaks", [])})
            worst = {**found, "graphs": graphs, "breaks": breaks}
    return worst


def _run_sample(op: Any, sample: Any, frontend: str) -> dict[str, Any]:
    real = op.get_op() if hasattr(op, "get_op") else op.op

    def fn(x: Any, args: Any, kwargs: Any) -> Any:
        return real(x, *args, **kwargs)

    def given() -> tuple[Any, Any, Any]:
        return copy.deepcopy((sample.input, tuple(sample.args), dict(sample.kwargs)))

    torch.manual_seed(0)
    try:
        expected = fn(*given())
    except Exception as error:
        return {"outcome": "eager fails", "detail": repr(error)[:200]}
    state = torch.get_rng_state()
    torch.manual_seed(0)
    graphs: list[Any] = []

    def backend(gm: Any, inputs: Any) -> Any:
        graphs.append(gm)
        return gm.forward

    outcome: dict[str, Any] = {"outcome": "equal", "breaks": []}
    try:
        found, outcome["breaks"] = compiled_by(frontend, fn, given(), backend)
    except Exception as error:
        return {"outcome": "error", "detail": f"{type(error).__name__}: {error}"[:300]}
    outcome["graphs"] = len(graphs)
    differs = difference(expected, found, values=_name(op) not in UNDEFINED)
    if differs is None and not torch.equal(state, torch.get_rng_state()):
        differs = "random state"
    if differs is not None:
        outcome.update(outcome="differs", detail=differs[:300])
    return outcome


def compiled_by(frontend: str, fn: Any, given: Any, backend: Any) -> tuple[Any, list[str]]:
    """The result of the compiled function, and its breaks."""
    return (_suture if frontend == "suture" else _dynamo)(fn, given, backend)


def _suture(fn: Any, given: Any, backend: Any) -> tuple[Any, list[str]]:
    suture.reset()
    seen: list[str] = []
    stop = events.subscribe(lambda e: seen.append(_told(e)) if isinstance(e, _TOLD) else None)
    try:
        return suture.compile(fn, backend=backend)(*given), seen
    finally:
        stop()


_TOLD = (events.Broke, events.Interpreted)


def _told(event: Any) -> str:
    return event.number if isinstance(event, events.Broke) else f"interpreted: {event.reason[:200]}"


def _dynamo(fn: Any, given: Any, backend: Any) -> tuple[Any, list[str]]:
    import torch._dynamo

    torch._dynamo.reset()
    before = collections.Counter(torch._dynamo.utils.counters["graph_break"])
    result = torch.compile(fn, backend=backend)(*given)
    after = torch._dynamo.utils.counters["graph_break"]
    return result, ["break"] * (sum(after.values()) - sum(before.values()))


def difference(a: Any, b: Any, values: bool = True) -> str | None:
    """How two results differ, or None."""
    left, left_tree = pytree.tree_flatten(a)
    right, right_tree = pytree.tree_flatten(b)
    if left_tree != right_tree:
        return f"structure {left_tree} and {right_tree}"
    for x, y in zip(left, right):
        if type(x) is not type(y):
            return f"types {type(x)} and {type(y)}"
        if isinstance(x, torch.Tensor):
            if x.shape != y.shape or x.dtype != y.dtype:
                return f"{x.shape} {x.dtype} and {y.shape} {y.dtype}"
            try:
                if values and not _undefined(x):
                    torch.testing.assert_close(x, y, equal_nan=True)
            except AssertionError as error:
                return str(error)
            if x.stride() != y.stride():
                return f"strides {x.stride()} and {y.stride()}"
        elif x != y and x == x:
            return f"{x!r} and {y!r}"
    return None


def _undefined(x: torch.Tensor) -> bool:
    return x.is_meta or x.layout is not torch.strided


def report(rows: list[dict[str, Any]], frontends: list[str]) -> None:
    """Print what is not plain, then the totals."""
    for row in rows:
        for frontend in frontends:
            found = row[frontend]
            if found["outcome"] in ("no samples", "eager fails"):
                continue
            if found["outcome"] != "equal" or found["graphs"] != 1 or found["breaks"]:
                numbers = ", ".join(found.get("breaks", []))
                detail = found.get("detail", "").replace("\n", " ")
                print(
                    f"{row['op']:45.45} {frontend:7} {found['outcome']:8}"
                    f" graphs {found.get('graphs', '?')} {numbers} {detail}"
                )
    print(f"\n{'':10}" + "".join(f"{t:>16}" for t in _TOTALS))
    for frontend in frontends:
        count = collections.Counter(_kind(row[frontend]) for row in rows)
        print(f"{frontend:10}" + "".join(f"{count[t]:>16}" for t in _TOTALS))


_TOTALS = ("one graph", "with breaks", "nothing to run", "differs", "error", "not run")


def _kind(found: dict[str, Any]) -> str:
    if found["outcome"] in ("differs", "error"):
        return str(found["outcome"])
    if found["outcome"] != "equal":
        return "not run"
    if found["breaks"] or found["graphs"] > 1:
        return "with breaks"
    return "one graph" if found["graphs"] == 1 else "nothing to run"


if __name__ == "__main__":
    begun = time.perf_counter()
    main()
    print(f"{time.perf_counter() - begun:.0f} s")
