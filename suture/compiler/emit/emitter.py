"""Capture in, variant out.

The variant's body has a fixed order: call the graph; make the objects the exit needs; write
changed objects back; bring torch's modes to their state at the exit; leave.
"""

from __future__ import annotations

import functools
import keyword
from dataclasses import dataclass, field
from typing import Any

import torch.fx

from suture import _core
from suture.backends import Caller
from suture.compiler.capture import Capture, Interpret, Run
from suture.compiler.emit.answers import refuse_answers
from suture.compiler.emit.checks import CheckLines
from suture.compiler.emit.draws import write_draws
from suture.compiler.emit.exit_modes import modes_at_exit
from suture.compiler.emit.freed_graph import write_freed
from suture.compiler.emit.hoist import hoist
from suture.compiler.emit.inputs import InputReads, read
from suture.compiler.emit.leave import Leaving
from suture.compiler.emit.parameters import parameters_of
from suture.compiler.emit.writer import Writer
from suture.compiler.graph import writes_own_memory_only
from suture.compiler.graph.builder import GraphBuilder
from suture.compiler.graph.collectives import has_collectives
from suture.compiler.objects import MadeByPython
from suture.runtime import VARIANT, AfterFailure, Chain, relocated, set_context, slot_names, where
from suture.runtime.checks import Watch
from suture.runtime.interpret import hooks_on_saved
from suture.runtime.parameters import PARAMETERS, Parameters
from suture.runtime.store.stand_ins import MadeFrames, MadeOperation
from suture.runtime.withheld import Withheld
from suture.torch_private.torchdynamo import hide


@dataclass(slots=True)
class Emitted:
    """A variant: the function, its source, the graph module it calls (None if it calls none) and
    the graph's inputs, of which `statics` are the first."""

    function: Any
    source: str
    module: torch.fx.GraphModule | None
    inputs: list[Any]
    namespace: dict[str, Any]
    statics: tuple[Any, ...]
    checks: Any = None  # the AfterCheck of a variant that expects something of numbers
    parameters: Parameters | None = None  # reads what belongs to modules that are arguments
    caller: Caller | None = None  # the way into the graph
    watch: Watch | None = None  # is told how the branch on data goes that the variant ends with
    reached: list[Any] = field(default_factory=list)  # points it may jump to, and symbols there
    yields: list[Any] = field(default_factory=list)  # that its generator's frame comes to alone
    name: str = ""
    replaces: tuple[Any, int] | None = (
        None  # the code object and the instruction where its region starts
    )
    # what constants that are made here are made of, by name
    described: dict[str, MadeFrames | MadeOperation] = field(default_factory=dict)
    withheld: Withheld | None = None  # gradients that are withheld around the graph's call
    graph_kept: bool = False  # what is called is the graph module's own function, nothing around it
    backend_failed: bool = False  # the graph runs as it is, because the backend failed on it

    def set_graph(self, compiled: Any) -> None:
        """Let the variant call the compiled graph. What the graph always gets is before the
        arguments already: hundreds of parameters cost a call next to nothing then."""
        namespace, statics = self.namespace, self.statics  # the examples are not kept

        around = self.withheld

        def put(run: Any) -> None:
            run = run if around is None else around.around(run)
            namespace["graph"] = functools.partial(run, *statics) if statics else run

        if isinstance(compiled, Caller):
            self.caller = compiled
            compiled.follow(put)
        else:
            put(compiled)


