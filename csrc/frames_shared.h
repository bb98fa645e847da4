/* The part of the frame files that is the same for every version. Included by frames_3xx.c, which
 * defines before:
 *
 *   FRAME_CODE(f)          the code object
 *   FRAME_FUNCTION(f)      the function object
 *   FRAME_NEXT(f)          lvalue: the pointer to an instruction that the frame keeps
 *   NEXT_BEFORE            1 if that pointer is one before the next instruction, 0 if it is at it
 *   FRAME_SET_CODE(f, c)   stores a new reference to c, releasing the old one
 *   SLOT_HIDDEN            flag of slots of inlined comprehensions, 0 where there are none
 *   CALLER_CLEARS          1 if the caller of an evaluation function clears the frame
 *   RAISED_NEXT(c, u)      next unit of a frame whose unit u raised
 *   SUSPENDED_STATE(c, u)  state of a generator suspended behind the unit u of its code c
 *   CURRENT_FRAME(t)       lvalue: the frame that a thread runs
 *   GENERATOR_FRAME(g)     the frame inside a generator
 *   STATE_ENDED(s)         whether a generator in this state has no frame any more
 *
 * and includes one of frames_objects.h and frames_references.h, which say what a slot is.
 */

PyCodeObject *
suture_frame_code(suture_frame *frame)
{
    return FRAME_CODE(frame);
}

PyObject *
suture_frame_function(suture_frame *frame)
{
    return (PyObject *)FRAME_FUNCTION(frame);
}

int
suture_frame_last_unit(suture_frame *frame)
{
    return (int)(FRAME_NEXT(frame) - _PyCode_CODE(FRAME_CODE(frame))) - 1 + NEXT_BEFORE;
}

int
suture_frame_is_start(suture_frame *frame)
{
    const int function_flags = CO_OPTIMIZED | CO_NEWLOCALS;
    return frame->owner == FRAME_OWNED_BY_THREAD &&
           (FRAME_CODE(frame)->co_flags & function_flags) == function_flags &&
           PyFunction_Check(FRAME_FUNCTION(frame)) && suture_frame_last_unit(frame) == -1;
}

int
suture_frame_is_generator(suture_frame *frame)
{
    return frame->owner == FRAME_OWNED_BY_GENERATOR;
}

void
suture_frame_arguments(suture_frame *frame, int count, PyObject **arguments)
{
    for (int i = 0; i < count; i++) {
        arguments[i] = slot_get(frame, i);
    }
}

PyObject *
suture_frame_slot(suture_frame *frame, int i)
{
    return slot_new(frame, i);
}

int
suture_frame_used(suture_frame *frame)
{
    return slots_used(frame);
}

int
suture_code_prefix(PyCodeObject *code)
{
    return code->_co_firsttraceable;
}

static inline int
slot_kind(PyCodeObject *code, int i)
{
    return (unsigned char)PyBytes_AS_STRING(code->co_localspluskinds)[i];
}

int
suture_code_slot_is_cell(PyCodeObject *code, int i)
{
    return (slot_kind(code, i) & (CO_FAST_CELL | CO_FAST_FREE)) != 0;
}

int
suture_code_slot_is_free(PyCodeObject *code, int i)
{
    return (slot_kind(code, i) & CO_FAST_FREE) != 0;
}

int
suture_code_slot_is_hidden(PyCodeObject *code, int i)
{
    return (slot_kind(code, i) & SLOT_HIDDEN) != 0;
}

int
suture_code_yields_at(PyCodeObject *code, int unit)
{
    PyObject *bytes = PyCode_GetCode(code);
    if (bytes == NULL) {
        return -1;
    }
    int yields = (unsigned char)PyBytes_AS_STRING(bytes)[2 * unit] == YIELD_VALUE;
    Py_DECREF(bytes);
    return yields;
}

/* The cell for an empty cell slot: the function's own for a free variable, else an empty one.
 * Result new; NULL with an error set. */
static PyObject *
missing_cell(PyObject *function, PyCodeObject *code, int i)
{
    PyObject *closure = PyFunction_GET_CLOSURE(function);
    int first_free = code->co_nlocalsplus - code->co_nfreevars;
    if (suture_code_slot_is_free(code, i) && closure != NULL) {
        return Py_NewRef(PyTuple_GET_ITEM(closure, i - first_free));
    }
    return PyCell_New(NULL);
}

/* Makes the cells that `locals` lacks. NULL entries mean "as in locals". 0, or -1, error set and
 * nothing left in `made` (room for co_nlocalsplus, zeroed by the caller). */
