/* Generators, coroutines and asynchronous generators: made suspended anywhere, sent on anywhere,
 * and run by compiled code when they are resumed. */
#include "core.h"

#define GENERATOR_FLAGS (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)

/* The value to hand to the frame code for "the exception handled": NULL for None. -1, error set. */
static int
check_handled(PyObject **handled)
{
    if (*handled == Py_None) {
        *handled = NULL;
    } else if (!PyExceptionInstance_Check(*handled)) {
        PyErr_SetString(PyExc_TypeError, "handled must be an exception or None");
        return -1;
    }
    return 0;
}

/* Calls a generator function with the first slots as arguments, which makes a fresh generator.
 * Arguments borrowed, result new. */
static PyObject *
fresh_generator(PyObject *function, PyCodeObject *code, PyObject *locals)
{
    PyObject *kwnames = NULL;
    if (code->co_kwonlyargcount && (kwnames = suture_code_kwonly(code)) == NULL) {
        return NULL;
    }
    PyObject *const *args = ((PyTupleObject *)locals)->ob_item;
    return suture_function_call(function, args, code->co_argcount, kwnames);
}

PyDoc_STRVAR(suspend_doc,
             "suspend(function, offset, locals, stack, handled=None)\n--\n\n"
             "A generator, coroutine or asynchronous generator of function that is suspended at\n"
             "the YIELD_VALUE at byte offset; the stack is without the value that was yielded.");

static PyObject *
suspend(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"function", "offset", "locals", "stack", "handled", NULL};
    PyObject *function, *locals, *stack, *handled = Py_None;
    Py_ssize_t offset;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!nOO|O:suspend", names, &PyFunction_Type,
                                     &function, &offset, &locals, &stack, &handled) ||
        check_handled(&handled) < 0) {
        return NULL;
    }
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);
    if (!(code->co_flags & GENERATOR_FLAGS)) {
        PyErr_Format(PyExc_TypeError, "%U makes no generator", code->co_qualname);
        return NULL;
    }
    if (suture_check_state(code, offset, locals, stack) < 0) {
        return NULL;
    }
    int yields = suture_code_yields_at(code, (int)(offset / 2));
    if (yields < 0) {
        return NULL;
    }
    if (!yields) {
        PyErr_Format(PyExc_ValueError, "%U does not yield at offset %zd", code->co_qualname,
                     offset);
        return NULL;
    }
    PyObject *generator = fresh_generator(function, code, locals);
    if (generator == NULL) {
        return NULL;
    }
    suture_frame *frame = suture_generator_frame(generator);
    if (suture_frame_fill(frame, function, locals, stack, (int)(offset / 2), 0) < 0) {
        Py_DECREF(generator);
        return NULL;
    }
    suture_generator_suspend(generator, (int)(offset / 2), handled);
    return generator;
}

PyDoc_STRVAR(resume_at_doc,
             "resume_at(generator, offset, locals, stack, handled=None)\n--\n\n"
             "The next send() goes on at byte offset with these locals and this stack, the value\n"
             "sent on top of it; a throw() raises as if the instruction before had raised.");

static PyObject *
resume_at(PyObject *Py_UNUSED(module), PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"generator", "offset", "locals", "stack", "handled", NULL};
    PyObject *generator, *locals, *stack, *handled = Py_None;
    Py_ssize_t offset;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OnOO|O:resume_at", names, &generator, &offset,
                                     &locals, &stack, &handled) ||
        check_handled(&handled) < 0) {
        return NULL;
    }
    if (!PyGen_Check(generator) && !PyCoro_CheckExact(generator) &&
        !PyAsyncGen_CheckExact(generator)) {
        PyErr_Format(PyExc_TypeError, "a generator expected, not %.100s",
                     Py_TYPE(generator)->tp_name);
        return NULL;
    }
    suture_frame *frame = suture_generator_frame(generator);
    if (frame == NULL || suture_generator_running(generator)) {
        PyErr_SetString(PyExc_ValueError,
                        frame == NULL ? "the generator has finished" : "the generator is running");
        return NULL;
    }
    PyCodeObject *code = suture_frame_code(frame);
    int unit = (int)(offset / 2);
    if (suture_check_state(code, offset, locals, stack) < 0) {
        return NULL;
    }
    if (unit <= suture_code_prefix(code) || PyTuple_GET_SIZE(stack) >= code->co_stacksize) {
        PyErr_Format(PyExc_ValueError, "%U cannot be resumed at offset %zd", code->co_qualname,
                     offset);
        return NULL;
    }
    PyObject *function = suture_frame_function(frame);
    if (suture_frame_fill(frame, function, locals, stack, unit, 0) < 0) {
        return NULL;
    }
    suture_generator_suspend(generator, unit - 1, handled);
    Py_RETURN_NONE;
}

