/* Integer expressions over sizes, strides and ints: a small stack machine. */

#include "guards.h"

#define MAX_DEPTH 64

/* The opcodes, in the order of their numbers; suture._core.EXPR_OPS maps the names. */
typedef enum {
    OP_CONST,  /* followed by the number */
    OP_SYMBOL, /* followed by the index of the symbol */
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_FLOORDIV,
    OP_MOD,
    OP_NEG,
    OP_MIN,
    OP_MAX,
    OP_EQ,
    OP_NE,
    OP_LT,
    OP_LE,
    OP_GT,
    OP_GE,
    OP_AND,
    OP_OR,
    OP_NOT,
    OP_POW,
    N_OPS,
} ExprOp;

static const char *const op_names[N_OPS] = {
    "const", "symbol", "add", "sub", "mul", "floordiv", "mod", "neg", "min", "max",
    "eq",    "ne",     "lt",  "le",  "gt",  "ge",       "and", "or",  "not", "pow",
};

static const char *const symbol_kinds[] = {"size", "stride", "int", "float", "storage_offset"};

/* Reads a symbol from the value of its node.  1, 0: it is not there, -1: error. */
int
guard_read_symbol(const SymbolSource *source, PyObject *value, Symbol *out)
{
    out->known = false;
    if (source->kind == SYMBOL_FLOAT) {
        out->object = PyFloat_CheckExact(value) ? Py_NewRef(value) : NULL;
        return out->object != NULL;
    }
    if (source->kind != SYMBOL_INT) {
        int got = guard_tensor_number(value, source->kind, source->dim, &out->number);
        out->known = got == 1;
        return got;
    }
    if (!PyLong_CheckExact(value)) {
        return 0;
    }
    int overflow;
    out->number = PyLong_AsLongLongAndOverflow(value, &overflow);
    out->known = overflow == 0;
    if (overflow) {
        out->object = Py_NewRef(value);
    }
    return 1;
}

/* a // b and a % b as Python has them; false on overflow or division by zero. */
static bool
floor_divide(int64_t a, int64_t b, int64_t *quotient, int64_t *rest)
{
    if (b == 0) {
        return false;
    }
    if (b == -1) {
        *rest = 0;
        return !__builtin_sub_overflow((int64_t)0, a, quotient);
    }
    *quotient = a / b;
    *rest = a % b;
    if (*rest != 0 && (*rest < 0) != (b < 0)) {
        *quotient -= 1;
        *rest += b;
    }
    return true;
}

static bool
power(int64_t base, int64_t exponent, int64_t *out)
{
    if (exponent < 0) {
        return false;
    }
    int64_t result = 1;
    while (exponent) {
        if (exponent & 1 && __builtin_mul_overflow(result, base, &result)) {
            return false;
        }
        exponent >>= 1;
        if (exponent && __builtin_mul_overflow(base, base, &base)) {
            return false;
        }
    }
    *out = result;
    return true;
}

static bool
binary(ExprOp op, int64_t a, int64_t b, int64_t *out)
{
    int64_t other;
    switch (op) {
    case OP_ADD:
        return !__builtin_add_overflow(a, b, out);
    case OP_SUB:
        return !__builtin_sub_overflow(a, b, out);
    case OP_MUL:
        return !__builtin_mul_overflow(a, b, out);
    case OP_FLOORDIV:
        return floor_divide(a, b, out, &other);
    case OP_MOD:
        return floor_divide(a, b, &other, out) || b == -1;
    case OP_POW:
        return power(a, b, out);
    case OP_MIN:
        *out = a < b ? a : b;
        return true;
    case OP_MAX:
        *out = a > b ? a : b;
        return true;
    case OP_EQ:
        *out = a == b;
        return true;
    case OP_NE:
        *out = a != b;
        return true;
    case OP_LT:
        *out = a < b;
        return true;
    case OP_LE:
        *out = a <= b;
        return true;
    case OP_GT:
        *out = a > b;
        return true;
    case OP_GE:
        *out = a >= b;
        return true;
    case OP_AND:
        *out = a && b;
        return true;
    default: /* OP_OR */
        *out = a || b;
        return true;
    }
}

