"""torch.func: a transform of a function is one node, a module that applies the transform to the
traced body. Backends trace through it, as torch itself does."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from suture.breaks import Break, functorch
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.models import handles, model_named
from suture.compiler.objects import Constant, Tuple
from suture.compiler.torch import trees
from suture.compiler.torch.bodies import call_held, trace_body
from suture.compiler.torch.body_effects import changes_refused
from suture.compiler.torch.seeded import NotesSeeded
from suture.torch_private import functorch_parts, thread_state
from suture.torch_private.tensor_parts import broadcast_to_and_flatten, pytree


class Transformed(torch.nn.Module):
    """Applies `transform` to a body; it is plain data, so that torch's caches can tell one graph
    from another by it. Called with the flat arguments of the body, then what it
    lifted; `structure` says how the arguments hang together, `result` what the body returns."""

    def __init__(self, body: Any, transform: Any, structure: Any, result: Any, count: int) -> None:
        super().__init__()
        self.body = body
        self.transform = transform
        self.structure = structure
        self.result = result
        self.count = count  # how many of the flat arguments are the body's own

    def __call__(self, *flat: list[Value]) -> Any:
        return self.forward(*flat)  # hooks on all modules are about those of the program

    def forward(self, *flat: list[Value]) -> Any:
        own, lifted = flat[: self.count], flat[self.count :]

        def function(*args: list[Value]) -> Any:
            given = _flat_like(self.structure, args)
            return trees.fill(self.result, self.body.forward(*given, *lifted))

        return self.transform(function, trees.fill(self.structure, own))


@dataclass(frozen=True)
class Vmap:
    in_dims: Any
    out_dims: Any
    randomness: str
    chunk_size: int | None

    def __call__(self, function: Any, values: Any) -> Any:
        mapped = torch.func.vmap(
            function,
            self.in_dims,
            self.out_dims,
            randomness=self.randomness,
            chunk_size=self.chunk_size,
        )
        return mapped(*values)


@dataclass(frozen=True)
class Applied:
    """One of torch.func that takes a function and options, and gives a function."""

    maker: Any
    options: dict[str, Any]

    def __call__(self, function: Any, values: Any) -> Any:
        return self.maker(function, **self.options)(*values)


@dataclass(frozen=True)
class Jvp:
    """The first `count` values are primals, the rest tangents."""

    count: int
    options: dict[str, Any]

    def __call__(self, function: Any, values: Any) -> Any:
        primals, tangents = values[: self.count], values[self.count :]
        alone = _with_last(function, tangents)
        return torch.func.jvp(alone, primals, tangents, **self.options)


@dataclass(frozen=True)
class Vjp:
    """The first `count` values are primals, the rest cotangents."""

    count: int
    has_aux: bool

    def __call__(self, function: Any, values: Any) -> Any:
        primals, cotangents = values[: self.count], values[self.count :]
        alone = _with_last(function, cotangents)
        pull = torch.func.vjp(alone, *primals, has_aux=self.has_aux)[1]
        return pull(*cotangents)


def _with_last(function: Any, last: Any) -> Callable[..., Any]:
    def alone(*given: Any) -> Any:
        return function(*given, *last)

    return alone


def _flat_like(structure: object, values: Any) -> list[Any]:
    """The values at the leaves of a structure, in the leaves' order."""
    found: dict[int, Any] = {}
    _collect(structure, values, found)
    return [found[i] for i in range(len(found))]


def _collect(structure: Any, values: Any, found: dict[int, Any]) -> None:
    if isinstance(structure, trees.Leaf):
        found[structure.index] = values
    elif isinstance(structure, dict):
        for key in structure:
            _collect(structure[key], values[key], found)
    elif isinstance(structure, (list, tuple)):
        for part, value in zip(structure, values):
            _collect(part, value, found)


