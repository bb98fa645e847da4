"""compile(): from a function, callable or module to a compiled one."""

from __future__ import annotations

import functools
import inspect
import sys
import types
import weakref
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

import torch

from suture import _core, backends, config, implicit, rules, stance
from suture.bytecode import makes_generator
from suture.compiled_module import compile_module, compiled_of
from suture.errors import UserError
from suture.loading import COMPILER, load_pipeline
from suture.runtime import stats as stats_
from suture.runtime.points import Options
from suture.runtime.stats import Stats
from suture.runtime.tensors import configure_core
from suture.runtime.unit import ALL, Unit

_F = TypeVar("_F", bound=Callable[..., Any])
configure_core()
implicit.install()


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
    dynamic_shapes: Any = ...,
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
    dynamic_shapes: Any = ...,
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
    dynamic_shapes: Any = None,
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
    dynamic_shapes      which sizes and ints of the arguments are symbols (torch's ShapesSpec)
    shapes_spec         the same, by its name of torch 2.13
    """
    again = functools.partial(
        compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode,
        options=options, name=name, disable=disable, recompile_limit=recompile_limit,
        isolate_recompiles=isolate_recompiles, dynamic_shapes=dynamic_shapes,
        shapes_spec=shapes_spec,
    )  # fmt: skip
    if model is None:
        return again
    if isinstance(model, staticmethod):  # in a class, below the decorator
        return staticmethod(again(model.__func__))
    _check(model, fullgraph, dynamic, recompile_limit)
    if disable or config.disable:
        return model
    made = backends.configure(backend, mode=mode, options=options, dynamic=dynamic, name=name)
    shapes = _shapes(model, dynamic_shapes, shapes_spec, dynamic)
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


def _shapes(model: Any, spec: Any, old: Any, dynamic: bool | None) -> dict[str, Any] | None:
    """What `dynamic_shapes`, `shapes_spec` or the decorator `dynamic_spec` says of the arguments of
    `model`; None if none of them is there."""
    model = _uncompiled(model)
    forward = model.forward if isinstance(model, torch.nn.Module) else model
    given = [one for one in (spec, old, decorated_spec(forward)) if one is not None]
    if not given:
        return None
    if len(given) > 1:
        raise ValueError("give one of dynamic_shapes, shapes_spec and @dynamic_spec")
    if dynamic is not None:
        raise ValueError("give either dynamic or dynamic_shapes, not both")
    from suture.switches import _torch_shapes

    return _torch_shapes.read(given[0], model)


def decorated_spec(fn: Any) -> Any:
    """What torch 2.15's decorator `dynamic_spec` was given for a function or a method, or None. The
    object itself is asked, and no `__getattr__` of the program."""
    return getattr(getattr(fn, "__func__", fn), "__dict__", {}).get("_dynamic_spec")


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
    load_pipeline()
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
    if makes_generator(fn.__code__):
        fn = _twin(fn)
    unit = Unit(settings, COMPILER, fn.__code__, module)
    compiled = stance.register(_core.Compiled(fn, unit.entry(fn.__code__), unit))
    if makes_generator(fn.__code__):
        _core.set_frame_permanent(True)
        _core.watch(fn.__code__, unit)
        compiled.__wrapped__ = original
    return compiled


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
