"""AOTAutograd, Inductor and the registry of backends.

What a torch backend expects of its surroundings, and `surroundings` provides:

- `torch._guards.TracingContext` with the fake mode that made the example inputs. AOTAutograd takes
  the fake mode from it, leaves the strides of the outputs in it, and keeps it for the backward
  graph, which is compiled on the first backward call, long after the `with` block has ended.
- `torch._guards.CompileContext` with a compile id: the names of Inductor's files, its timings and
  its logs carry it.
- no dispatch modes of the user and no frame hook of TorchDynamo: both would see the operations and
  the frames of the compiler itself.
- TorchDynamo's compile lock, once TorchDynamo has been imported: Inductor's global state is shared
  with torch.compile in the process. Two threads of suture need a lock of their own.

The example inputs are fake tensors of that mode, with ints and SymInts where the graph takes them.
Inductor owns the graph module afterwards and may change it.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import Any

import torch

from suture import _core
from suture.torch_private import guarded_caches, torchdynamo
from suture.torch_private.aot_facts import Facts
from suture.torch_private.table import Topic, is_missing, loaded

NAMES = Topic(
    __name__,
    "backends other than eager",
    "2.11-2.15",
    {
        "AOTInductorWrapper": "torch._TorchCompileAOTInductorWrapper",
        "CompileContext": "torch._guards.CompileContext",
        "CompileId": "torch._guards.CompileId",
        "InductorWrapper": "torch._TorchCompileInductorWrapper",
        "InvalidBackend": "torch._dynamo.exc.InvalidBackend",
        "TensorifyState": "torch._dynamo.symbolic_convert.TensorifyState",
        "TracingContext": "torch._guards.TracingContext",
        "aot_module": "torch._functorch.aot_autograd.aot_module_simplified",
        "aot_options": "torch._functorch.config",
        "compile_context": "torch._guards.compile_context",
        "disable_current_modes": "torch.utils._python_dispatch._disable_current_modes",
        "inductor_options": "torch._inductor.config",
        "min_cut_partition": "torch._functorch.partitioners.min_cut_rematerialization_partition",
        "registry": "torch._dynamo.backends.registry",
        "tracing": "torch._guards.tracing",
    },
)

_compile_ids = count()


def __getattr__(name: str) -> Any:
    return NAMES.get(name)


def dynamo_backend(name: str) -> Callable[..., Any] | None:
    """The backend of this name in torch's registry, entry points of other packages included."""
    try:
        found: Callable[..., Any] = NAMES.get("registry").lookup_backend(name)
    except NAMES.get("InvalidBackend"):
        return None
    return found


def dynamo_backends(exclude_tags: Sequence[str]) -> list[str]:
    """The names in torch's registry and its entry-point group, without those with such a tag."""
    return list(NAMES.get("registry").list_backends(exclude_tags=tuple(exclude_tags)))


def default_backend() -> Any:
    """What `torch.compile(backend=None)` means in this process."""
    get = getattr(NAMES.get("registry"), "get_default_backend", None)
    return get() if get is not None else "inductor"


def inductor_wrapper(
    mode: str | None, options: dict[str, Any] | None, dynamic: bool | None, name: str | None
) -> Callable[..., Any]:
    """The object torch.compile itself makes of its `mode` and `options`, which it checks."""
    options = dict(options or {})
    if options.pop("use_aoti", False):
        cls = NAMES.get("AOTInductorWrapper")
    else:
        cls = NAMES.get("InductorWrapper")
    if "name" in inspect.signature(cls.__init__).parameters:
        named: Callable[..., Any] = cls(mode, options, dynamic, name)
        return named
    made: Callable[..., Any] = cls(mode, options, dynamic)
    return made


def aot_eager(
    gm: torch.fx.GraphModule, inputs: Sequence[Any], boxed: Callable[..., Any]
) -> Callable[..., Any]:
    """AOTAutograd's forward and backward graphs of `gm`, of each of which `boxed` makes something
    to call with a list."""
    compiled: Callable[..., Any] = NAMES.get("aot_module")(
        gm,
        list(inputs),
        fw_compiler=boxed,
        bw_compiler=boxed,
        inference_compiler=boxed,
        partition_fn=NAMES.get("min_cut_partition"),
        keep_inference_input_mutations=True,
    )
    return compiled