/* Whether the expression is true; overflow and unknown operands make it false. */
static bool
evaluate(const Expression *expr, const Symbol *symbols)
{
    int64_t stack[MAX_DEPTH];
    int top = 0;
    for (int i = 0; i < expr->n_code; i++) {
        ExprOp op = (ExprOp)expr->code[i];
        if (op == OP_CONST) {
            stack[top++] = expr->code[++i];
        } else if (op == OP_SYMBOL) {
            const Symbol *symbol = &symbols[expr->symbols[expr->code[++i]]];
            if (!symbol->known) {
                return false;
            }
            stack[top++] = symbol->number;
        } else if (op == OP_NEG) {
            if (__builtin_sub_overflow((int64_t)0, stack[top - 1], &stack[top - 1])) {
                return false;
            }
        } else if (op == OP_NOT) {
            stack[top - 1] = !stack[top - 1];
        } else {
            top--;
            if (!binary(op, stack[top - 1], stack[top], &stack[top - 1])) {
                return false;
            }
        }
    }
    return stack[0] != 0;
}

/* The values of an expression's symbols as a new tuple. */
static PyObject *
operands(const Expression *expr, const Symbol *symbols)
{
    PyObject *values = PyTuple_New(expr->n_symbols);
    for (int i = 0; values && i < expr->n_symbols; i++) {
        const Symbol *symbol = &symbols[expr->symbols[i]];
        PyObject *value =
            symbol->object ? Py_NewRef(symbol->object) : PyLong_FromLongLong(symbol->number);
        if (!value) {
            Py_CLEAR(values);
            break;
        }
        PyTuple_SET_ITEM(values, i, value);
    }
    return values;
}

static int
call_expression(const Expression *expr, const Symbol *symbols)
{
    PyObject *values = operands(expr, symbols);
    PyObject *answer = values ? PyObject_Call(expr->function, values, NULL) : NULL;
    int truth = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(values);
    Py_XDECREF(answer);
    return truth < 0 ? guard_swallow() : truth;
}

int
guard_run_exprs(Run *run)
{
    const Program *program = run->program;
    for (int i = 0; i < program->n_exprs; i++) {
        const Expression *expr = &program->exprs[i];
        int holds = expr->code ? evaluate(expr, run->symbols) : call_expression(expr, run->symbols);
        if (holds == 1) {
            continue;
        }
        if (holds < 0) {
            return -1;
        }
        PyObject *text = NULL;
        if (run->explain) {
            PyObject *values = operands(expr, run->symbols);
            text = values ? PyUnicode_FromFormat("does not hold for %R", values) : NULL;
            Py_XDECREF(values);
        }
        return guard_fail(run, expr->id, text);
    }
    return 1;
}

/* (label, kind, dim): the index of the symbol, an old one where there is an equal one. */
static int
parse_symbol(Program *program, const Path *path, PyObject *item)
{
    if (!PyTuple_CheckExact(item) || PyTuple_GET_SIZE(item) != 3) {
        return guard_wrong(path, "a symbol is (label, kind, dim)", item);
    }
    SymbolSource symbol = {.kind = -1};
    PyObject *kind = PyTuple_GET_ITEM(item, 1), *dim = PyTuple_GET_ITEM(item, 2);
    for (int i = 0; PyUnicode_Check(kind) && i < (int)Py_ARRAY_LENGTH(symbol_kinds); i++) {
        if (PyUnicode_CompareWithASCIIString(kind, symbol_kinds[i]) == 0) {
            symbol.kind = i;
        }
    }
    if (symbol.kind < 0) {
        return guard_wrong(path, "unknown kind of symbol", kind);
    }
    bool wants_dim = symbol.kind == SYMBOL_SIZE || symbol.kind == SYMBOL_STRIDE;
    if (wants_dim && (!PyLong_CheckExact(dim) || guard_parse_id(path, dim, &symbol.dim) < 0)) {
        PyErr_Clear();
        return guard_wrong(path, "a dimension is an int from 0 on", dim);
    }
    symbol.label = guard_find_label(program, path, PyTuple_GET_ITEM(item, 0));
    if (symbol.label < 0) {
        return -1;
    }
    for (int i = 0; i < program->n_symbols; i++) {
        const SymbolSource *old = &program->symbols[i];
        if (old->kind == symbol.kind && old->dim == symbol.dim && old->label == symbol.label) {
            return i;
        }
    }
    SymbolSource *grown =
        PyMem_Realloc(program->symbols, (size_t)(program->n_symbols + 1) * sizeof symbol);
    if (!grown) {
        PyErr_NoMemory();
        return -1;
    }
    program->symbols = grown;
    grown[program->n_symbols] = symbol;
    return program->n_symbols++;
}

