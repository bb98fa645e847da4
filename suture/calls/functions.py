"""Calling: Python functions, classes, C functions, by the verdict of the rules."""

from __future__ import annotations

import collections
import types
from typing import Any

import torch

from suture import rules
from suture._core import type_name
from suture.breaks import Break, calls, contexts, control_flow, objects, python, tensors
from suture.bytecode import decode
from suture.calls import regions, unmodelled
from suture.calls.kept import is_finite_iterator, refuse_callbacks
from suture.calls.language.frames import looks_at_locals
from suture.calls.objects.attributes import MISSING, find_in_mro
from suture.calls.part import Part
from suture.calls.stdlib import library
from suture.calls.stdlib.library_iterators import is_of_itertools
from suture.calls.table import SPECIAL, handler_of, handler_of_code
from suture.variables import (
    Builtin,
    CalledIterator,
    Class,
    Constant,
    Dict,
    Generator,
    MadeFunction,
    Raised,
    Tuple,
)

_GENERATOR = 0x20
_COROUTINE = 0x80 | 0x200  # coroutine, async generator


_IN_PLACE = frozenset({"__iadd__", "__imul__", "__ior__"})  # they give the object itself


class Functions(Part):
    """The part of the tracer that calls things."""

    def tail_call(self, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call as the last act of an instruction: the result, or a frame to go on with."""
        given = list(args)
        done = fn.call(self, given, kwargs)
        if done is None:
            return self.call_type_method(fn, "__call__", given, kwargs)
        return done

    def call(self, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call and come back with the result."""
        return self.finish(self.tail_call(fn, args, kwargs))

    def tail_call_method(self, obj: Any, name: str, args: list[Any], kwargs: Any) -> Any:
        """`obj.name(...)` as the last act of an instruction."""
        done = obj.call_method(self, name, args, kwargs)
        if done is not None:
            return done
        method = getattr(type(obj), "m_" + name, None)
        if method is not None:
            return self.builtin_method(method, obj, name, args, kwargs)
        return self.tail_call(self.getattr(obj, name), args, kwargs)

    def call_method(self, obj: Any, name: str, *args: Any) -> Any:
        """`obj.name(*args)`, done."""
        return self.finish(self.tail_call_method(obj, name, list(args), {}))

    def call_type_method(self, obj: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call `type(obj).name(obj, ...)`, as operators and calls do."""
        cls = obj.python_type()
        raw = self.type_lookup(cls, name)
        if raw is MISSING:
            what = "is not callable" if name == "__call__" else f"has no {name}"
            return self.raise_(TypeError, f"'{type_name(cls)}' object {what}")
        bound = self.finish(self.bind(raw, obj, cls, name))
        return self.tail_call(bound, args, kwargs)

    # ---- Python functions

    def call_function(self, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a Python function as the rules say."""
        if type(fn) is MadeFunction:
            return self.inline(fn, args, kwargs)
        real = fn.fn
        if looks_at_locals(real) and not self.whole:
            raise Break(python.FRAME_ACCESS, call=f"{real.__qualname__}()")
        handler = handler_of(real)
        if handler is not None:
            return self.handle(handler, real, args, kwargs)
        asked = self.call_override(real, fn, args, kwargs)
        if asked is not None:
            return asked
        by_code = handler_of_code(real.__code__)
        if by_code is not None:
            return by_code(self, fn, args, kwargs)
        verdict = rules.lookup(real)
        if verdict.kind is rules.INLINE and verdict.target is None:
            return self.inline(fn, args, kwargs)
        return self.by_verdict(verdict, real, fn, args, kwargs)

    def by_verdict(self, verdict: Any, real: Any, fn: Any, args: list[Any], kwargs: Any) -> Any:
        kind, target = verdict.kind, verdict.target
        if kind is rules.SPECIAL:
            handler = SPECIAL.get(verdict.name)
            if handler is not None:
                return handler(self, real, args, kwargs)
            kind = rules.INLINE if target is not None else verdict.otherwise
        if kind is rules.CONSTANT:
            if verdict.name == "assume_constant_result":
                return regions.assumed_constant(self, real, args, kwargs)
            if target is None or self.all_known(args, kwargs):
                return self.fold_torch(real, args, kwargs)
            kind = rules.INLINE
        if kind is rules.IN_GRAPH:
            binding = verdict.origin is rules.Origin.TORCH_BINDING
            if self.asks:
                self.refuse_in_graph(real, args, kwargs)
            if binding and real.__name__.startswith(_SWITCHES):
                raise Break(calls.C_FUNCTION, function=real.__name__)
            try:
                made = self.call_torch(target if target is not None else real, args, kwargs)
                if binding and made.is_constant() and not args:
                    if not kwargs:  # a setting of torch
                        held = (real, made.constant(), real.__name__)
                        self.guards.add(None, "torch_state", held)
                return made
            except Break as reason:
                has_body = verdict.origin is rules.Origin.TORCH_FUNCTION and target is None
                if not (has_body and reason.type in _INSIDE):
                    raise
                return self.inline(fn, args, kwargs)  # what it gets, a graph cannot hold
        if kind is rules.INLINE:
            if target is not None and target is not real:
                substitute = self.wrap(target, None)
                if is_of_itertools(real):
                    return self.call_itertools(real, substitute, args, kwargs)
                return self.tail_call(substitute, args, kwargs)
            if isinstance(real, types.FunctionType):
                return self.inline(fn, args, kwargs)
        if verdict.origin is rules.Origin.NUMPY:
            done = self.call_numpy(real, args, kwargs)
            if done is not None:
                return done
        raise unmodelled.reason(real, verdict, args)

    def all_known(self, args: list[Any], kwargs: dict[str, Any]) -> bool:
        """Whether every argument is a constant."""
        return all(v.is_constant() for v in (*args, *kwargs.values()))

    def inline(self, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A frame for the function, bound to its arguments; a generator is only made."""
        code = fn.code
        if len(self.frames) > self.inline_limit:
            raise Break(calls.INLINE_DEPTH, function=fn.describe(), depth=str(len(self.frames)))
        if fn.source is not None:
            self.guards.add(fn.source.child("code"), "is", code)
        slots = self.bind_arguments(fn, args, kwargs)
        frame = self.new_frame(decode(code), fn, slots)
        if code.co_flags & (_GENERATOR | _COROUTINE):
            if code.co_flags & _COROUTINE:
                return self.refuse_async(code.co_name)
            made = Generator(frame)
            made.place = self.making
            return made
        return self.pending(frame)

    def bind_arguments(self, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> list[Any]:
        """The arguments in the function's slots, as CPython binds them."""
        slots = self._bound(fn, args, kwargs)
        return slots if slots is not None else self.refused_function(fn, args, kwargs)

    def _bound(self, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> list[Any] | None:
        """The slots, or None if the arguments are not the function's."""
        code = fn.code
        names = code.co_varnames
        npos, nkw = code.co_argcount, code.co_kwonlyargcount
        slots: list[Any] = [None] * len(decode(code).localsplus)
        given = len(args)
        slots[: min(given, npos)] = args[:npos]
        at = npos + nkw
        if code.co_flags & 0x04:
            slots[at] = Tuple(args[npos:])
            at += 1
        elif given > npos:
            return None
        extra: dict[Any, tuple[Any, Any]] = {}
        if kwargs and not self._bind_keywords(fn, kwargs, slots, names, extra):
            return None
        if code.co_flags & 0x08:
            slots[at] = Dict(extra)
        if given < npos:
            first = npos - fn.default_count
            for i in range(given, npos):
                if slots[i] is None:
                    if i < first:
                        return None
                    slots[i] = fn.default(self, i - first)
        for i in range(npos, npos + nkw):
            if slots[i] is None:
                slots[i] = fn.kwdefault(self, names[i])
                if slots[i] is None:
                    return None
        return slots

    def _bind_keywords(self, fn: Any, kwargs: Any, slots: Any, names: Any, extra: Any) -> bool:
        code = fn.code
        places = {
            names[i]: i
            for i in range(code.co_posonlyargcount, code.co_argcount + code.co_kwonlyargcount)
        }
        for name, value in kwargs.items():
            i = places.get(name)
            if i is not None:
                if slots[i] is not None:
                    return False
                slots[i] = value
            elif code.co_flags & 0x08:
                extra[name] = (Constant(name), value)
            else:
                return False
        return True

    # ---- everything else that is known by identity

    def call_builtin(self, fn: Builtin, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a C function, a method descriptor, an operator of torch..."""
        real = fn.value
        asked = self.call_override(real, fn, args, kwargs)
        if asked is not None:
            return asked
        if isinstance(real, types.MethodWrapperType):  # bound to its object
            args = [self.wrap(real.__self__, None), *args]
            real = find_in_mro(real.__objclass__, real.__name__)  # a derived class may differ
        handler = handler_of(real)
        if handler is None and isinstance(getattr(real, "__self__", None), type):
            # a class method in C, taken off its class: each time it is another object
            handler = handler_of(find_in_mro(real.__self__, real.__name__))
            args = [self.wrap(real.__self__, None), *args] if handler is not None else args
        if handler is not None:
            return self.handle(handler, real, args, kwargs)
        owner = getattr(real, "__objclass__", None)
        if owner is not None and args and not isinstance(real, types.MethodWrapperType):
            done = self.call_descriptor(real, owner, args, kwargs)
            if done is not MISSING:
                return done
        if (
            isinstance(real, types.ClassMethodDescriptorType)
            and args
            and isinstance(args[0], Class)
        ):
            real, args = getattr(args[0].value, real.__name__), args[1:]
        done = library.static_method(self, real, args, kwargs)
        if done is not None:
            return done
        verdict = rules.lookup(real)
        return self.by_verdict(verdict, real, fn, args, kwargs)

    def call_descriptor(self, real: Any, owner: type, args: list[Any], kwargs: Any) -> Any:
        """`list.append(x, 1)`: a method descriptor called with its object."""
        obj, name = args[0], real.__name__
        if isinstance(real, types.ClassMethodDescriptorType):
            done = library.class_method(self, real, args, kwargs)
            return done if done is not None else MISSING
        if self.is_tensor(obj):
            return self.tensor_method(obj, name, args[1:], kwargs)
        storage = getattr(obj, "storage", None)
        if name == "__getitem__" and isinstance(storage, Dict) and len(args) == 2 and not kwargs:
            return self.dict_subscript(obj, storage, args[1])
        for target in (storage, obj):
            if target is not None and hasattr(type(target), "m_" + name):
                if _differs(target, owner, name, target is storage):
                    return MISSING
                done = self.tail_call_method(target, name, args[1:], kwargs)
                return obj if done is storage and name in _IN_PLACE else done
        value = storage if isinstance(storage, Constant) and owner is not object else obj
        if value.is_constant() and isinstance(value.constant(), owner):
            return self.constant_method(value, name, args[1:], kwargs)
        return MISSING

    def has_visible_effects(self) -> bool:
        """Whether real objects are not yet what the traced program has made of them."""
        touched = self.effects.touched.values()
        return bool(self.effects.globals) or any(v.source is not None for v in touched)

    def builtin_method(self, method: Any, obj: Any, name: str, args: Any, kwargs: Any) -> Any:
        """Run one of our own `m_` methods; wrong arguments are the program's TypeError."""
        try:
            _check_signature(method, args, kwargs)
        except TypeError:
            return self.refused_method(obj.python_type(), name, args, kwargs)
        return method(obj, self, *args, **kwargs)

    def constant_method(self, owner: Any, name: str, args: list[Any], kwargs: Any) -> Any:
        """A method of a constant: folded if all arguments are constants."""
        value = owner.constant()
        if name in ("__enter__", "__exit__"):
            if isinstance(value, torch.device):
                return self.device_block(owner, name)
            raise Break(contexts.UNKNOWN_MANAGER, manager=owner.describe())
        if name == "__iter__" and not args and not kwargs:
            return self.iterate(owner)
        if name in ("join",) and len(args) == 1 and type(value) in (str, bytes):
            parts = [self.constant_value(p) for p in self.unpack(args[0])]
            return self.folded(lambda: value.join(parts))
        method = getattr(value, name)
        return self.fold(method, args, kwargs)

    def fold(self, real: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Call a pure function now; its arguments must be known, or be floats that change."""
        made = self.computed_number(real, args) if not kwargs else None
        if made is not None:
            return made
        values = [self.constant_value(a) for a in args]
        named = {k: self.constant_value(v) for k, v in kwargs.items()}
        return self.call_now(real, values, named)

    def call_now(self, real: Any, values: list[Any], named: dict[str, Any]) -> Any:
        """Call a pure function now. An iterator that it gives is made again by each call of the
        variant that needs it."""
        refuse_callbacks(real, [*values, *named.values()])
        if is_finite_iterator(real) and not named:
            held: list[Any] = []
            self.folded(lambda: held.extend(real(*values)))
            kind = type(real(*values))
            return CalledIterator([self.known(v) for v in held], kind, real, values)
        return self.folded(lambda: real(*values, **named))

    def folded(self, thunk: Any) -> Any:
        """The result of a pure computation on known values, or the exception it raised."""
        try:
            value = thunk()
        except (KeyboardInterrupt, SystemExit, Break, Raised):
            raise
        except BaseException as error:
            raise Raised(self.native_exception(error)) from None
        return self.known(value)

    def rule_of(self, real: Any) -> Any:
        """A handler for a method of tensors that is more than a node, or None."""
        verdict = rules.lookup(real)
        if verdict.kind is rules.IN_GRAPH and verdict.target is None:
            return None
        return lambda tx, args, kwargs: tx.by_verdict(
            verdict, real, tx.wrap(real, None), args, kwargs
        )

    def refuse_async(self, what: str) -> Any:
        raise Break(python.ASYNC, instruction=what, function=self.frames[-1].code.code.co_qualname)


# Breaks of a torch function in Python that may be further in, or not there, if it is traced.
_INSIDE = (
    calls.ARGUMENT_OUTSIDE_GRAPH,
    objects.UNKNOWN_OBJECT,
    control_flow.UNBACKED_DECISION,
    tensors.DATA_DEPENDENT_OP,
)


# Methods that make another object of the very class of theirs.
_KEEP_CLASS: dict[type, frozenset[str]] = {
    collections.OrderedDict: frozenset({"copy", "__or__", "__ror__"}),
    collections.defaultdict: frozenset({"copy", "__copy__", "__or__", "__ror__"}),
    collections.deque: frozenset({"copy", "__copy__", "__add__", "__mul__", "__rmul__"}),
}
_OF_DICT = (collections.OrderedDict, collections.defaultdict)


def _differs(target: Any, owner: type, name: str, derived: bool) -> bool:
    """Whether the method of `owner` does something else than that of our container: it makes an
    object of a derived class, or goes round what a class derived from dict does."""
    kind = getattr(target, "kind", None)
    if derived and name in _KEEP_CLASS.get(kind, ()):  # type: ignore[arg-type]
        return True
    return owner is dict and kind in _OF_DICT and name in kind.__dict__


# C functions of torch that change the process and not a tensor.
_SWITCHES = ("_set_", "set_", "_push_", "_pop_", "_enter_", "_exit_", "_register_", "_clear_")

_SIGNATURES: dict[Any, tuple[int, int | None, frozenset[str] | None]] = {}


def _check_signature(method: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Raise TypeError unless `method(obj, tx, *args, **kwargs)` binds."""
    known = _SIGNATURES.get(method)
    if known is None:
        code = method.__code__
        need = code.co_argcount - len(method.__defaults__ or ()) - 2
        most = None if code.co_flags & 0x04 else code.co_argcount - 2
        names = code.co_varnames[2 : code.co_argcount + code.co_kwonlyargcount]
        known = (need, most, None if code.co_flags & 0x08 else frozenset(names))
        _SIGNATURES[method] = known
    need, most, names_ = known
    if len(args) < need and not kwargs:
        raise TypeError(
            f"expected at least {need} argument{'s' if need != 1 else ''}, got {len(args)}"
        )
    if most is not None and len(args) > most:
        raise TypeError(
            f"expected at most {most} argument{'s' if most != 1 else ''}, got {len(args)}"
        )
    if names_ is not None and not names_.issuperset(kwargs):
        raise TypeError("takes no keyword arguments")
