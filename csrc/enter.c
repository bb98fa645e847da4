/* Entering a frame anywhere: enter(), run(), handling().
 *
 * A frame is made by calling the function with its local slots as arguments. Its arrival at the
 * evaluation hook is awaited by one pending entry per thread; there it is filled and handed to
 * CPython's own interpreter. */
#include "core.h"

struct suture_entry {
    PyObject *function; /* all borrowed from the caller of suture_enter */
    PyCodeObject *code;
    PyObject *locals;
    PyObject *stack;
    PyObject *exc; /* or NULL */
    int unit;
    int move;
    int held;       /* the hook stays needed while the frame runs */
    int collecting; /* collections are held off until the frame arrives */
};

int
suture_entry_matches(const suture_entry *entry, suture_frame *frame)
{
    return suture_frame_function(frame) == entry->function &&
           suture_frame_code(frame) == entry->code && suture_frame_is_start(frame);
}

void
suture_raise_again(PyObject *exc)
{
    PyObject *traceback = PyException_GetTraceback(exc);
    if (traceback == Py_None) {
        Py_CLEAR(traceback);
    }
    PyErr_Restore(Py_NewRef((PyObject *)Py_TYPE(exc)), Py_NewRef(exc), traceback);
}

PyObject *
suture_entry_run(suture_thread *thread, PyThreadState *tstate, suture_frame *frame)
{
    suture_entry *entry = thread->pending;
    thread->pending = NULL;
    if (entry->collecting) {
        entry->collecting = 0;
        PyGC_Enable();
    }
    if (!entry->held) {
        suture_hook_release();
    }
    int unit = entry->unit;
    PyObject *exc = entry->exc;
    if (suture_frame_fill(frame, entry->function, entry->locals, entry->stack, unit, entry->move) <
        0) {
        return suture_frame_answer(tstate, frame, NULL);
    }
    if (exc == NULL) {
        suture_frame_set_next(frame, unit);
        return _PyEval_EvalFrameDefault(tstate, frame, 0);
    }
    suture_frame_set_raised(frame, unit);
    suture_raise_again(exc);
    return _PyEval_EvalFrameDefault(tstate, frame, 1);
}

/* 0 if every cell slot holds a cell or UNBOUND; -1 with an error set. Arguments borrowed. */
static int
check_cells(PyCodeObject *code, PyObject *locals)
{
    for (int i = 0; i < code->co_nlocalsplus; i++) {
        PyObject *value = PyTuple_GET_ITEM(locals, i);
        if (suture_code_slot_is_cell(code, i) && value != suture_unbound && !PyCell_Check(value)) {
            PyErr_Format(PyExc_TypeError, "slot %d (%U) of %U must hold a cell, not %.100s", i,
                         PyTuple_GET_ITEM(code->co_localsplusnames, i), code->co_qualname,
                         Py_TYPE(value)->tp_name);
            return -1;
        }
    }
    return 0;
}

int
suture_check_state(PyCodeObject *code, Py_ssize_t offset, PyObject *locals, PyObject *stack)
{
    if (!PyTuple_Check(locals) || !PyTuple_Check(stack)) {
        PyErr_SetString(PyExc_TypeError, "locals and stack must be tuples");
        return -1;
    }
    if (PyTuple_GET_SIZE(locals) != code->co_nlocalsplus) {
        PyErr_Format(PyExc_ValueError, "%U has %d local slots, %zd were given", code->co_qualname,
                     code->co_nlocalsplus, PyTuple_GET_SIZE(locals));
        return -1;
    }
    if (PyTuple_GET_SIZE(stack) > code->co_stacksize) {
        PyErr_Format(PyExc_ValueError, "the stack of %U has room for %d values, %zd were given",
                     code->co_qualname, code->co_stacksize, PyTuple_GET_SIZE(stack));
        return -1;
    }
    if (offset < 0 || offset % 2 != 0 || offset / 2 >= Py_SIZE(code)) {
        PyErr_Format(PyExc_ValueError, "%U has no instruction at offset %zd", code->co_qualname,
                     offset);
        return -1;
    }
    if ((code->co_ncellvars || code->co_nfreevars) && offset / 2 >= suture_code_prefix(code)) {
        return check_cells(code, locals);
    }
    return 0;
}

