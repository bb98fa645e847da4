"""What an operation does besides computing its result: which arguments it writes, whether it draws
random numbers, whether its result may share memory with an argument.

torch's schemas and tags answer for operators. A function or a method stands for the operator of its
name: `torch.dropout` and `Tensor.add_` for `aten::dropout` and `aten::add_`. What no schema says is
in the tables of this file, and nowhere else. Where nothing is known, everything may happen.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.fx

from suture.torch_private import operators

_DRAWS = torch.Tag.nondeterministic_seeded


@dataclass(frozen=True, slots=True)
class Effects:
    """`writes`: the arguments that may be changed in place. `draws`: random numbers may be drawn.
    `aliases`: the result may share memory with an argument. `acts`: it must run even if nobody
    takes its result, for another reason: it checks something, or switches a mode."""

    writes: tuple[Any, ...] = ()
    draws: bool = False
    aliases: bool = False
    acts: bool = False

    @property
    def must_run(self) -> bool:
        """Whether it does something even if nobody takes its result."""
        return bool(self.writes) or self.draws or self.acts


NONE = Effects()
MAY_DRAW = Effects(draws=True)

# ---- what no schema says

# In place: operators of Python, and the methods behind them.
_IN_PLACE = frozenset({
    "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and",
    "or", "xor", "concat", "div",
})  # fmt: skip
_CHANGES_FIRST = frozenset(
    {"setitem", "delitem", "__setitem__", "__delitem__"}
    | {f"i{name}" for name in _IN_PLACE}
    | {f"__i{name}__" for name in _IN_PLACE}
)
# Functions in Python that draw, under names that no operator has.
_DRAWING = frozenset({
    "dropout1d", "dropout2d", "dropout3d", "gumbel_softmax", "multi_head_attention_forward",
    "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices", "svd_lowrank", "pca_lowrank", "lobpcg",
})  # fmt: skip
# Where one of these arguments is False, or zero, these functions draw nothing.
_DRAWS_ONLY_WITH = frozenset({"p", "train", "training", "dropout_p"})
_MAY_DRAW_NOTHING = frozenset({
    "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_dropout",
    "feature_alpha_dropout", "scaled_dot_product_attention", "multi_head_attention_forward",
})  # fmt: skip
# Arguments that are written although the schema does not say so, and the argument that decides it:
# running statistics while training, rows of an embedding that are too long.
_STATISTICS = ("running_mean", "running_var")
_ALSO_WRITES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "batch_norm": (_STATISTICS, ("training",)),
    "instance_norm": (_STATISTICS, ("use_input_stats",)),
    "native_batch_norm": (_STATISTICS, ("training",)),
    "_batch_norm_impl_index": (_STATISTICS, ("training",)),
    "cudnn_batch_norm": (_STATISTICS, ("training",)),
    "miopen_batch_norm": (_STATISTICS, ("training",)),
    "batch_norm_update_stats": (_STATISTICS, ()),
    "batch_norm_gather_stats": (_STATISTICS, ()),
    "batch_norm_gather_stats_with_counts": (_STATISTICS, ()),
    "embedding": (("weight",), ("max_norm",)),
    "embedding_bag": (("weight",), ("max_norm",)),
}
# Give back their argument itself where they have nothing to do.
_MAY_GIVE_BACK = frozenset({
    "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_dropout",
    "feature_alpha_dropout", "getattr", "getitem", "__getitem__", "type", "as_subclass", "float",
    "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool", "cfloat",
    "cdouble",
})  # fmt: skip
# Must run for another reason than what they give.
_ACTS = frozenset({
    "register_hook", "register_post_accumulate_grad_hook", "retain_grad", "backward",
    "_check", "_check_is_size", "_check_index", "_check_value", "_check_type", "_check_with",
    "_check_tensor_all", "_check_tensor_all_with", "_check_not_implemented",
})  # fmt: skip
# Functions of these modules do nothing but what the tables say.
_PLAIN_MODULES = ("builtins", "operator", "_operator", "math", "torch")


def declare(function: Any, effects: Effects) -> None:
    """Say what a function that suture puts into graphs does; `effects.writes` counts for nothing,
    since a name that ends in an underscore says that the first argument is written."""
    function.suture_effects = effects


def is_declared(node: torch.fx.Node) -> bool:
    """Whether a node calls a function of which only `declare` says what it does."""
    return getattr(node.target, "suture_effects", None) is not None


def effects_of(node: torch.fx.Node) -> Effects:
    """What a node does. Nodes that compute nothing do nothing; a module may do anything."""
    if node.op in ("placeholder", "get_attr", "output"):
        return NONE
    facts = _facts_of_call(node)
    if facts is None:
        return _anything(node)
    writes = tuple(_written(node, facts))
    explained = bool(writes) or facts.draws
    acts = facts.acts or (node.op == "call_function" and not explained and node.is_impure())
    if not writes and not acts:
        return facts.plain
    return Effects(writes, facts.draws, facts.aliases or bool(writes), acts)


def writes_of(node: torch.fx.Node) -> tuple[Any, ...]:
    """The arguments that a node may change in place: `effects_of(node).writes`, and no more."""
    if node.op in ("placeholder", "get_attr", "output"):
        return ()
    facts = _facts_of_call(node)
    if facts is None:
        return _anything(node).writes
    if facts.only_out and not node.kwargs:
        return ()
    return tuple(_written(node, facts))


def any_writes(nodes: Iterable[torch.fx.Node]) -> bool:
    """Whether one of these nodes may change a tensor in place. A target that writes to nothing but
    what it is given by name is asked about once, for all its calls without names."""
    quiet: set[int] = set()
    for node in nodes:
        if id(node.target) in quiet and not node.kwargs and node.op != "call_module":
            continue
        if writes_of(node):
            return True
        if node.op in ("call_function", "call_method"):
            facts = _facts_of_call(node)
            if facts is not None and facts.only_out:
                quiet.add(id(node.target))
    return False


class Written(NamedTuple):
    """An argument that the schema of an operator marks as written."""

    place: int
    name: str
    is_list: bool
    by_name: bool  # it cannot be given by its place

    def given(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What a call gives for it; None if nothing."""
        return args[self.place] if self.place < len(args) else kwargs.get(self.name)


