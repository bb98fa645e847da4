/* Binding of arguments to slots, exactly as CPython binds them for a function. */
#include "core.h"

/* Index of the parameter that takes keyword `name` (positional-only ones do not), or -1 if there
 * is none, or -2 with an error set. Arguments borrowed. */
static Py_ssize_t
parameter_index(PyCodeObject *code, PyObject *name)
{
    PyObject *names = code->co_localsplusnames;
    Py_ssize_t first = code->co_posonlyargcount;
    Py_ssize_t count = code->co_argcount + code->co_kwonlyargcount;
    for (Py_ssize_t i = first; i < count; i++) {
        if (PyTuple_GET_ITEM(names, i) == name) {
            return i;
        }
    }
    for (Py_ssize_t i = first; i < count; i++) {
        int same = PyObject_RichCompareBool(name, PyTuple_GET_ITEM(names, i), Py_EQ);
        if (same != 0) {
            return same < 0 ? -2 : i;
        }
    }
    return -1;
}

/* Fills slots from keywords; the rest goes into `extra` (borrowed; NULL if there is no **kwargs).
 * Arguments borrowed. Returns as suture_bind. */
static int
bind_keywords(PyCodeObject *code, PyObject *const *values, PyObject *kwnames, PyObject *extra,
              PyObject **slots)
{
    Py_ssize_t count = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, k);
        if (!PyUnicode_Check(name)) {
            return 0;
        }
        Py_ssize_t i = parameter_index(code, name);
        if (i == -2) {
            return -1;
        }
        if (i >= 0) {
            if (slots[i] != NULL) {
                return 0;
            }
            slots[i] = Py_NewRef(values[k]);
        } else if (extra == NULL) {
            return 0;
        } else if (PyDict_SetItem(extra, name, values[k]) < 0) {
            return -1;
        }
    }
    return 1;
}

/* Fills what is still empty from the function's defaults. Arguments borrowed. Returns as
 * suture_bind. */
static int
bind_defaults(PyObject *function, PyCodeObject *code, PyObject **slots)
{
    PyObject *defaults = PyFunction_GET_DEFAULTS(function);
    Py_ssize_t given = defaults == NULL ? 0 : PyTuple_GET_SIZE(defaults);
    Py_ssize_t argcount = code->co_argcount;
    for (Py_ssize_t i = 0; i < argcount; i++) {
        Py_ssize_t d = i - (argcount - given);
        if (slots[i] != NULL) {
            continue;
        }
        if (d < 0) {
            return 0;
        }
        slots[i] = Py_NewRef(PyTuple_GET_ITEM(defaults, d));
    }
    PyObject *kwdefaults = PyFunction_GET_KW_DEFAULTS(function);
    for (Py_ssize_t i = argcount; i < argcount + code->co_kwonlyargcount; i++) {
        if (slots[i] != NULL) {
            continue;
        }
        PyObject *value = NULL;
        if (kwdefaults != NULL) {
            PyObject *name = PyTuple_GET_ITEM(code->co_localsplusnames, i);
            value = PyDict_GetItemWithError(kwdefaults, name);
            if (value == NULL && PyErr_Occurred()) {
                return -1;
            }
        }
        if (value == NULL) {
            return 0;
        }
        slots[i] = Py_NewRef(value);
    }
    return 1;
}

/* The *args tuple from the arguments beyond `taken` (borrowed). New; NULL with an error set. */
static PyObject *
rest_of_arguments(PyObject *const *args, Py_ssize_t nargs, Py_ssize_t taken)
{
    Py_ssize_t size = nargs > taken ? nargs - taken : 0;
    PyObject *rest = PyTuple_New(size);
    for (Py_ssize_t i = 0; rest != NULL && i < size; i++) {
        PyTuple_SET_ITEM(rest, i, Py_NewRef(args[taken + i]));
    }
    return rest;
}

/* suture_bind, with `slots` zeroed and left as they are on failure. */
static int
bind(PyObject *function, PyCodeObject *code, PyObject *const *args, Py_ssize_t nargs,
     PyObject *kwnames, PyObject **slots)
{
    Py_ssize_t taken = nargs < code->co_argcount ? nargs : code->co_argcount;
    Py_ssize_t next = code->co_argcount + code->co_kwonlyargcount;
    for (Py_ssize_t i = 0; i < taken; i++) {
        slots[i] = Py_NewRef(args[i]);
    }
    if (code->co_flags & CO_VARARGS) {
        slots[next] = rest_of_arguments(args, nargs, taken);
        if (slots[next++] == NULL) {
            return -1;
        }
    } else if (nargs > taken) {
        return 0;
    }
    PyObject *extra = NULL;
    if (code->co_flags & CO_VARKEYWORDS) {
        extra = slots[next] = PyDict_New();
        if (extra == NULL) {
            return -1;
        }
    }
    int bound = bind_keywords(code, args + nargs, kwnames, extra, slots);
    return bound > 0 ? bind_defaults(function, code, slots) : bound;
}

int
suture_bind(PyObject *function, PyCodeObject *code, PyObject *const *args, Py_ssize_t nargs,
            PyObject *kwnames, PyObject **slots)
{
    int count = suture_slot_count(code);
    memset(slots, 0, count * sizeof(PyObject *));
    int bound = bind(function, code, args, nargs, kwnames, slots);
    if (bound <= 0) {
        for (int i = 0; i < count; i++) {
            Py_CLEAR(slots[i]);
        }
    }
    return bound;
}
