"""The lines with which a variant draws from the generators of Python and NumPy."""

from __future__ import annotations

from suture.compiler.capture import Capture
from suture.compiler.emit.checks import CheckLines
from suture.compiler.emit.writer import Writer


def write_draws(writer: Writer, capture: Capture, checks: CheckLines) -> list[str]:
    """The lines that draw, to go before all others. Should the region be run again, it starts
    from where the generators were: that goes into the lines of `checks`."""
    lines: list[str] = []
    for drawn in capture.draws:
        name = writer.fresh("drawn")
        writer.bind_name(drawn, name)
        given = [_spell(writer, a) for a in drawn.args]
        given += [f"{k}={_spell(writer, v)}" for k, v in drawn.kwargs.items()]
        function = writer.constant(drawn.function, drawn.function.__name__)
        lines.append(f"    {name} = {function}({', '.join(given)})")
        item = drawn.item
        if item is not None and not item.users and item not in writer.outputs:
            item.graph.erase_node(item)
    for read, write in dict(drawn.state for drawn in capture.draws).items():
        before = writer.fresh("generator")
        lines.insert(0, f"    {before} = {writer.constant(read, read.__name__)}()")
        restore = f"        {writer.constant(write, write.__name__)}({before})"
        checks.failed.append(restore)
        checks.after[1:1] = [restore] if checks.after else []
    return lines


def _spell(writer: Writer, value: object) -> str:
    if type(value) in (int, str, bool, type(None)):
        return repr(value)
    return writer.constant(value, "number")
