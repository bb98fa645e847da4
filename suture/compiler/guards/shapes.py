"""What tracing and the backend assumed about sizes and numbers, as guards.

torch's ShapeEnv collects relations between symbols: comparisons that were decided while tracing,
ranges, sizes taken to be equal. Each symbol was made for a source (a size, a stride, an int, a
float of the program's inputs); here the relations become expressions over sources. Those over
integers are run by the core; the few others by a Python function.
"""

from __future__ import annotations

from typing import Any

import sympy

from suture import _core
from suture.compiler.guards.number_sources import NumberSource
from suture.errors import ConstraintViolation
from suture.runtime.guards import Guards
from suture.runtime.predicates import formula
from suture.torch_private import symbolic_shapes

_OPS = _core.EXPR_OPS
_LARGEST = 2**62


class NotInteger(Exception):
    """The expression is not one over integers that the core can run."""


def add(guards: Guards, graph: Any, sources: list[NumberSource]) -> None:
    """Add what the ShapeEnv of `graph` assumed about the numbers at `sources`."""
    maker = _Maker(guards, graph.shape_env, sources)
    maker.equals = {
        symbol: symbolic_shapes.expression(value)
        for symbol, value in graph.equals.items()
        if symbol not in maker.source_of  # a gradient that the program reads has its own guards
    }
    maker.computed = graph.computed
    maker.decides = graph.decides_floats
    maker.relations()
    maker.ranges()
    maker.decisions()
    maker.truths(graph.truths)


def check_marks(shape_env: Any, sources: list[NumberSource]) -> None:
    """Raise ConstraintViolation where the program makes a size constant, or narrower than was
    promised, that the user marked dynamic; it names the line that did."""
    for source in sources:
        if source.mark is None:
            continue
        symbol = symbolic_shapes.expression(source.value)
        now = shape_env.replace(symbol)
        if now.is_number:
            raise ConstraintViolation(
                _violation(shape_env, source, sources, symbol, f"the constant {now}")
            )
        bounds = symbolic_shapes.symbol_range(shape_env, symbol)
        if bounds is None or (source.mark.min is None and source.mark.max is None):
            continue
        low, high = bounds
        wants_low = max(source.mark.min or 0, 2)
        too_high = low.is_Integer and int(low) > wants_low
        too_low = high.is_Integer and (source.mark.max is None or int(high) < source.mark.max)
        if too_high or too_low:
            text = f"a number from {low} to {high}"
            raise ConstraintViolation(_violation(shape_env, source, sources, symbol, text))


def _violation(
    env: Any, source: NumberSource, sources: list[NumberSource], symbol: Any, what: str
) -> str:
    lines = getattr(env.guards, "lines", {})
    names = {symbolic_shapes.expression(p.value): p.text() for p in reversed(sources)}
    for number, guard in reversed(list(enumerate(env.guards))):
        if symbol in guard.expr.free_symbols <= names.keys():
            line = lines.get(number)
            at = f' (File "{line[0]}", line {line[1]})' if line else ""
            because = f"the guard {_Text(names).doprint(guard.expr)}{at}"
            break
    else:
        because = "the operations it goes into"
    return (
        f"{source.text()} is marked dynamic, but the program makes it {what}: {because}."
        " Change that line, or mark the size with maybe_mark_dynamic, which allows it."
    )


def paths_of(names: set[str], sources: list[NumberSource]) -> set[str]:
    """The paths of the floats whose symbols have these names; of all floats if none has."""
    floats = {
        str(symbolic_shapes.expression(p.value)): p.source.path()
        for p in sources
        if p.kind == "float"
    }
    return {floats[n] for n in names if n in floats} or set(floats.values())


