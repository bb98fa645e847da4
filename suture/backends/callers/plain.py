"""Plain: the operations of a small graph one by one, where that is faster than what the backend
made of them.

Legal for graphs of a few operations of torch's own that change nothing, so that they can be run
twice. Where results get a derivative, autograd follows the operations as it does without a
compiler; the forward side alone is measured then, since the backward graph is compiled when it is
first needed. The first call decides: it runs both ways a few times on the inputs it got, and gives
the result of the way that is kept. So no program sees the results of one variant alternate between
two roundings: inputs of the same sizes are always computed by the same code. With symbolic sizes
the operations are run one by one only up to a multiple of the sizes that were measured.
"""

from __future__ import annotations

import copy
import operator
import threading
from collections.abc import Callable
from time import perf_counter
from typing import Any

import torch
import torch.fx

from suture.backends.callers.caller import Caller, Run
from suture.torch_private import compilers

_MOST_OPERATIONS = 8
_TURNS = 5  # of each way; the best one counts
_GAIN = 0.95  # what the plain way must stay below, of the other way's time
_GROWTH = 4  # inputs of symbolic size may have so many times the elements that were measured
_HOMES = ("torch", "torch.nn.functional", "torch._C._nn", "torch._C._special", "_operator", "math")
_IMPURE = frozenset(
    {
        "rand",
        "randn",
        "randint",
        "randperm",
        "bernoulli",
        "multinomial",
        "normal",
        "rand_like",
        "randn_like",
        "randint_like",
        "poisson",
        "dropout",
        "alpha_dropout",
        "feature_dropout",
        "feature_alpha_dropout",
        "dropout1d",
        "dropout2d",
        "dropout3d",
        "rrelu",
        "gumbel_softmax",
        "native_dropout",
        "seed",
        "manual_seed",
        "set_rng_state",
        "setitem",
        "delitem",
        "batch_norm",
        "instance_norm",
        "fractional_max_pool2d",
        "fractional_max_pool3d",
        "scaled_dot_product_attention",
        "multi_head_attention_forward",
    }
)
_TAKES_APART = (operator.getitem,)


def small(gm: torch.fx.GraphModule) -> torch.fx.GraphModule | None:
    """A copy of a graph that may be run twice, operation by operation; None if it may not, or has
    too many of them."""
    count = 0
    for node in gm.graph.nodes:
        if node.op in ("placeholder", "output") or node.target in _TAKES_APART:
            continue
        count += 1
        if count > _MOST_OPERATIONS or not _is_pure(node):
            return None
    if not count:
        return None
    return torch.fx.GraphModule(torch.nn.Module(), copy.copy(gm.graph))


def _is_pure(node: torch.fx.Node) -> bool:
    """Whether it is an operation of torch that gives the same each time and changes nothing."""
    if node.op == "call_method":
        name = str(node.target)
        return not name.endswith("_") and name not in _IMPURE
    if node.op != "call_function" or "out" in node.kwargs or node.kwargs.get("inplace"):
        return False
    name = getattr(node.target, "__name__", "")
    home = getattr(node.target, "__module__", None)
    if home is None:  # methods of the C module, which have none
        home = "torch" if getattr(torch, name, None) is node.target else ""
    if home not in _HOMES or name in _IMPURE or name.startswith("_") or name.endswith("_"):
        return False
    return not (home == "_operator" and name[:1] == "i" and hasattr(operator, f"__{name}__"))


class Measured(Caller):
    """Runs a graph both ways on its first call, and one way ever after."""

    kind = "undecided"
    why = "the first call measures"

    def __init__(
        self,
        other: Caller,
        module: torch.fx.GraphModule,
        symbolic: tuple[int, ...],
        chosen: Callable[[str], None],
    ) -> None:
        super().__init__(self._first)
        self._deciding = threading.RLock()
        self.other, self.plain, self.symbolic, self.chosen = other, module.forward, symbolic, chosen

    def _first(self, *args: Any) -> Any:
        with self._deciding:  # two threads must not decide differently
            return self.run(*args) if self.told else self._decide(args)

    def _decide(self, args: tuple[Any, ...]) -> Any:
        other, plain = self.other, self.plain
        out = other.run(*args)  # compiles kernels, and is then itself the shortest way
        if _capturing(args) or compilers.hooks_on_saved():  # somebody looks at each run
            return out
        theirs = _seconds(other.run, args)
        ours = _seconds(plain, args)
        if ours is None or theirs is None or ours >= _GAIN * theirs:
            self.told = other.describe()
            self.become(other.run)
            return other.run(*args)
        self.told = (
            f"plain: one by one in {ours * 1e6:.1f} us, through the backend in {theirs * 1e6:.1f}"
        )
        self.become(_up_to(plain, other.run, self.symbolic, args) if self.symbolic else plain)
        self.chosen(self.told)
        return plain(*args)


def _capturing(args: tuple[Any, ...]) -> bool:
    """Whether this call is recorded by somebody: it runs once then."""
    return _on_gpu(args) and torch.cuda.is_current_stream_capturing()


def _on_gpu(args: tuple[Any, ...]) -> bool:
    return any(isinstance(one, torch.Tensor) and one.is_cuda for one in args)


def _seconds(run: Run, args: tuple[Any, ...]) -> float | None:
    """The shortest of a few runs, until the results are there; None if it raised."""
    wait = torch.cuda.synchronize if _on_gpu(args) else _done
    best = None
    try:
        for _ in range(_TURNS):
            wait()
            began = perf_counter()
            run(*args)
            wait()
            took = perf_counter() - began
            best = took if best is None or took < best else best
    except Exception:
        return None
    return best


def _done() -> None:
    """What a processor computes is there when the call is over."""


def _up_to(plain: Run, other: Run, symbolic: tuple[int, ...], args: tuple[Any, ...]) -> Run:
    """`plain` for inputs that are not much larger than these, else `other`."""
    limits = [(i, _GROWTH * max(args[i].numel(), 64)) for i in symbolic]

    def run(*given: Any) -> Any:
        for i, limit in limits:
            if given[i].numel() > limit:
                return other(*given)
        return plain(*given)

    return run


def symbolic_inputs(inputs: tuple[Any, ...]) -> tuple[int, ...] | None:
    """The positions of tensors with symbolic sizes among the fake inputs; None if a number is
    symbolic, of which nothing is known when it grows."""
    found = []
    for i, one in enumerate(inputs):
        if isinstance(one, (torch.SymInt, torch.SymFloat)):
            return None
        if isinstance(one, torch.Tensor) and any(isinstance(s, torch.SymInt) for s in one.shape):
            found.append(i)
    return tuple(found)
