/* Which entries of a frame's stack hold integers that are no objects, from CPython 3.14 on: the
 * offset of an instruction that raised, in a handler that keeps it, and from 3.15 on the index of a
 * loop over a list or a tuple. Found by a walk over the code. Included by frames_references.h. */

typedef struct {
    PyCodeObject *code;
    const unsigned char *bytes; /* the code's units, as the compiler made them */
    int units, width;           /* how many units; how deep the stack gets */
    int *depths;                /* of the stack on entry of each unit, plus 1; 0: not reached yet */
    unsigned char *marks;       /* a row for each unit: 1 at each entry with such an integer */
    int *work;                  /* units that were reached and from which the walk has to go on */
    int waiting;                /* how many of them */
} integer_walk;

/* Reaches `unit` with a stack of `depth` values; of the entries in `row`, those below `kept` are as
 * they are there, those above hold no integers. Gives the unit's own row, or NULL if it had been
 * reached before. */
static unsigned char *
walk_to(integer_walk *walk, int unit, int depth, const unsigned char *row, int kept)
{
    if (unit >= walk->units || depth < 0 || depth > walk->width || walk->depths[unit] != 0) {
        return NULL;
    }
    unsigned char *own = walk->marks + (size_t)unit * walk->width;
    memcpy(own, row, (size_t)(kept < depth ? kept : depth));
    walk->depths[unit] = depth + 1;
    walk->work[walk->waiting++] = unit;
    return own;
}

/* 1 if the instruction may jump; *falls: it may go on behind itself; *back: it jumps back. */
static int
jump_kind(int opcode, int *falls, int *back)
{
    *falls = *back = 0;
    switch (opcode) {
    case JUMP_BACKWARD:
    case JUMP_BACKWARD_NO_INTERRUPT:
        *back = 1;
        return 1;
    case JUMP_FORWARD:
        return 1;
    case RETURN_VALUE:
    case RAISE_VARARGS:
    case RERAISE:
        return 0;
    case POP_JUMP_IF_TRUE:
    case POP_JUMP_IF_FALSE:
    case POP_JUMP_IF_NONE:
    case POP_JUMP_IF_NOT_NONE:
    case FOR_ITER:
    case SEND:
        *falls = 1;
        return 1;
    default:
        *falls = 1;
        return 0;
    }
}

/* What the instruction does to the integers, in the row of the unit behind it. Only SWAP moves one:
 * all others leave them where they are or cut the stack below them. `depth`: before it. */
static void
step_marks(int opcode, int oparg, int depth, unsigned char *row)
{
    if (opcode == SWAP && oparg <= depth) {
        unsigned char top = row[depth - 1];
        row[depth - 1] = row[depth - oparg];
        row[depth - oparg] = top;
    } else if (opcode == COPY && oparg <= depth) {
        row[depth] = row[depth - oparg];
    }
#if PY_VERSION_HEX >= 0x030F0000
    else if (opcode == GET_ITER) {
        row[depth] = 1;
    }
#endif
}

/* Goes on to whatever can run behind the instruction at `unit`, where no exception is raised. */
static void
walk_behind(integer_walk *walk, int unit)
{
    int depth = walk->depths[unit] - 1;
    const unsigned char *row = walk->marks + (size_t)unit * walk->width;
    int oparg = 0, opcode;
    do {
        opcode = walk->bytes[2 * unit];
        oparg = oparg << 8 | walk->bytes[2 * unit + 1];
        unit++;
    } while (opcode == EXTENDED_ARG);
    while (unit < walk->units && walk->bytes[2 * unit] == CACHE) {
        unit++;
    }
    int falls, back;
    if (jump_kind(opcode, &falls, &back)) {
        walk_to(walk, back ? unit - oparg : unit + oparg,
                depth + PyCompile_OpcodeStackEffectWithJump(opcode, oparg, 1), row, depth);
    }
    if (falls) {
        int behind = depth + PyCompile_OpcodeStackEffectWithJump(opcode, oparg, 0);
        unsigned char *own = walk_to(walk, unit, behind, row, depth);
        if (own != NULL) {
            step_marks(opcode, oparg, depth, own);
        }
    }
}