static int
make_missing_cells(PyObject *function, PyCodeObject *code, PyObject *locals, PyObject **made)
{
    for (int i = 0; i < code->co_nlocalsplus; i++) {
        if (PyTuple_GET_ITEM(locals, i) != suture_unbound || !suture_code_slot_is_cell(code, i) ||
            suture_code_slot_is_hidden(code, i)) {
            continue;
        }
        made[i] = missing_cell(function, code, i);
        if (made[i] == NULL) {
            while (i-- > 0) {
                Py_CLEAR(made[i]);
            }
            return -1;
        }
    }
    return 0;
}

/* Takes item i: a new reference, or the tuple's own with `move`. NULL for UNBOUND. */
static inline PyObject *
take_item(PyObject *tuple, Py_ssize_t i, int move)
{
    PyObject *value = PyTuple_GET_ITEM(tuple, i);
    if (value == suture_unbound) {
        return NULL;
    }
    if (move) {
        PyTuple_SET_ITEM(tuple, i, NULL);
        return value;
    }
    return Py_NewRef(value);
}

int
suture_frame_fill(suture_frame *frame, PyObject *function, PyObject *locals, PyObject *stack,
                  int unit, int move)
{
    PyCodeObject *code = FRAME_CODE(frame);
    int nlocals = code->co_nlocalsplus;
    int depth = (int)PyTuple_GET_SIZE(stack);
    PyObject **made = NULL;
    unsigned char *marks;
    if (mark_integers(code, unit, stack, &marks) < 0) {
        return -1;
    }
    if (unit >= suture_code_prefix(code) && (code->co_ncellvars || code->co_nfreevars)) {
        made = PyMem_Calloc(nlocals, sizeof(PyObject *));
        if (made == NULL) {
            PyErr_NoMemory();
        }
        if (made == NULL || make_missing_cells(function, code, locals, made) < 0) {
            PyMem_Free(made);
            PyMem_Free(marks);
            return -1;
        }
    }
    int used = slots_used(frame);
    slots_set_used(frame, nlocals);
    for (int i = nlocals; i < used; i++) {
        slot_replace(frame, i, NULL);
    }
    for (int i = 0; i < nlocals; i++) {
        PyObject *value = take_item(locals, i, move);
        if (value == NULL && made != NULL) {
            value = made[i];
        }
        slot_replace(frame, i, value);
    }
    for (int i = 0; i < depth; i++) {
        PyObject *value = take_item(stack, i, move);
        if (marks != NULL && marks[i]) {
            slot_init_integer(frame, nlocals + i, value);
        } else {
            slot_init(frame, nlocals + i, value);
        }
    }
    slots_set_used(frame, nlocals + depth);
    PyMem_Free(marks);
    PyMem_Free(made);
    return 0;
}

void
suture_frame_set_next(suture_frame *frame, int unit)
{
    FRAME_NEXT(frame) = _PyCode_CODE(FRAME_CODE(frame)) + unit - NEXT_BEFORE;
}

void
suture_frame_set_raised(suture_frame *frame, int unit)
{
    suture_frame_set_next(frame, RAISED_NEXT(FRAME_CODE(frame), unit));
}

/* Two small code objects: one that ends in a return, one that makes a cell before anything else.
 * And the vectorcall slot that every function starts with (its name is not exported by all
 * versions). */
static PyCodeObject *small_code, *cell_code;
static vectorcallfunc function_call;

/* The first code object among the constants of what `text` compiles to. New; NULL, error set. */
static PyCodeObject *
inner_code(const char *text)
{
    PyCodeObject *outer = (PyCodeObject *)Py_CompileString(text, "<suture>", Py_eval_input);
    PyObject *found = NULL;
    for (Py_ssize_t i = 0; outer != NULL && i < PyTuple_GET_SIZE(outer->co_consts); i++) {
        if (found == NULL && PyCode_Check(PyTuple_GET_ITEM(outer->co_consts, i))) {
            found = Py_NewRef(PyTuple_GET_ITEM(outer->co_consts, i));
        }
    }
    Py_XDECREF(outer);
    if (found == NULL && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_SystemError, "a lambda without code");
    }
    return (PyCodeObject *)found;
}

int
suture_frames_init(void)
{
    cell_code = inner_code("lambda x: lambda: x");
    if (cell_code == NULL) {
        return -1;
    }
    small_code = (PyCodeObject *)Py_CompileString("f()", "<suture>", Py_eval_input);
    PyObject *globals = PyDict_New();
    PyObject *function = NULL;
    if (small_code != NULL && globals != NULL) {
        function = PyFunction_New((PyObject *)small_code, globals);
    }
    Py_XDECREF(globals);
    if (function == NULL) {
        return -1;
    }
    function_call = ((PyFunctionObject *)function)->vectorcall;
    Py_DECREF(function);
    return 0;
}

