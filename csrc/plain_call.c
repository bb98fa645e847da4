/* call_plainly: what takes the state at the start of a function that compiles nothing. No frame of
 * ours is on the stack while the function runs. */
#include "core.h"

/* The keyword arguments: those in `slots` and, if there is one, the dictionary behind them. All
 * arguments borrowed, `more` may be NULL; result new, NULL with an error set. */
static PyObject *
keywords(PyCodeObject *code, PyObject *const *slots, PyObject *more)
{
    PyObject *result = more == NULL ? PyDict_New() : PyDict_Copy(more);
    PyObject *names = code->co_kwonlyargcount ? suture_code_kwonly(code) : NULL;
    for (int i = 0; result != NULL && i < code->co_kwonlyargcount; i++) {
        if (names == NULL ||
            PyDict_SetItem(result, PyTuple_GET_ITEM(names, i), slots[code->co_argcount + i]) < 0) {
            Py_CLEAR(result);
        }
    }
    return result;
}

/* The positional arguments: those in `slots`, and the tuple behind the keyword-only ones, if there
 * is one. All arguments borrowed, `more` may be NULL; result new, NULL with an error set. */
static PyObject *
positional(PyCodeObject *code, PyObject *const *slots, PyObject *more)
{
    Py_ssize_t count = code->co_argcount, behind = more == NULL ? 0 : PyTuple_GET_SIZE(more);
    PyObject *result = PyTuple_New(count + behind);
    for (Py_ssize_t i = 0; result != NULL && i < count + behind; i++) {
        PyObject *value = i < count ? slots[i] : PyTuple_GET_ITEM(more, i - count);
        PyTuple_SET_ITEM(result, i, Py_NewRef(value));
    }
    return result;
}

/* A function with keyword-only, starred or double-starred parameters. Arguments borrowed, result
 * new. */
static PyObject *
call_in_full(PyObject *function, PyCodeObject *code, PyObject *const *slots)
{
    int next = code->co_argcount + code->co_kwonlyargcount;
    PyObject *starred = code->co_flags & CO_VARARGS ? slots[next++] : NULL;
    PyObject *named = code->co_flags & CO_VARKEYWORDS ? slots[next] : NULL;
    if ((starred != NULL && !PyTuple_Check(starred)) || (named != NULL && !PyDict_Check(named))) {
        PyErr_SetString(PyExc_TypeError, "call_plainly() needs a tuple and a dict there");
        return NULL;
    }
    PyObject *args = positional(code, slots, starred), *kwargs = keywords(code, slots, named);
    PyObject *result = NULL;
    if (args != NULL && kwargs != NULL) {
        result = PyObject_Call(function, args, kwargs);
    }
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    return result;
}

PyDoc_STRVAR(call_plainly_doc,
             "call_plainly(function, /, *slots)\n--\n\n"
             "Take the state at the start of a function: Python runs it, and all that it calls.");

static PyObject *
call_plainly(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs < 1 || !PyFunction_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "call_plainly() needs a function");
        return NULL;
    }
    PyObject *function = args[0];
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);
    if (nargs - 1 != suture_slot_count(code)) {
        PyErr_Format(PyExc_TypeError, "%U has %d slots, not %zd", code->co_qualname,
                     suture_slot_count(code), nargs - 1);
        return NULL;
    }
    suture_thread *thread = &suture_this_thread;
    int active = thread->active;
    thread->active = 0;
    PyObject *result;
    if (nargs - 1 == code->co_argcount) {
        result = PyObject_Vectorcall(function, args + 1, nargs - 1, NULL);
    } else {
        result = call_in_full(function, code, args + 1);
    }
    thread->active = active;
    return result;
}

PyMethodDef suture_plain_call_methods[] = {
    {"call_plainly", (PyCFunction)(void (*)(void))call_plainly, METH_FASTCALL, call_plainly_doc},
    {NULL, NULL, 0, NULL},
};
