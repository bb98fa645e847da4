"""A small interpreter of canonical instructions on real objects: what the table says, carried out.

It knows what ordinary functions need (no generators, no imports, no classes). Before each
instruction it wipes the locals that are said to be dead and compares stack and exceptions with
what ``Code`` says of them, so that a program that still computes what CPython computes has checked
instructions, liveness, depths and handled exceptions at once.
"""

import operator
import types

from suture.bytecode import decode, pair

UNBOUND = type("Unbound", (), {"__repr__": lambda self: "UNBOUND"})()
NULL = UNBOUND
COMPARE = {"<": "lt", "<=": "le", "==": "eq", "!=": "ne", ">": "gt", ">=": "ge"}
TESTS = {
    "POP_JUMP_IF_TRUE": bool,
    "POP_JUMP_IF_FALSE": operator.not_,
    "POP_JUMP_IF_NONE": lambda v: v is None,
    "POP_JUMP_IF_NOT_NONE": lambda v: v is not None,
}
OPERATORS = {
    "UNARY_NEGATIVE": operator.neg,
    "UNARY_POSITIVE": operator.pos,
    "UNARY_INVERT": operator.invert,
    "UNARY_NOT": operator.not_,
    "TO_BOOL": bool,
    "BINARY_SUBSCR": operator.getitem,
    "BINARY_SLICE": lambda obj, start, stop: obj[start:stop],
    "GET_ITER": iter,
    "LIST_TO_TUPLE": tuple,
}
UPDATES = {
    "LIST_APPEND": list.append,
    "LIST_EXTEND": list.extend,
    "SET_ADD": set.add,
    "SET_UPDATE": set.update,
    "DICT_UPDATE": dict.update,
    "DICT_MERGE": dict.update,
    "MAP_ADD": dict.__setitem__,
}
BUILDERS = {
    "BUILD_TUPLE": tuple,
    "BUILD_LIST": list,
    "BUILD_SET": set,
    "BUILD_STRING": "".join,
    "BUILD_SLICE": lambda parts: slice(*parts),
    "BUILD_MAP": lambda flat: dict(zip(flat[::2], flat[1::2])),
    "BUILD_CONST_KEY_MAP": lambda values: dict(zip(values[-1], values)),
}


