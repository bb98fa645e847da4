/* Slots of frames from CPython 3.14 on: tagged references, which own the object, borrow it from
 * somebody who outlives them, or are no object at all but an integer. Whatever we put into a frame
 * is owned. Included by frames_shared.h. */

static inline int
slots_used(suture_frame *frame)
{
    return (int)(frame->stackpointer - frame->localsplus);
}

static inline void
slots_set_used(suture_frame *frame, int used)
{
    frame->stackpointer = frame->localsplus + used;
}

/* What slot i, which holds no integer, holds: borrowed, NULL if it is empty. */
static inline PyObject *
slot_get(suture_frame *frame, int i)
{
    _PyStackRef slot = frame->localsplus[i];
    return PyStackRef_IsNull(slot) ? NULL : PyStackRef_AsPyObjectBorrow(slot);
}

/* What slot i holds, as a new reference: an int object for an integer. NULL, no error set, if it
 * is empty; NULL with an error set if there is no memory for the int. */
static inline PyObject *
slot_new(suture_frame *frame, int i)
{
    _PyStackRef slot = frame->localsplus[i];
    if (PyStackRef_IsTaggedInt(slot)) {
        return PyLong_FromSsize_t(PyStackRef_UntagInt(slot));
    }
    return PyStackRef_IsNull(slot) ? NULL : Py_NewRef(PyStackRef_AsPyObjectBorrow(slot));
}

/* Puts `value` (stolen, may be NULL) into a slot whose content does not matter. */
static inline void
slot_init(suture_frame *frame, int i, PyObject *value)
{
    frame->localsplus[i] = value == NULL ? PyStackRef_NULL : PyStackRef_FromPyObjectSteal(value);
}

/* Puts `value` (stolen, may be NULL) into slot i, for what that holds. */
static inline void
slot_replace(suture_frame *frame, int i, PyObject *value)
{
    _PyStackRef old = frame->localsplus[i];
    slot_init(frame, i, value);
    PyStackRef_XCLOSE(old);
}

/* A walk over the code, to find out where one entry of the stack holds an offset. */
typedef struct {
    PyCodeObject *code;
    const unsigned char *bytes; /* the code's units, as the compiler made them */
    int units;
    int entry;   /* index of the stack that is asked for */
    int *depths; /* of the stack on entry of each unit, while the entry is the offset; else 0 */
    int *work;   /* units whose depth is known and from which the walk has to go on */
    int waiting; /* how many of them */
} offset_walk;

static void
walk_to(offset_walk *walk, int unit, int depth)
{
    if (depth > walk->entry && walk->depths[unit] == 0) {
        walk->depths[unit] = depth;
        walk->work[walk->waiting++] = unit;
    }
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

/* Goes on to whatever can run behind the instruction at `unit`, where no exception is raised. */
static void
walk_behind(offset_walk *walk, int unit)
{
    int depth = walk->depths[unit];
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
                depth + PyCompile_OpcodeStackEffectWithJump(opcode, oparg, 1));
    }
    if (falls) {
        walk_to(walk, unit, depth + PyCompile_OpcodeStackEffectWithJump(opcode, oparg, 0));
    }
}

/* Begins at (unit -1) or goes on from `unit` to handlers of exceptions. */
static void
walk_handlers(offset_walk *walk, int unit)
{
    PyObject *table = walk->code->co_exceptiontable;
    const unsigned char *at = (unsigned char *)PyBytes_AS_STRING(table);
    const unsigned char *end = at + PyBytes_GET_SIZE(table);
    while (at < end) {
        table_entry entry = table_next(&at);
        int begins = unit < 0 && entry.lasti && entry.depth == walk->entry;
        int goes_on = entry.start <= unit && unit < entry.end && entry.depth > walk->entry;
        if (begins || goes_on) {
            walk_to(walk, entry.target, entry.depth + entry.lasti + 1);
        }
    }
}

/* 1 if the stack of a frame that is at `unit` has at index `at` the offset of an instruction
 * that raised, which the interpreter keeps as an integer; 0 if not; -1 with an error set. Such a
 * value appears where a handler begins, and is there until the stack is cut below it. */
static int
is_offset(PyCodeObject *code, int unit, int at)
{
    if (PyBytes_GET_SIZE(code->co_exceptiontable) == 0) {
        return 0;
    }
    PyObject *bytes = PyCode_GetCode(code);
    int units = (int)Py_SIZE(code);
    int *room = bytes == NULL ? NULL : PyMem_Calloc(2 * (size_t)units, sizeof(int));
    if (room == NULL) {
        Py_XDECREF(bytes);
        PyErr_NoMemory();
        return -1;
    }
    const unsigned char *data = (unsigned char *)PyBytes_AS_STRING(bytes);
    offset_walk walk = {code, data, units, at, room, room + units, 0};
    walk_handlers(&walk, -1);
    while (walk.waiting > 0) {
        int next = walk.work[--walk.waiting];
        walk_handlers(&walk, next);
        walk_behind(&walk, next);
    }
    while (unit > 0 && walk.depths[unit] == 0 && data[2 * unit] == CACHE) {
        unit--;
    }
    int found = walk.depths[unit] != 0;
    PyMem_Free(room);
    Py_DECREF(bytes);
    return found;
}

/* Which entries of the stack (a tuple) of a frame that goes on at `unit` hold such an offset:
 * *marks is one byte per entry, new memory, NULL where none does. 0, or -1 with an error set. */
static int
mark_offsets(PyCodeObject *code, int unit, PyObject *stack, unsigned char **marks)
{
    *marks = NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(stack); i++) {
        int offset = 0;
        if (PyLong_CheckExact(PyTuple_GET_ITEM(stack, i))) {
            offset = is_offset(code, unit, (int)i);
        }
        if (offset > 0 && *marks == NULL) {
            *marks = PyMem_Calloc((size_t)PyTuple_GET_SIZE(stack), 1);
            if (*marks == NULL) {
                PyErr_NoMemory();
                return -1;
            }
        }
        if (offset > 0) {
            (*marks)[i] = 1;
        } else if (offset < 0) {
            PyMem_Free(*marks);
            return -1;
        }
    }
    return 0;
}

/* Puts an offset, an int (stolen), into a slot whose content does not matter. */
static inline void
slot_init_offset(suture_frame *frame, int i, PyObject *value)
{
    frame->localsplus[i] = PyStackRef_TagInt(PyLong_AsSsize_t(value));
    Py_DECREF(value);
}