/* Makes the frame by calling the function: its first slots are the arguments. Collections are held
 * off where binding allocates, so that no finalizer's frame can be taken for ours. All arguments
 * borrowed, result new. */
static PyObject *
call_for_frame(suture_entry *entry)
{
    PyCodeObject *code = entry->code;
    PyObject *const *args = ((PyTupleObject *)entry->locals)->ob_item;
    PyObject *kwnames = NULL;
    if (code->co_kwonlyargcount) {
        kwnames = suture_code_kwonly(code);
        if (kwnames == NULL) {
            return NULL;
        }
    }
    if (code->co_flags & CO_VARKEYWORDS) {
        entry->collecting = PyGC_Disable();
    }
    PyObject *result = suture_function_call(entry->function, args, code->co_argcount, kwnames);
    if (entry->collecting) {
        PyGC_Enable();
    }
    return result;
}

/* What sys.exc_info() shows while something runs. Swapped in by show_handled, put back by
 * hide_handled; the struct owns the exception it keeps away. */
typedef struct {
    _PyErr_StackItem *item; /* NULL: nothing was changed */
    PyObject *kept;
} handled_scope;

/* `handled` borrowed, may be NULL for none. */
static handled_scope
show_handled(_PyErr_StackItem *item, PyObject *handled)
{
    handled_scope scope = {item, item->exc_value};
    item->exc_value = Py_XNewRef(handled);
    return scope;
}

static void
hide_handled(handled_scope scope)
{
    if (scope.item != NULL) {
        Py_XSETREF(scope.item->exc_value, scope.kept);
    }
}

/* An entered frame handles `handled`, or else what was handled when the running trampoline was
 * entered: never what the variant that enters it happens to handle. */
static handled_scope
show_for_frame(suture_thread *thread, PyThreadState *tstate, PyObject *handled)
{
    if (handled != NULL) {
        return show_handled(tstate->exc_info, handled);
    }
    if (thread->exc_item != NULL && thread->exc_item == tstate->exc_info &&
        thread->exc_base != tstate->exc_info->exc_value) {
        return show_handled(tstate->exc_info, thread->exc_base);
    }
    return (handled_scope){NULL, NULL};
}

PyObject *
suture_enter(PyObject *function, Py_ssize_t offset, PyObject *locals, PyObject *stack,
             PyObject *exc, PyObject *handled, int move)
{
    const int generator_flags = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);
    if (code->co_flags & generator_flags) {
        PyErr_Format(PyExc_TypeError, "%U makes a generator: use suspend() or resume_at()",
                     code->co_qualname);
        return NULL;
    }
    if (suture_check_state(code, offset, locals, stack) < 0) {
        return NULL;
    }
    suture_thread *thread = &suture_this_thread;
    suture_entry entry = {
        .function = function,
        .code = code,
        .locals = locals,
        .stack = stack,
        .exc = exc,
        .unit = (int)(offset / 2),
        .move = move,
        .held = thread->compiled,
    };
    suture_entry *outer = thread->pending;
    int active = thread->active;
    handled_scope scope = show_for_frame(thread, PyThreadState_Get(), handled);
    suture_hook_need();
    thread->pending = &entry;
    thread->active = entry.held;
    thread->scopes += entry.held;
    PyObject *result = call_for_frame(&entry);
    thread->scopes -= entry.held;
    if (thread->pending == &entry || entry.held) {
        suture_hook_release();
    }
    thread->pending = outer;
    thread->active = active;
    hide_handled(scope);
    return result;
}

/* Optional arguments of enter() by position or keyword. `out` receives borrowed references, NULL
 * for None or not given. 0, or -1 with an error set. */
