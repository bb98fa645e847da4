"""Generators: bodies of the program that run one turn at a time."""

from __future__ import annotations

import types
from typing import Any

from suture._core import type_name
from suture.breaks import Break, control_flow
from suture.bytecode import Code, iterator_slots, language
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Frame, Trace, Value
from suture.compiler.language.exceptions import exception_instance, stopiteration_error
from suture.compiler.objects import (
    END,
    Class,
    Constant,
    Function,
    Generator,
    Iterator,
    Object,
    Opaque,
    Raise,
    Raised,
    generator,
)


def advance_in_loop(trace: Trace, frame: Frame, iterator: Value) -> Any:
    """The next element for a `for` loop."""
    return abstract.advance(trace, iterator)


@implements(generator.advance_generator)
def advance_generator(trace: Trace, gen: Generator, sent: Value) -> Value:
    kind, value = resume(trace, gen, sent, None)
    return value if kind == "yield" else END


@implements(generator.send_to_generator)
def send_to_generator(trace: Trace, gen: Generator, value: Value) -> Value:
    kind, got = resume(trace, gen, value, None)
    if kind == "yield":
        return got
    none = got.is_constant() and got.constant() is None
    return abstract.raise_with(trace, StopIteration, [] if none else [got])


def resume(trace: Trace, gen: Generator, sent: Value, exc: Value | None) -> tuple[str, Value]:
    """("yield", value) or ("return", value); `exc` is thrown in instead of sending."""
    frame = gen.frame
    if gen.running and gen.position is not None:
        raise Break(control_flow.UNKNOWN_ITERATOR, iterator=gen.describe())
    if gen.running:
        abstract.raise_(trace, ValueError, "generator already executing")
    if frame is None:
        if exc is not None:
            raise Raised(exc)
        return "return", Constant(None)
    if not gen.started and exc is None and not (sent.is_constant() and sent.constant() is None):
        abstract.raise_(trace, TypeError, "can't send non-None value to a just-started generator")
    gen.touch(trace)
    delivered = False
    if exc is not None and gen.started:
        kind, got = _throw_inside(trace, gen, frame, exc)
        if kind == "yield":
            return "yield", got
        delivered = kind == "return"
        exc = got if kind == "raise" else None
    frame.generator = gen
    gen.running = True
    trace.handling.waiting.pop(id(gen), None)
    if not frame.code.handled(frame.ip):
        frame.handled = trace.frames[-1].handled
    if gen.started and not delivered:
        frame.stack.append(sent)
    gen.started = True
    base_depth = len(trace.frames)
    trace.frames.append(frame)
    saved, trace.handling.making = trace.handling.making, gen.position
    try:
        if exc is not None:
            if frame.code.handled(frame.ip):  # what its caller handles is no context
                abstract.with_context(trace, exc)
            _throw_into(trace, frame, exc, base_depth, gen)
        ended: tuple[str, Value] = abstract.loop(trace, base_depth)
        return ended
    except Raised as raised:
        error = stopiteration_error(trace, raised.exception, frame)
        raise raised if error is raised.exception else Raised(error) from None
    finally:
        trace.handling.making = saved


def _throw_inside(trace: Trace, gen: Generator, frame: Frame, exc: Value) -> tuple[str, Any]:
    """An exception goes first to the generator that `yield from` waits for. Gives ("yield",
    what it yields), ("return", None) if it returned and the frame continues after the `yield
    from`, or ("raise", the exception to raise in this frame)."""
    send = _waiting_at(frame)
    slots = iterator_slots(send) if send is not None else 0
    inner = frame.stack[-slots] if slots and frame.stack else None
    if not isinstance(inner, Generator):
        return "raise", exc
    gen.running = True
    try:
        if issubclass(exc.python_type(), GeneratorExit):
            close_generator(trace, inner)
            return "raise", exc
        kind, got = resume(trace, inner, Constant(None), exc)
    except Raised as raised:
        return "raise", raised.exception
    finally:
        gen.running = False
    if kind == "return":
        frame.stack[-slots:] = [got]
        frame.ip = send.target
    return kind, got


def _throw_into(trace: Trace, frame: Frame, exc: Value, base_depth: int, gen: Generator) -> None:
    """An exception at the yield the generator is suspended at, or at its start. What was sent stays
    on the stack, where the handler of a `yield from` expects it; others cut the stack anyway."""
    if frame.ip > frame.code.entry:
        frame.ip -= 1
    if not abstract.unwind(trace, exc, base_depth):
        raise Raised(exc)


def yield_frame(trace: Trace, frame: Frame) -> None:
    """YIELD_VALUE in a generator's frame: back to whoever asked for the value."""
    gen = frame.generator
    if gen is None:
        yield_outermost(trace, frame)
        return
    value = frame.stack.pop()
    frame.ip += 1
    frame.generator = None
    gen.running = False
    trace.handling.waiting[id(gen)] = gen
    trace.frames.pop()
    trace.progress.result = ("yield", value)


def yield_outermost(trace: Trace, frame: Frame) -> None:
    raise yield_of(frame)


