"""Operators, comparisons, truth, items."""

from __future__ import annotations

import collections
import operator
import types
from typing import Any

from suture._core import type_name
from suture.breaks import Break, control_flow, objects
from suture.calls.language.operands import asked_first, spreads_over, unsupported
from suture.calls.objects.attributes import MISSING
from suture.calls.part import Part
from suture.rules.wrapped import C_CALLABLES
from suture.variables import (
    Address,
    Builtin,
    BuiltinMethod,
    Class,
    Constant,
    ConstantMethod,
    Dict,
    Function,
    Method,
    Object,
    Opaque,
    Refused,
    Sequence,
    Set,
    Slice,
    Symbol,
    Tensor,
    Tuple,
)
from suture.variables.arrays import Array
from suture.variables.frozen import Frozen
from suture.variables.text import Text

# operator-module name -> (special method, reflected special method)
BINARY: dict[str, tuple[str, str]] = {
    "add": ("__add__", "__radd__"),
    "sub": ("__sub__", "__rsub__"),
    "mul": ("__mul__", "__rmul__"),
    "truediv": ("__truediv__", "__rtruediv__"),
    "floordiv": ("__floordiv__", "__rfloordiv__"),
    "mod": ("__mod__", "__rmod__"),
    "pow": ("__pow__", "__rpow__"),
    "matmul": ("__matmul__", "__rmatmul__"),
    "lshift": ("__lshift__", "__rlshift__"),
    "rshift": ("__rshift__", "__rrshift__"),
    "and_": ("__and__", "__rand__"),
    "or_": ("__or__", "__ror__"),
    "xor": ("__xor__", "__rxor__"),
    "divmod": ("__divmod__", "__rdivmod__"),
}
COMPARE: dict[str, tuple[Any, str, str]] = {
    "<": (operator.lt, "__lt__", "__gt__"),
    "<=": (operator.le, "__le__", "__ge__"),
    "==": (operator.eq, "__eq__", "__eq__"),
    "!=": (operator.ne, "__ne__", "__ne__"),
    ">": (operator.gt, "__gt__", "__lt__"),
    ">=": (operator.ge, "__ge__", "__le__"),
}
UNARY: dict[str, str] = {
    "neg": "__neg__",
    "pos": "__pos__",
    "invert": "__invert__",
    "abs": "__abs__",
}


_UNARY_TEXT = {"neg": "unary -", "pos": "unary +", "invert": "unary ~", "abs": "abs()"}


def real_operator(name: str) -> Any:
    return divmod if name == "divmod" else getattr(operator, name)


