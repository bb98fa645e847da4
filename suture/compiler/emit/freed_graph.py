"""A loss that leaves a region in which backward() was called.

What its graph saved is freed: it is only good to raise what eager raises if backward() is
called again. A compiler would differentiate it when it compiles, which is no longer possible. So
the graph gives the number alone, and the variant makes a tensor of it that requires grad. What
differs from eager is the name of its `grad_fn`.
"""

from __future__ import annotations

from typing import Any

from suture.compiler.emit.writer import Writer
from suture.runtime.freed_graph import with_freed_graph


def write_freed(writer: Writer, builder: Any) -> list[str]:
    """Let the graph give losses that leave the region without their history, and the lines that
    make them what they were."""
    lines = []
    for node in list(writer.outputs):
        value = node.meta.get("example_value")
        if value is None or not builder.derivatives.is_freed_loss(value):
            continue
        plain, _ = builder.call("call_method", "detach", (node,), {})
        name = writer.replace_output(node, plain)
        lines.append(f"    {name} = {writer.constant(with_freed_graph, 'freed')}({name})")
    return lines
