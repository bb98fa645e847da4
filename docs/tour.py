"""A tour of suture: a graph-capture compiler in one file.

    python docs/tour.py

This file rebuilds, in the order in which the ideas are needed, what suture does with a function:

    bytecode -> symbolic interpretation -> graph + guards + effects -> a variant (Python source)

and at a graph break: Python runs one operation, and the *original* code object is entered after
it. No bytecode is written or changed. Everything here works and nothing here is complete; a table
at the end says where the complete thing is. From suture it takes `decode`, which reads bytecode,
and `enter`, which starts a frame in its middle. Below is the program that we compile: its loop
breaks the graph in one of its turns.
"""

import contextlib
import copy
import inspect
import operator
from collections import ChainMap, namedtuple
from dataclasses import dataclass
from itertools import islice

import torch

from suture._core import UNBOUND, enter
from suture.bytecode import CANONICAL, decode, pair

SCALE = 2.0


def program(x, steps, log):
    for i in range(steps):
        x = torch.sin(x) * SCALE
        log.append(i)
        if i == 1:
            print("    program: turn", i)
    return x + 1


# 1. Bytecode -------------------------------------------------------------------------------------
# CPython compiles a function to instructions for a stack machine: LOAD_FAST pushes a local,
# BINARY_OP pops two values and pushes one. The instruction sets of 3.11, 3.12 and 3.13 differ;
# `decode` translates each into one canonical set and keeps the original offsets. It also knows how
# deep the stack is at each instruction, and which locals are *live* there: read before they are
# assigned again. A frame that continues at an instruction needs these and nothing else.

# 2. Abstract values ------------------------------------------------------------------------------
# Symbolic interpretation runs these instructions on *abstract values*. Each says what we know of
# an object: of a number its value, of a tensor its dtype and shape, of most things nothing. A value
# that came from outside the region has a *source*: a Python expression that reads it again when
# the compiled code runs. A value without a source was made inside.


@dataclass(eq=False)
class Value:
    """What is known of one object.

    kind       known
    unread     None: the trace has not looked at it yet, so nothing is guarded yet
    unknown    None: it can be passed on, and nothing else
    constant   the object
    tensor     a tensor on the meta device: dtype and shape, no data
    list       None: we know how to append to it
    iterator   over a range: what it has still to give
    method     (owner, name), not called yet
    """

    kind: str
    known: object = None
    source: str | None = None
    node: object = None  # of a tensor: its node in the graph, once it has one
    used: int = 0  # of an iterator: how many elements the trace took

    def is_a(self, *types):
        return self.kind == "constant" and type(self.known) in types


NULL = Value("null", source="_UNBOUND")  # CPython keeps a NULL below the arguments of most calls

# Interpretation stops in two ways besides a return. Both are raised before the instruction has
# changed anything: the frame is still what it was, and nothing has to be rolled back.


class Break(Exception):
    """This call cannot go into a graph, but Python can run it, and we can continue after it."""


class GiveUp(Exception):
    """The miniature does not know this instruction: CPython runs the rest of the frame."""


# 3. Sources and guards ---------------------------------------------------------------------------
# While tracing we look at real objects: without seeing that `steps` is 3 we could not unroll the
# loop. What we saw must be true again when the result is used, so each look leaves a *guard*: an
# expression over sources. Objects are wrapped when they are first read; what the region does not
# read is not guarded. Names of ours start with an underscore, names of the program do not.

PLAIN = (int, bool, str, float, type(None))


def facts(x):
    """What a graph may depend on. The real thing also has symbols for sizes that change."""
    return type(x) is torch.Tensor and (x.dtype, str(x.device), tuple(x.shape), x.requires_grad)


def rest(x):
    """What a range's iterator has still to give; the copy moves, the iterator does not."""
    return type(x) is type(iter(range(0))) and tuple(copy.copy(x))


HELPERS = {"_UNBOUND": UNBOUND, "_facts": facts, "_rest": rest, "_enter": enter, "_islice": islice}
HELPERS |= {f"_{it.__name__}": it for it in (*PLAIN, list, range, iter, type, repr, torch)}