def emit(capture: Capture, chain: Chain, name: str, points: Any) -> Emitted:
    """The variant of one traced region. `points(chain, interpret_only, raises)` gives a Point."""
    params = slot_names(chain)
    writer = Writer(params, reserved=(name,), anew=capture.guards.anew)
    caller = capture.frames[-1]
    if isinstance(capture.exit, Interpret) and len(capture.frames) > 1:
        caller = capture.frames[-2]  # the innermost one is entered from here
    home = caller.fn.globals.get("__name__")  # classes made here belong to it
    if isinstance(home, str):
        writer.namespace["__name__"] = home
    if isinstance(capture.exit, Run):  # what it runs may warn, once for each line of the program
        registry = caller.fn.globals.setdefault("__warningregistry__", {})
        writer.namespace["__warningregistry__"] = registry
    leaving = Leaving(writer, capture, points)
    writer.current = writer.tail
    leaving.write()
    _write_effects(writer, capture)
    modes = modes_at_exit(writer, capture)
    checks = CheckLines(writer, capture, chain, lambda source: read(writer, source))
    for counts in capture.withheld.values():
        for count in counts:
            writer.graph_output(count)
    draws = write_draws(writer, capture, checks)
    module, inputs, call = _graph(writer, capture, chain, checks)
    refuse_answers(writer, capture.effects)
    statics = tuple(i.example for i in inputs if i.static)
    head = f"def {name}({', '.join(params)}):"
    body = [*checks.first, *draws, *call, *writer.lines, *writer.writes, *writer.positions]
    body += [*modes, *writer.tail]
    if not body:
        body = ["    return None"]
    source = "\n".join([head, *body]) + "\n"
    function = _compile(source, name, writer.namespace)
    index = caller.ip if caller is capture.frames[-1] else caller.ip - 1
    function.__code__ = relocated(function.__code__, caller.code, index)
    hide(function.__code__)
    parameters = writer.namespace.get(PARAMETERS)
    namespace, handler = writer.namespace, checks.handler
    made = Emitted(function, source, module, inputs, namespace, statics, handler, parameters)
    made.watch, made.reached, made.yields = leaving.watch, leaving.reached, leaving.yields
    made.withheld = _withheld(writer, capture, inputs)
    made.name, made.replaces, made.described = name, (caller.code.code, index), writer.described
    return made


def variant_name(chain: Chain) -> str:
    """A readable name for the variant: the function's, with the line if it starts elsewhere."""
    name, _, line = where(chain)
    letters = (c if c.isalnum() else "_" for c in name.rpartition(".")[2])
    plain = "".join(letters).strip("_") or "region"
    if not plain.isidentifier() or keyword.iskeyword(plain):
        plain = f"region_{plain}"
    return plain if chain[0].index == 0 and len(chain) == 1 else f"{plain}_at_{line}"


def _write_effects(writer: Writer, capture: Capture) -> None:
    """Bring every changed object that existed before the region up to date."""
    writer.current = writer.writes
    for begun in capture.effects.unfinished:
        writer.value(begun)
    for variable in list(capture.effects.touched.values()):
        if variable.source is not None:
            variable.write_back(writer, writer.value(variable))
    for fn, args, kwargs in capture.effects.calls:
        parts = [writer.value(a) for a in args]
        parts += [f"{name}={writer.value(value)}" for name, value in kwargs.items()]
        writer.line(f"{writer.constant(fn, fn.__name__)}({', '.join(parts)})")
    for (_, name), (namespace, value) in capture.effects.globals.items():
        table = writer.constant(namespace, "globals")
        if value is None:
            writer.line(f"{table}.pop({name!r}, None)")
        else:
            writer.line(f"{table}[{name!r}] = {writer.value(value)}")
    _write_tracebacks(writer, capture)


def _write_tracebacks(writer: Writer, capture: Capture) -> None:
    """The frames that exceptions passed while tracing, for those that are still there."""
    for exc, code, namespace, offset in capture.effects.passed:
        if code is None:
            context = writer.constant(set_context, "set_context")
            writer.line(f"{context}({writer.value(exc)}, {writer.value(namespace)})")
            continue
        add = writer.constant(_core.add_traceback, "add_traceback")
        where = f"{writer.constant(code, 'code')}, {writer.constant(namespace, 'globals')}"
        writer.line(f"{add}({writer.value(exc)}, {where}, {offset})")


