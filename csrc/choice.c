/* Who has a say before a variant that fits is run: ranks of a group that decide together. */
#include "core.h"

static PyObject *asked; /* owned, NULL for nobody */

int
suture_choice_stands(PyObject *point, PyObject *const *state, Py_ssize_t n)
{
    if (asked == NULL) {
        return 1;
    }
    PyObject *tuple = PyTuple_New(n);
    if (tuple == NULL) {
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(state[i]));
    }
    PyObject *callback = Py_NewRef(asked);
    PyObject *const args[] = {point, tuple};
    PyObject *answer = PyObject_Vectorcall(callback, args, 2, NULL);
    int holds = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    Py_DECREF(callback);
    Py_DECREF(tuple);
    return holds;
}

PyDoc_STRVAR(set_choice_callback_doc,
             "set_choice_callback(callback, /)\n--\n\n"
             "callback(point, state) is asked before a variant that fits is run; if it says no,\n"
             "it is as if none had fitted. Returns the callback before.");

static PyObject *
set_choice_callback(PyObject *Py_UNUSED(module), PyObject *callback)
{
    if (callback != Py_None && !PyCallable_Check(callback)) {
        PyErr_SetString(PyExc_TypeError, "a callback must be callable or None");
        return NULL;
    }
    PyObject *before = asked == NULL ? Py_NewRef(Py_None) : asked;
    asked = callback == Py_None ? NULL : Py_NewRef(callback);
    return before;
}

PyMethodDef suture_choice_methods[] = {
    {"set_choice_callback", set_choice_callback, METH_O, set_choice_callback_doc},
    {NULL, NULL, 0, NULL},
};