def wrap(region, real, source):
    """The abstract value of a real object, with the guards that keep it true."""
    kind, guard = type(real), region.guards.append
    if real is UNBOUND:
        raise GiveUp(f"{source} is not bound")  # CPython raises the UnboundLocalError
    if known := facts(real):
        guard(f"_facts({source}) == {known}".replace("torch.", "_torch."))
        return Value("tensor", torch.empty_like(real, device="meta"), source)
    if kind in PLAIN:  # specialise: the variant is for this value. repr() tells 0.0 from -0.0
        guard(f"_type({source}) is _{kind.__name__} and _repr({source}) == {repr(real)!r}")
        return Value("constant", real, source)
    if kind is list:
        guard(f"_type({source}) is _list")
        return Value("list", None, source)
    if source.startswith("stack_") and type(rest(real)) is tuple:
        guard(f"_rest({source}) == {rest(real)}")
        return Value("iterator", rest(real), source)
    if kind in (type(wrap), type(len), type, type(torch)):  # functions, classes, modules
        guard(f"{source} is {region.keep(real)}")
        return Value("constant", real, source)
    guard(f"{source} is not _UNBOUND")
    return Value("unknown", None, source)


# 4. The symbolic interpreter ---------------------------------------------------------------------
# A *region* is what one trace covers: from a point of a function to a return, a break, or an
# instruction that we do not know. It is a frame (locals, stack, the next instruction) that holds
# abstract values, and what the trace collects: graph, guards, effects.


class Region:
    def __init__(self, point, state):
        self.function, self.code, self.index = point.function, point.code, point.index
        self.globals = ChainMap(self.function.__globals__, self.function.__builtins__)
        self.names = {**HELPERS, "_globals": self.globals, "_function": self.function}
        self.graph, self.inputs, self.outputs = torch.fx.Graph(), [], []
        self.guards, self.effects, self.returned, self.stop = [], [], None, None
        self.real, self.seen = dict(zip(point.parameters, state)), {}
        values = [Value("unread", source=name) for name in point.parameters]
        self.locals = values[: len(self.code.localsplus)]
        self.stack = values[len(self.code.localsplus) :]

    def keep(self, real):
        """A name for an object that guards and variant hold on to."""
        label = getattr(real, "__name__", "").replace(".", "_")
        name = f"_{label}_" if label.isidentifier() else "_object_"
        while self.names.setdefault(name, real) is not real:
            name += "_"
        return name

    def read(self, real, source):
        """The value of what this source reads; read twice it is still one value."""
        if source not in self.seen:
            self.seen[source] = wrap(self, real, source)
        return self.seen[source]

    def look(self, value):
        return self.read(self.real[value.source], value.source) if value.kind == "unread" else value

    def run(self, show=False):
        """Interpret until the region ends; `stop` is then None, a Break or a GiveUp."""
        try:
            for _ in range(10_000):  # no loop is unrolled for ever
                inst = self.code.instructions[self.index]
                if inst.boundary:  # here, and only here, CPython can be told to go on
                    self.before = self.index, list(self.locals), list(self.stack)
                pops = CANONICAL[inst.op].counts(inst)[0] + (inst.op == "FOR_ITER")
                inputs = self.stack[(end := len(self.stack) - pops) :]
                if inst.op not in ("POP_TOP", "STORE_FAST"):  # these move values, unseen
                    inputs = [self.look(value) for value in inputs]
                self.next = self.index + 1
                self.stack[end:] = execute(self, inst, *inputs)  # changes nothing if it raises
                if show:
                    print(f"    {inst.op:13}", [(v.kind, v.source or v.known) for v in self.stack])
                if self.returned is not None:
                    return
                self.index = self.next
            raise GiveUp("a trace that is too long")
        except (Break, GiveUp) as stop:
            self.stop = stop

    # A tensor operation becomes a node of a torch.fx graph, a tensor from outside a placeholder.
    # Running the operation on meta tensors gives the dtype and the shape of the result.

    def node_of(self, value):
        if value.kind == "tensor" and value.node is None:
            name = value.source if value.source.isidentifier() else f"input_{len(self.inputs)}"
            with self.graph.inserting_before():  # in front of the graph
                value.node = self.graph.placeholder(name)
            self.inputs.insert(0, value.source)
        return value.known if value.kind == "constant" else value.node

    def operation(self, function, *args):
        if not all(value.kind == "tensor" or value.is_a(int, float) for value in args):
            raise GiveUp(f"{function} of something that is neither a tensor nor a number")
        try:
            example = function(*(value.known for value in args))
        except Exception as error:  # CPython will run it and raise the error where it belongs
            raise GiveUp(f"{function} raises {error!r}") from error
        node = self.graph.call_function(function, tuple(map(self.node_of, args)))
        return Value("tensor", example, node=node)


