"""compile(): from a function, callable or module to a compiled one."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import types
import weakref
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

import torch

from suture import _core, backends, config, events, rules, stance
from suture.backends.interrupts import outside_imports
from suture.compiled_module import compile_module, compiled_of
from suture.errors import UserError
from suture.runtime import sharded, torch_state
from suture.runtime import stats as stats_
from suture.runtime.builtins_check import builtins_replaced
from suture.runtime.points import Options, PointData, Variant
from suture.runtime.stats import Stats
from suture.runtime.store import environment
from suture.runtime.tensors import configure_core
from suture.runtime.unit import ALL, Unit
from suture.torch_private.torchdynamo import hide

_F = TypeVar("_F", bound=Callable[..., Any])
configure_core()


@overload
def compile(
    model: _F,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: str | Callable[..., Any] | None = ...,
    mode: str | None = ...,
    options: Mapping[str, Any] | None = ...,
    name: str | None = ...,
    disable: bool = ...,
    recompile_limit: int | None = ...,
    isolate_recompiles: bool = ...,
    shapes_spec: Any = ...,
) -> _F: ...


@overload
def compile(
    model: None = None,
    *,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    backend: str | Callable[..., Any] | None = ...,
    mode: str | None = ...,
    options: Mapping[str, Any] | None = ...,
    name: str | None = ...,
    disable: bool = ...,
    recompile_limit: int | None = ...,
    isolate_recompiles: bool = ...,
    shapes_spec: Any = ...,
) -> Callable[[_F], _F]: ...


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = "inductor",
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """Compile a function, a method, a callable object or an nn.Module.

    The arguments mean what they mean to `torch.compile`. Without `model` it is a decorator:

        @suture.compile(backend="eager")
        def fn(x):
            return x.sin() + 1

    fullgraph           a graph break is an error (`suture.exc.Unsupported`)
    dynamic             None: sizes that change become symbolic; True: from the start; False: never
    backend             a name (`suture.list_backends()`) or (GraphModule, inputs) -> callable
    mode, options       passed to Inductor
    name                what to call it in reports
    disable             give `model` back as it is, as `suture.config.disable` does
    recompile_limit     variants per point, instead of `suture.config.recompile_limit`
    isolate_recompiles  share nothing with what other calls of compile make of the same code
    shapes_spec         which sizes and ints of the arguments are symbols (torch's ShapesSpec)
    """
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
            options=options, name=name, disable=disable, recompile_limit=recompile_limit,
            isolate_recompiles=isolate_recompiles, shapes_spec=shapes_spec,
        )  # fmt: skip
    _check(model, fullgraph, dynamic, recompile_limit)
    if disable or config.disable:
        return model
    made = backends.configure(backend, mode=mode, options=options, dynamic=dynamic, name=name)
    shapes = None if shapes_spec is None else _shapes(shapes_spec, model, dynamic)
    settings = Options(made, fullgraph, dynamic, recompile_limit, name, isolate_recompiles, shapes)
    return _compile(model, settings=settings)


def _check(model: Any, fullgraph: Any, dynamic: Any, recompile_limit: Any) -> None:
    """Raise for arguments of the wrong type."""
    if not callable(model):
        raise TypeError(
            f"suture.compile takes a callable or an nn.Module, not {type(model).__name__};"
            " options are keyword arguments"
        )
    if not isinstance(fullgraph, bool):
        raise TypeError(f"fullgraph is True or False, not {fullgraph!r}")
    if dynamic is not None and not isinstance(dynamic, bool):
        raise TypeError(f"dynamic is True, False or None, not {dynamic!r}")
    if recompile_limit is not None and (type(recompile_limit) is not int or recompile_limit < 1):
        raise TypeError(f"recompile_limit is an int from 1 on or None, not {recompile_limit!r}")


def _shapes(spec: Any, model: Any, dynamic: bool | None) -> dict[str, Any]:
    if dynamic is not None:
        raise ValueError("give either dynamic or shapes_spec, not both")
    from suture.switches import _torch_shapes

    return _torch_shapes.read(spec, _uncompiled(model))


def _compile(model: Any, *, settings: Options) -> Any:
    model = _uncompiled(model)
    if isinstance(model, torch.nn.Module):
        call = _compile_function(_named_call(type(model)), settings, model)
        return compile_module(model, call, functools.partial(_compile, settings=settings))
    if inspect.isclass(model):
        return _compile_class(model, settings)
    if isinstance(model, types.MethodType):
        owner = model.__self__ if isinstance(model.__self__, torch.nn.Module) else None
        if owner is None and _is_modelled(model.__func__):
            return _compile_function(_calling(model), settings)  # Function.apply: not looked into
        made = _compile_function(_plain(model.__func__), settings, owner)
        return types.MethodType(made, model.__self__)
    return _compile_function(_plain(model), settings)


def _is_modelled(fn: Any) -> bool:
    """Whether the compiler answers for calls of a function itself. It does for functions of torch
    and of Python's library only, so no other question loads the compiler."""
    home = str(getattr(fn, "__module__", "")).partition(".")[0]
    if home not in _MODELLED and home not in sys.stdlib_module_names:
        return False
    _load()
    from suture.compiler.models import model_of

    return model_of(fn) is not None


_MODELLED = frozenset({"torch", "numpy", "suture"})


def _compile_class(cls: type, settings: Options) -> type:
    """The class itself; calling its instances is compiled from now on."""
    if not any("__call__" in base.__dict__ for base in cls.__mro__) or not _is_heap(cls):
        raise UserError(f"suture.compile takes functions, callables and modules, not {cls!r}")
    call = _compile_function(_plain(cls.__call__), settings)
    cls.__call__ = call  # type: ignore[method-assign]
    return cls


def _is_heap(cls: type) -> bool:
    return bool(cls.__flags__ & (1 << 9))


def _uncompiled(model: Any) -> Any:
    """What torch.compile was given, if `model` is what it returned."""
    if isinstance(model, torch.nn.Module):
        made_of = getattr(type(model), "_suture_original", None)
        if made_of is not None:
            return made_of
        if type(model).__name__ != "OptimizedModule":
            return model
        return model.__dict__.get("_modules", {}).get("_orig_mod", model)
    if isinstance(model, types.MethodType):
        return model  # its attributes are the function's, which does not know the object
    if getattr(model, "_torchdynamo_disable", False):
        return model  # a disabled function looks the same from outside
    return getattr(model, "_torchdynamo_orig_callable", model)


def _named_call(cls: type) -> types.FunctionType:
    """What calling an instance of a module class runs, under the class's name in reports."""
    fn = _plain(cls.__call__)
    while fn.__globals__.get("__name__") == "torch.fx._symbolic_trace":
        # Another thread traces with torch.fx, which replaces Module.__call__ for so long.
        fn = fn.__wrapped__  # type: ignore[attr-defined]
    if fn is not _MODULE_CALL:
        return fn
    named = _NAMED.get(cls)
    if named is None:
        named = _NAMED[cls] = fn.__code__.replace(co_qualname=cls.__qualname__)
    made = types.FunctionType(named, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
    return functools.update_wrapper(made, fn)  # type: ignore[return-value]


_MODULE_CALL: Any = torch.nn.Module.__call__
_NAMED: weakref.WeakKeyDictionary[type, types.CodeType] = weakref.WeakKeyDictionary()


def _plain(fn: Any) -> types.FunctionType:
    """The Python function to compile: the callable itself, what a compiled one was made from, or
    a small one that calls it."""
    if isinstance(fn, _core.Compiled):
        return fn.function  # type: ignore[return-value]
    if isinstance(fn, types.FunctionType):
        return fn
    if not callable(fn):
        raise UserError(f"suture.compile takes functions, callables and modules, not {fn!r}")
    return _calling(fn)


def _calling(fn: Any) -> types.FunctionType:
    """A small Python function that calls another callable."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    call.__name__ = getattr(fn, "__name__", type(fn).__name__)
    call.__qualname__ = getattr(fn, "__qualname__", call.__name__)
    call.__doc__ = getattr(fn, "__doc__", None)
    call.__code__ = call.__code__.replace()  # nothing in common with other callables
    return call  # type: ignore[return-value]


def _twin(fn: types.FunctionType) -> types.FunctionType:
    """The same function with code of its own. Generators are known by their code: those of the
    user's function are left alone."""
    made = types.FunctionType(
        fn.__code__.replace(), fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__
    )
    made.__kwdefaults__ = fn.__kwdefaults__
    return functools.update_wrapper(made, fn)  # type: ignore[return-value]


def _compile_function(fn: types.FunctionType, settings: Options, module: Any = None) -> Any:
    original = fn
    if _suspends(fn.__code__):
        fn = _twin(fn)
    unit = Unit(settings, _COMPILER, fn.__code__, module)
    compiled = stance.register(_core.Compiled(fn, unit.entry(fn.__code__), unit))
    if _suspends(fn.__code__):
        _core.set_frame_permanent(True)
        _core.watch(fn.__code__, unit)
        compiled.__wrapped__ = original
    return compiled


def _suspends(code: types.CodeType) -> bool:
    """Whether calling it makes a generator, a coroutine or an asynchronous generator."""
    return bool(
        code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR)
    )


# ---- the compiler, loaded at the first miss


def _load() -> Any:
    """The compiler's pipeline. It is imported without the modes of the program, which would see
    what modules do while they are imported, and without interrupts. A thread that comes while
    another one imports it waits."""
    found = sys.modules.get(_PIPELINE)
    if found is None or getattr(found.__spec__, "_initializing", False):
        active = _core.set_hook_active(False)
        try:
            with (
                events.phase("import"),
                outside_imports(),
                torch_state.without_function_modes(),
            ):
                found = importlib.import_module(_PIPELINE)
        finally:
            _core.set_hook_active(active)
    return found


_PIPELINE = "suture.compiler.pipeline"


class _Compiler:
    """What units ask of the compiler (`suture.runtime.points.Compiler`)."""

    def answer(self, unit: Any, point: Any, state: tuple[Any, ...]) -> Callable[..., Any]:
        if _PIPELINE not in sys.modules and not _has_room():
            return point.data.interpreting
        made: Callable[..., Any] = _load().answer(unit, point, state)
        return made

    def explain(self, data: PointData, variant: Variant, state: tuple[Any, ...]) -> str:
        return str(_load().explain_miss(data, variant, state))

    def learn_from_rank(
        self, unit: Any, data: PointData, sizes: dict[str, list[int]], numbers: dict[str, Any]
    ) -> None:
        _load().history_of(unit, data).learn_from_rank(sizes, numbers)

    def stored(self, unit: Any, point: Any, state: tuple[Any, ...]) -> Any:
        from suture.runtime.store.lookup import variant_for

        return variant_for(unit, point, state)

    def report_mode(self, point: Any) -> None:
        if _has_room():
            _load().report_mode(point)

    def configure(self, backend: Any) -> Any:
        return backends.configure(backend)


def _has_room() -> bool:
    """Whether the stack has room for an import: one that fails half way cannot be repeated."""
    depth = 0
    frame: types.FrameType | None = sys._getframe()
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth + _ROOM < sys.getrecursionlimit()


_ROOM = 300  # frames that importing the compiler takes, and more
_COMPILER = _Compiler()
environment.ALSO.append(rules.described_marks)
hide(_Compiler.answer.__code__)
hide(_Compiler.report_mode.__code__)


# ---- frames that start below compiled code

# Code that is traced when a user's function calls it, but never compiled on its own: torch's, and
# what answers questions about types, which meets no tensor.
_NEVER_COMPILED = frozenset({"torch", "suture", "typing", "typing_extensions"})
# Code below which nothing is compiled, neither its frames nor any that they call. Where torch
# compiles and runs what it compiled: a backward graph is compiled when it is first needed, perhaps
# below compiled code.
_COMPILERS = (
    "torch._inductor.",
    "torch._functorch._aot_autograd.",
    "torch._functorch.aot_autograd.",
    "torch._functorch.compilers.",
    "torch._functorch.partitioners.",
    "torch._dynamo.backends.",
    # What a checkpoint runs again in the backward is run plainly there, and must save the same.
    "torch.utils.checkpoint.",
)


def _on_frame(code: types.CodeType, function: Any) -> Any:
    """A frame starts below compiled code: compile it too, if the rules would inline it."""
    if _compiles(function):
        return False
    unit = _core.current_context()
    if builtins_replaced() or not _is_ours(unit, code, function) or _suspends(code):
        return None
    verdict = rules.lookup(function)
    if verdict.kind is not rules.INLINE or verdict.target is not None:
        return None
    return unit.implicit_entry(code)


def _on_resumed_frame(code: types.CodeType, function: Any, offset: int) -> Any:
    """A generator is resumed below compiled code, or is compiled itself: compile what it runs up
    to its next `yield`."""
    if _compiles(function):
        return False
    unit = _core.current_context()
    if builtins_replaced() or not _is_ours(unit, code, function):
        return None
    if rules.lookup(function).kind is not rules.INLINE:
        return None
    return unit.resumed(code, offset)


def _compiles(function: Any) -> bool:
    """Whether nothing is compiled below it: a function of torch's compilers, or a disabled one."""
    if rules.disables_all_below(function):
        return True
    home = function.__globals__.get("__name__") if type(function) is types.FunctionType else None
    return type(home) is str and f"{home}.".startswith(_COMPILERS)


def _is_ours(unit: Any, code: types.CodeType, function: Any) -> bool:
    if not isinstance(unit, Unit) or not isinstance(function, types.FunctionType):
        return False
    if sharded.is_compiled(code):
        return True
    home = function.__globals__.get("__name__")
    if type(home) is not str or home.partition(".")[0] in _NEVER_COMPILED:
        return False  # without a module it is code that a backend has generated
    if code.co_name == "__torch_dispatch__":
        return False  # it is called for each operation there is, with another one each time
    if home.startswith("namedtuple_"):
        return False  # the lambda that makes a named tuple: nothing in it is worth a guard
    if str(function.__module__).partition(".")[0] in _NEVER_COMPILED or _importing():
        return False
    return rules.lookup_frame(code, function.__globals__).kind is rules.INLINE


def _importing() -> bool:
    """Whether a module is being imported below: that runs once, there is nothing to compile."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code.co_name == "_find_and_load" and code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


_core.set_frame_callback(_on_frame)
for _callback in (_on_frame, _on_resumed_frame):
    hide(_callback.__code__)
_core.set_generator_callback(_on_resumed_frame)


# ---- everything compiled so far


def reset() -> None:
    """Forget everything compiled, and start counting anew."""
    for unit in ALL:
        unit.clear()
    stats_.COLLECTOR.clear()
    rules.clear_cache()


def stats() -> Stats:
    """What happened since the last reset: counts, breaks, recompilations, interpreted frames."""
    points = sum(1 for unit in ALL for p in list(unit.points.values()) if p.data.variants)
    return stats_.stats(points)


def is_compiling() -> bool:
    """True while a function is being traced: folded to True in traced code, else False."""
    return False


__all__ = ["compile", "compiled_of", "is_compiling", "reset", "stats"]