PyObject *
suture_function_call(PyObject *function, PyObject *const *args, size_t nargs, PyObject *kwnames)
{
    return function_call(function, args, nargs, kwnames);
}

#if CALLER_CLEARS

int
suture_code_can_answer(PyCodeObject *Py_UNUSED(code))
{
    return 1;
}

PyObject *
suture_frame_answer(PyThreadState *Py_UNUSED(tstate), suture_frame *Py_UNUSED(frame),
                    PyObject *result)
{
    return result;
}

#else

/* A frame is answered by letting it run just the RETURN_VALUE that ends the small code object,
 * which has no locals: the interpreter then clears and pops the frame itself. For an error it
 * is at the beginning of the code that makes a cell: such a frame counts as one that is still
 * being made, and gets no entry in the traceback. */
int
suture_code_can_answer(PyCodeObject *code)
{
    return code->co_nlocalsplus + code->co_stacksize > 0;
}

PyObject *
suture_frame_answer(PyThreadState *tstate, suture_frame *frame, PyObject *result)
{
    int used = slots_used(frame);
    slots_set_used(frame, 0);
    PyObject *type = NULL, *value = NULL, *traceback = NULL;
    if (result == NULL) {
        PyErr_Fetch(&type, &value, &traceback);
    }
    for (int i = 0; i < used; i++) {
        slot_replace(frame, i, NULL);
    }
    FRAME_SET_CODE(frame, result == NULL ? cell_code : small_code);
    if (result == NULL) {
        suture_frame_set_next(frame, 0);
        PyErr_Restore(type, value, traceback);
        return _PyEval_EvalFrameDefault(tstate, frame, 1);
    }
    slot_init(frame, 0, result);
    slots_set_used(frame, 1);
    suture_frame_set_next(frame, (int)Py_SIZE(small_code) - 1);
    return _PyEval_EvalFrameDefault(tstate, frame, 0);
}

#endif

suture_frame *
suture_generator_frame(PyObject *generator)
{
    PyGenObject *gen = (PyGenObject *)generator;
    return STATE_ENDED(gen->gi_frame_state) ? NULL : GENERATOR_FRAME(gen);
}

int
suture_generator_running(PyObject *generator)
{
    return ((PyGenObject *)generator)->gi_frame_state == FRAME_EXECUTING;
}

void
suture_generator_suspend(PyObject *generator, int unit, PyObject *handled)
{
    PyGenObject *gen = (PyGenObject *)generator;
    suture_frame *frame = GENERATOR_FRAME(gen);
    suture_frame_set_next(frame, unit + 1);
    gen->gi_frame_state = SUSPENDED_STATE(FRAME_CODE(frame), unit);
    Py_XSETREF(gen->gi_exc_state.exc_value, Py_XNewRef(handled));
}

int
suture_frame_object_at(PyFrameObject *object, PyCodeObject *code, int unit, PyObject *locals)
{
    suture_frame *frame = object->f_frame;
    suture_frame_set_next(frame, unit + NEXT_BEFORE);
    for (int i = 0; i < code->co_nlocalsplus; i++) {
        PyObject *value = locals == NULL ? NULL : suture_to_slot(PyTuple_GET_ITEM(locals, i));
        Py_XINCREF(value);
        if (value == NULL && suture_code_slot_is_free(code, i)) {
            value = PyCell_New(NULL);
            if (value == NULL) {
                return -1;
            }
        }
        slot_replace(frame, i, value);
    }
    return 0;
}

suture_frame *
suture_current_frame(PyThreadState *tstate)
{
    return CURRENT_FRAME(tstate);
}

void
suture_set_current_frame(PyThreadState *tstate, suture_frame *frame)
{
    CURRENT_FRAME(tstate) = frame;
}

/* While it is linked the frame counts as the thread's, as one that is being run does: the frame
 * object neither clears nor traverses it. */
suture_frame *
suture_frame_object_link(PyFrameObject *object, suture_frame *below)
{
    suture_frame *frame = object->f_frame;
    frame->owner = FRAME_OWNED_BY_THREAD;
    frame->frame_obj = object;
    frame->previous = below;
    return frame;
}

int
suture_frame_object_unlink(PyFrameObject *object)
{
    suture_frame *frame = object->f_frame;
    int unused = Py_REFCNT(object) == 1;
    if (!unused && object->f_back == NULL) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        object->f_back = PyFrame_GetBack(object);
        PyErr_Restore(type, value, traceback);
    }
    frame->previous = NULL;
    frame->frame_obj = NULL;
    frame->owner = FRAME_OWNED_BY_FRAME_OBJECT;
    return unused;
}
