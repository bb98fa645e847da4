"""What a variant does about the conditions that it expects: it looks, and goes back if need be."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import torch

from suture import _core
from suture.compiler.capture import Capture
from suture.compiler.emit.writer import Writer
from suture.compiler.graph import undoable
from suture.compiler.graph.builder import tree_leaves
from suture.compiler.graph.effects_of import effects_of
from suture.compiler.objects import Tensor
from suture.compiler.outside.inputs import number_in
from suture.errors import SutureError
from suture.hook import Chain, interpret
from suture.torch_private import autograd_parts, thread_state
from suture.torch_private.tensor_parts import version_of


class AfterCheck:
    """The generators of random numbers go back to where they were, and the region is run in the
    interpreter. `tell` is called with what the conditions were, one truth for each check, and with
    the state; should it give a point, that is entered instead. `other` gives the point that runs
    the region without expecting what earlier calls did, and None if there is none; it is told
    whether the graph raised."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self.tell: Callable[[tuple[bool, ...], tuple[Any, ...]], Any] = _tell_nobody
        self.other: Callable[[bool, tuple[Any, ...]], Any] = _tell_nobody

    def __call__(self, before: Any, truths: tuple[Any, ...], *state: Any) -> Any:
        set_drawn(before)
        return self._enter(self.tell(tuple(bool(t) for t in truths), state), state)

    def around(self, *state: Any) -> Any:
        """The graph may not run for nothing now: run the region without it."""
        return self._enter(self.other(False, state), state)

    def raised(self, exc: BaseException, *state: Any) -> Any:
        """The graph raised, perhaps because a condition did not hold: what to go on with, or None
        if that is for others to say."""
        if not isinstance(exc, Exception) or isinstance(exc, SutureError):
            return None
        point = self.other(True, state)
        return None if point is None else _core.jump(point, *state)

    def _enter(self, point: Any, state: tuple[Any, ...]) -> Any:
        return interpret(self.chain, state) if point is None else _core.jump(point, *state)


class Watch:
    """Is told which way Python went at the branch, on data, that a variant ends with."""

    def __init__(self, place: Any) -> None:
        self.place = place
        self.tell: Callable[[bool], object] = _tell_nobody

    def __call__(self, truth: bool) -> bool:
        self.tell(truth)
        return truth


def _tell_nobody(*what: Any) -> None:
    pass


def drawn(cuda: bool) -> Any:
    """How far torch's generators of random numbers are; those of GPUs too if `cuda`."""
    return torch.get_rng_state(), torch.cuda.get_rng_state_all() if cuda else None


def set_drawn(state: Any) -> None:
    """Put the generators back to where they were; None: nothing was drawn."""
    if state is None:
        return
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state_all(state[1])


Kept = list[tuple[torch.Tensor, Any, int]]


def keep(tensors: tuple[torch.Tensor, ...]) -> Kept:
    """The numbers of some tensors whose memory is dense, and their versions. Those of the CPU are
    kept as bytes, which runs no operation."""
    return [(t, _bytes_of(t) if t.is_cpu else t.detach().clone(), version_of(t)) for t in tensors]


def put_back(kept: Kept) -> None:
    """Give tensors the numbers again that were kept of them. They have been written to for nothing:
    autograd, which may have saved them before, is not to see that."""
    for tensor, numbers, version in kept:
        if isinstance(numbers, bytes):
            ctypes.memmove(tensor.data_ptr(), numbers, len(numbers))
        else:
            with torch.no_grad():
                tensor.copy_(numbers)
        autograd_parts.set_version_counter((tensor,), (version,))


def _bytes_of(tensor: torch.Tensor) -> bytes:
    return ctypes.string_at(tensor.data_ptr(), tensor.numel() * tensor.element_size())