def count_outermost_calls() -> None:
    """From now on each outermost call of compiled code begins a new generation: Inductor's trees of
    CUDA graphs then know that results of the call before may be overwritten. Kept where torch
    keeps it for its own compiled functions, so that both take turns as they should."""
    if _counting.is_set():
        return
    from torch._dynamo.mutation_guard import GenerationTracker

    def begin() -> None:
        GenerationTracker.generation += 1

    _core.set_outermost_callback(begin)
    _counting.set()


_counting = threading.Event()


def inductor_cuda_graphs(config: Any) -> bool:
    """Whether Inductor records CUDA graphs with these options (None: its own settings)."""
    if config is not None and "triton.cudagraphs" in config:
        return bool(config["triton.cudagraphs"])
    inductor = sys.modules.get("torch._inductor.config")
    return inductor is not None and bool(inductor.triton.cudagraphs)


def new_compile_id() -> Any:
    """The compile id of the compilation that is under way, if somebody has set one (torch's trace
    has each); else one that no other graph of this process has."""
    current = NAMES.get("CompileContext").current_compile_id()
    if current is not None:
        return current
    return NAMES.get("CompileId")(frame_id=next(_compile_ids), frame_compile_id=0)


@contextmanager
def surroundings(fake_mode: Any, compile_id: Any) -> Iterator[None]:
    """What a torch backend expects around it while it compiles (see the head of this file).

    `fake_mode` may be None for a backend that does not look at the example inputs.
    """
    with ExitStack() as stack:
        dynamo = loaded("torch._dynamo.convert_frame")
        if dynamo is not None:
            stack.enter_context(dynamo.compile_lock)
        stack.enter_context(_dynamo_off())
        stack.enter_context(NAMES.get("disable_current_modes")())
        context = NAMES.get("CompileContext")(compile_id)
        stack.enter_context(NAMES.get("compile_context")(context))
        if fake_mode is not None:
            # AOTAutograd traces a graph several times, each from the first ragged size on
            fake_mode.reset_nt_tensor_id_counter()
            tracing = NAMES.get("TracingContext")(fake_mode)
            stack.enter_context(NAMES.get("tracing")(tracing))
        yield


@contextmanager
def _dynamo_off() -> Iterator[None]:
    hook = torchdynamo.set_eval_frame
    if is_missing(hook):  # a build of torch without its compiler
        yield
        return
    before = hook(None)
    try:
        yield
    finally:
        hook(before)


def mark_static_inputs(
    gm: torch.fx.GraphModule, indices: Sequence[int], compile_id: Any, keep: bool = False
) -> None:
    """Tell AOTAutograd and Inductor which inputs keep their address between calls.

    Parameters and buffers do; CUDA graphs then need no copy of them. The marks are those of a
    graph that TorchDynamo made. `keep`: what was marked stays as it is.
    """
    if keep and "dynamo_compile_id" in gm.meta:
        return
    static = set(indices)
    gm.meta["dynamo_compile_id"] = compile_id
    gm._param_name_to_source = {}  # type: ignore[assignment]
    for position, node in enumerate(gm.graph.find_nodes(op="placeholder")):
        node._dynamo_source = None
        if position in static:
            node.meta.setdefault("tensor_dict", {})["_dynamo_static_input_type"] = "guarded"


def declines(error: BaseException) -> bool:
    """Whether a backend says that this graph shall not be compiled but run as it is."""
    dynamo = loaded("torch._dynamo.exc")
    return dynamo is not None and isinstance(error, dynamo.SkipFrame)


# Settings under which all that a compiler assumes of symbolic sizes is known when it is done.
_TOLD_AT_ONCE = {
    # compile the backward graph with the forward graph, and not when it is first needed
    "aot_options": {"force_non_lazy_backward_lowering": True},
}
# Where not all of it can be said as guards of an entry in torch's caches.
_UNCACHED = {
    "aot_options": {"enable_autograd_cache": False, "enable_remote_autograd_cache": False},
    "inductor_options": {"fx_graph_cache": False, "fx_graph_remote_cache": False},
}


