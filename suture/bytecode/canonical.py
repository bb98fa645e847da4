"""The canonical instruction set: one table, one line of documentation for each instruction.

Every Python that suture runs on is translated into these instructions by its own table
(``py311.py`` to ``py315.py``), so that whoever reads them holds no version tests.

The doc strings show the stack the way CPython's own sources do: inputs, ``--``, outputs, the top of
the stack on the right. ``pops`` counts what is really taken or replaced; what an instruction only
looks at, deeper in the stack, is not popped.

A call finds two slots below its arguments, *the pair*. If one slot of the pair is NULL, the other
is the callable. If none is, the first is the callable and the second its first argument. Pythons
differ in which slot of a pair is the NULL; the stack here always has the order of the running
Python (a frame is entered with it), and ``pair`` is the one place that knows the order.
"""

from __future__ import annotations

from .instructions import Count, Effect, Instruction


def _arg(inst: Instruction) -> int:
    return inst.arg


def _with_exit(inst: Instruction) -> int:
    return 2 + int(inst.val)


def iterator_slots(inst: Instruction) -> int:
    """How many slots FOR_ITER, SEND, END_SEND or CLEANUP_THROW has for its iterator."""
    return 2 if inst.val else 1


def _no_raise(pops: Count, pushes: Count, doc: str) -> Effect:
    return Effect(pops, pushes, doc, raises=False)


