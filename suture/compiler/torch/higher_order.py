"""torch.cond, while_loop, map, scan and checkpoint: operators whose bodies are graphs."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.checkpoint import noop_context_fn

from suture.breaks import Break, calls, higher_order
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.graph import OpFailed
from suture.compiler.models import handles
from suture.compiler.objects import (
    Constant,
    GraphValue,
    List,
    MadeFunction,
    Partial,
    Set,
    Symbol,
    Tensor,
    Tuple,
)
from suture.compiler.torch import trees
from suture.compiler.torch.bodies import Body, trace_body
from suture.compiler.torch.seeded import NotesSeeded
from suture.compiler.torch.tensors import op_failure
from suture.torch_private import operators, tensor_parts
from suture.torch_private.tensor_parts import version_of


def _refuse(operator: str, reason: str) -> Break:
    return Break(higher_order.BODY_BREAKS, operator=operator, reason=reason)


def _operands(trace: Trace, name: str, variable: Value) -> list[Any]:
    """A tuple of graph values, flat."""
    items = list(abstract.unpack(trace, variable))
    if not all(isinstance(i, GraphValue) for i in items):
        raise _refuse(name, "an operand is no tensor")
    return items


def _body(
    trace: Trace,
    name: str,
    fn: Any,
    operands: list[Any],
    fakes: list[Any] | None = None,
    structure: tuple[Any, ...] | None = None,
) -> Body:
    """The body `fn` on these graph values, or on arguments of that structure which hold them."""
    if structure is None:
        structure = tuple(trees.Leaf(i) for i in range(len(operands)))
    values = fakes if fakes is not None else [o.value for o in operands]
    versions = [version_of(v) for v in values if isinstance(v, torch.Tensor)]
    body: Body = trace_body(trace, name, fn, structure, operands, values)
    if versions != [version_of(v) for v in values if isinstance(v, torch.Tensor)]:
        raise Break(higher_order.BODY_MUTATES)
    refuse_aliases([*values, *(n.meta["example_value"] for n in body.lifted)], body.values)
    if body.constants:
        raise _refuse(name, "it returns something that is no tensor")
    return body


def refuse_aliases(inputs: list[Any], outputs: list[Any]) -> None:
    """A body gives tensors of its own: none of its inputs, none of them twice."""
    seen = {tensor_parts.storage_key(v) for v in inputs if isinstance(v, torch.Tensor)}
    for value in outputs:
        if isinstance(value, torch.Tensor):
            storage = tensor_parts.storage_key(value)
            if storage in seen:
                raise Break(higher_order.BODY_ALIASES)
            seen.add(storage)


def _shared(trace: Trace, bodies: list[Body]) -> tuple[list[torch.fx.Node], list[Any]]:
    """The nodes that any of the bodies lifted, and modules that all take all of them."""
    union: list[torch.fx.Node] = []
    for body in bodies:
        union += [n for n in body.lifted if n not in union]
    modules = [_Picks(b.module, [union.index(n) for n in b.lifted], len(union)) for b in bodies]
    return union, [m.as_graph() for m in modules]


class _Picks:
    """A body that takes more lifted arguments than it uses."""

    def __init__(self, module: torch.fx.GraphModule, uses: list[int], count: int) -> None:
        self.module = module
        self.uses = uses
        self.count = count

    def as_graph(self) -> torch.fx.GraphModule:
        """The body's own graph with placeholders for all `count` lifted arguments, in order."""
        graph = self.module.graph
        old = [n for n in graph.nodes if n.op == "placeholder"]
        own = old[: len(old) - len(self.uses)]
        taken = dict(zip(self.uses, old[len(own) :]))
        first = next((n for n in graph.nodes if n.op != "placeholder"), None)
        with graph.inserting_before(first):
            for i in range(self.count):
                made = graph.placeholder(f"lifted{i}")
                if i in taken:
                    made.meta.update(taken[i].meta)
                    taken[i].replace_all_uses_with(made)
                    graph.erase_node(taken[i])
        self.module.recompile()
        return self.module


