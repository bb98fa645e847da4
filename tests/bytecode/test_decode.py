"""Decoding: every original instruction is found again, under the right name, with its meaning."""

import dis
import gc
import importlib
import opcode
import sys
import weakref

from suture import bytecode
from suture.bytecode import CANONICAL, decode, pair
from suture.bytecode import code as code_module
from tests.bytecode.corpus import corpus, program, programs

VERSION = "py{}{}".format(*sys.version_info[:2])
tables = importlib.import_module(f"suture.bytecode.{VERSION}")

# Opcodes that the interpreter makes for itself; they are never in ``co_code``.
INTERNAL = {"CACHE", "EXTENDED_ARG", "RESERVED", "INTERPRETER_EXIT", "EXIT_INIT_CHECK",
            "ENTER_EXECUTOR", "TRACE_RECORD"}  # fmt: skip


def ops(code):
    return [inst.op for inst in decode(code).instructions]


def find(code, op):
    return [inst for inst in decode(code).instructions if inst.op == op]


def test_every_opcode_of_this_python_has_a_rule():
    names = {
        name
        for name, number in opcode.opmap.items()
        if number < 256 and not name.startswith("INSTRUMENTED_")
    }
    assert set(tables.RULES) == names - INTERNAL


def test_every_emitted_instruction_is_canonical():
    seen = {inst.op for sample in corpus() for inst in sample.decoded.instructions}
    assert seen <= set(CANONICAL)
    assert len(seen) > 90


def test_offsets_and_indices_are_two_names_of_one_thing():
    for sample in corpus():
        decoded = sample.decoded
        previous = None
        for index, inst in enumerate(decoded.instructions):
            assert inst.index == index
            assert inst.offset <= inst.lasti < inst.next_offset
            if inst.boundary:
                assert decoded.index_of(inst.offset) == index, (sample, inst)
                assert previous is None or (previous.ends and previous.next_offset <= inst.offset)
            else:
                assert previous.lasti == inst.lasti
                assert not previous.ends
            previous = inst


def test_every_original_offset_has_an_index():
    dropped = {"NOP", "RESUME", "END_FOR", "NOT_TAKEN"}
    for sample in corpus():
        decoded = sample.decoded
        starts = {inst.lasti: inst for inst in reversed(decoded.instructions)}
        for original in sample.originals.values():
            index = decoded.index_of(original.offset)
            inst = decoded.instructions[index] if index < len(decoded.instructions) else None
            if original.offset in starts:
                assert inst is starts[original.offset], sample
            elif original.opname in dropped:
                assert inst is None or inst.offset > original.offset or inst.offset == inst.lasti
            else:  # a prefix
                assert inst.offset <= original.offset < inst.lasti, (sample, original)


def test_jumps_lead_where_dis_says():
    loop, send = {"py311": (0, 0), "py312": (1, 1)}.get(VERSION, (2, 1))
    behind = {"FOR_ITER": loop, "SEND": send}
    # The argument of END_ASYNC_FOR, where it has one, says where the loop begins.
    jumping = (set(dis.hasjrel) | set(dis.hasjabs)) - {opcode.opmap["END_ASYNC_FOR"]}
    for sample in corpus():
        decoded = sample.decoded
        for inst in decoded.instructions:
            original = sample.originals[inst.lasti]
            if original.opcode in jumping:
                target = original.argval + 2 * behind.get(original.opname, 0)
                assert inst.target == decoded.index_of(target), (sample, inst)
            else:
                assert inst.target is None


def test_names_constants_and_slots_are_those_of_dis():
    for sample in corpus():
        code, decoded = sample.code, sample.decoded
        for inst in decoded.instructions:
            original = sample.originals[inst.lasti]
            if inst.op == "LOAD_CONST":
                listed = original.opname == "LOAD_CONST"
                expected = code.co_consts[original.arg] if listed else original.argval
                assert inst.val is expected, (sample, inst)
            elif inst.op in ("LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "LOAD_NAME",
                             "LOAD_SUPER_ATTR", "LOAD_SUPER_METHOD", "IMPORT_NAME"):  # fmt: skip
                assert inst.val == original.argval, (sample, inst)
            elif inst.op in ("LOAD_DEREF", "STORE_DEREF", "MAKE_CELL"):
                assert decoded.localsplus[inst.val] == original.argval, (sample, inst)
            elif inst.op in ("COMPARE_OP", "COMPARE_TEST"):
                assert inst.val in original.argrepr, (sample, inst)