CANONICAL: dict[str, Effect] = {
    # the prefix of a function
    "COPY_FREE_VARS": _no_raise(
        0, 0, "-- ; fills the free variables' slots from the closure; val: how many"
    ),
    "MAKE_CELL": _no_raise(
        0, 0, "-- ; puts a new cell with the slot's value (or none) into the slot; val: slot"
    ),
    "RETURN_GENERATOR": _no_raise(
        0, 1, "-- sent ; the call returns a generator; its first resumption continues here"
    ),
    # stack
    "POP_TOP": _no_raise(1, 0, "value --"),
    "PUSH_NULL": _no_raise(0, 1, "-- NULL"),
    "COPY": _no_raise(
        0, 1, "... -- ..., value ; copies the val-th value from the top (1 is the top)"
    ),
    "SWAP": _no_raise(
        _arg, _arg, "a, ..., b -- b, ..., a ; exchanges the top with the val-th from the top"
    ),
    # constants and variables
    "LOAD_CONST": _no_raise(0, 1, "-- constant ; val: the constant"),
    "LOAD_ASSERTION_ERROR": _no_raise(0, 1, "-- AssertionError"),
    "LOAD_BUILTIN": _no_raise(0, 1, "-- value ; val: the builtin"),
    "LOAD_BUILD_CLASS": Effect(0, 1, "-- __build_class__"),
    "LOAD_FAST": Effect(
        0, 1, "-- value ; val: slot; raises UnboundLocalError where the slot is unbound"
    ),
    "LOAD_FAST_CHECK": Effect(0, 1, "-- value ; val: slot; the slot may well be unbound"),
    "LOAD_FAST_AND_CLEAR": _no_raise(
        0, 1, "-- value ; val: slot; pushes NULL where unbound; leaves it unbound"
    ),
    "STORE_FAST": _no_raise(1, 0, "value -- ; val: slot; a NULL leaves the slot unbound"),
    "DELETE_FAST": Effect(0, 0, "-- ; val: slot"),
    "LOAD_CLOSURE": _no_raise(0, 1, "-- cell ; val: slot; the cell itself"),
    "LOAD_DEREF": Effect(0, 1, "-- value ; val: slot; what the cell holds"),
    "STORE_DEREF": _no_raise(1, 0, "value -- ; val: slot"),
    "DELETE_DEREF": Effect(0, 0, "-- ; val: slot"),
    "LOAD_GLOBAL": Effect(0, 1, "-- value ; val: name; globals, then builtins"),
    "STORE_GLOBAL": Effect(1, 0, "value -- ; val: name"),
    "DELETE_GLOBAL": Effect(0, 0, "-- ; val: name"),
    "LOAD_NAME": Effect(0, 1, "-- value ; val: name; local mapping, globals, builtins"),
    "STORE_NAME": Effect(1, 0, "value -- ; val: name"),
    "DELETE_NAME": Effect(0, 0, "-- ; val: name"),
    "LOAD_LOCALS": Effect(0, 1, "-- mapping ; the frame's local mapping"),
    "LOAD_FROM_DICT_OR_DEREF": Effect(
        1, 1, "mapping -- value ; val: slot; the mapping by name, then the cell"
    ),
    "LOAD_FROM_DICT_OR_GLOBALS": Effect(
        1, 1, "mapping -- value ; val: name; the mapping, globals, builtins"
    ),
    "SETUP_ANNOTATIONS": Effect(
        0, 0, "-- ; makes __annotations__ in the local mapping if it is not there"
    ),
    # attributes and items
    "LOAD_ATTR": Effect(1, 1, "obj -- value ; val: name"),
    "LOAD_METHOD": Effect(1, 2, "obj -- pair ; val: name; pair(attribute), or function and obj"),
    "LOAD_SUPER_ATTR": Effect(
        3, 1, "super, class, self -- value ; val: name; arg & 2: written with two arguments"
    ),
    "LOAD_SUPER_METHOD": Effect(
        3, 2, "super, class, self -- pair ; as LOAD_SUPER_ATTR and LOAD_METHOD"
    ),
    "STORE_ATTR": Effect(2, 0, "value, obj -- ; val: name"),
    "DELETE_ATTR": Effect(1, 0, "obj -- ; val: name"),
    "BINARY_SUBSCR": Effect(2, 1, "obj, key -- obj[key]"),
    "STORE_SUBSCR": Effect(3, 0, "value, obj, key --"),
    "DELETE_SUBSCR": Effect(2, 0, "obj, key --"),
    "BINARY_SLICE": Effect(3, 1, "obj, start, stop -- obj[start:stop]"),
    "STORE_SLICE": Effect(4, 0, "value, obj, start, stop --"),
    # operators
    "UNARY_POSITIVE": Effect(1, 1, "value -- +value"),
    "UNARY_NEGATIVE": Effect(1, 1, "value -- -value"),
    "UNARY_INVERT": Effect(1, 1, "value -- ~value"),
    "UNARY_NOT": Effect(1, 1, "value -- not value"),
    "TO_BOOL": Effect(1, 1, "value -- bool(value)"),
    "BINARY_OP": Effect(
        2, 1, "left, right -- value ; val: function of the operator module ('add', 'iadd')"
    ),
    "COMPARE_OP": Effect(2, 1, "left, right -- value ; val: '<' '<=' '==' '!=' '>' '>='"),
    "COMPARE_TEST": Effect(
        2, 1, "left, right -- bool ; as COMPARE_OP, the result turned into a bool"
    ),
    "IS_OP": _no_raise(2, 1, "left, right -- bool ; val: 'is' or 'is not'"),
    "CONTAINS_OP": Effect(2, 1, "item, container -- bool ; val: 'in' or 'not in'"),
    # calls and functions
    "CALL": Effect(
        lambda i: i.arg + 2,
        1,
        "pair, args... -- value ; arg: number of args; val: keyword names of the last",
    ),
    "CALL_FUNCTION_EX": Effect(
        lambda i: 3 + i.val, 1, "pair, args[, kwargs] -- value ; val: True with kwargs"
    ),
    "MAKE_FUNCTION": Effect(
        lambda i: 1 + len(i.val), 1, "attributes..., code -- function ; val: the attributes' names"
    ),
    "SET_FUNCTION_ATTRIBUTE": _no_raise(
        2, 1, "value, function -- function ; val: attribute name, as in MAKE_FUNCTION"
    ),
    # building
    "BUILD_TUPLE": Effect(_arg, 1, "values... -- tuple ; val: how many"),
    "BUILD_LIST": Effect(_arg, 1, "values... -- list ; val: how many"),
    "BUILD_SET": Effect(_arg, 1, "values... -- set ; val: how many"),
    "BUILD_MAP": Effect(lambda i: 2 * i.arg, 1, "keys and values... -- dict ; val: how many pairs"),
    "BUILD_CONST_KEY_MAP": Effect(
        lambda i: i.arg + 1, 1, "values..., keys -- dict ; val: how many values"
    ),
    "BUILD_STRING": Effect(_arg, 1, "strings... -- string ; val: how many"),
    "BUILD_SLICE": Effect(_arg, 1, "start, stop[, step] -- slice ; val: 2 or 3"),
    "LIST_APPEND": Effect(
        1, 0, "list, ..., value -- list, ... ; val: depth of the list once value is popped"
    ),
    "SET_ADD": Effect(1, 0, "set, ..., value -- set, ... ; val: depth of the set"),
    "MAP_ADD": Effect(2, 0, "dict, ..., key, value -- dict, ... ; val: depth of the dict"),
    "LIST_EXTEND": Effect(1, 0, "list, ..., iterable -- list, ... ; val: depth of the list"),
    "SET_UPDATE": Effect(1, 0, "set, ..., iterable -- set, ... ; val: depth of the set"),
    "DICT_UPDATE": Effect(1, 0, "dict, ..., mapping -- dict, ... ; val: depth of the dict"),
    "DICT_MERGE": Effect(
        1,
        0,
        "dict, ..., mapping -- dict, ... ; as DICT_UPDATE, but TypeError on equal keys",
    ),
    "LIST_TO_TUPLE": Effect(1, 1, "list -- tuple"),
    "UNPACK_SEQUENCE": Effect(1, _arg, "iterable -- last, ..., first ; val: how many"),
    "UNPACK_EX": Effect(
        1,
        lambda i: sum(i.val) + 1,
        "iterable -- last, ..., list, ..., first ; val: (before, after) the list",
    ),
    "FORMAT_VALUE": Effect(
        lambda i: 1 + i.val[1],
        1,
        "value[, spec] -- string ; val: (None 'str' 'repr' 'ascii', with spec)",
    ),
    "CONVERT_VALUE": Effect(1, 1, "value -- string ; val: 'str' 'repr' 'ascii'"),
    "BUILD_INTERPOLATION": Effect(
        lambda i: 2 + i.val[1],
        1,
        "value, text[, spec] -- interpolation ; val: (None 'str' 'repr' 'ascii', with spec)",
    ),
    "BUILD_TEMPLATE": Effect(2, 1, "strings, interpolations -- template"),
    # jumps
    "JUMP": Effect(0, 0, "--", falls=False, jumps=True),
    "POP_JUMP_IF_TRUE": Effect(1, 0, "value --", jumps=True),
    "POP_JUMP_IF_FALSE": Effect(1, 0, "value --", jumps=True),
    "POP_JUMP_IF_NONE": Effect(1, 0, "value --", jumps=True),
    "POP_JUMP_IF_NOT_NONE": Effect(1, 0, "value --", jumps=True),
    "JUMP_IF_TRUE_OR_POP": Effect(1, 0, "value -- ; stays when it jumps", taken=(0, 0), jumps=True),
    "JUMP_IF_FALSE_OR_POP": Effect(
        1, 0, "value -- ; stays when it jumps", taken=(0, 0), jumps=True
    ),
    "RETURN_VALUE": Effect(1, 0, "value --", falls=False, raises=False),
    # iteration
    "GET_ITER": Effect(1, 1, "iterable -- iterator"),
    "FOR_ITER": Effect(
        0,
        1,
        "iterator -- iterator, item ; exhausted: pops the iterator, jumps past the loop;"
        " val: 1 where iterator is two slots, it and NULL",
        taken=(iterator_slots, 0),
        jumps=True,
    ),
    # generators and coroutines
    "YIELD_VALUE": Effect(1, 1, "value -- sent"),
    "GET_YIELD_FROM_ITER": Effect(1, 1, "iterable -- iterator"),
    "SEND": Effect(
        1,
        1,
        "receiver, sent -- receiver, yielded ; finished: receiver, sent -- result, and jumps;"
        " val: 1 where receiver is two slots, it and NULL",
        taken=(lambda i: 1 + iterator_slots(i), 1),
        jumps=True,
    ),
    "END_SEND": _no_raise(
        lambda i: 1 + iterator_slots(i), 1, "receiver, value -- value ; val: as of SEND"
    ),
    "CLEANUP_THROW": Effect(
        lambda i: 2 + iterator_slots(i),
        lambda i: 1 + iterator_slots(i),
        "receiver, sent, exc -- None[, NULL], value ; StopIteration's value; else raises exc;"
        " val: as of SEND",
    ),
    "GET_AWAITABLE": Effect(
        1, 1, "obj -- awaitable ; val: 1 after __aenter__, 2 after __aexit__, else 0"
    ),
    "GET_AITER": Effect(1, 1, "iterable -- iterator"),
    "GET_ANEXT": Effect(0, 1, "iterator -- iterator, awaitable"),
    "END_ASYNC_FOR": Effect(2, 0, "iterator, exc -- ; raises exc unless it is StopAsyncIteration"),
    "ASYNC_GEN_WRAP": Effect(1, 1, "value -- wrapped"),
    "STOPITERATION_ERROR": Effect(1, 1, "exc -- exc ; a StopIteration becomes a RuntimeError"),
    # with
    "BEFORE_WITH": Effect(
        1, _with_exit, "manager -- exit, entered ; val: 1 where exit is pair(exit), else 0"
    ),
    "BEFORE_ASYNC_WITH": Effect(
        1, _with_exit, "manager -- exit, awaitable ; val: 1 where exit is pair(exit), else 0"
    ),
    "WITH_EXCEPT_START": Effect(
        0,
        1,
        "exit, lasti, previous, exc -- exit, lasti, previous, exc, result ; calls exit;"
        " val: 1 where exit is a pair, else 0",
    ),
    # exceptions
    "RAISE_VARARGS": Effect(_arg, 0, "[exc[, cause]] -- ; val: how many", falls=False),
    "RERAISE": Effect(
        1, 0, "exc -- ; val: depth of the lasti to go back to once exc is popped, or 0", falls=False
    ),
    "PUSH_EXC_INFO": _no_raise(1, 2, "exc -- previous, exc ; exc is being handled from now on"),
    "POP_EXCEPT": _no_raise(1, 0, "previous -- ; previous is being handled from now on"),
    "CHECK_EXC_MATCH": Effect(1, 1, "exc, type -- exc, bool"),
    "CHECK_EG_MATCH": Effect(
        2, 2, "exc, type -- rest, matched ; matched is being handled now; or exc, None: no match"
    ),
    "PREP_RERAISE_STAR": Effect(2, 1, "original, excs -- exc ; what except* has to raise, or None"),
    # pattern matching
    "GET_LEN": Effect(0, 1, "value -- value, len"),
    "MATCH_MAPPING": _no_raise(0, 1, "value -- value, bool"),
    "MATCH_SEQUENCE": _no_raise(0, 1, "value -- value, bool"),
    "MATCH_KEYS": Effect(
        0, 1, "value, keys -- value, keys, values ; or None in place of the values"
    ),
    "MATCH_CLASS": Effect(
        3, 1, "value, type, names -- attributes ; or None; val: number of positional patterns"
    ),
    # modules and interactive use
    "IMPORT_NAME": Effect(2, 1, "level, fromlist -- module ; val: name"),
    "IMPORT_FROM": Effect(0, 1, "module -- module, value ; val: name"),
    "IMPORT_STAR": Effect(1, 1, "module -- None"),
    "PRINT_EXPR": Effect(1, 1, "value -- None"),
    # type parameters
    "TYPEVAR": Effect(1, 1, "name -- typevar"),
    "TYPEVAR_WITH_BOUND": Effect(2, 1, "name, evaluate -- typevar"),
    "TYPEVAR_WITH_CONSTRAINTS": Effect(2, 1, "name, evaluate -- typevar"),
    "PARAMSPEC": Effect(1, 1, "name -- paramspec"),
    "TYPEVARTUPLE": Effect(1, 1, "name -- typevartuple"),
    "SUBSCRIPT_GENERIC": Effect(1, 1, "parameters -- generic base"),
    "TYPEALIAS": Effect(1, 1, "(name, parameters, evaluate) -- alias"),
    "SET_FUNCTION_TYPE_PARAMS": Effect(2, 1, "function, parameters -- function"),
    "SET_TYPEPARAM_DEFAULT": Effect(2, 1, "typeparam, evaluate -- typeparam"),
}
