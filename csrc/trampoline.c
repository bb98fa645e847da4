/* The trampoline: dispatch at a point, follow the jumps of its variants without recursion, and
 * enter the frame that the last of them leaves to. */
#include "core.h"

/* Signals are served by the variants (Python functions); this many jumps between C callables. */
#define JUMPS_BETWEEN_SIGNALS 256

/* What is called around each variant: enter(point, variant) gives what leave(it) gets. Both are
 * NULL unless somebody looks, and owned. */
static PyObject *around_enter, *around_leave;

/* Runs the variant while somebody looks. Arguments borrowed, result new. The hooks are kept for the
 * length of the call: the variant may take them away. An error of theirs is only reported. */
static PyObject *
run_looked_at(PyObject *point, PyObject *variant, PyObject *const *state, Py_ssize_t n)
{
    PyObject *enter = Py_NewRef(around_enter), *leave = Py_NewRef(around_leave);
    PyObject *both[] = {point, variant};
    PyObject *token = PyObject_Vectorcall(enter, both, 2, NULL);
    if (token == NULL) {
        PyErr_WriteUnraisable(enter);
    }
    PyObject *result = PyObject_Vectorcall(variant, state, n, NULL);
    if (token != NULL) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyObject *done = PyObject_CallOneArg(leave, token);
        if (done == NULL) {
            PyErr_WriteUnraisable(leave);
        }
        Py_XDECREF(done);
        PyErr_Restore(type, value, traceback);
    }
    Py_XDECREF(token);
    Py_DECREF(enter);
    Py_DECREF(leave);
    return result;
}

PyDoc_STRVAR(set_around_doc, "set_around(enter, leave, /)\n--\n\n"
                             "Call these around each variant; None, None: nothing is called.");

static PyObject *
set_around(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *enter, *leave;
    if (!PyArg_ParseTuple(args, "OO:set_around", &enter, &leave)) {
        return NULL;
    }
    int none = enter == Py_None || leave == Py_None;
    Py_XSETREF(around_enter, none ? NULL : Py_NewRef(enter));
    Py_XSETREF(around_leave, none ? NULL : Py_NewRef(leave));
    Py_RETURN_NONE;
}

PyMethodDef suture_around_methods[] = {
    {"set_around", set_around, METH_VARARGS, set_around_doc},
    {NULL, NULL, 0, NULL},
};

/* Runs the variant for this state. Arguments borrowed, result new. */
static PyObject *
dispatch(PyObject *point, PyObject *const *state, Py_ssize_t n)
{
    PyObject *variant = suture_point_choose(point, state, n);
    if (variant == NULL) {
        return NULL;
    }
    PyObject *result = around_enter == NULL ? PyObject_Vectorcall(variant, state, n, NULL)
                                            : run_looked_at(point, variant, state, n);
    Py_DECREF(variant);
    return result;
}

/* Dispatches and follows jumps. Arguments borrowed, result new and not a Jump. */
static PyObject *
follow(PyObject *point, PyObject *const *state, Py_ssize_t n)
{
    PyObject *result = dispatch(point, state, n);
    unsigned turns = 0;
    while (result != NULL && Py_TYPE(result) == &suture_jump_type) {
        PyObject *jump = result;
        if (++turns % JUMPS_BETWEEN_SIGNALS == 0 && PyErr_CheckSignals() < 0) {
            result = NULL;
        } else {
            result =
                dispatch(suture_jump_point(jump), suture_jump_state(jump), suture_jump_size(jump));
        }
        Py_DECREF(jump);
    }
    return result;
}

/* Enters the frame that a variant left to. `leave` is stolen, result new. */
static PyObject *
perform_leave(suture_leave *leave)
{
    PyObject *result = NULL;
    if (leave->function == NULL) {
        PyErr_SetString(PyExc_TypeError, "leave() needs a function outside of a generator frame");
    } else {
        /* Values nobody else can reach any more move into the frame, which can then drop them. */
        int own_stack = PyTuple_GET_SIZE(leave->stack) == 0 || Py_REFCNT(leave->stack) == 1;
        int move = Py_REFCNT(leave) == 1 && Py_REFCNT(leave->locals) == 1 && own_stack;
        PyObject *handled = leave->handled == Py_None ? NULL : leave->handled;
        result = suture_enter(leave->function, leave->offset, leave->locals, leave->stack,
                              leave->exc, handled, move);
    }
    Py_DECREF(leave);
    return result;
}

static PyObject *
trampoline(suture_thread *thread, PyObject *point, PyObject *const *state, Py_ssize_t n,
           int performs)
{
    if (Py_EnterRecursiveCall(" in a compiled function")) {
        return NULL;
    }
    suture_thread saved = *thread;
    PyThreadState *tstate = PyThreadState_Get();
    thread->active = 0;
    thread->below = suture_current_frame(tstate);
    thread->exc_item = tstate->exc_info;
    thread->exc_base = thread->exc_item->exc_value;
    PyObject *result = follow(point, state, n);
    if (performs && result != NULL && Py_TYPE(result) == &suture_leave_type) {
        result = perform_leave((suture_leave *)result);
    }
    if (saved.active) {
        suture_hook_recheck();
    }
    thread->active = saved.active;
    thread->exc_item = saved.exc_item;
    thread->exc_base = saved.exc_base;
    thread->below = saved.below;
    Py_LeaveRecursiveCall();
    return result;
}

PyObject *
suture_trampoline(suture_thread *thread, PyObject *point, PyObject *const *state, Py_ssize_t n)
{
    return trampoline(thread, point, state, n, 1);
}

PyObject *
suture_trampoline_to_leave(suture_thread *thread, PyObject *point, PyObject *const *state,
                           Py_ssize_t n)
{
    return trampoline(thread, point, state, n, 0);
}

PyDoc_STRVAR(run_point_doc, "run_point(point, /, *state)\n--\n\n"
                            "Dispatch at point and follow jumps until a value comes.");

static PyObject *
run_point(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs < 1 || Py_TYPE(args[0]) != &suture_point_type) {
        PyErr_SetString(PyExc_TypeError, "run_point() needs a Point");
        return NULL;
    }
    return suture_trampoline(&suture_this_thread, args[0], args + 1, nargs - 1);
}

PyMethodDef suture_point_methods[] = {
    {"run_point", (PyCFunction)(void (*)(void))run_point, METH_FASTCALL, run_point_doc},
    {NULL, NULL, 0, NULL},
};