class CheckLines:
    """The lines around a graph call that concern checks: `first` of all, `before` it, `failed` if
    it raises, `passed_on` when all is put back then, `after` it. `handler` is the object that takes
    over; `read` spells a source."""

    def __init__(
        self, writer: Writer, capture: Capture, chain: Chain, read: Callable[[Any], str]
    ) -> None:
        self.first: list[str] = []
        self.before: list[str] = []
        self.passed_on: list[str] = []
        self.failed: list[str] = []
        self.after: list[str] = []
        self.handler: AfterCheck | None = None
        if not capture.checks:
            return
        self.handler = AfterCheck(chain)
        name = "None"
        if any(effects_of(node).draws for node in capture.graph.graph.nodes):
            name = writer.fresh("before")
            call = f"{writer.constant(drawn, 'drawn')}({_uses_cuda(capture)})"
            self.before = [f"    {name} = {call}"]
            self.failed = [f"        {writer.constant(set_drawn, 'set_drawn')}({name})"]
        truths = [writer.graph_output(check.tensor) for check in capture.checks]
        inner = "".join(text + ", " for text in truths)
        state = "".join(", " + param for param in writer.params)
        handler = writer.constant(self.handler, "refused")
        self.after = [
            f"    if not ({' and '.join(_tests(writer, capture))}):",
            f"        return {handler}({name}, ({inner}){state})",
        ]
        self._keep_written(writer, capture, read)
        if any(check.learned for check in capture.checks):
            self._learned(writer, handler)

    def _learned(self, writer: Writer, handler: str) -> None:
        """A graph that may run for nothing does not run while hooks of the program see what
        autograd saves, and if it raises the program may have gone another way."""
        state = ", ".join(writer.params)
        hooks = writer.constant(hooks_on_saved, "hooks_on_saved")
        self.first = [f"    if {hooks}():", f"        return {handler}.around({state})"]
        other = writer.fresh("other")
        self.passed_on = [
            f"        {other} = {handler}.raised(exc, {state})",
            f"        if {other} is not None:",
            f"            return {other}",
        ]

    def _keep_written(self, writer: Writer, capture: Capture, read: Callable[[Any], str]) -> None:
        """What the graph writes to is kept before, and put back if the region is run again."""
        texts = [
            writer.constant(e.example, "written") if e.static else read(e.source)
            for e in undoable(capture.graph) or ()
        ]
        if not texts:
            return
        kept, inner = writer.fresh("kept"), "".join(text + ", " for text in texts)
        self.before.append(f"    {kept} = {writer.constant(keep, 'keep')}(({inner}))")
        restore = f"        {writer.constant(put_back, 'put_back')}({kept})"
        self.failed.append(restore)
        self.after.insert(1, restore)


def _uses_cuda(capture: Capture) -> bool:
    """Whether the graph may draw from the generators of GPUs."""
    values = (node.meta.get("example_value") for node in capture.graph.graph.nodes)
    return any(
        isinstance(leaf, torch.Tensor) and leaf.device.type == "cuda"
        for value in values
        for leaf in tree_leaves(value)
    )


def hooks_on_saved() -> bool:
    """Whether hooks of the program see the tensors that autograd saves."""
    return thread_state.saved_hooks_top(False) is not None


def _tests(writer: Writer, capture: Capture) -> list[str]:
    """The conditions as a variant asks for them. Those on tensors of one device are one result of
    the graph, so that the program waits for the device once."""
    texts: dict[str, None] = {}
    devices: dict[torch.device, dict[torch.fx.Node, bool]] = {}
    for check in capture.checks:
        if isinstance(check.tensor, Tensor):
            wanted = devices.setdefault(check.tensor.value.device, {})
            if wanted.setdefault(check.tensor.node, check.expected) is check.expected:
                continue
        text = writer.graph_output(check.tensor)
        texts[text if check.expected else f"not {text}"] = None
    look = writer.constant(number_in, "number_in")
    for wanted in devices.values():
        text = f"{look}({writer.graph_output_of(_joined(capture.graph, wanted))})"
        texts[text if len(wanted) > 1 or all(wanted.values()) else f"not {text}"] = None
    return list(texts)


def _joined(builder: Any, wanted: dict[torch.fx.Node, bool]) -> torch.fx.Node:
    """The node that says whether all these nodes are what is wanted of them; a single one is the
    node itself."""
    if len(wanted) == 1:
        return next(iter(wanted))
    parts = []
    for node, truth in wanted.items():
        value = node.meta["example_value"]
        if value.dim():
            node, value = builder.call("call_method", "reshape", (node, ()), {})
        test = torch.ne if truth else torch.eq
        if not truth or value.dtype is not torch.bool:
            node, value = builder.call("call_function", test, (node, 0), {})
        parts.append(node)
    node, _ = builder.call("call_function", torch.stack, (parts,), {})
    node, _ = builder.call("call_function", torch.all, (node,), {})
    return node