/* Goes on to the handler of exceptions of `unit`. */
static void
walk_handler(integer_walk *walk, int unit)
{
    PyObject *table = walk->code->co_exceptiontable;
    const unsigned char *at = (unsigned char *)PyBytes_AS_STRING(table);
    const unsigned char *end = at + PyBytes_GET_SIZE(table);
    const unsigned char *row = walk->marks + (size_t)unit * walk->width;
    while (at < end) {
        table_entry entry = table_next(&at);
        if (entry.start <= unit && unit < entry.end && entry.depth < walk->depths[unit]) {
            int depth = entry.depth + entry.lasti + 1;
            unsigned char *own = walk_to(walk, entry.target, depth, row, entry.depth);
            if (own != NULL && entry.lasti) {
                own[entry.depth] = 1;
            }
        }
    }
}

/* The rows of all units; the caller frees walk->depths, walk->marks and walk->work. 0, or -1 with
 * an error set. */
static int
walk_code(integer_walk *walk, PyCodeObject *code)
{
    PyObject *bytes = PyCode_GetCode(code);
    if (bytes == NULL) {
        return -1;
    }
    *walk = (integer_walk){code,
                           (unsigned char *)PyBytes_AS_STRING(bytes),
                           (int)Py_SIZE(code),
                           code->co_stacksize + 1,
                           NULL,
                           NULL,
                           NULL,
                           0};
    walk->depths = PyMem_Calloc((size_t)walk->units, sizeof(int));
    walk->work = PyMem_Calloc((size_t)walk->units, sizeof(int));
    walk->marks = PyMem_Calloc((size_t)walk->units * walk->width, 1);
    if (walk->depths == NULL || walk->work == NULL || walk->marks == NULL) {
        Py_DECREF(bytes);
        PyErr_NoMemory();
        return -1;
    }
    walk_to(walk, 0, 0, walk->marks, 0);
    while (walk->waiting > 0) {
        int next = walk->work[--walk->waiting];
        walk_handler(walk, next);
        walk_behind(walk, next);
    }
    Py_DECREF(bytes);
    return 0;
}

static void
walk_free(integer_walk *walk)
{
    PyMem_Free(walk->depths);
    PyMem_Free(walk->work);
    PyMem_Free(walk->marks);
}

/* Whether the stack (a tuple) has an int at all. */
static int
has_int(PyObject *stack)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(stack); i++) {
        if (PyLong_CheckExact(PyTuple_GET_ITEM(stack, i))) {
            return 1;
        }
    }
    return 0;
}

/* Which ints of the stack (a tuple) of a frame that goes on at `unit` the interpreter keeps as
 * integers: *marks is one byte an entry, new memory, NULL where there is none. 0, or -1 with an
 * error set. */
static int
mark_integers(PyCodeObject *code, int unit, PyObject *stack, unsigned char **marks)
{
    *marks = NULL;
    int none = PY_VERSION_HEX < 0x030F0000 && PyBytes_GET_SIZE(code->co_exceptiontable) == 0;
    if (none || !has_int(stack)) {
        return 0;
    }
    integer_walk walk = {0};
    size_t depth = (size_t)PyTuple_GET_SIZE(stack);
    if (walk_code(&walk, code) < 0 || (*marks = PyMem_Calloc(depth, 1)) == NULL) {
        if (!PyErr_Occurred()) {
            PyErr_NoMemory();
        }
        walk_free(&walk);
        return -1;
    }
    while (unit > 0 && walk.depths[unit] == 0) { /* inside of an instruction */
        unit--;
    }
    for (size_t i = 0; i < depth && i < (size_t)walk.width; i++) {
        int is_int = PyLong_CheckExact(PyTuple_GET_ITEM(stack, (Py_ssize_t)i));
        (*marks)[i] = is_int && walk.marks[(size_t)unit * walk.width + i];
    }
    walk_free(&walk);
    return 0;
}
