"""From what a user passes to `compile` (backend, mode, options) to one object to call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from suture.backends.aot_eager import aot_eager
from suture.backends.eager import eager
from suture.backends.inductor import Inductor
from suture.backends.registry import CompilerFn, lookup
from suture.errors import UserError
from suture.torch_private import compilers, drawing


@dataclass(frozen=True)
class Backend:
    """A backend ready to be called with a graph. Equal if it would compile a graph the same way.

    `guard_filter_fn` is the option of that name, which is about guards and not for the backend.
    """

    name: str
    compiler: CompilerFn
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    guard_filter_fn: Callable[..., Any] | None = None

    def __call__(self, gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        return self.compiler(gm, inputs, **self.kwargs)

    def __hash__(self) -> int:
        return hash(self.name)

    def is_inductor(self) -> bool:
        """Whether it is Inductor, which suture calls with its options."""
        return isinstance(self.compiler, Inductor)

    def is_eager(self) -> bool:
        """Whether it gives a graph back as it is."""
        return self.compiler is eager

    def keeps_order(self) -> bool:
        """Whether it runs the nodes of a graph in their order, with nothing moved."""
        return self.name in _IN_ORDER

    def can_be_kept(self) -> bool:
        """Whether what it makes of a graph can be written to a cache."""
        return self.is_eager() or self.compiler is aot_eager or self.is_inductor()

    def is_done_with_tensors(self) -> bool:
        """Whether it never asks later, for what it was given, which fake tensor stands for which
        real one. Backends of others may keep a graph and compile it again."""
        return self.can_be_kept()

    def optimizes(self) -> bool:
        """Whether it makes other code of a graph than its operations."""
        return self.name not in _RUN_PLAINLY

    def takes_long(self) -> bool:
        """Whether compiling a graph takes far longer than running its operations once."""
        return self.is_inductor()

    def shares_layers(self) -> bool:
        """Whether it compiles `invoke_subgraph` once for all its calls, gradients included. Others
        run it as an operation, and its backward works below AOTAutograd only."""
        return self.is_inductor() or self.compiler is aot_eager

    def shares_layers_that_draw(self) -> bool:
        """Whether, as torch is set now, each call of a body draws random numbers of its own, once,
        and its backward knows them."""
        options = self.compiler.options() if isinstance(self.compiler, Inductor) else {}
        return self.shares_layers() and drawing.keeps_calls(options)

    def compiles_beside(self) -> bool:
        """Whether it can compile in one thread while the program runs in another: it draws no
        random numbers and runs no graph. Inductor does where it measures kernels."""
        return isinstance(self.compiler, Inductor) and self.compiler.is_default()

    def records_cuda_graphs(self) -> bool:
        """Whether what it compiles may be run as CUDA graphs, by all that is known of it: any
        backend of others might, where there is a GPU."""
        asked = getattr(self.compiler, "records_cuda_graphs", None)
        if asked is not None:
            return bool(asked())
        return self.optimizes() and torch.cuda.is_available()

    def reset(self) -> None:
        """Let the backend drop what it keeps between calls, if it can."""
        reset = getattr(self.compiler, "reset", None)
        if reset is not None:
            reset()


_IN_ORDER = frozenset({"eager", "noop", "record"})
# Backends of ours and of torch that run a graph's operations one by one.
_RUN_PLAINLY = frozenset({"eager", "noop", "aot_eager", "aot_eager_decomp_partition", "record"})


def configure(
    backend: str | CompilerFn | None = "inductor",
    *,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    dynamic: bool | None = None,
    name: str | None = None,
) -> Backend:
    """The backend that `compile` with these arguments means; checks them all.

    As torch.compile has it: `mode` and `options` exclude each other (UserError); Inductor gets
    them checked by torch; any other backend gets each as a keyword argument, if it was given.
    `backend=None` is the process's default, which `torch` lets a program set. A backend with a
    `_dynamo_backend_init` has it called here, before anything is compiled.
    """
    if mode is not None and not isinstance(mode, str):
        raise TypeError(f"mode is a string or None, not {type(mode).__name__}")
    if options is not None and not isinstance(options, Mapping):
        raise TypeError(f"options is a dict or None, not {type(options).__name__}")
    if mode is not None and options is not None:
        raise UserError("give either mode or options, not both: a mode is a set of options")
    if backend is None:
        backend = compilers.default_backend()
    rest = dict(options or {})
    guard_filter_fn = rest.pop("guard_filter_fn", None)
    if guard_filter_fn is not None and not callable(guard_filter_fn):
        raise UserError(f"guard_filter_fn is a function, not {guard_filter_fn!r}")
    if backend == "inductor":
        compiler: CompilerFn = Inductor(mode, rest, dynamic, name)
        return Backend("inductor", compiler, guard_filter_fn=guard_filter_fn)
    rest.pop("use_aoti", None)
    kwargs: dict[str, Any] = {}
    if mode and mode != "default":
        kwargs["mode"] = mode
    if rest:
        kwargs["options"] = rest
    found = lookup(backend)
    prepare = getattr(found, "_dynamo_backend_init", None)
    if prepare is not None:  # each time, as torch has it: a backend knows what it has done
        prepare()
    return Backend(_name_of(backend), found, kwargs, guard_filter_fn)


def _name_of(backend: Any) -> str:
    if isinstance(backend, str):
        return backend
    return getattr(backend, "__name__", None) or type(backend).__name__