class _Maker:
    def __init__(self, guards: Guards, shape_env: Any, sources: list[NumberSource]) -> None:
        self.guards = guards
        self.env = shape_env
        self.sources = sources
        self.source_of: dict[Any, NumberSource] = {}
        for source in sources:
            expr = symbolic_shapes.expression(source.value)
            if isinstance(expr, sympy.Symbol):
                self.source_of.setdefault(expr, source)
        self.equals: dict[Any, Any] = {}  # symbol -> expression it stands for
        self.computed: dict[Any, Any] = {}  # symbol -> function and numbers it is computed from
        self.decides = False  # whether something was decided by floats
        self._issued: set[Any] = set()

    def relations(self) -> None:
        """A source whose number is another's, or computed from others (equal sizes, strides)."""
        for source in self.sources:
            expr = symbolic_shapes.expression(source.value)
            if self.source_of.get(expr) is source or not self._is_known(expr):
                continue
            own = sympy.Dummy("number", integer=True)
            self._issue(sympy.Eq(own, expr, evaluate=False), {**self.source_of, own: source})

    def ranges(self) -> None:
        for symbol, source in self.source_of.items():
            bounds = symbolic_shapes.symbol_range(self.env, symbol)
            if source.kind == "float":
                self._is_number(source)
            if bounds is None or source.kind == "float" or symbol not in self.env.backed_var_to_val:
                continue
            lower, upper = bounds
            smallest = 0 if source.kind in ("size", "storage_offset") else None
            if source.kind == "int" and not (lower.is_Integer and upper.is_Integer):
                self._fits(source)
            if lower.is_Integer and (smallest is None or lower > smallest) and lower > -_LARGEST:
                self._issue(sympy.Ge(symbol, lower, evaluate=False), self.source_of)
            if upper.is_Integer and upper < _LARGEST:
                self._issue(sympy.Le(symbol, upper, evaluate=False), self.source_of)

        for symbol in self.equals:
            lower, upper = symbolic_shapes.symbol_range(self.env, symbol) or (None, None)
            if symbol.is_integer and lower is not None and upper is not None:
                for bound, relation in ((lower, sympy.Ge), (upper, sympy.Le)):
                    if bound.is_Integer and abs(bound) < _LARGEST:
                        self._issue(relation(symbol, bound, evaluate=False), self.source_of)

    def _is_number(self, source: NumberSource) -> None:
        """Nothing that goes for numbers goes for NaN, and what sympy decides not for infinity."""
        text = source.text()
        test = (
            (_IS_FINITE, f"isfinite({text})") if self.decides else (_IS_ANY, f"not isnan({text})")
        )
        self.guards.add(None, "expr_py", ((source.key(),), *test))

    def truths(self, found: list[Any]) -> None:
        """What functions said of numbers."""
        for real, values, result in found:
            truth = sympy.Dummy("truth")
            self.computed[truth] = (real, values)
            self._issue(truth if result else sympy.Not(truth), self.source_of)

    def _fits(self, source: NumberSource) -> None:
        """Symbolic arithmetic is in 64 bits: the number must leave room for it."""
        ops, number = _OPS, (_OPS["symbol"], 0)
        code = (
            *number,
            ops["const"],
            -_LARGEST,
            ops["gt"],
            *number,
            ops["const"],
            _LARGEST,
            ops["lt"],
            ops["and"],
        )
        self.guards.add(None, "expr", ((source.key(),), code, f"abs({source.text()}) < 2**62"))

    def decisions(self) -> None:
        """Everything that was decided while tracing and compiling."""
        lines = getattr(self.env.guards, "lines", {})
        for number, guard in enumerate(list(self.env.guards)):
            expr = guard.expr
            if not self._is_known(expr):
                continue  # numbers from data: those are checked in the graph
            if symbolic_shapes.follows_from_ranges(self.env, expr):
                continue
            self._issue(expr, self.source_of, lines.get(number))

    def _is_known(self, expr: Any) -> bool:
        """Whether all symbols have a source; False if one comes from data. A symbol that was made
        for an input and has no source could not be guarded: that is a fault."""
        known = self.source_of.keys() | self.equals.keys() | self.computed.keys()
        for symbol in expr.free_symbols - known:
            number = self.env.backed_var_to_val.get(symbol)
            if number is not None and not symbolic_shapes.is_nested_int(number):
                raise LookupError(f"no source is known for {symbol} in {expr}")
        return bool(expr.free_symbols <= known)

    def _issue(self, expr: Any, source_of: dict[Any, NumberSource], where: Any = None) -> None:
        expr = self._written_out(expr)
        if expr is sympy.true:
            return  # two names of one number
        used = sorted(self._read_for(expr), key=lambda s: (s.name, str(s)))
        key = (expr.func, expr.args) if not any(s.is_Dummy for s in expr.free_symbols) else None
        if key is not None and key in self._issued:
            return
        self._issued.add(key)
        index = {symbol: i for i, symbol in enumerate(used)}
        sources = tuple(source_of[s].key() for s in used)
        text, _ = self._text(expr, {s: source_of[s].text() for s in used})
        try:
            code: Any = tuple(compile_expression(expr, index))
            kind = "expr"
        except (NotInteger, KeyError):
            code, kind = self._python(expr, index), "expr_py"
        self.guards.add(None, kind, (sources, code, text))
        if where is not None:
            self.guards.entries[-1].where = where

    def _written_out(self, expr: Any) -> Any:
        """The expression with what its symbols stand for."""
        while not self.equals.keys().isdisjoint(expr.free_symbols):
            expr = expr.xreplace(self.equals)
        return expr

    def _read_for(self, expr: Any) -> set[Any]:
        """The symbols of sources that an expression needs, those of functions in it included."""
        found = set()
        for symbol in expr.free_symbols:
            if symbol in self.computed:
                for value in self.computed[symbol][1]:
                    found |= self._read_for(self._argument(value))
            else:
                found.add(symbol)
        return found

    def _argument(self, value: Any) -> Any:
        return (
            self._written_out(symbolic_shapes.expression(value))
            if hasattr(value, "node")
            else sympy.S.Zero
        )

    def _text(self, expr: Any, names: dict[Any, str]) -> tuple[str, dict[str, Any]]:
        """The expression with its sources spelled as `names` say, and the functions it calls."""
        names, functions = dict(names), {}
        for symbol in expr.free_symbols & self.computed.keys():
            real, values = self.computed[symbol]
            parts = []
            for value in values:
                if hasattr(value, "node"):
                    part, more = self._text(self._argument(value), names)
                    functions.update(more)
                else:
                    part = repr(value)
                parts.append(part)
            name = str(getattr(real, "__name__", "function"))
            functions[name] = real
            names[symbol] = f"{name}({', '.join(parts)})"
        return _Text(names).doprint(expr), functions

    def _python(self, expr: Any, index: dict[Any, int]) -> Any:
        """The expression as a Python function of the numbers at its sources. It does not hold
        where one of its functions raises."""
        text, functions = self._text(expr, {symbol: f"n{i}" for symbol, i in index.items()})
        numbers = ", ".join(f"n{i}" for i in range(len(index)))
        namespace = {**symbolic_shapes.interpreter(), **functions}
        if not functions and not any(name in text for name in namespace.keys() - _OF_FORMULAS):
            return formula(text, len(index))
        made = eval(f"lambda {numbers}: {text}", namespace)
        made.__name__ = "shapes"
        return _Holds(made) if functions else made


