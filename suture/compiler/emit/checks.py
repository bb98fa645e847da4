"""How a variant checks the conditions that it expects, and what it undoes if one does not hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from suture.compiler.capture import Capture
from suture.compiler.emit.writer import Writer
from suture.compiler.graph import has_asserts, undoable
from suture.compiler.graph.builder import GraphBuilder
from suture.compiler.graph.fake_values import tree_leaves
from suture.compiler.objects import Tensor
from suture.op_effects import effects_of
from suture.runtime import Chain
from suture.runtime.checks import AfterCheck, drawn, keep, put_back, set_drawn
from suture.runtime.interpret import hooks_on_saved
from suture.runtime.reads import number_in


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
        self.puts_back = False  # what the graph has written, should it raise
        again = capture.graph.caught or has_asserts(capture.graph.shape_env)
        if not capture.checks and not again:
            return
        name = "None"
        if any(effects_of(node).draws for node in capture.graph.graph.nodes):
            name = writer.fresh("before")
            call = f"{writer.constant(drawn, 'drawn')}({_uses_cuda(capture)})"
            self.before = [f"    {name} = {call}"]
            self.failed = [f"        {writer.constant(set_drawn, 'set_drawn')}({name})"]
        if not capture.checks:
            self._keep_written(writer, capture, read)
            return
        self.handler = AfterCheck(chain)
        truths = [writer.graph_output(check.tensor) for check in capture.checks]
        inner = "".join(text + ", " for text in truths)
        state = "".join(", " + param for param in writer.params)
        handler = writer.constant(self.handler, "refused")
        self.after = [
            f"    if not ({' and '.join(_tests(writer, capture))}):",
            f"        return {handler}({name}, ({inner}){state})",
        ]
        self._keep_written(writer, capture, read)
        if any(check.learned or check.skips for check in capture.checks):
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
        written = undoable(capture.graph)
        self.puts_back = written is not None
        texts = [
            writer.constant(e.example, "written") if e.static else read(e.source)
            for e in written or ()
        ]
        if not texts:
            return
        kept, inner = writer.fresh("kept"), "".join(text + ", " for text in texts)
        self.before.append(f"    {kept} = {writer.constant(keep, 'keep')}(({inner}))")
        restore = f"        {writer.constant(put_back, 'put_back')}({kept})"
        self.failed.append(restore)
        self.after[1:1] = [restore] if self.after else []


def _uses_cuda(capture: Capture) -> bool:
    """Whether the graph may draw from the generators of GPUs."""
    values = (node.meta.get("example_value") for node in capture.graph.graph.nodes)
    return any(
        isinstance(leaf, torch.Tensor) and leaf.device.type == "cuda"
        for value in values
        for leaf in tree_leaves(value)
    )


def _tests(writer: Writer, capture: Capture) -> list[str]:
    """The conditions as a variant tests them. Those on tensors of one device are one result of
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


def _joined(builder: GraphBuilder, wanted: dict[torch.fx.Node, bool]) -> torch.fx.Node:
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
    joined: torch.fx.Node
    joined, _ = builder.call("call_function", torch.all, (node,), {})
    return joined