static int
optional_arguments(const char *const *names, PyObject *const *args, Py_ssize_t nargs,
                   PyObject *kwnames, Py_ssize_t required, Py_ssize_t count, PyObject **out)
{
    if (nargs < required || nargs > required + count) {
        PyErr_Format(PyExc_TypeError, "%zd to %zd positional arguments expected, got %zd", required,
                     required + count, nargs);
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        out[i] = required + i < nargs ? args[required + i] : NULL;
    }
    Py_ssize_t nkw = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t k = 0; k < nkw; k++) {
        Py_ssize_t i = 0;
        PyObject *name = PyTuple_GET_ITEM(kwnames, k);
        while (i < count && PyUnicode_CompareWithASCIIString(name, names[i]) != 0) {
            i++;
        }
        if (i == count || out[i] != NULL) {
            PyErr_Format(PyExc_TypeError, "unexpected keyword argument %R", name);
            return -1;
        }
        out[i] = args[nargs + k];
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (out[i] == Py_None) {
            out[i] = NULL;
        } else if (out[i] != NULL && !PyExceptionInstance_Check(out[i])) {
            PyErr_Format(PyExc_TypeError, "%s must be an exception or None", names[i]);
            return -1;
        }
    }
    return 0;
}

PyDoc_STRVAR(enter_doc, "enter(function, offset, locals, stack, exc=None, handled=None)\n--\n\n"
                        "Run function's code from the instruction at byte offset.");

static PyObject *
enter(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    static const char *const names[] = {"exc", "handled"};
    PyObject *optional[2];
    if (optional_arguments(names, args, nargs, kwnames, 4, 2, optional) < 0) {
        return NULL;
    }
    if (!PyFunction_Check(args[0])) {
        PyErr_Format(PyExc_TypeError, "a function expected, not %.100s", Py_TYPE(args[0])->tp_name);
        return NULL;
    }
    Py_ssize_t offset = PyLong_AsSsize_t(args[1]);
    if (offset == -1 && PyErr_Occurred()) {
        return NULL;
    }
    return suture_enter(args[0], offset, args[2], args[3], optional[0], optional[1], 0);
}

/* Calls with the hook active. All arguments borrowed, result new. */
static PyObject *
call_active(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    suture_thread *thread = &suture_this_thread;
    int active = thread->active;
    suture_hook_need();
    thread->active = 1;
    thread->scopes++;
    PyObject *result = PyObject_Vectorcall(args[0], args + 1, nargs - 1, kwnames);
    thread->scopes--;
    thread->active = active;
    suture_hook_release();
    return result;
}

PyDoc_STRVAR(run_doc, "run(fn, /, *args, **kwargs)\n--\n\n"
                      "Call fn; frames that start below it are offered for compilation.");

static PyObject *
run(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    if (nargs < 1) {
        PyErr_SetString(PyExc_TypeError, "run() needs something to call");
        return NULL;
    }
    return call_active(args, nargs, kwnames);
}

PyDoc_STRVAR(handling_doc, "handling(exc, fn, /, *args, **kwargs)\n--\n\n"
                           "Like run(fn, ...), with exc as the exception being handled.");

static PyObject *
handling(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    if (nargs < 2 || !(args[0] == Py_None || PyExceptionInstance_Check(args[0]))) {
        PyErr_SetString(PyExc_TypeError, "handling() needs an exception and something to call");
        return NULL;
    }
    PyObject *exc = args[0] == Py_None ? NULL : args[0];
    handled_scope scope = show_handled(PyThreadState_Get()->exc_info, exc);
    PyObject *result = call_active(args + 1, nargs - 1, kwnames);
    hide_handled(scope);
    return result;
}

#define FAST_KEYWORDS (METH_FASTCALL | METH_KEYWORDS)

PyMethodDef suture_enter_methods[] = {
    {"enter", (PyCFunction)(void (*)(void))enter, FAST_KEYWORDS, enter_doc},
    {"run", (PyCFunction)(void (*)(void))run, FAST_KEYWORDS, run_doc},
    {"handling", (PyCFunction)(void (*)(void))handling, FAST_KEYWORDS, handling_doc},
    {NULL, NULL, 0, NULL},
};