class _Holds:
    """A predicate for guards that is false where it cannot be computed."""

    __slots__ = ("__name__", "of")

    def __init__(self, of: Any) -> None:
        self.of = of
        self.__name__ = "shapes"

    def __call__(self, *numbers: Any) -> bool:
        try:
            return bool(self.of(*numbers))
        except Exception:
            return False


_IS_FINITE, _IS_ANY = formula("n0 - n0 == 0", 1), formula("n0 == n0", 1)
_OF_FORMULAS = {"math", "torch"}


# ---- expressions for the core


_RELATIONS = {
    sympy.Eq: "eq", sympy.Ne: "ne", sympy.Lt: "lt", sympy.Le: "le", sympy.Gt: "gt", sympy.Ge: "ge",
}  # fmt: skip
_CHAINS = {
    sympy.Add: "add", sympy.Mul: "mul", sympy.And: "and", sympy.Or: "or",
    symbolic_shapes.Min: "min", symbolic_shapes.Max: "max", sympy.Min: "min", sympy.Max: "max",
}  # fmt: skip
_PAIRS = {
    symbolic_shapes.FloorDiv: "floordiv", symbolic_shapes.CleanDiv: "floordiv",
    symbolic_shapes.Mod: "mod", symbolic_shapes.PythonMod: "mod", sympy.Mod: "mod",
    symbolic_shapes.PowByNatural: "pow",
}  # fmt: skip


def compile_expression(expr: Any, index: dict[Any, int]) -> list[int]:
    """The expression in the core's postfix code; NotInteger if it cannot be said there."""
    if expr.is_Symbol:
        if not expr.is_integer:
            raise NotInteger
        return [_OPS["symbol"], index[expr]]
    if expr is sympy.true or expr is sympy.false:
        return [_OPS["const"], int(expr is sympy.true)]
    if expr.is_Integer:
        if not -(2**63) <= int(expr) < 2**63:
            raise NotInteger
        return [_OPS["const"], int(expr)]
    kind = type(expr)
    args = expr.args
    if kind in _RELATIONS or kind in _PAIRS:
        name = _RELATIONS.get(kind) or _PAIRS[kind]
        return [
            *compile_expression(args[0], index),
            *compile_expression(args[1], index),
            _OPS[name],
        ]
    if kind in _CHAINS:
        code = compile_expression(args[0], index)
        for arg in args[1:]:
            code += [*compile_expression(arg, index), _OPS[_CHAINS[kind]]]
        return code
    if kind is sympy.Not:
        return [*compile_expression(args[0], index), _OPS["not"]]
    if kind is sympy.Pow and args[1].is_Integer and args[1] >= 0:
        return [
            *compile_expression(args[0], index),
            *compile_expression(args[1], index),
            _OPS["pow"],
        ]
    if kind is symbolic_shapes.ModularIndexing:
        base, divisor, modulus = (compile_expression(a, index) for a in args)
        return [*base, *divisor, _OPS["floordiv"], *modulus, _OPS["mod"]]
    raise NotInteger


class _Text(symbolic_shapes.PythonPrinter):  # type: ignore[misc]
    """Prints an expression with its symbols as sources."""

    def __init__(self, names: dict[Any, str]) -> None:
        super().__init__()
        self._names = names

    def _print_Symbol(self, expr: Any) -> str:  # noqa: N802
        return self._names[expr]

    _print_Dummy = _print_Symbol  # noqa: N815

    def _print_Float(self, expr: Any) -> str:  # noqa: N802
        return repr(float(expr))


def expression_text(expr: Any, names: dict[Any, str]) -> str:
    """The expression as a person would write it; a symbol that has no name keeps its own."""
    return str(_Text({**{s: str(s) for s in expr.free_symbols}, **names}).doprint(expr))
