"""One verb: `check` runs eager and compiled side by side and compares all a user can see."""

from __future__ import annotations

import collections
import contextlib
import copy
import io
import random
import types
from typing import Any

import numpy
import torch
from torch.utils.hooks import RemovableHandle

import suture
from suture import events


class Graphs:
    """A backend that keeps the graphs it was given and runs them as they are."""

    def __init__(self) -> None:
        self.modules: list[torch.fx.GraphModule] = []
        self.numbers: tuple[str, ...] = ()  # of the breaks and of what was interpreted

    def __call__(self, gm: torch.fx.GraphModule, inputs: Any) -> Any:
        self.modules.append(gm)
        return gm.forward

    def __len__(self) -> int:
        return len(self.modules)

    def ops(self) -> list[list[str]]:
        """The operations of each graph, in order, by name: functions, methods and modules."""
        return [operations(module.graph) for module in self.modules]


def operations(graph: torch.fx.Graph) -> list[str]:
    """The names of a graph's operations: `torch.sin`, `x.sin()` and `aten.sin` are "sin",
    `aten.sum.dim_IntList` is "sum.dim_IntList". What only reads an attribute is none."""
    calls = ("call_function", "call_method", "call_module")
    return [_operation_name(node.target) for node in graph.nodes if node.op in calls]


def _operation_name(target: Any) -> str:
    name = target if isinstance(target, str) else target.__name__
    return str(name).removesuffix(".default")


class Outcome:
    """What one call did: result or exception, stdout, RNG state, inputs afterwards."""

    def __init__(self, fn: Any, args: Any, kwargs: Any, seed: int = 0) -> None:
        torch.default_generator.manual_seed(seed)  # torch.manual_seed notes a stack per device
        random.seed(seed)
        self.error: BaseException | None = None
        self.result: Any = None
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                self.result = _drain(fn(*args, **kwargs))
            except Exception as error:
                self.error = error
        self.stdout = out.getvalue()
        self.rng = torch.get_rng_state()
        self.python_rng = random.getstate()
        self.args, self.kwargs = args, kwargs
        self.grad_mode = torch.is_grad_enabled()


def _drain(result: Any) -> Any:
    """A generator as the list of what it yields."""
    return list(result) if isinstance(result, types.GeneratorType) else result


def check(
    fn: Any,
    *args: Any,
    graphs: int | None = 1,
    breaks: Any = (),
    recompiles: int | None = 0,
    interpreted: int | None = 0,
    ops: list[list[str]] | None = None,
    calls: int = 2,
    backend: Any = None,
    grads: bool = True,
    kwargs: dict[str, Any] | None = None,
    make: Any = None,
    **options: Any,
) -> Graphs:
    """Call `fn` plainly and compiled, on copies; compare results, types, identity with inputs,
    inputs, stdout, exceptions, RNG state and gradients. Then require `graphs` graphs, the break
    numbers `breaks` in order, and that further calls compile nothing (None: any). `ops` are the
    operations of each graph in order (see `operations`); they say how many graphs there are.
    `make` makes the arguments of each call anew, for those that cannot be copied."""
    kwargs = kwargs or {}
    copies = (lambda: (_made(make), {})) if make is not None else (lambda: _copies(args, kwargs))
    suture.reset()
    recorder = Graphs()
    modules = fn if isinstance(fn, torch.nn.Module) else None
    eager_fn = _copied(modules) if modules is not None else fn
    compiled = suture.compile(fn, backend=backend or recorder, **options)
    seen: list[events.Broke] = []
    for turn in range(calls):
        eager = Outcome(eager_fn, *copies())
        stop = events.subscribe(lambda e: seen.append(e) if isinstance(e, events.Broke) else None)
        before = suture.stats().variants
        try:
            with suture.config.patch(strict=True, trace_tensor_free=True):
                ours = Outcome(compiled, *copies())
        finally:
            stop()
        compare(eager, ours, grads)
        if turn and recompiles == 0:
            again = f"a call that should hit compiled again: {suture.stats().recompilations}"
            assert suture.stats().variants == before, again
    numbers = tuple(e.number for e in seen)
    if breaks is not None:
        told = "; ".join(
            f"{e.number} {e.message} ({e.where.function}:{e.where.line})" for e in seen
        )
        assert numbers == tuple(breaks), f"breaks {numbers}, expected {tuple(breaks)}: {told}"
    if ops is not None:
        assert backend is None, "a backend of the test's own keeps the graphs itself"
        assert recorder.ops() == ops, f"operations {recorder.ops()}, expected {ops}"
        graphs = len(ops)
    if graphs is not None and backend is None:
        assert len(recorder) == graphs, (
            f"{len(recorder)} graphs, expected {graphs}; breaks {numbers}"
        )
    stats = suture.stats()
    if recompiles is not None:
        assert len(stats.recompilations) == recompiles, stats.recompilations
    if interpreted is not None:
        assert len(stats.interpreted) == interpreted, stats.interpreted
    recorder.numbers = (*numbers, *(record.number for record in stats.interpreted))
    return recorder


def _made(make: Any) -> Any:
    """The arguments that `make` gives, the same numbers each time."""
    torch.manual_seed(7)
    random.seed(7)
    return make()


def _copied(module: torch.nn.Module) -> torch.nn.Module:
    try:
        return copy.deepcopy(module)
    except TypeError:  # a class that cannot be copied has no state of its own to protect
        return module


def _copies(args: Any, kwargs: Any) -> tuple[Any, Any]:
    memo: dict[int, Any] = {}
    return _clone(args, memo), _clone(kwargs, memo)