def apply(
    trace: Trace,
    name: str,
    fn: Value,
    args: list[Value],
    kwargs: Any,
    transform: object,
    fakes: Any = None,
    runs_once: bool = True,
) -> Value:
    """One node: `transform(function, args)` with `function` the traced `fn`, which torch runs once
    at the call unless said otherwise."""
    leaves: list[Any] = []
    structure = tuple(trees.flatten(trace, a, leaves) for a in args)
    given = [leaf.value for leaf in leaves]
    if fakes is not None:
        given = fakes(trees.plain(trace, structure), given)
    trace.modes.transforms.append(name)
    try:
        if _is_second_order_mapped(trace.modes.transforms):
            raise _refuse("vmap", "fake tensors cannot map forward over reverse mode")
        with _forward_mode_on() if name in _FORWARD else contextlib.nullcontext():
            body = trace_body(trace, name, fn, structure, leaves, given, kwargs, runs_once)
    finally:
        trace.modes.transforms.pop()
    result = trees.plain(trace, body.result)
    plain = trees.plain(trace, structure)
    module = Transformed(body.module, transform, plain, result, len(leaves))
    nodes = [leaf.node for leaf in leaves] + body.lifted
    return call_held(trace, module, name, nodes, leaves)


_FORWARD = ("jvp", "jacfwd", "hessian")  # transforms that switch forward mode on around the body


@contextlib.contextmanager
def _forward_mode_on() -> Iterator[None]:
    before = thread_state.is_fwd_grad_enabled()
    thread_state.set_fwd_grad_enabled(True)
    try:
        yield
    finally:
        thread_state.set_fwd_grad_enabled(before)


def _is_second_order_mapped(names: list[str]) -> bool:
    """Whether a vmap is around forward mode around reverse mode: on fake tensors torch fails
    there, and is not itself afterwards."""
    at = iter(names)
    if "vmap" not in at:  # each test starts after what the one before found
        return False
    forward = next((n for n in at if n in ("jvp", "jacfwd", "hessian")), None)
    return forward == "hessian" or any(n in ("grad", "vjp", "jacrev", "hessian") for n in at)


def _refuse(transform: str, reason: str) -> Break:
    return Break(functorch.TRANSFORM_REFUSED, transform=transform, reason=reason)