# One case for each instruction. It is given the values that the instruction pops and returns those
# that it pushes. The trace follows the one way that the known values lead, so a loop is unrolled:
# each turn is traced with its own element.


def execute(region, inst, *inputs):
    top, val = inputs[-1] if inputs else None, inst.val
    match inst.op:
        case "PUSH_NULL" | "LOAD_CONST":
            return [NULL if inst.op == "PUSH_NULL" else Value("constant", val)]
        case "LOAD_FAST":
            return [region.look(region.locals[val])]
        case "LOAD_GLOBAL" if val in region.globals:
            return [region.read(region.globals[val], f"_globals[{val!r}]")]
        case "LOAD_ATTR" | "LOAD_METHOD":
            found = attribute(region, top, val)
            return pair(found, NULL) if inst.op == "LOAD_METHOD" else [found]
        case "BINARY_OP":
            return [binary(region, getattr(operator, val), *inputs)]
        case "COMPARE_OP" | "COMPARE_TEST":
            return [fold(getattr(operator, COMPARE[val]), *inputs)]
        case "CALL":
            return [call(region, inst, *called(*inputs))]
        case "GET_ITER" if top.is_a(range):
            return [Value("iterator", top.known)]
        case "FOR_ITER" if top.kind == "iterator" and top.known:
            item, top.known, top.used = top.known[0], top.known[1:], top.used + 1
            return [top, Value("constant", item)]
        case "POP_JUMP_IF_FALSE" | "POP_JUMP_IF_TRUE":
            if fold(bool, top).known == (inst.op == "POP_JUMP_IF_TRUE"):
                region.next = inst.target
        case "JUMP" | "FOR_ITER" if top is None or top.kind == "iterator":
            region.next = inst.target
        case "STORE_FAST":
            region.locals[val] = top
        case "RETURN_VALUE":
            region.returned = top
        case "POP_TOP":
            pass
        case _:
            raise GiveUp(f"{inst.op} is not modelled, or not for this value")
    return []


# Numbers are computed now, tensors later, by the graph. Where a condition is a tensor, nobody
# knows the way before the graph has run, and fold() gives up.

COMPARE = {"<": "lt", "<=": "le", "==": "eq", "!=": "ne", ">": "gt", ">=": "ge"}


def fold(function, *values):
    if not all(value.is_a(*PLAIN) for value in values):
        raise GiveUp(f"{function.__name__} of something that is not known")
    try:
        return Value("constant", function(*(value.known for value in values)))
    except Exception as error:  # 1 // 0: CPython raises it where it belongs
        raise GiveUp(repr(error)) from error


def binary(region, function, left, right):
    """`x += 1` on a tensor is not among ours: it writes, and a graph would have to say so."""
    if "tensor" not in (left.kind, right.kind):
        return fold(function, left, right)
    if function.__name__ not in ("add", "sub", "mul", "truediv", "matmul"):
        raise GiveUp(f"{function.__name__} of a tensor")
    return region.operation(function, left, right)


def attribute(region, owner, name):
    if owner.is_a(type(torch)) and name in vars(owner.known):
        return region.read(vars(owner.known)[name], f"{owner.source}.{name}")
    kind = {"tensor": torch.Tensor, "list": list}.get(owner.kind)
    if kind is None or not callable(getattr(kind, name, None)):
        raise GiveUp(f"attribute {name}")
    return Value("method", (owner, name))


# *Rules* say what happens to a callable: it goes into the graph, the interpreter models it, or
# Python runs it, which is the graph break. list.append is modelled as an *effect*: nothing real
# changes while tracing; the variant will put the change back, in order.

IN_GRAPH = (torch.sin, torch.cos, torch.exp, torch.relu, torch.matmul)


def called(first, second, *args):
    """The callable and its arguments: below them are two slots, one of which may be NULL."""
    if first is NULL:
        return second, args
    return first, args if second is NULL else (second, *args)