@functools.lru_cache(maxsize=4096)
def written_arguments(func: Any) -> tuple[Written, ...]:
    """The arguments that an operator, as dispatch modes see it, writes."""
    schema = operators.schema_of(func)
    return tuple(
        Written(place, argument.name, argument.type.kind() == "ListType", argument.kwarg_only)
        for place, argument in enumerate(schema.arguments if schema is not None else ())
        if argument.alias_info is not None and argument.alias_info.is_write
    )


def draws(func: Any) -> bool:
    """Whether an operator, as dispatch modes see it, draws random numbers."""
    return _DRAWS in func.tags


def _anything(node: torch.fx.Node) -> Effects:
    return Effects(tuple(node.all_input_nodes), draws=True, aliases=True, acts=True)


# ---- what is known of a target


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is known of a target for all its calls. `written` are (index, name) of arguments; the
    index is -1 for one that is given by name only. `only_out`: a call writes to nothing but what it
    is given by name."""

    name: str
    names: tuple[str, ...]
    written: tuple[tuple[int, str], ...]
    also: tuple[tuple[str, ...], tuple[str, ...]] | None
    defaults: dict[str, Any]
    draws: bool
    aliases: bool
    acts: bool
    plain: Effects
    only_out: bool


@functools.cache
def _facts_of_method(name: str) -> _Facts:
    return _described(name, _overloads(_operator_named(name)), None)


def _facts_of_call(node: torch.fx.Node) -> _Facts | None:
    """What is known of the target of a call; None for a module, which may do anything."""
    if node.op == "call_module":
        return None
    return _facts_of_method(node.target) if node.op == "call_method" else _facts(node.target)


def _facts(target: Any) -> _Facts | None:
    """None for a function of which nothing is known."""
    try:
        return _facts_of_function(target)
    except TypeError:  # an object that cannot be hashed
        return None


@functools.lru_cache(maxsize=4096)
def _facts_of_function(target: Any) -> _Facts | None:
    if isinstance(target, operators.OpOverload):
        return _described(target.overloadpacket.__name__, [target], None)
    if isinstance(target, operators.OpOverloadPacket):
        return _described(target.__name__, _overloads(target), None)
    name = str(getattr(target, "__name__", ""))
    if isinstance(target, operators.HigherOrderOperator):
        # torch refuses bodies that write to what they are given; whether they draw, nobody says
        return _described(name, [], None, MAY_DRAW)
    told = getattr(target, "suture_effects", None)
    module = str(getattr(target, "__module__", None) or "torch")  # functions in C may have none
    room = module.partition(".")[0]
    if told is None and room == "suture":
        told = NONE  # made for what was traced, operation by operation
    if told is not None:
        return _described(name, [], None, told)
    if room not in _PLAIN_MODULES:
        return None
    if room == "_operator":
        name = name.rstrip("_")  # and_, or_, not_ and is_ are words of Python otherwise
    of_torch = room == "torch"
    python = target if isinstance(target, types.FunctionType) else None
    return _described(name, _overloads(_operator_named(name)) if of_torch else [], python)


def _operator_named(name: str) -> Any:
    found = getattr(torch.ops.aten, name, None) if name.isidentifier() else None
    # the namespace is an object with methods of its own, such as __eq__
    return found if isinstance(found, operators.OpOverloadPacket) else None


def _overloads(packet: Any) -> list[Any]:
    return [] if packet is None else [getattr(packet, name) for name in packet.overloads()]


def _described(name: str, overloads: list[Any], python: Any, told: Effects = NONE) -> _Facts:
    """`python`: the function in Python that is called by that name; its arguments count."""
    schemas = [operators.schema_of(overload) for overload in overloads]
    written = {one for overload in overloads for one in _marked(overload, name, len(overloads) > 1)}
    if not written and (name in _CHANGES_FIRST or (name.endswith("_") and name[-2:] != "__")):
        written = {(0, "self")}
    names: tuple[str, ...] = ()
    defaults: dict[str, Any] = {}
    if python is not None:
        parameters = inspect.signature(python).parameters
        names = tuple(parameters)
        defaults = {k: p.default for k, p in parameters.items() if p.default is not p.empty}
        written = {one for one in written if one[0] == 0}
    elif schemas:
        names = tuple(argument.name for argument in schemas[0].arguments)
        defaults = {a.name: a.default_value for a in schemas[0].arguments if a.has_default_value()}
    drawn = told.draws or name in _DRAWING or any(draws(overload) for overload in overloads)
    shares = name in _MAY_GIVE_BACK or any(
        result.alias_info is not None
        for overload, schema in zip(overloads, schemas)
        if len(schemas) == 1 or not _has_out(overload)
        for result in schema.returns
    )
    acts = told.acts or name in _ACTS or "_assert" in name
    plain = Effects((), drawn, shares or told.aliases, False)
    also = _ALSO_WRITES.get(name)
    order = tuple(sorted(written))
    by_name = all(index < 0 for index, _ in order)
    only_out = by_name and also is None and "inplace" not in names
    return _Facts(name, names, order, also, defaults, drawn, plain.aliases, acts, plain, only_out)


def _has_out(overload: Any) -> bool:
    """Whether the results go into tensors that are handed over; those calls name them."""
    return any(one.by_name for one in written_arguments(overload))


def _marked(overload: Any, name: str, one_of_several: bool) -> Iterator[tuple[int, str]]:
    """The arguments that an overload writes, as in `_Facts`. Among several of torch's under one
    name may be those of TorchScript on lists, which share names with operators on tensors (`sort`):
    these are left out."""
    scripted = one_of_several and overload.namespace == "aten" and not name.endswith("_")
    for one in written_arguments(overload):
        if one.is_list and scripted and not one.by_name:
            continue
        yield (-1 if one.by_name else one.place), one.name


def written_by(node: torch.fx.Node) -> tuple[torch.fx.Node, ...]:
    """The nodes whose values a node may write to, also those in lists."""
    found: list[torch.fx.Node] = []
    torch.fx.map_arg(writes_of(node), found.append)
    return tuple(found)


def operation_name(node: torch.fx.Node) -> str:
    """The name of the method or the function that a node calls, without its module; "" if it has
    none. An overload has the name of its operator."""
    target: Any = node.target
    if isinstance(target, operators.OpOverload):
        target = target.overloadpacket
    return target if isinstance(target, str) else str(getattr(target, "__name__", ""))


# ---- what is known of a call


def draws_nothing(node: torch.fx.Node) -> bool:
    """Whether a call of a function that draws says, with a number of the program, that it shall
    not."""
    facts = _facts(node.target) if node.op == "call_function" else None
    if facts is None or facts.name not in _MAY_DRAW_NOTHING:
        return False
    given = [_argument(node, facts, name) for name in facts.names if name in _DRAWS_ONLY_WITH]
    return any(type(value) in (bool, int, float) and not value for value in given)


def _written(node: torch.fx.Node, facts: _Facts) -> Iterator[Any]:
    for index, name in facts.written:
        if name in node.kwargs:
            yield node.kwargs[name]
        elif 0 <= index < len(node.args):
            yield node.args[index]
    if node.kwargs.get("out") is not None and not any(n == "out" for _, n in facts.written):
        yield node.kwargs["out"]
    if _argument(node, facts, "inplace") and node.args:
        yield node.args[0]
    if facts.also is not None:
        names, deciding = facts.also
        if all(_argument(node, facts, name) for name in deciding):
            found = (_argument(node, facts, name) for name in names)
            yield from (value for value in found if value is not None)


def _argument(node: torch.fx.Node, facts: _Facts, name: str) -> Any:
    """The argument of that name in a call; None if it takes none."""
    if name in node.kwargs:
        return node.kwargs[name]
    if name not in facts.names:
        return None
    index = facts.names.index(name)
    return node.args[index] if index < len(node.args) else facts.defaults.get(name)