/* The state of a resumed frame: its function and all its slots, the sent value on top. Result: a
 * tuple, new; NULL with an error set. */
static PyObject *
state_of(suture_frame *frame)
{
    int used = suture_frame_used(frame);
    PyObject *state = PyTuple_New(used + 1);
    if (state == NULL) {
        return NULL;
    }
    PyTuple_SET_ITEM(state, 0, Py_NewRef(suture_frame_function(frame)));
    for (int i = 0; i < used; i++) {
        PyObject *value = suture_frame_slot(frame, i);
        if (value == NULL) {
            if (PyErr_Occurred()) {
                Py_DECREF(state);
                return NULL;
            }
            value = Py_NewRef(suture_unbound);
        }
        PyTuple_SET_ITEM(state, i + 1, value);
    }
    return state;
}

/* Refills the frame with what `leave` (stolen) says. 0, 1 if its exception is to be thrown into
 * the frame and is set, -1 with an error set that is to be thrown where the frame is. */
static int
follow_leave(PyThreadState *tstate, suture_frame *frame, PyObject *answer)
{
    suture_leave *leave = (suture_leave *)answer;
    PyCodeObject *code = suture_frame_code(frame);
    int unit = (int)(leave->offset / 2);
    int filled = -1;
    if (Py_TYPE(answer) != &suture_leave_type || leave->function != NULL) {
        PyErr_SetString(PyExc_TypeError, "compiled code of a generator must leave() to its frame");
    } else if (suture_check_state(code, leave->offset, leave->locals, leave->stack) == 0) {
        filled = suture_frame_fill(frame, suture_frame_function(frame), leave->locals, leave->stack,
                                   unit, 0);
    }
    if (filled == 0) {
        if (leave->handled != NULL) {
            PyObject *handled = leave->handled == Py_None ? NULL : leave->handled;
            Py_XSETREF(tstate->exc_info->exc_value, Py_XNewRef(handled));
        }
        if (leave->exc == NULL) {
            suture_frame_set_next(frame, unit);
        } else {
            suture_frame_set_raised(frame, unit);
            suture_raise_again(leave->exc);
            filled = 1;
        }
    }
    Py_DECREF(leave);
    return filled;
}

PyObject *
suture_generator_run(suture_thread *thread, PyThreadState *tstate, suture_frame *frame,
                     PyObject *point)
{
    PyObject *state = state_of(frame);
    if (state == NULL) {
        return _PyEval_EvalFrameDefault(tstate, frame, 1);
    }
    int active = thread->active;
    int compiled = suture_begin_compiled(thread);
    PyObject *answer = suture_trampoline_to_leave(thread, point, ((PyTupleObject *)state)->ob_item,
                                                  PyTuple_GET_SIZE(state));
    Py_DECREF(state);
    int raised = answer == NULL ? -1 : follow_leave(tstate, frame, answer);
    thread->active = 1;
    PyObject *result = _PyEval_EvalFrameDefault(tstate, frame, raised != 0);
    thread->active = active;
    thread->compiled = compiled;
    return result;
}

PyMethodDef suture_generator_methods[] = {
    {"suspend", (PyCFunction)(void (*)(void))suspend, METH_VARARGS | METH_KEYWORDS, suspend_doc},
    {"resume_at", (PyCFunction)(void (*)(void))resume_at, METH_VARARGS | METH_KEYWORDS,
     resume_at_doc},
    {NULL, NULL, 0, NULL},
};