def test_slots_are_numbered_as_cpython_numbers_them():
    for sample in corpus():
        code, decoded = sample.code, sample.decoded
        slots = range(len(decoded.localsplus))
        assert decoded.localsplus == tuple(code._varname_from_oparg(i) for i in slots), sample
        assert tuple(decoded.localsplus[i] for i in decoded.frees) == code.co_freevars
        assert {decoded.localsplus[i] for i in decoded.cells} == set(code.co_cellvars)


def test_handlers_are_those_of_the_exception_table():
    for sample in corpus():
        decoded = sample.decoded
        for inst in decoded.instructions:
            covering = [e for e in sample.entries if e.start <= inst.lasti < e.end]
            if not covering:
                assert inst.handler is None, (sample, inst)
                continue
            (entry,) = covering
            handler = inst.handler
            assert handler.target == decoded.index_of(entry.target), (sample, inst)
            assert (handler.depth, handler.lasti) == (entry.depth, entry.lasti)


def test_calls_are_one_instruction_with_their_keywords():
    calls = find(program("keywords"), "CALL")
    assert sorted((c.arg, c.val) for c in calls) == [(0, ()), (0, ()), (2, ("z",)), (4, ("x", "y"))]
    assert not {"PRECALL", "KW_NAMES", "CALL_KW"} & set(ops(program("keywords")))
    assert [c.val for c in find(program("keywords"), "CALL_FUNCTION_EX")] == [False, True]


def test_a_global_to_be_called_comes_with_a_null():
    def f():
        return len()

    expected = list(pair("LOAD_GLOBAL", "PUSH_NULL"))
    assert ops(f.__code__)[:2] == expected
    first, second = decode(f.__code__).instructions[:2]
    assert (first.boundary, first.ends) == (True, False)
    assert (second.boundary, second.ends) == (False, True)
    assert first.offset == second.offset


def test_operators_are_functions_of_the_operator_module():
    found = [inst.val for inst in find(program("values"), "BINARY_OP")]
    assert {"iadd", "imatmul", "pow", "floordiv"} <= set(found)


def test_rare_instructions_are_reached():
    seen = {inst.op for sample in programs() for inst in sample.decoded.instructions}
    assert {
        "UNARY_POSITIVE", "IMPORT_STAR", "LIST_TO_TUPLE", "ASYNC_GEN_WRAP", "PREP_RERAISE_STAR",
        "CHECK_EG_MATCH", "END_ASYNC_FOR", "MATCH_CLASS", "MATCH_KEYS", "SEND", "LOAD_CLOSURE",
        "LOAD_METHOD", "FORMAT_VALUE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE",
        "LOAD_FROM_DICT_OR_DEREF", "RETURN_GENERATOR", "WITH_EXCEPT_START",
    } <= seen  # fmt: skip


def test_positions_are_those_of_the_code_object():
    code = program("exceptions")
    decoded = decode(code)
    positions = list(code.co_positions())
    for inst in decoded.instructions:
        assert decoded.positions(inst.index) == positions[inst.lasti // 2]
        assert decoded.line(inst.index) == positions[inst.lasti // 2][0]


def test_a_traceback_names_the_instruction_that_raised():
    def f(a):
        for x in a:
            x.y(1, k=2)

    try:
        f([1])
    except AttributeError as error:
        lasti = error.__traceback__.tb_next.tb_lasti
    decoded = decode(f.__code__)
    inst = decoded.instructions[decoded.index_of(lasti)]
    assert (inst.op, inst.val, inst.lasti) == ("LOAD_METHOD", "y", lasti)


def test_offsets_outside_of_the_code_are_refused():
    decoded = decode(program("loops"))
    for offset in (-2, len(decoded.code.co_code)):
        try:
            decoded.index_of(offset)
        except bytecode.DecodeError:
            continue
        raise AssertionError(offset)


def test_decoding_is_remembered_by_identity():
    source = "lambda x: x"
    one, two = (eval(source).__code__ for _ in range(2))
    assert one == two
    assert one is not two
    assert decode(one) is decode(one)
    assert decode(one) is not decode(two)
    assert decode(one).code is one
    assert decode(two).code is two


def test_short_lived_code_is_forgotten_and_held_code_is_not():
    held = decode(eval("lambda: 'held'").__code__)
    gc.collect()
    before = len(code_module._known)
    gone = weakref.ref(eval("lambda: 'gone'").__code__)
    decode(gone()) if gone() else None
    for i in range(code_module._KEPT + 5):
        decode(eval(f"lambda: {i}").__code__)
    gc.collect()
    assert gone() is None
    assert decode(held.code) is held
    assert len(code_module._recent) <= code_module._KEPT
    assert len(code_module._known) <= before + code_module._KEPT + 10