/* Copies the code and makes sure that it leaves one value and stays inside its stack. */
static int
parse_code(const Program *program, const Path *path, PyObject *code, Expression *out)
{
    out->code = PyMem_New(int64_t, PyTuple_GET_SIZE(code) + 1);
    if (!out->code) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(code); i++) {
        out->code[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(code, i));
        if (out->code[i] == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            return guard_wrong(path, "code is ints of 64 bits", PyTuple_GET_ITEM(code, i));
        }
    }
    out->n_code = (int)PyTuple_GET_SIZE(code);
    int depth = 0;
    for (int i = 0; i < out->n_code; i++) {
        int64_t op = out->code[i];
        if (op < 0 || op >= N_OPS) {
            return guard_wrong(path, "unknown operation", PyTuple_GET_ITEM(code, i));
        }
        if (op <= OP_SYMBOL) {
            i++;
            if (i == out->n_code) {
                return guard_wrong(path, "the code ends in an operation without its operand", NULL);
            }
            if (op == OP_SYMBOL &&
                (out->code[i] < 0 || out->code[i] >= out->n_symbols ||
                 program->symbols[out->symbols[out->code[i]]].kind == SYMBOL_FLOAT)) {
                return guard_wrong(path, "no integer symbol has this number",
                                   PyTuple_GET_ITEM(code, i));
            }
            depth++;
        } else if (op != OP_NEG && op != OP_NOT) {
            depth--;
        }
        if (depth < 1 || depth > MAX_DEPTH) {
            return guard_wrong(path, "the code leaves its stack", code);
        }
    }
    return depth == 1 ? 0 : guard_wrong(path, "the code does not leave one value", code);
}

/* (id, symbols, code), code a tuple of ints or a callable. */
static int
parse_expr(Program *program, const Path *path, PyObject *item, Expression *out)
{
    if (!PyTuple_CheckExact(item) || PyTuple_GET_SIZE(item) != 3 ||
        !PyTuple_CheckExact(PyTuple_GET_ITEM(item, 1))) {
        return guard_wrong(path, "an expression is (id, symbols, code)", item);
    }
    PyObject *symbols = PyTuple_GET_ITEM(item, 1), *code = PyTuple_GET_ITEM(item, 2);
    if (guard_parse_id(path, PyTuple_GET_ITEM(item, 0), &out->id) < 0) {
        return -1;
    }
    out->symbols = PyMem_New(int, PyTuple_GET_SIZE(symbols) + 1);
    if (!out->symbols) {
        PyErr_NoMemory();
        return -1;
    }
    for (; out->n_symbols < PyTuple_GET_SIZE(symbols); out->n_symbols++) {
        Path inner = {path, "symbols", out->n_symbols};
        int symbol = parse_symbol(program, &inner, PyTuple_GET_ITEM(symbols, out->n_symbols));
        if (symbol < 0) {
            return -1;
        }
        out->symbols[out->n_symbols] = symbol;
    }
    if (PyTuple_CheckExact(code)) {
        return parse_code(program, path, code, out);
    }
    if (!PyCallable_Check(code)) {
        return guard_wrong(path, "code is a tuple of ints or a callable", code);
    }
    out->function = Py_NewRef(code);
    return 0;
}

int
guard_parse_exprs(Program *program, PyObject *items)
{
    if (!PyTuple_CheckExact(items)) {
        PyErr_Format(PyExc_ValueError, "exprs: takes a tuple, not %R", items);
        return -1;
    }
    program->exprs = PyMem_Calloc((size_t)PyTuple_GET_SIZE(items) + 1, sizeof(Expression));
    if (!program->exprs) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); i++) {
        Path path = {NULL, "exprs", i};
        Expression *expr = &program->exprs[program->n_exprs++];
        if (parse_expr(program, &path, PyTuple_GET_ITEM(items, i), expr) < 0) {
            return -1;
        }
    }
    return 0;
}

/* A new dict from the names of the operations to their numbers. */
PyObject *
guard_expr_ops(void)
{
    PyObject *ops = PyDict_New();
    for (int i = 0; ops && i < N_OPS; i++) {
        PyObject *number = PyLong_FromLong(i);
        if (!number || PyDict_SetItemString(ops, op_names[i], number) < 0) {
            Py_CLEAR(ops);
        }
        Py_XDECREF(number);
    }
    return ops;
}
