"""`suture.export`: what suture captures in one graph, as an ExportedProgram of torch.

The function is compiled with fullgraph on the example arguments. Then torch.export traces not the
program but the variant that came of it: its Python decisions are made, and its graph is what is
left. Decisions on sizes were guards of the variant; they are asked again while torch.export traces,
so that they become its guards, and its error where they say more than `dynamic_shapes` allows.
"""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from suture import _core, config
from suture.api import compile, compiled_of, decorated_spec
from suture.errors import UserError
from suture.runtime.sources import Source


def export(
    model: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
) -> Any:
    """The ExportedProgram of a function or a module, called as in the example.

    `dynamic_shapes` is torch.export's. A graph break is an error, `suture.exc.Unsupported`, with
    its number and line. Numbers and other Python values of the example are constants, as in
    torch.export. What the program changes in Python objects is changed while torch.export traces.
    """
    given = dict(kwargs or {})
    owner, plain = _owner(model)
    _refuse_spec(dynamic_shapes)
    _refuse_spec(decorated_spec(plain))
    runner = _variant_of(plain, args, given, dynamic_shapes is not None, _State(owner))
    with _forward(owner, runner, plain):
        return torch.export.export(
            owner, tuple(args), given, dynamic_shapes=dynamic_shapes, strict=False
        )


def _refuse_spec(shapes: Any) -> None:
    """Raise for sizes that torch.export would know nothing of, on which a program cannot decide."""
    for one in (shapes, *(shapes.values() if isinstance(shapes, Mapping) else ())):
        if type(one).__module__ == "torch.fx.experimental.dynamic_spec":
            kind = type(one).__name__
            raise UserError(f"suture.export takes sizes as torch.export.Dim, not as a {kind}")


def _owner(model: Any) -> tuple[Any, Any]:
    """What holds the state, and what is captured: a module and its forward; a function has none."""
    if isinstance(model, torch.nn.Module):
        return model, model.forward
    return torch.nn.Module(), model


def _variant_of(
    plain: Any, args: Sequence[Any], kwargs: dict[str, Any], dynamic: bool, backend: Any
) -> Callable[..., Any]:
    """Something to call like `plain` that runs the variant compiled for these arguments."""
    made: Any = compile(
        plain, backend=backend, fullgraph=True, dynamic=dynamic, isolate_recompiles=True
    )
    compiled = compiled_of(made)
    point, data = compiled.point, compiled.point.data
    state = _like(made, compiled, lambda *state: state)(*args, **kwargs)
    # Two sizes that are equal in the example are two sizes, unless dynamic_shapes says otherwise.
    with config.patch(specialize_int=True, specialize_float=True, duck_sizes=False):
        answer = point.on_miss(point, state)  # compiles, and runs nothing of the program
    if not data.variants:
        answer(*state)  # raises what the program raises there
        raise UserError("suture.export: the call is not one that is compiled here")
    (variant,) = data.variants
    checks = [_Check(g.arg) for g in variant.guards.entries if g.kind in ("expr", "expr_py")]

    def run(*state: Any) -> Any:
        for check in checks:
            check.ask(state)
        return variant.function(*state)

    return _like(made, compiled, run)


def _like(made: Any, compiled: Any, run: Callable[..., Any]) -> Callable[..., Any]:
    """Something to call like a compiled function or method, which hands its state to `run`."""
    point = _core.Point("export", lambda point, state: run)
    again = _core.Compiled(compiled.function, point)
    return types.MethodType(again, made.__self__) if isinstance(made, types.MethodType) else again


class _State:
    """A backend that runs graphs as they are, on what the module holds now. A variant may hold on
    to the very parameters it was made for; torch.export puts others there while it traces."""

    def __init__(self, owner: torch.nn.Module) -> None:
        self._owner = owner
        named = (*owner.named_parameters(remove_duplicate=False), *owner.named_buffers())
        self._names = {id(value): name for name, value in named}

    def __call__(self, gm: torch.fx.GraphModule, inputs: Any) -> Any:
        def run(*args: Any) -> Any:
            return gm.forward(*map(self._now, args))

        return run

    def _now(self, value: Any) -> Any:
        name = self._names.get(id(value))
        if name is None:
            return value
        path, _, last = name.rpartition(".")
        return getattr(self._owner.get_submodule(path), last)


class _Check:
    """A decision of the capture about sizes. `arg` is what its guard has: where its numbers are
    read, the decision as a function of them or as code of the core, and as a text."""

    def __init__(self, arg: Any) -> None:
        symbols, decides, self._text = arg
        self._symbols: list[tuple[Source, str, int]] = list(symbols)
        self._decides: Callable[..., Any] = decides if callable(decides) else self._of_text

    def ask(self, state: tuple[Any, ...]) -> None:
        """Decide again, on the sizes that torch.export knows."""
        try:
            holds = self._decides(*(_number(_read(s, state), k, d) for s, k, d in self._symbols))
        except (NameError, SyntaxError, AttributeError, LookupError) as error:
            text = f"suture.export cannot carry over the decision {self._text}"
            raise UserError(text) from error
        if not holds:
            raise UserError(f"suture.export: {self._text} does not hold for the example")

    def _of_text(self, *numbers: Any) -> Any:
        from suture.compiler.guards.number_sources import NumberSource  # with the compiler only

        texts = [(NumberSource(*p, None).text(), f"n{i}") for i, p in enumerate(self._symbols)]
        text = self._text
        for spelled, name in sorted(texts, key=lambda pair: -len(pair[0])):
            text = text.replace(spelled, name)
        values = {name: number for (_, name), number in zip(texts, numbers)}
        return eval(text, {**values, "__builtins__": {"min": min, "max": max, "abs": abs}})


def _number(value: Any, kind: str, dim: int) -> Any:
    if kind in ("int", "float"):
        return value
    return value.storage_offset() if kind == "storage_offset" else getattr(value, kind)(dim)


def _read(source: Source, state: tuple[Any, ...]) -> Any:
    """The value at a source now."""
    if source.base is None:
        return state[source.arg] if source.kind == "slot" else source.arg
    base, arg = _read(source.base, state), source.arg
    match source.kind:
        case "attr":
            return getattr(base, arg)
        case "dict":
            return base.__dict__
        case "item" | "index" | "getitem":
            return base[arg]
        case "pick":
            return base[_read(arg, state)]
        case "cell":
            return base.cell_contents
        case "type":
            return type(base)
        case "key":
            return list(base)[arg]
        case "call":
            return arg(base)
        case "closure":
            return base.__closure__[arg]
        case "default":
            return base.__defaults__[arg]
        case "kwdefault":
            return base.__kwdefaults__[arg]
    raise LookupError(source.path())


@contextlib.contextmanager
def _forward(owner: Any, runner: Any, plain: Any) -> Iterator[None]:
    """`owner.forward` is the runner in the block, with the signature of the program's function."""

    @functools.wraps(plain)
    def forward(*args: Any, **kwargs: Any) -> Any:
        return runner(*args, **kwargs)

    before = owner.__dict__.get("forward")
    owner.__dict__["forward"] = forward
    try:
        yield
    finally:
        del owner.__dict__["forward"]
        if before is not None:
            owner.__dict__["forward"] = before
