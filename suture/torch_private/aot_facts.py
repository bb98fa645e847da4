"""What AOTAutograd knows of the graphs that it wraps.

Where a name is missing nothing is heard, and every graph is called as its backend gave it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from suture.torch_private.releases import release


@dataclass(frozen=True)
class Facts:
    """What AOTAutograd knows of a graph that it has wrapped.

    `reasons`: why what it puts around the graph is needed, each in a few words. `written`: inputs
    whose data the graph itself writes, so that their version has to be counted. `detached`: inputs
    that get no derivative, though they could have one. `joint`: the graph is one of two, forward
    and backward, below an autograd function, whose results are the first `returns` of the graph's.
    `compiled` takes a list of inputs, which it empties. `autocast_off`: autocast was on, and is
    to be off while the graph runs. `subclasses`: what is known of the inputs
    and of the results of a graph whose tensors of subclasses are taken apart.
    """

    inputs: int
    joint: bool
    compiled: Callable[..., Any]
    reasons: tuple[str, ...] = ()
    written: tuple[int, ...] = ()
    detached: tuple[int, ...] = ()
    returns: int = 0
    autocast_off: bool = False
    subclasses: tuple[Any, Any] = ((), ())


@dataclass
class Heard:
    """The graphs that were wrapped while somebody listened."""

    facts: list[Facts] = field(default_factory=list)


@contextmanager
def listening(wanted: bool) -> Iterator[Heard]:
    """What AOTAutograd wraps in this thread, as it is told to the method that does it."""
    heard = Heard()
    wrapper = _runtime_wrapper() if wanted else None
    if wrapper is None:
        yield heard
        return
    original = wrapper.post_compile
    thread = threading.get_ident()

    def post_compile(self: Any, compiled: Any, config: Any, *, runtime_metadata: Any) -> Any:
        if threading.get_ident() == thread:
            heard.facts.append(_facts(self, compiled, runtime_metadata))
        return original(self, compiled, config, runtime_metadata=runtime_metadata)

    wrapper.post_compile = post_compile
    try:
        yield heard
    finally:
        wrapper.post_compile = original


def _runtime_wrapper() -> Any:
    try:
        from torch._functorch import config
        from torch._functorch._aot_autograd.runtime_wrappers import RuntimeWrapper
    except ImportError:
        return None
    if getattr(config, "debug_assert", False) or not hasattr(RuntimeWrapper, "post_compile"):
        return None  # assertions at each call were asked for
    return RuntimeWrapper


def _facts(wrapper: Any, compiled: Any, meta: Any) -> Facts:
    """What is known of a graph; in a release that says it otherwise, that all is needed."""
    try:
        return _read_facts(wrapper, compiled, meta)
    except (AttributeError, ImportError) as error:
        return Facts(-1, True, compiled, (f"nothing is known of it: {error}",))


def _read_facts(wrapper: Any, compiled: Any, meta: Any) -> Facts:
    return Facts(
        len(meta.input_info),
        bool(wrapper.trace_joint),
        compiled,
        tuple(_reasons(wrapper, meta)),
        tuple(i for i, info in enumerate(meta.input_info) if info.mutates_data),
        tuple(wrapper.indices_of_inps_to_detach),
        meta.num_forward_returns,
        bool(wrapper.disable_amp),
        (meta.subclass_inp_meta, meta.subclass_fw_graph_out_meta),
    )


TAKEN_APART = "tensors of a subclass are taken apart"


def _reasons(wrapper: Any, meta: Any) -> Iterator[str]:
    from torch._functorch._aot_autograd.schemas import OutputType, SubclassCreationMeta

    if meta.num_mutated_inp_runtime_indices:
        yield "inputs are written behind it"
    if any(info.mutates_metadata or info.mutates_storage_metadata for info in meta.input_info):
        yield "the shape or the memory of an input changes"
    if any(info.output_type is not OutputType.non_alias for info in meta.output_info):
        yield "an output is an input, or shares memory with one or with another output"
    if meta.num_intermediate_bases:
        yield "outputs share memory"
    if meta.tokens:
        yield "operations have effects whose order is kept"
    if meta.is_rng_op_functionalized or meta.num_graphsafe_rng_states:
        yield "the state of random numbers goes in and out"
    subclasses = (*meta.subclass_inp_meta, *meta.subclass_fw_graph_out_meta)
    if any(isinstance(one, SubclassCreationMeta) for one in subclasses):
        yield TAKEN_APART
    if _waited_for(meta):
        yield "inputs are waited for"
    if meta.grad_enabled_mutation is not None:
        yield "grad mode changes behind it"


def _waited_for(meta: Any) -> Any:
    """The inputs that AOTAutograd waits for: results of collectives that nobody has waited for. In
    2.11 these are subclasses that are taken apart. AttributeError if a later torch says it in
    another way: to take that for none would hand memory to a kernel that is not there yet."""
    for name in ("act_input_paths", "act_input_indices"):  # since 2.14; before
        if hasattr(meta, name):
            return getattr(meta, name)
    if release() >= (2, 12):
        raise AttributeError("act_input_paths")
    return ()
