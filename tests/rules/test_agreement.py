"""Our verdicts next to TorchDynamo's, name by name, in the torch that is installed.

Two sets of names: those of data/trace_rules.json (rules that TorchDynamo writes by hand, and C
functions that it puts into the graph or folds), and every public callable under the modules
below. Each name where the two differ stands in DIFFERENT with the reason.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import torch._dynamo
from torch._dynamo import trace_rules

from suture import rules
from suture.rules import CONSTANT, IN_GRAPH, INLINE, RUN, SPECIAL
from suture.rules.names import public_names, resolve

SEED = json.loads((Path(__file__).parent / "data" / "trace_rules.json").read_text())
MODULES = (
    "torch",
    "torch.nn.functional",
    "torch.Tensor",
    "torch.linalg",
    "torch.fft",
    "torch.special",
)

# What each of TorchDynamo's answers allows ours to be. A function that it keeps in the graph may
# be a node, a constant or a handler with it too: its own variable decides that when it is called.
SAME = {
    "TorchInGraphFunctionVariable": {IN_GRAPH, CONSTANT, SPECIAL},
    "SkipFunctionVariable": {RUN},
    "SparseTensorCreationSkipVariable": {RUN},
    "UserFunctionVariable": {INLINE},
    "PolyfilledFunctionVariable": {INLINE, SPECIAL, CONSTANT},
    "BuiltinVariable": {SPECIAL},
}
# Every other variable of TorchDynamo is a handler for one function.
HANDLER = {SPECIAL}
# TorchDynamo never asks its rules about a class; what they happen to say is where its file lies.
OF_A_CLASS = {RUN, SPECIAL, CONSTANT, INLINE}

ONE_NODE = "checks, then one operator: a node either way, and this one is made without tracing it"
A_HANDLER = "TorchDynamo has a handler for it too, asked before the rule"
NO_FUNCTION = "a stand-in class on builds without CUDA; no program calls it"

DIFFERENT = {
    "torch._dynamo.nonstrict_trace": "a function that is marked while tracing is traced",
    "torch.nn.functional.pad": ONE_NODE,
    "torch.nn.functional.threshold": ONE_NODE,
    "torch.nn.functional.rms_norm": ONE_NODE,
    "torch.nn.functional.lp_pool3d": "as lp_pool1d and lp_pool2d, which TorchDynamo keeps whole",
    "torch.nn.functional.grouped_mm": ONE_NODE,
    "torch.nn.functional.scaled_mm": ONE_NODE,
    "torch.nn.functional.scaled_grouped_mm": ONE_NODE,
    "torch.nn.functional.linear_cross_entropy": "a loss as all others, which are nodes",
    "torch.nn.functional.Optional": "a form of typing; nothing calls it",
    "torch.seed": "another seed at each call; TorchDynamo keeps the first",
    "torch.initial_seed": "the seed may be set between calls",
    "torch.autograd.backward": "part of the graph, as Tensor.backward is",
    "torch.set_default_device": A_HANDLER,
    "torch._dynamo.error_on_graph_break": A_HANDLER,
    "torch._dynamo.patch_dynamo_config": A_HANDLER,
    "torch.Tensor.register_post_accumulate_grad_hook": A_HANDLER,
    "torch.set_printoptions": (
        "changes how Python prints; TorchDynamo inlines it because the file's name begins like "
        "that of torch._tensor"
    ),
    "torch.Tensor.__init__": (
        "TorchDynamo's table says skip, as ours; its rule on methods in C is asked before"
    ),
}
if not torch.backends.cuda.is_built():
    DIFFERENT |= {
        "torch._C._cuda_endAllocateToPool": NO_FUNCTION,
        "torch._C._cuda_isCurrentStreamCapturing": NO_FUNCTION,
        "torch._C._cuda_releasePool": NO_FUNCTION,
        "torch._C._graph_pool_handle": NO_FUNCTION,
    }


def theirs(obj: Any) -> str:
    """TorchDynamo's answer: marks and builtins first, then its rules, as its builder asks."""
    found = trace_rules.lookup_callable(obj) or trace_rules.lookup(obj)
    return found.__name__


def seed_names() -> list[tuple[str, Any]]:
    """The names of the data that exist in the installed torch; files of torch's tests do not."""
    found = []
    for name in (*SEED["manual"], *SEED["in_graph_c_bindings"]):
        if ".py#" in name:
            continue
        dotted = name.replace("#", ".")
        try:
            found.append((dotted, resolve(dotted)))
        except rules.UnknownName:
            continue
    return found


def names_of(source: str) -> list[tuple[str, Any]]:
    return seed_names() if source == "data" else list(public_names(source))


def agrees(obj: Any) -> bool:
    kind = rules.lookup(obj).kind
    answer = theirs(obj)
    if isinstance(obj, type) and answer in ("SkipFunctionVariable", "UserFunctionVariable"):
        return kind in OF_A_CLASS
    return kind in SAME.get(answer, HANDLER)


# The differences are named for the torch of the reference run; another torch draws its lines a
# little differently, and there the share of names that agree is what counts.
named_for_this_torch = pytest.mark.skipif(
    not torch.__version__.startswith("2.13"), reason="differences are named for torch 2.13"
)


@named_for_this_torch
@pytest.mark.parametrize("source", ["data", *MODULES])
@pytest.mark.filterwarnings("ignore")
def test_agreement(source):
    names = names_of(source)
    apart = [name for name, obj in names if not agrees(obj)]
    unexplained = [
        f"{name}: {theirs(obj)} there, {rules.lookup(obj)} here"
        for name, obj in names
        if name in apart and name not in DIFFERENT
    ]
    assert not unexplained, "\n".join(unexplained)


@pytest.mark.filterwarnings("ignore")
def test_agreement_in_numbers():
    seen: dict[str, bool] = {}
    for source in ("data", *MODULES):
        seen |= {name: agrees(obj) for name, obj in names_of(source)}
    share = sum(seen.values()) / len(seen)
    print(f"\n{sum(seen.values())} of {len(seen)} names agree: {share:.2%}")
    assert len(seen) > 2000
    assert share >= 0.97


@named_for_this_torch
@pytest.mark.filterwarnings("ignore")
def test_every_difference_that_is_listed_is_one():
    seen = {name: obj for source in ("data", *MODULES) for name, obj in names_of(source)}
    stale = [name for name in DIFFERENT if name in seen and agrees(seen[name])]
    assert stale == []


@named_for_this_torch
@pytest.mark.filterwarnings("ignore")
def test_the_data_itself_agrees():
    """The data are from another release: a rule there that this torch changed is not ours."""
    apart = []
    for name, answer in SEED["manual"].items():
        dotted = name.replace("#", ".")
        try:
            obj = resolve(dotted) if ".py#" not in name else None
        except rules.UnknownName:
            obj = None
        if obj is None or dotted in DIFFERENT or theirs(obj) != answer:
            continue
        if rules.lookup(obj).kind not in SAME.get(answer, HANDLER):
            apart.append((name, answer, rules.lookup(obj)))
    assert apart == []


def test_torch_is_the_one_that_is_installed():
    assert resolve("torch.sin") is torch.sin