@handles("func_transform")
def _func_transform(
    trace: Trace, target: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    handler = model_named(f"func_transform.{target.__name__}")
    if handler is None:
        raise _refuse(target.__name__, "it has no form in a graph")
    return handler(trace, target, args, kwargs)


@handles("func_nesting", "func_interpreter")
def _functorch(trace: Trace, target: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    raise _refuse(target.__name__, "a step of a transform on its own")


@handles("func_transform.vmap_impl")
def _vmap(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    fn, in_dims, out_dims, randomness, chunk_size, *rest = args
    dims = abstract.constant_value(trace, in_dims)
    out, mode = abstract.constant_value(trace, out_dims), abstract.constant_value(trace, randomness)
    chunks = abstract.constant_value(trace, chunk_size)

    def fakes(structure: object, values: list[Any]) -> list[Any]:
        return _without_mapped(trace, structure, values, dims)

    trace.modes.mapped += 1
    try:
        transform = Vmap(dims, out, mode, chunks)
        once = chunks is None  # else it runs for each chunk
        return apply(trace, "vmap", fn, rest, kwargs, transform, fakes, once)
    finally:
        trace.modes.mapped -= 1


def _without_mapped(trace: Trace, structure: object, values: list[Any], dims: object) -> list[Any]:
    """The fake arguments as the body sees them: without the dimension that is mapped over."""
    leaf = lambda s: isinstance(s, trees.Leaf)  # noqa: E731
    flat, spec = pytree.tree_flatten(structure, is_leaf=leaf)
    wanted = broadcast_to_and_flatten(tuple(dims) if isinstance(dims, list) else dims, spec)
    if wanted is None:
        raise _refuse("vmap", "in_dims does not fit the arguments")
    made = list(values)
    for part, dim in zip(flat, wanted):
        if isinstance(part, trees.Leaf) and dim is not None:
            with trace.graph.fake:
                value = values[part.index]
                if not isinstance(value, torch.Tensor) or not -value.dim() <= dim < value.dim():
                    raise _refuse("vmap", "in_dims does not fit the arguments")
                made[part.index] = _row(value, dim)
    return made


def _row(value: torch.Tensor, dim: int) -> torch.Tensor:
    """A fake tensor without one of its dimensions, of which there may be no row at all."""
    if value.shape[dim] != 0:
        return value.select(dim, 0)
    shape = [n for i, n in enumerate(value.shape) if i != dim % value.dim()]
    return value.new_empty(shape).requires_grad_(value.requires_grad)


@handles("func_transform.grad_impl")
def _grad(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    fn, argnums, has_aux, given, named = args
    which, aux = abstract.constant_value(trace, argnums), abstract.constant_value(trace, has_aux)

    maker = torch.func.grad_and_value if target is torch.func.grad_and_value else torch.func.grad
    transform = Applied(maker, {"argnums": which, "has_aux": aux})
    pairs = {abstract.constant_value(trace, k): v for k, v in abstract.dict_pairs(trace, named)}
    return apply(trace, "grad", fn, abstract.unpack(trace, given), pairs, transform)


@handles(functorch_parts.grad_and_value)
def _grad_and_value(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return _grad(trace, torch.func.grad_and_value, args, kwargs)


@handles("func_transform.jvp")
def _jvp(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    if len(args) != 3 or not {"strict", "has_aux"}.issuperset(kwargs):
        raise _refuse("jvp", "called in an unusual way")
    options = {k: abstract.constant_value(trace, v) for k, v in kwargs.items()}
    fn, primals, tangents = args
    count = len(abstract.unpack(trace, primals))
    both = [*abstract.unpack(trace, primals), *abstract.unpack(trace, tangents)]
    return apply(trace, "jvp", _FirstArguments(fn, count), both, {}, Jvp(count, options))


class _FirstArguments(Value):
    """A function that drops the arguments behind the first `count`."""

    __slots__ = ("count", "fn")

    def __init__(self, fn: Any, count: int) -> None:
        super().__init__(None)
        self.fn = fn
        self.count = count

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return abstract.tail_call(trace, self.fn, args[: self.count], kwargs)


@handles("func_transform.vjp")
def _vjp(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    fn, *primals = args
    aux = abstract.truth(trace, kwargs.get("has_aux", Constant(False)))
    if set(kwargs) - {"has_aux"}:
        raise _refuse("vjp", "called with options")
    with NotesSeeded() as draws, changes_refused(trace, "vjp"):
        out = abstract.call(trace, fn, primals, {})
    if draws.seen:
        raise _refuse("vjp", "its function draws random numbers, which it would do twice")
    if not aux:
        return Tuple([out, Pullback(fn, primals, False)])
    value, auxiliary = abstract.unpack(trace, out)
    return Tuple([value, Pullback(fn, primals, True), auxiliary])


class Pullback(Value):
    """The function that torch.func.vjp gives: computes the forward again, then its gradient."""

    __slots__ = ("aux", "fn", "primals")

    def __init__(self, fn: Any, primals: list[Any], aux: bool) -> None:
        super().__init__(None)
        self.fn = fn
        self.primals = primals
        self.aux = aux  # whether the function gives an auxiliary result

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        count = len(self.primals)
        fn = _FirstArguments(self.fn, count)
        given = [*self.primals, *args]
        return apply(trace, "vjp", fn, given, {}, Vjp(count, self.aux), runs_once=False)

    def rebuild(self, emit: Emitter) -> str:
        given = ", ".join(emit.value(v) for v in (self.fn, *self.primals))
        return f"{emit.constant(torch.func.vjp, 'vjp')}({given}, has_aux={self.aux})[1]"


class Jacobian(Value):
    """torch.func.jacrev(f), jacfwd(f), hessian(f): a function that applies the transform."""

    __slots__ = ("fn", "maker", "options")

    def __init__(self, maker: Any, fn: Any, options: dict[str, Any]) -> None:
        super().__init__(None)
        self.maker = maker
        self.fn = fn
        self.options = options

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        transform = Applied(self.maker, self.options)
        return apply(trace, self.maker.__name__, self.fn, args, kwargs, transform)

    def rebuild(self, emit: Emitter) -> str:
        options = "".join(f", {k}={v!r}" for k, v in self.options.items())
        return f"{emit.constant(self.maker, self.maker.__name__)}({emit.value(self.fn)}{options})"


@handles("func_transform.jacrev", "func_transform.jacfwd", "func_transform.hessian")
def _jacobian(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    options = {k: abstract.constant_value(trace, v) for k, v in kwargs.items()}
    if len(args) > 1:
        options["argnums"] = abstract.constant_value(trace, args[1])
    return Jacobian(target, args[0], options)
