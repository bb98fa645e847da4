/* The outermost call of compiled code on a thread: who wants to know is told before it begins. */
#include "core.h"

static PyObject *told;           /* owned, NULL for nobody */
static unsigned long long begun; /* outermost calls of all threads so far */

int
suture_begin_compiled(suture_thread *thread)
{
    int before = thread->compiled;
    thread->compiled = 1;
    if (before) {
        return before;
    }
    begun++;
    if (told == NULL) {
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

PyDoc_STRVAR(outermost_calls_doc,
             "outermost_calls()\n--\n\n"
             "How many outermost calls of compiled code have begun in this process: within one of\n"
             "them it is the same number, unless other threads call too.");

static PyObject *
outermost_calls(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromUnsignedLongLong(begun);
}

PyMethodDef suture_outermost_methods[] = {
    {"outermost_calls", outermost_calls, METH_NOARGS, outermost_calls_doc},
    {"set_outermost_callback", set_outermost_callback, METH_O, set_outermost_callback_doc},
    {NULL, NULL, 0, NULL},
};
