"""The lines with which a variant draws from the generators of Python and NumPy."""

from __future__ import annotations

from suture.compiler.capture import Capture
from suture.compiler.emit.checks import CheckLines
from suture.compiler.emit.inputs import read
from suture.compiler.emit.writer import Writer


def write_draws(writer: Writer, capture: Capture, checks: CheckLines) -> list[str]:
    """The lines that draw, to go before all others. Should the region be run again, it starts
    from where the generators were: that goes into the lines of `checks`."""
    lines: list[str] = []
    for drawn in capture.draws:
        if drawn.gives_generator:  # other lines may have named it already
            name = writer.constant(drawn, "generator")
        else:
            name = writer.fresh("drawn")
            writer.bind_name(drawn, name)
        given = [_spell(writer, a) for a in drawn.args]
        given += [f"{k}={_spell(writer, v)}" for k, v in drawn.kwargs.items()]
        function = drawn.function.__name__
        if drawn.owner is None:
            function = writer.constant(drawn.function, function)
        else:
            function = f"{read(writer, drawn.owner)}.{function}"
        lines.append(f"    {name} = {function}({', '.join(given)})")
        item = drawn.item
        if item is not None and not item.users and item not in writer.outputs:
            item.graph.erase_node(item)
    for get, put in _states(writer, capture):
        before = writer.fresh("generator")
        lines.insert(0, f"    {before} = {get}()")
        restore = f"        {put}({before})"
        checks.failed.append(restore)
        checks.after[1:1] = [restore] if checks.after else []
    return lines


def _states(writer: Writer, capture: Capture) -> list[tuple[str, str]]:
    """How the variant gets and sets the state of each generator that it has not made itself."""
    found: dict[tuple[str, str], None] = {}
    made = [drawn for drawn in capture.draws if drawn.gives_generator]
    for drawn in capture.draws:
        if drawn.state is not None:
            get, put = drawn.state
            found[writer.constant(get, get.__name__), writer.constant(put, put.__name__)] = None
        elif drawn.owner is not None and not any(drawn.owner.arg is m for m in made):
            owner = read(writer, drawn.owner)
            found[f"{owner}.getstate", f"{owner}.setstate"] = None
    return list(found)


def _spell(writer: Writer, value: object) -> str:
    if type(value) in (int, str, bool, type(None)):
        return repr(value)
    return writer.constant(value, "number")
