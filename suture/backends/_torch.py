"""The private parts of torch that this room uses. Run on torch 2.13; the names and signatures
used here were compared with the sources of 2.11 and 2.12.

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

import importlib
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import Any

import torch

_compile_ids = count()


def dynamo_backend(name: str) -> Callable[..., Any] | None:
    """The backend of this name in torch's registry, entry points of other packages included."""
    from torch._dynamo.backends import registry
    from torch._dynamo.exc import InvalidBackend

    try:
        found: Callable[..., Any] = registry.lookup_backend(name)
    except InvalidBackend:
        return None
    return found


def dynamo_backends(exclude_tags: Sequence[str]) -> list[str]:
    """The names in torch's registry and its entry-point group, without those with such a tag."""
    from torch._dynamo.backends import registry

    return list(registry.list_backends(exclude_tags=tuple(exclude_tags)))


def default_backend() -> Any:
    """What `torch.compile(backend=None)` means in this process."""
    from torch._dynamo.backends import registry

    get = getattr(registry, "get_default_backend", None)
    return get() if get is not None else "inductor"


def inductor_wrapper(
    mode: str | None, options: dict[str, Any] | None, dynamic: bool | None, name: str | None
) -> Callable[..., Any]:
    """The object torch.compile itself makes of its `mode` and `options`, which it checks."""
    options = dict(options or {})
    if options.pop("use_aoti", False):
        cls = torch._TorchCompileAOTInductorWrapper
    else:
        cls = torch._TorchCompileInductorWrapper
    if "name" in inspect.signature(cls.__init__).parameters:
        return cls(mode, options, dynamic, name)
    return cls(mode, options, dynamic)


def aot_eager(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
    """AOTAutograd's forward and backward graphs of `gm`, run as they are."""
    from functorch.compile import min_cut_rematerialization_partition
    from torch._dynamo.backends.debugging import boxed_nop
    from torch._functorch.aot_autograd import aot_module_simplified

    compiled: Callable[..., Any] = aot_module_simplified(
        gm,
        list(inputs),
        fw_compiler=boxed_nop,
        bw_compiler=boxed_nop,
        inference_compiler=boxed_nop,
        partition_fn=min_cut_rematerialization_partition,
        keep_inference_input_mutations=True,
    )
    return compiled


def new_compile_id() -> Any:
    """The compile id of the compilation that is under way, if somebody has set one (torch's trace
    has each); else one that no other graph of this process has."""
    from torch._guards import CompileContext, CompileId

    current = CompileContext.current_compile_id()
    if current is not None:
        return current
    return CompileId(frame_id=next(_compile_ids), frame_compile_id=0)


@contextmanager
def surroundings(fake_mode: Any, compile_id: Any) -> Iterator[None]:
    """What a torch backend expects around it while it compiles (see the head of this file).

    `fake_mode` may be None for a backend that does not look at the example inputs.
    """
    from torch._guards import CompileContext, TracingContext, compile_context, tracing
    from torch.utils._python_dispatch import _disable_current_modes

    with ExitStack() as stack:
        dynamo = sys.modules.get("torch._dynamo.convert_frame")
        if dynamo is not None:
            stack.enter_context(dynamo.compile_lock)
        stack.enter_context(_dynamo_off())
        stack.enter_context(_disable_current_modes())
        stack.enter_context(compile_context(CompileContext(compile_id)))
        if fake_mode is not None:
            stack.enter_context(tracing(TracingContext(fake_mode)))
        yield


@contextmanager
def _dynamo_off() -> Iterator[None]:
    from torch._C._dynamo import eval_frame

    before = eval_frame.set_eval_frame(None)
    try:
        yield
    finally:
        eval_frame.set_eval_frame(before)


def mark_static_inputs(gm: torch.fx.GraphModule, indices: Sequence[int], compile_id: Any) -> None:
    """Tell AOTAutograd and Inductor which inputs keep their address between calls.

    Parameters and buffers do; CUDA graphs then need no copy of them. The marks are those of a
    graph that TorchDynamo made.
    """
    static = set(indices)
    gm.meta["dynamo_compile_id"] = compile_id
    gm._param_name_to_source = {}
    for position, node in enumerate(gm.graph.find_nodes(op="placeholder")):
        node._dynamo_source = None
        if position in static:
            node.meta.setdefault("tensor_dict", {})["_dynamo_static_input_type"] = "guarded"


def declines(error: BaseException) -> bool:
    """Whether a backend says that this graph shall not be compiled but run as it is."""
    dynamo = sys.modules.get("torch._dynamo.exc")
    return dynamo is not None and isinstance(error, dynamo.SkipFrame)


# Settings under which all that a compiler assumes of symbolic sizes is known when it is done.
_TOLD_AT_ONCE = {
    "torch._functorch.config": {
        # compile the backward graph with the forward graph, and not when it is first needed
        "force_non_lazy_backward_lowering": True,
        # what is cached is looked up by the symbols among the arguments; ours are in the sizes of
        # tensors, and the assumptions on those would get lost
        "enable_autograd_cache": False,
        "enable_remote_autograd_cache": False,
    },
    "torch._inductor.config": {"fx_graph_cache": False, "fx_graph_remote_cache": False},
}


@contextmanager
def telling_assumptions(wanted: bool) -> Iterator[None]:
    """Guards will be made of what the compiler assumes of sizes: it must tell all of it."""
    with ExitStack() as stack:
        for name, settings in _TOLD_AT_ONCE.items() if wanted else ():
            config = importlib.import_module(name)
            known = {key: value for key, value in settings.items() if hasattr(config, key)}
            stack.enter_context(config.patch(known))
        yield


@contextmanager
def floats_aside(names: Sequence[str]) -> Iterator[None]:
    """AOTAutograd asks for the value of every symbolic float that it does not find in the graph:
    not of these, which Python computes with. What it asked of TorchDynamo does not count."""
    dynamo = sys.modules.get("torch._dynamo.symbolic_convert")
    if dynamo is None and not names:
        yield
        return
    from torch._dynamo.symbolic_convert import TensorifyState

    asked = TensorifyState.force_specializations
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
    dynamo = sys.modules.get("torch._dynamo.exc")
    kind = getattr(dynamo, "TensorifyScalarRestartAnalysis", None)
    if kind is None or not isinstance(error, kind):
        return None
    return ASKED.names
