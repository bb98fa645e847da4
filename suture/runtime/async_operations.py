"""Operations of generators and coroutines that Python runs: sending, awaiting, `async for`."""

from __future__ import annotations

import inspect
import types
from typing import Any

from suture._core import UNBOUND
from suture.bytecode import Instruction, iterator_slots, language, not_a_manager, pair


def send(receiver: Any, *rest: Any) -> tuple[bool, Any]:
    """One turn of `yield from` or `await`: (True, what it yields) or (False, its result). What is
    sent is the last of `rest`; a receiver that has two slots on the stack has a NULL before it."""
    value = rest[-1]
    try:
        if value is None and not hasattr(receiver, "send"):
            return True, next(receiver)
        return True, receiver.send(value)
    except StopIteration as stop:
        return False, stop.value


def yield_from_iter(value: Any) -> Any:
    return value if isinstance(value, (types.GeneratorType, types.CoroutineType)) else iter(value)


def get_awaitable(obj: Any) -> Any:
    """The iterator that `await obj` waits for."""
    if isinstance(obj, types.CoroutineType):
        if inspect.getcoroutinestate(obj) == inspect.CORO_SUSPENDED and obj.cr_await is not None:
            raise RuntimeError("coroutine is being awaited already")
        return obj
    if isinstance(obj, types.GeneratorType) and _is_coroutine(obj):
        return obj
    kind = type(obj)
    method = getattr(kind, "__await__", None)
    if method is None:
        raise TypeError(language.not_awaitable(kind))
    iterator = method(obj)
    if isinstance(iterator, types.CoroutineType):
        raise TypeError(language.awaits_coroutine(kind))
    if not hasattr(type(iterator), "__next__"):
        raise TypeError(language.wrong_result(kind, "__await__", type(iterator)))
    return iterator


def awaited(inst: Instruction) -> Any:
    """What an instruction waits for: `await`, or what `async with` got of one of its methods."""
    method = {1: "__aenter__", 2: "__aexit__"}.get(inst.arg)

    def get(obj: Any) -> Any:
        kind = type(obj)
        plain = isinstance(obj, types.GeneratorType) and _is_coroutine(obj)
        if method is not None and not hasattr(kind, "__await__") and not plain:
            raise TypeError(
                f"'async with' received an object from {method} that does not implement"
                f" __await__: {kind.__name__}"
            )
        return get_awaitable(obj)

    return get


def _is_coroutine(generator: Any) -> bool:
    return bool(generator.gi_code.co_flags & inspect.CO_ITERABLE_COROUTINE)


def get_aiter(obj: Any) -> Any:
    kind = type(obj)
    if not hasattr(kind, "__aiter__"):
        raise TypeError(
            f"'async for' requires an object with __aiter__ method, got {kind.__name__}"
        )
    made = kind.__aiter__(obj)
    if not hasattr(type(made), "__anext__"):
        name = type(made).__name__
        raise TypeError(
            "'async for' received an object from __aiter__ that does not implement __anext__:"
            f" {name}"
        )
    return made


def get_anext(iterator: Any) -> Any:
    kind = type(iterator)
    if not hasattr(kind, "__anext__"):
        raise TypeError(
            f"'async for' requires an iterator with __anext__ method, got {kind.__name__}"
        )
    made = kind.__anext__(iterator)
    try:
        return get_awaitable(made)
    except Exception as error:
        name = type(made).__name__
        text = f"'async for' received an invalid object from __anext__: {name}"
        raise TypeError(text) from error


def end_async_for(iterator: Any, exc: BaseException) -> None:
    if not isinstance(exc, StopAsyncIteration):
        raise exc


def special(obj: Any, name: str) -> Any:
    """A special method as CPython finds it: in the class alone, bound if it can be bound."""
    kind = type(obj)
    raw = next(base.__dict__[name] for base in kind.__mro__ if name in base.__dict__)
    bind = getattr(type(raw), "__get__", None)
    return raw if bind is None else bind(raw, obj, kind)


def before_async_with(inst: Instruction) -> Any:
    def begin(manager: Any) -> Any:
        text = not_a_manager(type(manager), asynchronous=True)
        if text is not None:
            raise TypeError(text)
        enter, leave = special(manager, "__aenter__"), special(manager, "__aexit__")
        return (*(pair(leave, UNBOUND) if inst.val else (leave,)), enter())

    return begin


def cleanup_throw(inst: Instruction) -> Any:
    def clean(*inputs: Any) -> Any:
        exc = inputs[-1]
        if isinstance(exc, StopIteration):
            return *(None, UNBOUND)[: iterator_slots(inst)], exc.value
        raise exc

    return clean