def _give_one(module: torch.fx.GraphModule) -> None:
    """Let a body give its one result as it is, not in a tuple."""
    output = next(n for n in module.graph.nodes if n.op == "output")
    output.args = (output.args[0][0],)
    module.recompile()


def emit(
    trace: Trace,
    name: str,
    op: object,
    args: tuple[Any, ...],
    value: object,
    marks: dict[str, Any] | None = None,
) -> Value:
    """The node of an operator whose fake result is known from its bodies."""
    lifted = torch.fx.map_arg(args, trace.graph.levels.lift)
    node = trace.graph.node("call_function", op, lifted, marks or {}, value)
    return abstract.from_value(trace, node, value)


def fresh(trace: Trace, body: Body, nodes: list[torch.fx.Node]) -> Any:
    """The fake result of a body on the values of these nodes."""
    try:
        return trace.graph.execute(
            "call_function", body.module, [n.meta["example_value"] for n in nodes], {}
        )
    except OpFailed as failed:
        raise op_failure(trace, failed, "a body") from failed.cause


@handles(torch.cond)
def _public_cond(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The function of the user: where it is refused, Python makes the whole call."""
    if len(args) + len(kwargs) == 3:
        kwargs = {**kwargs, "operands": Tuple([])}
    return _cond(trace, torch.ops.higher_order.cond, args, kwargs)


@handles("higher_order.cond")
def _cond(trace: Trace, target: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    pred, true_fn, false_fn, operands = _named(args, kwargs, "pred true_fn false_fn operands")
    if isinstance(pred, Constant) or (isinstance(pred, Symbol) and not _from_data(trace, pred)):
        chosen = true_fn if abstract.truth(trace, pred) else false_fn
        return abstract.tail_call(trace, chosen, list(abstract.unpack(trace, operands)), {})
    given: list[Any] = []
    structure = tuple(trees.flatten(trace, o, given) for o in abstract.unpack(trace, operands))
    bodies = [_body(trace, "cond", f, given, structure=structure) for f in (true_fn, false_fn)]
    if not _alike(bodies[0].values, bodies[1].values):
        raise _refuse("cond", "its branches give different shapes or types")
    shape = bodies[0].result
    union, modules = _shared(trace, bodies)
    nodes = [*(o.node for o in given), *union]
    outcomes = [fresh(trace, b, nodes) for b in bodies]
    best = max(outcomes, key=lambda o: sum(v.requires_grad for v in o))
    held = [trace.graph.held_body(m, f"cond_{w}") for m, w in zip(modules, ("true", "false"))]
    flat = emit(trace, "cond", target, (pred.node, *held, tuple(nodes)), tuple(best))
    return trees.build(trace, shape, list(abstract.unpack(trace, flat)))


def _named(args: list[Value], kwargs: dict[str, Value], names: str) -> list[Any]:
    found = list(args)
    return found + [kwargs[n] for n in names.split()[len(found) :] if n in kwargs]


def _from_data(trace: Trace, symbol: Symbol) -> bool:
    return bool(getattr(symbol.value.node.expr, "free_symbols", ())) and any(
        str(s).startswith(("u", "zuf")) for s in symbol.value.node.expr.free_symbols
    )


def _alike(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(
        isinstance(x, torch.Tensor)
        and isinstance(y, torch.Tensor)
        and tuple(x.shape) == tuple(y.shape)
        and x.dtype == y.dtype
        and x.device == y.device
        for x, y in zip(a, b)
    )


@handles("higher_order.while_loop")
def _while_loop(trace: Trace, target: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    cond_fn, body_fn, carried, extra = _named(
        args, kwargs, "cond_fn body_fn carried_inputs additional_inputs"
    )
    if not abstract.unpack(trace, extra):
        counted = _counted_loop(trace, cond_fn, body_fn, carried)
        if counted is not None:
            return counted
    given = _operands(trace, "while_loop", carried)
    if abstract.unpack(trace, extra) or not all(isinstance(g, Tensor) for g in given):
        raise _refuse("while_loop", "it carries something that is no tensor")
    bodies = [_body(trace, "while_loop", fn, given) for fn in (cond_fn, body_fn)]
    if not _alike(bodies[1].values, [g.value for g in given]):
        raise _refuse("while_loop", "its body gives other shapes or types than it takes")
    shape = bodies[1].result
    union, modules = _shared(trace, bodies)
    _give_one(modules[0])
    outcome = fresh(trace, bodies[1], [*(g.node for g in given), *union])
    held = [trace.graph.held_body(m, f"{w}_fn") for m, w in zip(modules, ("cond", "body"))]
    nodes = (*held, tuple(g.node for g in given), tuple(union))
    flat = emit(trace, "while_loop", target, nodes, tuple(outcome))
    return trees.build(trace, shape, list(abstract.unpack(trace, flat)))


_MOST_TURNS = 64  # of a loop that is part of the graph turn by turn


def _counted_loop(trace: Trace, cond_fn: Any, body_fn: Any, carried: Value) -> Value | None:
    """A loop that carries numbers of Python and ends by them alone: the graph has its turns one
    after the other. None if it carries none; refused if data decides, or there are many turns."""
    state = list(abstract.unpack(trace, carried))
    if all(isinstance(v, Tensor) for v in state):
        return None
    first = [v.value for v in state if isinstance(v, Tensor)]
    if any(value.requires_grad for value in first) and torch.is_grad_enabled():
        raise _refuse("while_loop", "it is not differentiable")
    for turn in range(_MOST_TURNS + 1):
        more = abstract.call(trace, cond_fn, state, {})
        if isinstance(more, Tensor) or (isinstance(more, Symbol) and _from_data(trace, more)):
            raise _refuse("while_loop", "data decides when it ends, and it carries a number")
        if not abstract.truth(trace, more):
            return Tuple(state if turn else [_copy(trace, v) for v in state])
        around = [n.meta.get("example_value") for n in trace.graph.levels.top.graph.nodes]
        state = list(abstract.unpack(trace, abstract.call(trace, body_fn, state, {})))
        made = [v.value for v in state if isinstance(v, Tensor)]
        refuse_aliases(around, made)
        if not _alike(made, first):
            raise _refuse("while_loop", "its body gives other shapes or types than it takes")
        if not all(isinstance(v, Tensor) or v.python_type() is int for v in state):
            raise _refuse("while_loop", "it carries something that is no tensor")
    raise _refuse("while_loop", "it has many turns, and it carries a number")


def _copy(trace: Trace, value: Value) -> Value:
    is_tensor = isinstance(value, Tensor)
    return abstract.add_node(trace, "call_method", "clone", [value], {}) if is_tensor else value


@handles("higher_order.map_impl")
def _map(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    fn, mapped, rest = _named(args, kwargs, "f xs pos_args")
    xs = _operands(trace, "map", mapped)
    given = list(xs)
    structure = [trees.flatten(trace, r, given) for r in abstract.unpack(trace, rest)]
    structure = [*(trees.Leaf(i) for i in range(len(xs))), *structure]
    others = given[len(xs) :]
    with trace.graph.fake:
        rows = [x.value.select(0, 0) for x in xs]
    fakes = [*rows, *(o.value for o in others)]
    body = _body(trace, "map", fn, given, fakes, tuple(structure))
    length = xs[0].value.shape[0]
    with trace.graph.fake:
        values = tuple(_stacked(v, length) for v in body.values)
    held = trace.graph.held_body(body.module, "map_body")
    nodes = (held, tuple(x.node for x in xs), (*(o.node for o in others), *body.lifted))
    flat = emit(trace, "map", target, nodes, values)
    return trees.build(trace, body.result, list(abstract.unpack(trace, flat)))


@handles("higher_order.scan")
def _scan(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    names = "combine_fn init xs additional_inputs"
    fn, init, mapped, extra = _named(args, kwargs, names)
    carried, xs = _operands(trace, "scan", init), _operands(trace, "scan", mapped)
    if abstract.unpack(trace, extra):
        raise _refuse("scan", "it has additional inputs")
    with trace.graph.fake:
        rows = [x.value.select(0, 0) for x in xs]
    given = [*carried, *xs]
    body = _body(trace, "scan", fn, given, [*(c.value for c in carried), *rows])
    if not _alike(body.values[: len(carried)], [c.value for c in carried]):
        raise _refuse("scan", "what it carries changes its shape or type")
    length = xs[0].value.shape[0]
    with trace.graph.fake:
        ends = [v.clone() for v in body.values[: len(carried)]]
        stacked = [_stacked(v, length) for v in body.values[len(carried) :]]
    held = trace.graph.held_body(body.module, "scan_combine_fn")
    nodes = (held, [c.node for c in carried], [x.node for x in xs], tuple(body.lifted))
    flat = emit(trace, "scan", target, nodes, (*ends, *stacked))
    return trees.build(trace, body.result, list(abstract.unpack(trace, flat)))


def _stacked(row: torch.Tensor, length: Any) -> torch.Tensor:
    """`length` such rows as one tensor, with the history of the row."""
    rows = row.unsqueeze(0).expand((length, *row.shape))
    return rows.clone(memory_format=torch.contiguous_format)


@handles("checkpoint")
def _checkpoint(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A region whose values are computed again in the backward, as the backend sees fit."""
    fn, *given = args
    ours = {"use_reentrant", "preserve_rng_state", "determinism_check", "debug", "early_stop"}
    options = {k: abstract.constant_value(trace, kwargs[k]) for k in ours if k in kwargs}
    named = {k: v for k, v in kwargs.items() if k not in ours and k != "context_fn"}
    context = _real_function(trace, kwargs["context_fn"]) if "context_fn" in kwargs else None
    leaves: list[Any] = []
    structure = tuple(trees.flatten(trace, a, leaves) for a in given)
    before = {node: _version(node) for node in trace.graph.graph.nodes}
    body = trace_body(trace, "checkpoint", fn, structure, leaves, [v.value for v in leaves], named)
    nodes = [*(v.node for v in leaves), *body.lifted]
    if any(_version(n) != before.get(n, _version_at_start(n)) for n in nodes):
        # it does so again in the backward
        raise Break(
            higher_order.BODY_SIDE_EFFECT, operator="checkpoint", object="a tensor that it uses"
        )
    with NotesSeeded() as draws:
        values = tuple(fresh(trace, body, nodes))
    if draws.seen and options.get("preserve_rng_state") is False:
        raise Break(calls.PYTHON_FUNCTION_RUN, module="torch.utils.checkpoint",
                    qualname="checkpoint",
                    reason="it draws other numbers in the backward")  # fmt: skip
    if draws.seen:  # what is computed again would draw other numbers: it is computed once
        return abstract.tail_call(trace, fn, given, named)
    if context not in (None, noop_context_fn):
        body.module.meta["_checkpoint_context_fn"] = context  # where torch's backends look for it
    held = trace.graph.held_body(body.module, "wrap_body")
    lifted = torch.fx.map_arg((held, *nodes), trace.graph.levels.lift)
    kept = {"use_reentrant": options.get("use_reentrant", True), **options}
    op = torch.ops.higher_order.tag_activation_checkpoint
    node = trace.graph.node("call_function", op, lifted, kept, values)
    flat = abstract.from_value(trace, node, values)
    return trees.build(trace, body.result, list(abstract.unpack(trace, flat)))


def _version(node: torch.fx.Node) -> int:
    value = node.meta.get("example_value")
    return version_of(value) if isinstance(value, torch.Tensor) else 0


def _version_at_start(node: torch.fx.Node) -> int:
    return int(getattr(node.meta.get("example_value"), "version_at_start", 0))


def _real_function(trace: Trace, variable: Value) -> Callable[..., Any]:
    """The function behind a value, or a partial of one, as it is outside of the region."""
    try:
        function: Callable[..., Any] = _real_value(trace, variable)
        return function
    except LookupError:
        raise Break(calls.PYTHON_FUNCTION_RUN, module="torch.utils.checkpoint",
                    qualname="checkpoint",
                    reason="its context function is made here") from None  # fmt: skip


def _real_value(trace: Trace, variable: Any) -> Any:
    """What stays the same as long as the guards hold: a constant, something that exists, or a
    partial or a container of such."""
    variable = abstract.realize(trace, variable)
    if isinstance(variable, Partial):
        given = [_real_value(trace, a) for a in variable.args]
        named = {k: _real_value(trace, v) for k, v in variable.keywords.items()}
        return functools.partial(_real_value(trace, variable.fn), *given, **named)
    if variable.is_constant():
        return variable.constant()
    if isinstance(variable, MadeFunction):
        return _made_function(trace, variable)
    if isinstance(variable, Set):
        return variable.kind(_real_value(trace, v) for v in variable.entries.values())
    if isinstance(variable, (List, Tuple)):
        return variable.python_type()(
            _real_value(trace, v) for v in abstract.unpack(trace, variable)
        )
    return variable.real()


def _made_function(trace: Trace, variable: MadeFunction) -> Any:
    """A function like one made in the region, whose closure nothing can change."""
    held = [abstract.realize_local(trace, cell.contents) for cell in variable.closure]
    plain = not (variable.default_values or variable.kwdefaults or variable.attrs)
    if not plain or any(isinstance(v, _CHANGEABLE) for v in held):
        raise LookupError
    cells = tuple(types.CellType(_real_value(trace, v)) for v in held)
    return types.FunctionType(variable.code, variable.globals, variable.code.co_name, None, cells)


_CHANGEABLE = (List, Set, type(None))


@handles("higher_order.associative_scan")
def _associative_scan(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    fn, mapped, extra = _named(args, kwargs, "combine_fn xs additional_inputs")
    xs = _operands(trace, "associative_scan", mapped)
    if abstract.unpack(trace, extra):
        raise _refuse("associative_scan", "it has additional inputs")
    with trace.graph.fake:
        rows = [x.value.select(0, 0) for x in xs]
        whole = tuple(x.value.clone(memory_format=torch.contiguous_format) for x in xs)
    body = _body(trace, "associative_scan", fn, [*xs, *xs], [*rows, *(r.clone() for r in rows)])
    if not _alike(body.values, rows):
        raise _refuse("associative_scan", "it gives other shapes or types than it takes")
    held = trace.graph.held_body(body.module, "associative_scan_combine_fn")
    nodes = (held, [x.node for x in xs], tuple(body.lifted))
    flat = emit(trace, "associative_scan", target, nodes, whole)
    return trees.build(trace, body.result, list(abstract.unpack(trace, flat)))


def _public(name: str) -> None:
    """The function of the user around an operator: where something in it is refused, Python makes
    the whole call."""
    function = getattr(operators.higher_order, name)
    function = getattr(function, name, function)  # the module of that name, or the function itself

    @handles(function)
    def call(trace: Trace, args: Any, kwargs: Any) -> Any:
        return abstract.finish(
            trace, abstract.inline(trace, abstract.wrap(trace, function, None), args, kwargs)
        )


for _name in ("map", "scan", "associative_scan", "while_loop"):
    _public(_name)


@handles(
    "higher_order.hints_wrapper",
    "higher_order.strict_mode",
)
def _not_captured(trace: Trace, target: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    raise _refuse(target.name(), "the operator has no form in suture's graphs")