class Operators(Part):
    """The part of the tracer that applies operators. `whole`: a break is an error, so capturing
    goes before all."""

    whole = False

    # ---- known values

    def constant_value(self, variable: Any) -> Any:
        """The Python value of something made of constants, or Break."""
        if variable.is_constant():
            return variable.constant()
        if isinstance(variable, Symbol):
            return self.specialise(variable)
        if isinstance(variable, Text):
            return variable.settle(self)
        if isinstance(variable, Address):
            return variable.number(self)
        if isinstance(variable, Sequence):
            return variable.known([self.constant_value(i) for i in variable.unpacked(self)])
        if isinstance(variable, Dict) and type(variable) is Dict:
            made = variable.kind()
            if variable.kind is collections.defaultdict and variable.factory is not None:
                made = variable.kind(self.constant_value(variable.factory))
            for key, value in self.dict_pairs(variable):
                made[self.constant_value(key)] = self.constant_value(value)
            return made
        if (
            isinstance(variable, Object)
            and isinstance(variable.storage, Constant)
            and variable.value is not None
        ):
            return variable.value
        if isinstance(variable, (Class, Builtin, Function, Frozen)):
            return variable.real()
        if isinstance(variable, Slice):
            return slice(*(self.constant_value(p) for p in variable.parts))
        if isinstance(variable, Set):
            return self.real_set(variable)
        raise Break(
            objects.UNKNOWN_OBJECT, operation="take the value of", object=variable.describe()
        )

    def integer(self, variable: Any) -> int:
        """The value of something used as an index or count."""
        if isinstance(variable, Symbol):
            if variable.python_type() is float:
                self.raise_(TypeError, "'float' object cannot be interpreted as an integer")
            return int(self.specialise(variable))
        value = variable
        if isinstance(variable, Object):
            value = variable.storage
            if not isinstance(value, Constant) or not isinstance(value.value, int):
                if self.type_lookup(variable.cls, "__index__") is MISSING:
                    kind = type_name(variable.cls)
                    text = f"'{kind}' object cannot be interpreted as an integer"
                    return self.raise_(TypeError, text)
                value = self.finish(self.call_type_method(variable, "__index__", [], {}))
        elif isinstance(variable, Array) and variable.is_scalar:
            return self.integer(self.number_in(variable))
        if self.is_tensor(value):
            value = self.tensor_to_number(value, "__index__")
            return self.integer(value)
        if not value.is_constant() or not hasattr(value.constant(), "__index__"):
            kind = variable.python_type()
            if not value.is_constant() and hasattr(kind, "__index__"):
                raise Break(
                    objects.UNKNOWN_OBJECT, operation="use as an index", object=value.describe()
                )
            name = kind.__name__
            return self.raise_(TypeError, f"'{name}' object cannot be interpreted as an integer")
        return operator.index(value.constant())

    def known(self, value: Any) -> Any:
        """The variable of a value computed while tracing from constants."""
        return self.wrap_known(value)

    # ---- truth

    def truth(self, variable: Any) -> bool:
        """The truth of a value, or Break where only its data tells."""
        known = variable.truth(self)
        if known is None:
            if isinstance(variable, Tensor):
                raise Break(control_flow.TENSOR_BRANCH, tensor=variable.describe())
            raise Break(control_flow.UNKNOWN_TRUTH, value=variable.describe())
        return bool(known)

    def to_bool(self, variable: Any) -> Any:
        """`bool(variable)` as a value; stays symbolic where it can."""
        if isinstance(variable, Symbol):
            return self.symbol_to_bool(variable)
        if self.whole and isinstance(variable, Tensor) and variable.value.numel() == 1:
            made = self.truth_from_data(variable)
            if made is not None:
                return made
        return Constant(self.truth(variable))

    def negate(self, variable: Any) -> Any:
        if isinstance(variable, Symbol):
            return self.symbol_not(variable)
        return Constant(not self.truth(variable))

    def object_truth(self, obj: Object) -> bool:
        cls = obj.cls
        for name in ("__bool__", "__len__"):
            raw = self.type_lookup(cls, name)
            if raw is not MISSING:
                if isinstance(obj.storage, Constant) and not isinstance(raw, types.FunctionType):
                    return bool(obj.storage.value)
                return self._asked_truth(obj, name)
        return True

    def _asked_truth(self, obj: Object, name: str) -> bool:
        try:
            told = self.finish(self.call_type_method(obj, name, [], {}))
            kind = told.python_type()
            if name == "__bool__" and kind is not bool:
                self.raise_(TypeError, f"__bool__ should return bool, returned {kind.__name__}")
            return self.truth(told)
        except Break as reason:
            raise Break(control_flow.UNKNOWN_TRUTH, value=obj.describe()) from reason

    # ---- unary and binary operators

    def _as_number(self, value: Any) -> Any:
        return Constant(value.number(self)) if type(value) is Address else value

    def unary(self, name: str, value: Any) -> Any:
        value = self._as_number(value)
        done = self.own_operator(name, value)
        if done is not None:
            return done
        if isinstance(value, (Tensor, Symbol)):
            return self.call_torch(real_operator(name), [value], {})
        if value.is_constant():
            return self.fold(real_operator(name), [value], {})
        if self.type_lookup(value.python_type(), UNARY[name]) is MISSING:
            kind, symbol = type_name(value.python_type()), _UNARY_TEXT[name]
            return self.raise_(TypeError, f"bad operand type for {symbol}: '{kind}'")
        return self.finish(self.call_type_method(value, UNARY[name], [], {}))

    def binary(self, name: str, left: Any, right: Any) -> Any:
        """`left <op> right`; `name` is a function of the operator module, "iadd" and so on too."""
        left, right = self._as_number(left), self._as_number(right)
        for side in (left, right):
            if isinstance(side, Refused):
                raise side.why()
        done = self.own_operator(name, left, right)
        if done is not None:
            return done
        left, right = self._beside(left, right), self._beside(right, left)
        if isinstance(left, (Tensor, Symbol)) or isinstance(right, (Tensor, Symbol)):
            done = self.graph_binary(name, left, right)
            if done is not None:
                return done
            left, right = self._without_symbols(left), self._without_symbols(right)
        if left.is_constant() and right.is_constant() and type(left) is not Tuple:
            return self.fold(real_operator(name), [left, right], {})
        plain = name
        if name not in BINARY:
            plain = IN_PLACE[name]
            done = asked_first(self, plain, left, right)
            if done is None:
                done = self.special_method(left, "__" + name.rstrip("_") + "__", right)
            if done is not None:
                return done
        return self._binary_methods(plain, left, right)

    def _beside(self, operand: Any, other: Any) -> Any:
        """An operand; next to a tensor a scalar of NumPy is a number."""
        if isinstance(operand, Array) and operand.is_scalar and isinstance(other, Tensor):
            return self.number_in(operand)
        return operand

    def _binary_methods(self, name: str, left: Any, right: Any) -> Any:
        forward, backward = BINARY[name]
        kinds = left.python_type(), right.python_type()
        swapped = kinds[0] is not kinds[1] and kinds[0] in kinds[1].__mro__
        order = [(left, forward, right), (right, backward, left)]
        if swapped and self._overrides(kinds, backward):
            order.reverse()
        for obj, method, other in order:
            done = self.special_method(obj, method, other)
            if done is not None:
                return done
        if name == "mod" and issubclass(kinds[0], (str, bytes)):
            return self.format_percent(left, right)
        return unsupported(self, name, kinds)

    def _overrides(self, kinds: tuple[type, type], method: str) -> bool:
        mine = self.type_lookup(kinds[1], method)
        return mine is not MISSING and mine is not self.type_lookup(kinds[0], method)

    def special_method(self, obj: Any, method: str, other: Any) -> Any:
        """The result of a special method, or None if there is none or it does not apply."""
        own = getattr(type(obj), "m_" + method, None)
        if own is not None:
            result = own(obj, self, other)
        elif isinstance(obj, Object):
            raw = self.type_lookup(obj.cls, method)
            if raw is MISSING:
                return None
            result = self.finish(self.call_type_method(obj, method, [other], {}))
        elif obj.is_constant():
            return self._constant_special(obj, method, other)
        elif isinstance(obj, Class):
            result = self._class_special(obj, method, other)
            if result is None:
                return None
        elif isinstance(obj, Opaque):
            raise Break(
                objects.UNKNOWN_OPERATOR,
                operator=method,
                operands=f"{obj.describe()}, {other.describe()}",
            )
        else:
            return self._other_special(obj, method, other)
        if result.is_constant() and result.constant() is NotImplemented:
            return None
        return result

    def _other_special(self, obj: Any, method: str, other: Any) -> Any:
        """The same for an object that has a model of another kind: one of `typing` is asked now,
        for the rest Python knows more than the model does."""
        if isinstance(obj, Tensor):
            return None  # torch declines what is no operand of it
        kind = obj.python_type()
        raw = self.type_lookup(kind, method)
        if raw is MISSING or raw in _DEFAULT_COMPARE:
            return None
        if isinstance(obj, Tensor) and isinstance(other, Array):
            return None  # it has an answer of its own
        if isinstance(obj, Builtin) and not isinstance(other, Builtin) and kind in C_CALLABLES:
            return None  # equal to its like only
        if isinstance(obj, Builtin) and (kind.__module__ == "typing" or kind in C_CALLABLES):
            real, known = obj.value, self.constant_value(other)
            found = self.folded(lambda: raw(real, known))
            refused = found.is_constant() and found.constant() is NotImplemented
            return None if refused else found
        operands = f"{obj.describe()}, {other.describe()}"
        raise Break(objects.UNKNOWN_OPERATOR, operator=method, operands=operands)

    def _constant_special(self, obj: Any, method: str, other: Any) -> Any:
        """A constant against something that is no constant: sequences can be repeated."""
        if isinstance(obj.constant(), int) and method == "__mul__":
            return None
        formats = method == "__mod__" and isinstance(obj.constant(), (str, bytes))
        if isinstance(other, Object) and isinstance(other.storage, Constant) and not formats:
            value, held = obj.constant(), other.storage.value
            own: Any = getattr(type(value), method, None)
            found = self.folded(lambda: own(value, held)) if own is not None else None
            refused = found is None or found.constant() is NotImplemented
            return None if refused else found
        if isinstance(obj.constant(), (str, bytes)) and isinstance(other, Object):
            if other.value is not None and method == "__add__":  # it may be a buffer
                operands = f"{obj.describe()}, {other.describe()}"
                raise Break(objects.UNKNOWN_OPERATOR, operator=method, operands=operands)
        if isinstance(obj.constant(), (str, bytes, tuple)) and method in ("__mul__", "__rmul__"):
            if isinstance(other, Object) and self.has_index(other):
                return self.fold(operator.mul, [obj, Constant(self.integer(other))], {})
        if isinstance(obj.constant(), tuple) and isinstance(other, Sequence):
            from suture.variables import Tuple

            own = getattr(Tuple, "m_" + method, None)
            items = Tuple([self.known(v) for v in obj.constant()])
            return own(items, self, other) if own is not None else None
        return None

    def _class_special(self, obj: Class, method: str, other: Any) -> Any:
        if method in ("__or__", "__ror__"):
            pair = (obj, other) if method == "__or__" else (other, obj)
            return self.fold(operator.or_, list(pair), {})
        if self.type_lookup(type(obj.value), method) is MISSING:
            return None
        return self.finish(self.call_type_method(obj, method, [other], {}))

    def _without_symbols(self, value: Any) -> Any:
        return Constant(self.specialise(value)) if isinstance(value, Symbol) else value

    # ---- comparison

    def compare(self, symbol: str, left: Any, right: Any) -> Any:
        if isinstance(left, Address) or isinstance(right, Address):
            if symbol in ("==", "!=") and isinstance(left, Address) and isinstance(right, Address):
                return Constant(self.same(left.owner, right.owner) is (symbol == "=="))
            left, right = self._as_number(left), self._as_number(right)
        real, forward, backward = COMPARE[symbol]
        done = self.own_operator(real.__name__, left, right)
        if done is not None:
            return done
        left, right = self._beside(left, right), self._beside(right, left)
        if isinstance(left, (Tensor, Symbol)) or isinstance(right, (Tensor, Symbol)):
            done = self.graph_compare(symbol, left, right)
            if done is not None:
                return done
            left, right = self._without_symbols(left), self._without_symbols(right)
        if left.is_constant() and right.is_constant():
            return self.fold(real, [left, right], {})
        if isinstance(left, _BOUND) and isinstance(right, _BOUND) and symbol in ("==", "!="):
            return Constant(self._same_method(left, right) is (symbol == "=="))
        if isinstance(left, Builtin) and isinstance(right, Builtin) and symbol in ("==", "!="):
            return Constant(bool(real(left.value, right.value)))
        if spreads_over(left, right) or spreads_over(right, left):
            operands = f"{left.describe()}, {right.describe()}"
            raise Break(objects.UNKNOWN_OPERATOR, operator=symbol, operands=operands)
        ours, theirs = self._compared_part(left, forward), self._compared_part(right, backward)
        if isinstance(ours, Sequence) and isinstance(theirs, Sequence):
            done = self.compare_sequences(symbol, ours, theirs)
            if done is not None:
                return done
        if (ours is not left or theirs is not right) and not isinstance(ours, Object):
            if not isinstance(theirs, Object):
                return self.compare(symbol, ours, theirs)
        done = self._rich_compare(forward, backward, left, right)
        if done is not None:
            return done
        if symbol in ("==", "!="):
            return Constant(self.same(left, right) is (symbol == "=="))
        kinds = left.python_type(), right.python_type()
        return self.raise_(
            TypeError,
            f"'{symbol}' not supported between instances of '{type_name(kinds[0])}' and"
            f" '{type_name(kinds[1])}'",
        )

    def _same_method(self, left: Any, right: Any) -> bool:
        """Bound methods are equal if they are one function of one object."""
        if type(left) is not type(right) or not self.same(left.owner, right.owner):
            return False
        if isinstance(left, Method):
            return self.same_or_equal(left.fn, right.fn)
        return bool(left.name == right.name)

    def _rich_compare(self, forward: str, backward: str, left: Any, right: Any) -> Any:
        kinds = left.python_type(), right.python_type()
        order = [(left, forward, right), (right, backward, left)]
        if kinds[0] is not kinds[1] and kinds[0] in kinds[1].__mro__:
            order.reverse()
        for obj, method, other in order:
            if isinstance(obj, Object) and self._compares_by_identity(obj, method):
                continue
            if obj.is_constant() and not hasattr(type(obj), "m_" + method):
                continue
            done = self.special_method(obj, method, other)
            if done is not None:
                return done
        return None

    def _compares_by_identity(self, obj: Object, method: str) -> bool:
        """Whether the class leaves the comparison to `object`, whose != asks for ==."""
        if self.type_lookup(obj.cls, method) not in _DEFAULT_COMPARE:
            return False
        return method != "__ne__" or self.type_lookup(obj.cls, "__eq__") in _DEFAULT_COMPARE

    def _compared_part(self, obj: Any, method: str) -> Any:
        """What a comparison looks at: the builtin part of an object whose class leaves it so."""
        if isinstance(obj, Object) and obj.storage is not None:
            found = self.type_lookup(obj.cls, method)
            if isinstance(found, types.FunctionType) or found in _DEFAULT_COMPARE:
                return obj
        return self.builtin_part(obj)

    def builtin_part(self, obj: Any) -> Any:
        """A list, tuple, dict... behind an object of a derived class, or behind a constant."""
        if isinstance(obj, Object) and obj.storage is not None:
            return self.builtin_part(obj.storage)
        if type(obj) is Constant and type(obj.value) is tuple:
            return Tuple([self.known(v) for v in obj.value])
        if type(obj) is Constant and type(obj.value) is frozenset:
            return self.known_set(obj.value)
        return obj

    def compare_sequences(self, symbol: str, left: Any, right: Any) -> Any:
        related = issubclass(left.kind, right.kind) or issubclass(right.kind, left.kind)
        if not related:
            return None
        if symbol in ("==", "!=") and issubclass(left.kind, list):
            if len(left.items) != len(right.items):
                return Constant(symbol == "!=")
        for a, b in zip(left.unpacked(self), right.unpacked(self)):
            if not self.same_or_equal(a, b):
                if symbol in ("==", "!="):
                    return Constant(symbol == "!=")
                return self.compare(symbol, a, b)
        return self.fold(
            COMPARE[symbol][0], [Constant(len(left.items)), Constant(len(right.items))], {}
        )

    def same_or_equal(self, left: Any, right: Any) -> bool:
        """What `in`, `index` and `==` of containers ask: identical, or equal and true."""
        if self.same(left, right):
            return True
        return self.truth(self.compare("==", left, right))


_BOUND = (Method, BuiltinMethod, ConstantMethod)
_DEFAULT_COMPARE = (
    object.__eq__,
    object.__ne__,
    object.__lt__,  # type: ignore[operator]
    object.__le__,  # type: ignore[operator]
    object.__gt__,  # type: ignore[operator]
    object.__ge__,  # type: ignore[operator]
)
IN_PLACE = {
    "iadd": "add", "isub": "sub", "imul": "mul", "itruediv": "truediv", "ifloordiv": "floordiv",
    "imod": "mod", "ipow": "pow", "imatmul": "matmul", "ilshift": "lshift", "irshift": "rshift",
    "iand": "and_", "ior": "or_", "ixor": "xor",
}  # fmt: skip
