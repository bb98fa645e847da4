"""Generators: bodies of the program that run one turn at a time."""

from __future__ import annotations

import types
from typing import Any

from suture._core import type_name
from suture.breaks import Break, control_flow
from suture.calls.part import Part
from suture.variables import (
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
)


class Generators(Part):
    """The part of the tracer that runs generators."""

    making: Any
    waiting: dict[int, Generator]

    def advance_in_loop(self, frame: Any, iterator: Any) -> Any:
        """The next element for a `for` loop."""
        return self.advance(iterator)

    def advance_generator(self, gen: Generator, sent: Any) -> Any:
        """Run to the next yield; END when it returns."""
        kind, value = self.resume(gen, sent, None)
        return value if kind == "yield" else END

    def generator_send(self, gen: Generator, value: Any) -> Any:
        kind, got = self.resume(gen, value, None)
        if kind == "yield":
            return got
        none = got.is_constant() and got.constant() is None
        return self.raise_with(StopIteration, [] if none else [got])

    def resume(self, gen: Generator, sent: Any, exc: Any) -> tuple[str, Any]:
        """("yield", value) or ("return", value); `exc` is thrown in instead of sending."""
        frame = gen.frame
        if gen.running and gen.place is not None:
            raise Break(control_flow.UNKNOWN_ITERATOR, iterator=gen.describe())
        if gen.running:
            self.raise_(ValueError, "generator already executing")
        if frame is None:
            if exc is not None:
                raise Raised(exc)
            return "return", Constant(None)
        if not gen.started and exc is None and not (sent.is_constant() and sent.constant() is None):
            self.raise_(TypeError, "can't send non-None value to a just-started generator")
        gen.touch(self)
        delivered = False
        if exc is not None and gen.started:
            kind, got = self._throw_inside(gen, frame, exc)
            if kind == "yield":
                return "yield", got
            delivered = kind == "return"
            exc = got if kind == "raise" else None
        frame.generator = gen
        gen.running = True
        self.waiting.pop(id(gen), None)
        if not frame.code.handled(frame.ip):
            frame.handled = self.frames[-1].handled
        if gen.started and not delivered:
            frame.stack.append(sent)
        gen.started = True
        floor = len(self.frames)
        self.frames.append(frame)
        saved, self.making = self.making, gen.place
        try:
            if exc is not None:
                if frame.code.handled(frame.ip):  # what its caller handles is no context
                    self.with_context(exc)
                self._throw_into(frame, exc, floor, gen)
            return self.loop(floor)
        except Raised as raised:
            error = self.stopiteration_error(raised.exception, frame)
            raise raised if error is raised.exception else Raised(error) from None
        finally:
            self.making = saved

    def _throw_inside(self, gen: Generator, frame: Any, exc: Any) -> tuple[str, Any]:
        """An exception goes first to the generator that `yield from` waits for. Gives ("yield",
        what it yields), ("return", None) if it returned and the frame goes on behind the `yield
        from`, or ("raise", the exception to raise in this frame)."""
        send = _waiting_at(frame)
        inner = frame.stack[-1] if send is not None and frame.stack else None
        if not isinstance(inner, Generator):
            return "raise", exc
        gen.running = True
        try:
            if issubclass(exc.python_type(), GeneratorExit):
                self.generator_close(inner)
                return "raise", exc
            kind, got = self.resume(inner, Constant(None), exc)
        except Raised as raised:
            return "raise", raised.exception
        finally:
            gen.running = False
        if kind == "return":
            frame.stack[-1] = got
            frame.ip = send.target
        return kind, got

    def _throw_into(self, frame: Any, exc: Any, floor: int, gen: Generator) -> None:
        """An exception at the yield the generator is suspended at. What was sent stays on the
        stack, where the handler of a `yield from` expects it; others cut the stack anyway."""
        frame.ip -= 1
        if not self.unwind(exc, floor):
            raise Raised(exc)

    def yield_frame(self, frame: Any) -> None:
        """YIELD_VALUE in a generator's frame: back to whoever asked for the value."""
        gen = frame.generator
        if gen is None:
            self.yield_outermost(frame)
            return
        value = frame.stack.pop()
        frame.ip += 1
        frame.generator = None
        gen.running = False
        self.waiting[id(gen)] = gen
        self.frames.pop()
        self._result = ("yield", value)

    def yield_outermost(self, frame: Any) -> None:
        from suture.breaks import Break, control_flow

        raise Break(control_flow.GENERATOR_YIELD, function=frame.code.code.co_qualname)

    def generator_returns(self, frame: Any, value: Any) -> None:
        gen = frame.generator
        gen.frame = None
        gen.running = False
        self.frames.pop()
        self._result = ("return", value)

    def send_frame(self, frame: Any, inst: Any) -> None:
        """SEND: one turn of `yield from`."""
        receiver, value = frame.stack[-2:]
        if isinstance(receiver, Generator):
            kind, got = self.resume(receiver, value, None)
        else:
            kind, got = self._delegated_turn(receiver, value)
        if kind == "yield":
            frame.stack[-1] = got
            frame.ip += 1
        else:
            frame.stack[-2:] = [got]
            frame.ip = inst.target

    def _delegated_turn(self, receiver: Any, value: Any) -> tuple[str, Any]:
        """One turn of an iterator that is no generator: its next element, or what it ends with."""
        plain = value.is_constant() and value.constant() is None
        if isinstance(receiver, Object):
            if not isinstance(self.type_lookup(receiver.cls, "__next__"), types.FunctionType):
                raise Break(control_flow.UNKNOWN_ITERATOR, iterator=receiver.describe())
            name, args = ("__next__", []) if plain else ("send", [value])
            try:
                return "yield", self.call_method(receiver, name, *args)
            except Raised as raised:
                if not issubclass(raised.exception.python_type(), StopIteration):
                    raise
                return "return", self.getattr(raised.exception, "value")
        if not plain and isinstance(receiver, Iterator):
            return "yield", self.call_method(receiver, "send", value)
        item = self.advance(receiver)
        return ("return", Constant(None)) if item is END else ("yield", item)

    def generator_close(self, gen: Generator) -> Any:
        if gen.frame is None:
            return Constant(None)
        if not gen.started:
            gen.touch(self)
            gen.frame = None
            return Constant(None)
        try:
            kind, _ = self.resume(gen, Constant(None), Raise(GeneratorExit, []))
        except Raised as raised:
            if issubclass(raised.exception.python_type(), (GeneratorExit, StopIteration)):
                return Constant(None)
            raise
        if kind == "yield":
            return self.raise_(RuntimeError, "generator ignored GeneratorExit")
        return Constant(None)

    def generator_throw(self, gen: Generator, args: list[Any]) -> Any:
        given = args[1] if len(args) > 1 and not args[1].is_constant() else args[0]
        made = isinstance(given, Class) and self.type_lookup(given.value, "__new__")
        if isinstance(given, Opaque) or isinstance(made, (types.FunctionType, staticmethod)):
            raise Break(control_flow.UNKNOWN_ITERATOR, iterator=gen.describe())
        kind = given.value if isinstance(given, Class) else given.python_type()
        if not issubclass(kind, BaseException):
            text = "exceptions must be classes or instances deriving from BaseException"
            self.raise_(TypeError, f"{text}, not {type_name(given.python_type())}")
        exc = self._instance(given)
        kind, got = self.resume(gen, Constant(None), exc)
        if kind == "yield":
            return got
        none = got.is_constant() and got.constant() is None
        return self.raise_with(StopIteration, [] if none else [got])

    def wrap_frame_function(self, lazy: Any, code: Any) -> Any:
        """The function of a frame in the state: its code is the point's, so nothing to guard."""
        source = lazy.source
        if self.entry_is_owned:
            self._fixed.add(id(source))
        else:
            self.guards.add(source.attr("__globals__"), "is", lazy.value.__globals__)
        made = Function(lazy.value, source)
        self._known[id(lazy.value)] = (lazy.value, made)
        return made


def _waiting_at(frame: Any) -> Any:
    """The SEND instruction of the `yield from` at which a frame is suspended, or None."""
    code = frame.code.instructions
    at = frame.ip
    while code[at].op in ("RESUME", "NOP"):
        at += 1
    target = code[code[at].target] if code[at].op == "JUMP" else None
    return target if target is not None and target.op == "SEND" else None