def call(region, inst, function, args):
    if inst.val or inst.handler:  # in `try`, the exception of a call belongs to the frame
        raise GiveUp("a call with keywords, or in a try block")
    if any(function.known is known for known in IN_GRAPH):
        return region.operation(function.known, *args)
    if function.known is range and len(args) == 1 and args[0].is_a(int):
        return Value("constant", range(args[0].known))
    owner, name = function.known if function.kind == "method" else (function, "")
    if owner.kind == "list" and name == "append" and len(args) == 1:
        region.effects.append((owner, args[0]))
        return Value("constant", None)
    raise Break(f"Python has to call {function.source or name}")


# 5. The variant ----------------------------------------------------------------------------------
# A region becomes a *variant*: a Python function in source form. Its parameters are the *state* at
# the point where the region starts: all locals, then the stack. It calls the graph, reads what
# leaves the region, puts back the effects, and ends in one of four ways:
#
#   return _result                      the function has returned
#   _result = f(...); return _enter     a break: Python runs one call, CPython runs the rest
#   _result = f(...); return _Jump      a break: Python runs one call, we continue after it
#   return _enter(...)                  CPython runs the rest, from the instruction not known
#
# _enter(function, offset, locals, stack) is the primitive on which suture is built: a new frame of
# the function's own code object, whose next instruction is the one at `offset`.


def real(region, value):
    """Python that makes the real object of an abstract value."""
    if value.source is not None:
        return value.source
    if value.kind == "tensor":
        if value.node not in region.outputs:
            region.outputs.append(value.node)
        return f"_out_{region.outputs.index(value.node)}"
    if value.kind == "iterator":
        return f"_iter(_{value.known!r})"
    if value.kind == "method":
        return f"{real(region, value.known[0])}.{value.known[1]}"
    literal = value.is_a(int, bool, str, type(None))  # no float: nan has no literal
    return repr(value.known) if literal else region.keep(value.known)


def emit_exit(region, point_at):
    """The line that reads what leaves, and the lines that leave."""
    if region.returned is not None:
        return f"_result = {real(region, region.returned)}", ["return _result"]
    (index, slots, stack), act, result = region.before, [], ""
    row = lambda values: "".join(f"{real(region, value)}, " for value in values)  # noqa: E731
    if isinstance(region.stop, Break):
        below = len(stack) - region.code.instructions[index].arg - 2
        function, args = called(*map(region.look, stack[below:]))
        act = [f"_result = {real(region, function)}({row(args)})"]
        index, stack, result = index + 1, stack[:below], "_result, "
    live = region.code.live(index)
    slots = [value if slot in live else NULL for slot, value in enumerate(slots)]
    read = f"_locals, _stack = ({row(slots)}), ({row(stack)})"
    if result and point_at:
        region.names.update(_Jump=Jump, _point=point_at(index))
        return read, [*act, f"return _Jump(_point, (*_locals, *_stack, {result}))"]
    offset = region.code.instructions[index].offset
    return read, [*act, f"return _enter(_function, {offset}, _locals, (*_stack, {result}))"]


def emit(region, parameters, point_at):
    """The variant. What leaves is read first: after a call the same source could read another."""
    read, act = emit_exit(region, point_at)
    effects = [f"{owner.source}.append({real(region, value)})" for owner, value in region.effects]
    # An iterator from outside moves on, since somebody else may hold it.
    effects += [f"_list(_islice({v.source}, {v.used}))" for v in region.seen.values() if v.used]
    lines = [f"def variant({', '.join(parameters)}):", read, *effects, *act]
    if region.outputs:
        names = "".join(f"_out_{i}, " for i in range(len(region.outputs)))
        lines.insert(1, f"{names}= _graph({', '.join(region.inputs)})")
    return "\n    ".join(lines)


# 6. Points, dispatch, jumps ----------------------------------------------------------------------
# A *point* is where a frame can be entered: the start of a function, or an instruction
# after a break. It has the variants of the regions that start there. A call looks for one whose
# guards hold for its state (a *hit*). On a *miss* the region is traced with this state and becomes
# one variant more. A jump is a new state for another point; __call__ follows the jumps.

Jump = namedtuple("Jump", "point state")


def holds(guard, state):
    with contextlib.suppress(Exception):  # a source that is gone holds for nothing
        return guard(*state)