def _graph(
    writer: Writer, capture: Capture, chain: Chain, checks: CheckLines
) -> tuple[Any, list[Any], list[str]]:
    """The finished graph and the line that calls it; nothing if no operation is needed."""
    builder = capture.graph
    numbers = [
        "        " + line for line in hoist(writer, builder, lambda source: read(writer, source))
    ]
    if not (writer.outputs or builder.writes_inputs() or builder.must_run()):
        return None, [], _attempt(writer, chain, numbers, False, checks) if numbers else []
    freed = write_freed(writer, builder)
    _refuse_freed(writer, builder)
    module = builder.finish(writer.outputs)
    inputs = builder.inputs  # parameters and buffers first
    args = []
    owned = [entry for entry in inputs if entry.rank() == 1]
    if owned:
        reader = parameters_of(owned)
        writer.namespace[PARAMETERS] = reader
        args.append(f"*{PARAMETERS}({', '.join(writer.params[s.arg] for s in reader.owners)})")
    others = [entry for entry in inputs if entry.rank() == 2]
    apart = {entry.node for entry in others if entry.node in writer.made_inputs}
    late = [e for e in others if not (e.text or e.node in apart)]
    reads = InputReads(writer, [e.source for e in late if e.source is not None])
    made: list[str] = []
    for entry in others:
        early = entry.node in apart  # before the lines that may raise
        text = entry.text
        if not text:
            assert entry.source is not None  # what is not computed is read
            text = read(writer, entry.source) if early else reads.read(entry.source)
        if entry.convert is not None:
            text = f"{writer.constant(entry.convert, 'convert')}({text})"
        if early:
            made.append(f"    {writer.made_inputs[entry.node]} = {text}")
        args.append(writer.made_inputs[entry.node] if early else text)
    names = writer.output_names()
    left = "".join(n + ", " for n in names).rstrip()
    call = f"graph({', '.join(args)})"
    held = sum(entry.static for entry in inputs)
    comment = f"  # {builder.ops} operation{'s' if builder.ops != 1 else ''}"
    comment += f" on these and {held} tensors of modules" if held else ""
    again = checks.puts_back or not builder.writes() or writes_own_memory_only(builder)
    writes = not again or has_collectives(builder.graph, builder.attributes)
    call = f"{left} = {call}{comment}" if names else f"{call}{comment}"
    body = ["        " + line for line in (*reads.lines, call, *reads.release())]
    lines = _attempt(writer, chain, [*numbers, *body], writes, checks)
    return module, inputs, [*made, *lines, *freed]


def _withheld(writer: Writer, capture: Capture, inputs: list[Any]) -> Withheld | None:
    """The gradients that are withheld around the graph's call."""
    if not capture.withheld or not inputs:
        return None
    leaves = tuple(i for i, entry in enumerate(inputs) if entry.node in capture.withheld)
    given = [[count.node for count in capture.withheld[inputs[i].node]] for i in leaves]
    return Withheld(leaves, tuple(tuple(map(writer.outputs.index, nodes)) for nodes in given))


def _refuse_freed(writer: Writer, builder: GraphBuilder) -> None:
    """A tensor whose derivative the region has used up is left to autograd itself: compilers would
    compute its backward when they compile, which is no longer possible."""
    nodes = (*writer.outputs, *(entry.node for entry in builder.inputs))
    position = builder.derivatives.freed_by(node.meta.get("example_value") for node in nodes)
    if position is not None:
        raise MadeByPython(
            position, "a tensor whose derivative is used up, that has a hook, or a leaf"
        )
    position = builder.derivatives.ends_at(n.meta.get("example_value") for n in writer.outputs)
    if position is not None:
        raise MadeByPython(position, "an optimizer's step beside a derivative to come")


def _attempt(
    writer: Writer, chain: Chain, lines: list[str], writes: bool, checks: CheckLines
) -> list[str]:
    """Lines that may raise, with what is done then."""
    failed = writer.constant(AfterFailure(chain, writes, hooks_on_saved), "failed")
    return [
        *checks.before,
        "    try:",
        *lines,
        "    except BaseException as exc:",
        *checks.failed,
        *checks.passed_on,
        f"        return {failed}(exc, {', '.join(writer.params)})",
        *checks.after,
    ]


def _compile(source: str, name: str, namespace: dict[str, Any]) -> Any:
    exec(compile(source, f"{VARIANT}{name}>", "exec", dont_inherit=True), namespace)
    return namespace.pop(name)