def yield_of(frame: Frame) -> Break:
    """The break of a real generator that hands out a value."""
    return Break(control_flow.GENERATOR_YIELD, function=frame.code.code.co_qualname)


def generator_returns(trace: Trace, frame: Frame, value: Value) -> None:
    gen = frame.generator
    gen.frame = None
    gen.running = False
    trace.frames.pop()
    trace.progress.result = ("return", value)


def send_frame(trace: Trace, frame: Any, inst: Any) -> None:
    """SEND: one turn of `yield from`."""
    slots = iterator_slots(inst)
    receiver, value = frame.stack[-1 - slots], frame.stack[-1]
    if isinstance(receiver, Generator):
        kind, got = resume(trace, receiver, value, None)
    else:
        kind, got = _delegated_turn(trace, receiver, value)
    if kind == "yield":
        frame.stack[-1] = got
        frame.ip += 1
    else:
        frame.stack[-1 - slots :] = [got]
        frame.ip = inst.target


def _delegated_turn(trace: Trace, receiver: Value, value: Value) -> tuple[str, Any]:
    """One turn of an iterator that is no generator: its next element, or what it ends with."""
    plain = value.is_constant() and value.constant() is None
    if isinstance(receiver, Object):
        if not isinstance(
            abstract.type_lookup(trace, receiver.cls, "__next__"), types.FunctionType
        ):
            raise Break(control_flow.UNKNOWN_ITERATOR, iterator=receiver.describe())
        name, args = ("__next__", []) if plain else ("send", [value])
        try:
            return "yield", abstract.call_method(trace, receiver, name, *args)
        except Raised as raised:
            if not issubclass(raised.exception.python_type(), StopIteration):
                raise
            return "return", abstract.getattr(trace, raised.exception, "value")
    if not plain and isinstance(receiver, Iterator):
        return "yield", abstract.call_method(trace, receiver, "send", value)
    item = abstract.advance(trace, receiver)
    return ("return", Constant(None)) if item is END else ("yield", item)


def in_block(frame: Frame) -> bool:
    """Whether code of the program runs when a frame that waits at a `yield` is closed there. What
    is around the whole body of a generator, and turns a StopIteration into an error, is none."""
    code = frame.code.instructions
    handler = code[frame.ip - 1].handler
    return handler is not None and code[handler.target].op != "STOPITERATION_ERROR"


@implements(generator.close_generator)
def close_generator(trace: Trace, gen: Generator) -> Value:
    if gen.frame is None:
        return Constant(None)
    if not gen.started:
        gen.touch(trace)
        gen.frame = None
        return Constant(None)
    if language.CLOSE_KEEPS_VARIABLES and not in_block(gen.frame):
        gen.touch(trace)
        gen.left, gen.frame = gen.frame.locals, None
        return Constant(None)
    try:
        kind, result = resume(trace, gen, Constant(None), Raise(GeneratorExit, []))
    except Raised as raised:
        if issubclass(raised.exception.python_type(), (GeneratorExit, StopIteration)):
            return Constant(None)
        raise
    if kind == "yield":
        return abstract.raise_(trace, RuntimeError, "generator ignored GeneratorExit")
    return result if language.CLOSE_GIVES_RESULT else Constant(None)


@implements(generator.throw_into_generator)
def throw_into_generator(trace: Trace, gen: Generator, args: list[Value]) -> Value:
    given = args[1] if len(args) > 1 and not args[1].is_constant() else args[0]
    made = isinstance(given, Class) and abstract.type_lookup(trace, given.value, "__new__")
    if isinstance(given, Opaque) or isinstance(made, (types.FunctionType, staticmethod)):
        raise Break(control_flow.UNKNOWN_ITERATOR, iterator=gen.describe())
    kind = given.value if isinstance(given, Class) else given.python_type()
    if not issubclass(kind, BaseException):
        text = "exceptions must be classes or instances deriving from BaseException"
        abstract.raise_(trace, TypeError, f"{text}, not {type_name(given.python_type())}")
    exc = exception_instance(trace, given)
    kind, got = resume(trace, gen, Constant(None), exc)
    if kind == "yield":
        return got
    none = got.is_constant() and got.constant() is None
    return abstract.raise_with(trace, StopIteration, [] if none else [got])


def wrap_frame_function(trace: Trace, lazy: Any, code: Code) -> Value:
    """The function of a frame in the state: its code is the point's, so nothing to guard."""
    source = lazy.source
    trace.guards.add(source.attr("__globals__"), "is", lazy.value.__globals__)
    made = Function(lazy.value, source)
    trace.outside.known[id(lazy.value)] = (lazy.value, made)
    return made


def _waiting_at(frame: Any) -> Any:
    """The SEND instruction of the `yield from` at which a frame is suspended, or None."""
    code = frame.code.instructions
    at = frame.ip
    while code[at].op in ("RESUME", "NOP"):
        at += 1
    target = code[code[at].target] if code[at].op == "JUMP" else None
    return target if target is not None and target.op == "SEND" else None