@contextmanager
def telling_assumptions(wanted: bool, fake_mode: Any, plain: bool) -> Iterator[None]:
    """Guards will be made of what the compiler assumes of sizes: it must tell all of it. torch's
    caches are used where it can be said in their entries; not `plain`: where it cannot."""
    with ExitStack() as stack:
        cached = wanted and plain and guarded_caches.may_be_used(fake_mode)
        for settings in (_TOLD_AT_ONCE, {} if cached else _UNCACHED) if wanted else ():
            for name, values in settings.items():
                stack.enter_context(patched(name, values))
        if cached:
            stack.enter_context(guarded_caches.guards_in_entries(fake_mode))
        yield


@contextmanager
def patched(name: str, settings: dict[str, Any]) -> Iterator[None]:
    """Some of torch's options, of those that this release has, set for a while."""
    config: Any = NAMES.get(name) if settings else None
    known = {key: value for key, value in settings.items() if hasattr(config, key)}
    if not known:
        yield
        return
    with config.patch(known):
        yield


@contextmanager
def backward_at_once(wanted: bool) -> Iterator[None]:
    """Backward graphs are compiled with their forward graphs, and not when they are first needed:
    whoever needs one would have to wait for it."""
    name = "force_non_lazy_backward_lowering"
    config = NAMES.get("aot_options") if wanted else None
    if config is None or not hasattr(config, name):
        yield
        return
    with config.patch({name: True}):
        yield


@contextmanager
def floats_aside(names: Sequence[str]) -> Iterator[None]:
    """AOTAutograd reads the value of every symbolic float that it does not find in the graph:
    not of these, which Python computes with. What it asked of TorchDynamo does not count."""
    dynamo = loaded("torch._dynamo.symbolic_convert")
    if dynamo is None and not names:
        yield
        return
    asked = NAMES.get("TensorifyState").force_specializations
    before = set(asked)
    asked.clear()
    asked.update(names)
    try:
        yield
    finally:
        asked.difference_update(names)
        ASKED.names = set(asked)
        asked.clear()
        asked.update(before)


class _Asked(threading.local):
    """The floats whose values AOTAutograd asked for when it last compiled a graph."""

    def __init__(self) -> None:
        self.names: set[str] = set()


ASKED = _Asked()


def wanted_constants(error: BaseException) -> set[str] | None:
    """The names of the symbolic floats that AOTAutograd could not turn into tensors and asks to
    have as constants; None if the error is another one."""
    dynamo = loaded("torch._dynamo.exc")
    kind = getattr(dynamo, "TensorifyScalarRestartAnalysis", None)
    if kind is None or not isinstance(error, kind):
        return None
    return ASKED.names


# ---- the parts of what a backend has compiled


def inductor_call(compiled: Any) -> Callable[..., Any] | None:
    """Inductor's own callable of a graph, behind all that wraps it: takes a list of inputs.
    Includes the alignment of inputs and the replay of CUDA graphs, if any. None if another compiler
    made it."""
    from torch._inductor.output_code import CompiledFxGraph

    found = compiled
    while found is not None and not isinstance(found, CompiledFxGraph):
        found = getattr(found, "__wrapped__", None) or getattr(found, "compiled_fn", None)
    if found is None or getattr(found, "_wrap_compiled_regions", False):
        return None
    call: Callable[..., Any] | None = found.current_callable
    return call


def autograd_function(facts: Facts) -> Any:
    """The autograd function that runs a forward graph and knows its backward graph. None if what
    was made of it has another shape."""
    found: Any = facts.compiled
    while found is not None:
        owner = getattr(found, "__self__", None)
        if isinstance(owner, type) and issubclass(owner, torch.autograd.Function):
            return owner
        found = getattr(found, "__wrapped__", None)
    return None


def plain_apply(function: Any) -> Callable[..., Any]:
    """`apply` of an autograd function, without the step that looks for transforms of torch.func and
    for tensors of those that ended: guards refuse both."""
    bound: Callable[..., Any] = super(torch.autograd.Function, function).apply
    return bound


def is_node_of(node: Any, function: Any) -> bool:
    """Whether a node of autograd's graph is one of this function."""
    return getattr(node, "_forward_cls", None) is function


def profiling() -> bool:
    """Whether a profiler of torch listens."""
    return torch.autograd.profiler._is_profiler_enabled


def hooks_on_saved() -> bool:
    """Whether hooks of the program see the tensors that autograd saves."""
    return torch._C._autograd._top_saved_tensors_default_hooks(False) is not None


increment_version = torch.autograd.graph.increment_version