class Point:
    def __init__(self, owner, index):
        self.owner, self.function, self.code = owner, owner.function, owner.code
        self.index, self.offset = index, self.code.instructions[index].offset
        stack = [f"stack_{i}" for i in range(self.code.depth(index))]
        self.parameters, self.variants = [*self.code.localsplus, *stack], []

    def variant_for(self, state):
        why = "no variant yet"
        for number, (guards, variant) in enumerate(self.variants):
            why = next((text for text, guard in guards if not holds(guard, state)), None)
            if why is None:
                print(f"  point @{self.offset}: hit, variant {number}")
                return variant
        print(f"  point @{self.offset}: miss, {why}")
        return self.compile(state)

    def compile(self, state):
        region = Region(self, state)
        region.run()
        source = emit(region, self.parameters, self.owner.resumes and self.owner.point)
        region.graph.output(tuple(region.outputs))
        region.graph.eliminate_dead_code()
        graph = region.names["_graph"] = torch.fx.GraphModule({}, region.graph)  # or a backend's
        check = f"lambda {', '.join(self.parameters)}: "
        guards = [(text, eval(check + text, region.names)) for text in region.guards]
        exec(source, region.names)
        self.variants.append((guards, region.names["variant"]))
        texts = region.stop or "return", "\n".join(region.guards), graph.code.strip(), source
        for title, text in zip(("ends with", "guards", "graph", "variant"), texts):
            print(f"  {title}:", *str(text).splitlines(), sep="\n    ")
        return region.names["variant"]


class Compiled:
    """A function, compiled. With `resumes`, capture continues after a break; else CPython does."""

    def __init__(self, function, resumes=True):
        self.function, self.code = function, decode(function.__code__)
        self.resumes, self.points = resumes, {}
        ours = any(name.startswith(("_", "stack_")) for name in self.code.localsplus)
        if ours or self.code.is_generator or self.code.cells or self.code.frees:
            raise ValueError("the miniature does not know this kind of function")

    def point(self, index):
        return self.points.setdefault(index, Point(self, index))

    def __call__(self, *args, **kwargs):
        bound = inspect.signature(self.function).bind(*args, **kwargs)
        bound.apply_defaults()
        state = tuple(bound.arguments.get(name, UNBOUND) for name in self.code.localsplus)
        result = Jump(self.point(0), state)
        while isinstance(result, Jump):
            result = result.point.variant_for(result.state)(*result.state)
        return result


def main():
    print("== bytecode")
    for inst in (code := decode(program.__code__)).instructions:
        live = ", ".join(code.localsplus[slot] for slot in code.live(inst.index))
        print(f"    @{inst.offset:<4}{inst.op:18}{inst.val!r:20} live: {live}")
    print("\n== symbolic interpretation of `lambda x, k: torch.sin(x) * (k + 1)`")
    small = Compiled(lambda x, k: torch.sin(x) * (k + 1))
    Region(small.point(0), (torch.ones(2), 3)).run(show=True)

    x, compiled = torch.linspace(0, 1, 4), Compiled(program)
    for title, function, *args in (
        ("a break: Python runs one call, CPython the rest", Compiled(program, resumes=False), x, 3),
        ("a break in a loop, capture continues after it: two graphs", compiled, x, 3),
        ("the same again: every guard holds", compiled, x, 3),
        ("another shape: recompilation", compiled, torch.ones(2, 2), 3),
        ("another number of turns: recompilation", compiled, x, 2),
    ):
        print(f"\n== {title}")
        result, log = function(*args, log := []), log
        with contextlib.redirect_stdout(None):
            expected = program(*args, expected_log := [])
        torch.testing.assert_close((result, log), (expected, expected_log), atol=0, rtol=0)
        print(f"  as eager: {result.tolist()}, log {log}")
    print(WHERE)


WHERE = """
== where to find the real thing
  bytecode as one instruction set, liveness    suture/bytecode
  frames, instructions, exits of a region      suture/compiler/interpreter
  call, getattr, getitem; the Python types     suture/compiler/abstract, suture/compiler/objects
  sources, wrapping what comes from outside    suture/compiler/outside
  builtins, iteration, generators, `with`      suture/compiler/language
  binding arguments, inlining, chains          suture/compiler/calls
  tensors; models of the standard library      suture/compiler/torch, suture/compiler/library
  inline, in the graph, or run by Python       suture/compiler/rules
  fake tensors, symbols; guards that run in C  suture/compiler/graph, suture/compiler/guards
  variants as source                           suture/compiler/emit
  points, dispatch, the trampoline, enter      suture/runtime, csrc"""

if __name__ == "__main__":
    main()