def _clone(value: Any, memo: dict[int, Any]) -> Any:
    """A copy that keeps aliasing, and leaves of autograd as leaves; modules are shared."""
    if id(value) in memo:
        return memo[id(value)]
    if isinstance(value, (torch.nn.Module, types.FunctionType, type, types.ModuleType)):
        return value
    if isinstance(value, torch.Tensor) and _is_cloned(type(value)):
        made = value.detach().clone(memory_format=torch.preserve_format)
        made = made.requires_grad_(value.requires_grad)
    elif isinstance(value, tuple) and type(value) is tuple:
        made = tuple(_clone(v, memo) for v in value)
    elif type(value) is list:
        made = memo[id(value)] = []
        made.extend(_clone(v, memo) for v in value)
    elif type(value) is dict:
        made = memo[id(value)] = {}
        made.update({k: _clone(v, memo) for k, v in value.items()})
    else:
        made = copy.deepcopy(value, memo)
    memo[id(value)] = made
    return made


def _is_cloned(kind: type) -> bool:
    """Whether clone() gives a tensor of the same class."""
    if kind in (torch.Tensor, torch.nn.Parameter):
        return True
    return not issubclass(kind, torch.nn.Parameter) and (
        kind.__torch_dispatch__ is torch.Tensor.__torch_dispatch__
    )


def compare(eager: Outcome, ours: Outcome, grads: bool = True) -> None:
    """Everything two calls did must be the same."""
    if eager.error is not None or ours.error is not None:
        assert type(eager.error) is type(ours.error), (
            f"eager {eager.error!r}, ours {ours.error!r}" + _tb(ours)
        )
        assert str(eager.error) == str(ours.error), f"eager {eager.error!r}, ours {ours.error!r}"
    same(eager.result, ours.result, "result")
    same(eager.args, ours.args, "args")
    same(eager.kwargs, ours.kwargs, "kwargs")
    assert eager.stdout == ours.stdout, f"stdout {eager.stdout!r} != {ours.stdout!r}"
    assert torch.equal(eager.rng, ours.rng), "torch's random state differs"
    assert eager.python_rng == ours.python_rng, "Python's random state differs"
    assert eager.grad_mode == ours.grad_mode, "grad mode differs"
    for i, (a, b) in enumerate(zip(_flat(eager.args), _flat(ours.args))):
        hits = [r is a for r in _flat(eager.result)]
        assert hits == [r is b for r in _flat(ours.result)], (
            f"identity of argument {i} in the result"
        )
    if grads:
        _compare_grads(eager, ours)


def _tb(ours: Outcome) -> str:
    import traceback

    return "\n" + "".join(traceback.format_exception(ours.error)) if ours.error else ""


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [x for v in value for x in _flat(v)]
    if isinstance(value, dict):
        return [x for v in value.values() for x in _flat(v)]
    return [value] if isinstance(value, torch.Tensor) else []


def _compare_grads(eager: Outcome, ours: Outcome) -> None:
    losses = [
        sum(
            (
                t.double().sum()
                for t in _flat(o.result)
                if t.requires_grad and t.is_floating_point()
            ),
            torch.zeros((), dtype=torch.float64),
        )
        for o in (eager, ours)
    ]
    assert losses[0].requires_grad == losses[1].requires_grad, "requires_grad differs"
    if not losses[0].requires_grad:
        return
    for loss in losses:
        loss.backward()
    for a, b in zip(_flat(eager.args), _flat(ours.args)):
        if a.is_leaf and b.is_leaf:
            same(a.grad, b.grad, "gradient")


def same(a: Any, b: Any, where: str) -> None:
    """Equal in type and value, all the way down."""
    assert type(a) is type(b), f"{where}: {type(a)} != {type(b)}"
    if isinstance(a, torch.Tensor) and a.is_nested:
        same(list(a.unbind()), list(b.unbind()), where)
    elif isinstance(a, torch.Tensor):
        assert a.shape == b.shape and a.dtype == b.dtype and a.device == b.device, where
        assert a.requires_grad == b.requires_grad, f"{where}: requires_grad"
        assert a.stride() == b.stride(), f"{where}: strides {a.stride()} != {b.stride()}"
        torch.testing.assert_close(a, b, equal_nan=True, msg=lambda m: f"{where}: {m}")
    elif isinstance(a, RemovableHandle):
        return  # two handles of two hooks differ by a serial number
    elif isinstance(a, (list, tuple, collections.deque)):
        assert getattr(a, "maxlen", None) == getattr(b, "maxlen", None), f"{where}: maxlen"
        assert len(a) == len(b), f"{where}: lengths {len(a)} != {len(b)}"
        for i, (x, y) in enumerate(zip(a, b)):
            same(x, y, f"{where}[{i}]")
    elif isinstance(a, (dict, types.MappingProxyType)):
        assert list(a) == list(b), f"{where}: keys {list(a)} != {list(b)}"
        for key in a:
            same(a[key], b[key], f"{where}[{key!r}]")
    elif isinstance(a, numpy.ndarray):
        assert a.dtype == b.dtype, f"{where}: {a.dtype} != {b.dtype}"
        if a.dtype.kind in "fc":
            numpy.testing.assert_allclose(a, b, rtol=1.3e-6, atol=1e-5, err_msg=where)
        else:
            numpy.testing.assert_array_equal(a, b, where)
    elif isinstance(a, float):
        assert a == b or (a != a and b != b), f"{where}: {a} != {b}"
    elif hasattr(a, "__dict__") and not isinstance(a, (type, types.FunctionType, torch.nn.Module)):
        same(vars(a), vars(b), f"{where}.__dict__")
    elif not callable(a) and not hasattr(a, "__next__"):
        assert a == b, f"{where}: {a!r} != {b!r}"
