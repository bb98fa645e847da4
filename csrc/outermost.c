/* The outermost call of compiled code on a thread: who wants to know is told before it begins. */
#include "core.h"

static PyObject *told; /* owned, NULL for nobody */

int
suture_begin_compiled(suture_thread *thread)
{
    int before = thread->compiled;
    thread->compiled = 1;
    if (before || told == NULL) {
        return before;
    }
    /* What is told has no say in the call: its errors are reported and dropped. */
    int active = thread->active;
    thread->active = 0;
    PyObject *callback = Py_NewRef(told);
    PyObject *answer = PyObject_CallNoArgs(callback);
    if (answer == NULL) {
        PyErr_WriteUnraisable(callback);
    }
    Py_XDECREF(answer);
    Py_DECREF(callback);
    thread->active = active;
    return before;
}

PyDoc_STRVAR(set_outermost_callback_doc,
             "set_outermost_callback(callback, /)\n--\n\n"
             "callback() is called when compiled code is entered from code that is not below\n"
             "compiled code of the same thread. Returns the callback before.");

static PyObject *
set_outermost_callback(PyObject *Py_UNUSED(module), PyObject *callback)
{
    if (callback != Py_None && !PyCallable_Check(callback)) {
        PyErr_SetString(PyExc_TypeError, "a callback must be callable or None");
        return NULL;
    }
    PyObject *before = told == NULL ? Py_NewRef(Py_None) : told;
    told = callback == Py_None ? NULL : Py_NewRef(callback);
    return before;
}

PyMethodDef suture_outermost_methods[] = {
    {"set_outermost_callback", set_outermost_callback, METH_O, set_outermost_callback_doc},
    {NULL, NULL, 0, NULL},
};