class Run:
    """One run of ``function``. ``result`` is set when it has returned."""

    def __init__(self, function, args):
        self.function = function
        self.code = decode(function.__code__)
        self.locals = list(args) + [UNBOUND] * (len(self.code.localsplus) - len(args))
        self.stack = []
        self.handled = []  # exceptions being handled, None below the first
        self.index = 0
        self.steps = 0
        self.result = UNBOUND

    def step(self):
        """Check what is known of the next instruction, then run it."""
        inst = self.code.instructions[self.index]
        self.check(inst)
        self.index += 1
        self.steps += 1
        try:
            self.execute(inst)
        except Exception as error:
            if inst.handler is None:
                raise
            del self.stack[inst.handler.depth :]
            self.stack += [inst.lasti] * inst.handler.lasti + [error]
            self.index = inst.handler.target

    def check(self, inst):
        code, index = self.code, inst.index
        assert len(self.stack) == code.depth(index), inst
        live = code.live(index)
        self.locals = [v if slot in live else UNBOUND for slot, v in enumerate(self.locals)]
        handling = code.handling(index)
        assert len(handling) == code.handled(index) == len(self.handled), inst
        outer = [None, *self.handled]
        for place, exc, previous in zip(handling, self.handled, outer):
            assert self.stack[place.previous] is previous, inst
            assert place.current is None or self.stack[place.current] is exc, inst

    def pop(self, count):
        found = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return found

    def execute(self, inst):
        op, val, stack, slots = inst.op, inst.val, self.stack, self.locals
        if op in OPERATORS:
            count = {"BINARY_SUBSCR": 2, "BINARY_SLICE": 3}.get(op, 1)
            stack.append(OPERATORS[op](*self.pop(count)))
        elif op in TESTS:
            if TESTS[op](stack.pop()):
                self.index = inst.target
        elif op in UPDATES:
            values = self.pop(2 if op == "MAP_ADD" else 1)
            UPDATES[op](stack[-val], *values)
        elif op in BUILDERS:
            extra = {"BUILD_MAP": val, "BUILD_CONST_KEY_MAP": 1}.get(op, 0)
            stack.append(BUILDERS[op](self.pop(val + extra)))
        elif op.endswith(
            ("_FAST", "_FAST_CHECK", "_FAST_AND_CLEAR", "_DEREF", "_CLOSURE", "_CELL")
        ):
            self.variable(op, val, slots)
        elif not self.exception(inst) and not self.call(inst):
            self.other(inst)

    def variable(self, op, slot, slots):
        match op:
            case "LOAD_FAST" | "LOAD_FAST_CHECK" | "LOAD_CLOSURE":
                if slots[slot] is UNBOUND:
                    raise UnboundLocalError(self.code.localsplus[slot])
                self.stack.append(slots[slot])
            case "LOAD_FAST_AND_CLEAR":
                self.stack.append(slots[slot])
                slots[slot] = UNBOUND
            case "STORE_FAST":
                slots[slot] = self.stack.pop()
            case "DELETE_FAST":
                if slots[slot] is UNBOUND:
                    raise UnboundLocalError(self.code.localsplus[slot])
                slots[slot] = UNBOUND
            case "MAKE_CELL":
                held = () if slots[slot] is UNBOUND else (slots[slot],)
                slots[slot] = types.CellType(*held)
            case "LOAD_DEREF":
                self.stack.append(slots[slot].cell_contents)
            case "STORE_DEREF":
                slots[slot].cell_contents = self.stack.pop()
            case "DELETE_DEREF":
                del slots[slot].cell_contents

    def exception(self, inst):
        stack = self.stack
        match inst.op:
            case "PUSH_EXC_INFO":
                previous = self.handled[-1] if self.handled else None
                self.handled.append(stack[-1])
                stack.insert(-1, previous)
            case "POP_EXCEPT":
                self.handled.pop()
                stack.pop()
            case "CHECK_EXC_MATCH":
                stack[-1] = isinstance(stack[-2], stack[-1])
            case "RERAISE":
                raise stack.pop()
            case "RAISE_VARARGS":
                raise (self.pop(inst.val) or self.handled[-1:])[0]
            case "BEFORE_WITH":
                manager = stack.pop()
                leave = pair(manager.__exit__, NULL) if inst.val else (manager.__exit__,)
                stack += [*leave, manager.__enter__()]
            case "WITH_EXCEPT_START":
                stack.append(stack[-4 - inst.val](type(stack[-1]), stack[-1], None))
            case _:
                return False
        return True

    def call(self, inst):
        stack, val = self.stack, inst.val
        match inst.op:
            case "CALL":
                args = self.pop(inst.arg)
                function, first = self.callee()
                plain = len(args) - len(val)
                stack.append(function(*first, *args[:plain], **dict(zip(val, args[plain:]))))
            case "CALL_FUNCTION_EX":
                args, kwargs = self.pop(2) if val else (stack.pop(), {})
                function, first = self.callee()
                stack.append(function(*first, *args, **kwargs))
            case "LOAD_METHOD":
                stack += pair(getattr(stack.pop(), val), NULL)
            case "LOAD_SUPER_ATTR" | "LOAD_SUPER_METHOD":
                function, *args = self.pop(3)
                found = getattr(function(*args), val)
                stack += pair(found, NULL) if inst.op == "LOAD_SUPER_METHOD" else (found,)
            case "MAKE_FUNCTION":
                code = stack.pop()
                given = dict(zip(val, self.pop(len(val))))
                # 3.13 gives a function its closure in an instruction of its own, right behind.
                cells = given.get("closure") or tuple(types.CellType() for _ in code.co_freevars)
                function = types.FunctionType(code, self.function.__globals__, closure=cells)
                function.__defaults__ = given.get("defaults")
                function.__kwdefaults__ = given.get("kwdefaults")
                stack.append(function)
            case "SET_FUNCTION_ATTRIBUTE":
                self.set_attribute(val)
            case _:
                return False
        return True

    def callee(self):
        """The callable of a pair, and its first argument if it has one."""
        first, second = self.pop(2)
        if first is NULL:
            return second, ()
        return first, () if second is NULL else (second,)

    def set_attribute(self, name):
        value, function = self.pop(2)
        if name == "closure":
            code = function.__code__
            function = types.FunctionType(code, function.__globals__, closure=value)
        else:
            setattr(function, f"__{name}__", value)
        self.stack.append(function)

    def other(self, inst):
        stack, val = self.stack, inst.val
        match inst.op:
            case "COPY_FREE_VARS":
                for slot, cell in zip(self.code.frees, self.function.__closure__):
                    self.locals[slot] = cell
            case "POP_TOP":
                stack.pop()
            case "PUSH_NULL":
                stack.append(NULL)
            case "COPY":
                stack.append(stack[-val])
            case "SWAP":
                stack[-1], stack[-val] = stack[-val], stack[-1]
            case "LOAD_CONST" | "LOAD_BUILTIN":
                stack.append(val)
            case "LOAD_GLOBAL":
                names = self.function.__globals__
                stack.append(names[val] if val in names else self.function.__builtins__[val])
            case "LOAD_ATTR":
                stack.append(getattr(stack.pop(), val))
            case "STORE_ATTR":
                value, obj = self.pop(2)
                setattr(obj, val, value)
            case "STORE_SUBSCR":
                value, obj, key = self.pop(3)
                obj[key] = value
            case "STORE_SLICE":
                value, obj, start, stop = self.pop(4)
                obj[start:stop] = value
            case "DELETE_SUBSCR":
                obj, key = self.pop(2)
                del obj[key]
            case "BINARY_OP":
                stack.append(getattr(operator, val)(*self.pop(2)))
            case "COMPARE_OP" | "COMPARE_TEST":
                stack.append(getattr(operator, COMPARE[val])(*self.pop(2)))
            case "IS_OP":
                stack.append((operator.is_ if val == "is" else operator.is_not)(*self.pop(2)))
            case "CONTAINS_OP":
                item, container = self.pop(2)
                stack.append((item in container) == (val == "in"))
            case "UNPACK_SEQUENCE":
                stack += reversed(list(stack.pop()))
            case "UNPACK_EX":
                values = list(stack.pop())
                before, after = val
                end = len(values) - after
                parts = [*values[:before], values[before:end], *values[end:]]
                stack += reversed(parts)
            case "FORMAT_VALUE" | "CONVERT_VALUE":
                self.format(inst)
            case "JUMP":
                self.index = inst.target
            case "JUMP_IF_TRUE_OR_POP" | "JUMP_IF_FALSE_OR_POP":
                if bool(stack[-1]) == ("TRUE" in inst.op):
                    self.index = inst.target
                else:
                    stack.pop()
            case "FOR_ITER":
                slots = 2 if val else 1
                item = next(stack[-slots], NULL)
                if item is NULL:
                    self.pop(slots)
                    self.index = inst.target
                else:
                    stack.append(item)
            case "RETURN_VALUE":
                self.result = stack.pop()
            case _:
                raise SystemError(f"the small interpreter does not know {inst}")

    def format(self, inst):
        if inst.op == "CONVERT_VALUE":
            conversion, spec = inst.val, None
        else:
            conversion, spec = inst.val[0], self.stack.pop() if inst.val[1] else ""
        value = self.stack.pop()
        if conversion:
            value = {"str": str, "repr": repr, "ascii": ascii}[conversion](value)
        self.stack.append(value if spec is None else format(value, spec))


def run(function, *args, steps=None):
    """Run to the end, or to the instruction before which ``steps`` others have run."""
    state = Run(function, args)
    while state.result is UNBOUND and state.steps != steps:
        state.step()
    return state
