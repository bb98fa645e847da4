/* Accessors, and the walk over nodes that looks at everything. */

#include "guards.h"

/* After a failed step: 0 with the error cleared, or -1 if it is one that must be passed on. */
int
guard_swallow(void)
{
    if (!PyErr_Occurred()) {
        return 0;
    }
    if (PyErr_ExceptionMatches(PyExc_MemoryError) || PyErr_ExceptionMatches(PyExc_RecursionError) ||
        !PyErr_ExceptionMatches(PyExc_Exception)) {
        return -1;
    }
    PyErr_Clear();
    return 0;
}

/* getattr by an interned name: the interpreter's method cache keeps a reference to each
   name that it has seen, so a fresh string every time would fill it.  New reference. */
PyObject *
guard_get(PyObject *object, const char *name)
{
    PyObject *interned = PyUnicode_InternFromString(name);
    PyObject *value = interned ? PyObject_GetAttr(object, interned) : NULL;
    Py_XDECREF(interned);
    return value;
}

/* The same for a call of a method without arguments. */
PyObject *
guard_call(PyObject *object, const char *name)
{
    PyObject *interned = PyUnicode_InternFromString(name);
    PyObject *value = interned ? PyObject_CallMethodNoArgs(object, interned) : NULL;
    Py_XDECREF(interned);
    return value;
}

static PyObject *
dict_item(PyObject *dict, PyObject *key)
{
    return dict && PyDict_Check(dict) ? Py_XNewRef(PyDict_GetItemWithError(dict, key)) : NULL;
}

static PyObject *
storage_item(PyObject *base, Py_ssize_t i)
{
    if (!base || !(PyTuple_Check(base) || PyList_Check(base))) {
        return NULL;
    }
    Py_ssize_t n = Py_SIZE(base);
    i = i < 0 ? i + n : i;
    if (i < 0 || i >= n) {
        return NULL;
    }
    return Py_NewRef(PyTuple_Check(base) ? PyTuple_GET_ITEM(base, i) : PyList_GET_ITEM(base, i));
}

static PyObject *
dict_key(PyObject *base, Py_ssize_t i)
{
    if (!PyDict_Check(base) || i < 0 || i >= PyDict_GET_SIZE(base)) {
        return NULL;
    }
    if (PyODict_Check(base)) {
        PyObject *keys = PySequence_Tuple(base);
        PyObject *key = keys ? storage_item(keys, i) : NULL;
        Py_XDECREF(keys);
        return key;
    }
    PyObject *key, *unused;
    Py_ssize_t at = 0;
    while (PyDict_Next(base, &at, &key, &unused)) {
        if (i-- == 0) {
            return Py_NewRef(key);
        }
    }
    return NULL;
}

static PyObject *
function_part(const Node *node, PyObject *base)
{
    if (!PyFunction_Check(base)) {
        return NULL;
    }
    PyFunctionObject *function = (PyFunctionObject *)base;
    switch (node->access) {
    case ACCESS_CLOSURE:
        return storage_item(function->func_closure, node->index);
    case ACCESS_DEFAULT:
        return storage_item(function->func_defaults, node->index);
    case ACCESS_KWDEFAULT:
        return dict_item(function->func_kwdefaults, node->arg);
    default:
        return Py_NewRef(function->func_code);
    }
}

/* New reference, or NULL: there is nothing there (an error may be set). */
PyObject *
guard_access(const Node *node, PyObject *base)
{
    switch ((AccessKind)node->access) {
    case ACCESS_SLOT:
    case ACCESS_PICK:
        break;
    case ACCESS_CONST:
        return Py_XNewRef(node->arg);
    case ACCESS_ATTR:
        return PyObject_GetAttr(base, node->arg);
    case ACCESS_DICT: {
        PyObject **dict = _PyObject_GetDictPtr(base);
        if (dict && !*dict) {
            return PyObject_GenericGetDict(base, NULL);
        }
        return dict ? Py_NewRef(*dict) : NULL;
    }
    case ACCESS_ITEM:
        return dict_item(base, node->arg);
    case ACCESS_INDEX:
        return storage_item(base, node->index);
    case ACCESS_CELL:
        return PyCell_Check(base) ? Py_XNewRef(PyCell_GET(base)) : NULL;
    case ACCESS_TYPE:
        return Py_NewRef(Py_TYPE(base));
    case ACCESS_GETITEM:
        return PyObject_GetItem(base, node->arg);
    case ACCESS_KEY:
        return dict_key(base, node->index);
    case ACCESS_CALL:
        return PyObject_CallOneArg(node->arg, base);
    case ACCESS_CLOSURE:
    case ACCESS_DEFAULT:
    case ACCESS_KWDEFAULT:
    case ACCESS_CODE:
        return function_part(node, base);
    case ACCESS_MRO_ATTR:
        return PyType_Check(base) ? Py_XNewRef(_PyType_Lookup((PyTypeObject *)base, node->arg))
                                  : NULL;
    }
    return NULL;
}

/* The item of a list or tuple at an index, or of a dict under an int or a text.  New reference, or
   NULL: there is none. */
PyObject *
guard_pick(PyObject *base, PyObject *index)
{
    if (!base || !index || !(PyLong_CheckExact(index) || PyUnicode_CheckExact(index))) {
        return NULL;
    }
    if (PyDict_CheckExact(base)) {
        PyObject *item = Py_XNewRef(PyDict_GetItemWithError(base, index));
        PyErr_Clear();
        return item;
    }
    if (!PyLong_CheckExact(index)) {
        return NULL;
    }
    Py_ssize_t at = PyLong_AsSsize_t(index);
    if (at == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return NULL;
    }
    return storage_item(base, at);
}

/* Notes the first failure; steals `text`, which may be NULL.  Returns 0, or -1 on an error. */
int
guard_fail(Run *run, int id, PyObject *text)
{
    run->failed = id;
    run->text = text;
    return run->explain && !text ? guard_swallow() : 0;
}

static int
check_failed(Run *run, const Check *check, PyObject *value)
{
    return guard_fail(run, check->id, run->explain ? guard_check_text(check, value) : NULL);
}

int
guard_explain_access(Run *run, const Node *node, PyObject *base)
{
    static const char *const what[] = {
        "slot", "constant",        "attribute", "__dict__", "item",    "index",   "cell contents",
        "type", "subscript",       "key",       "call",     "closure", "default", "keyword default",
        "code", "class attribute", "item",
    };
    PyObject *text = NULL;
    if (run->explain) {
        const char *type = base ? Py_TYPE(base)->tp_name : "state";
        text = node->arg ? PyUnicode_FromFormat("%s %R was there, is gone from this %s",
                                                what[node->access], node->arg, type)
                         : PyUnicode_FromFormat("%s %zd was there, is gone from this %s",
                                                what[node->access], node->index, type);
    }
    return guard_fail(run, node->id, text);
}

/* Keeps the value of a labelled node and reads its symbols. */
int
guard_note_value(Run *run, int label, PyObject *value)
{
    Program *program = run->program;
    Py_XSETREF(run->values[label], Py_NewRef(value));
    for (int s = program->label_symbols[label]; s >= 0; s = program->symbols[s].next) {
        Py_CLEAR(run->symbols[s].object);
        int got = guard_read_symbol(&program->symbols[s], value, &run->symbols[s]);
        if (got < 0) {
            return guard_swallow();
        }
        if (!got) {
            return 0;
        }
    }
    return 1;
}

int
guard_children(Run *run, int index, PyObject *value)
{
    Program *program = run->program;
    int end = program->nodes[index].end;
    for (int child = index + 1; child < end; child = program->nodes[child].end) {
        PyObject *inner = guard_access(&program->nodes[child], value);
        if (!inner) {
            int result = guard_swallow();
            return result < 0 ? -1 : guard_explain_access(run, &program->nodes[child], value);
        }
        int result = guard_walk(run, child, inner);
        Py_DECREF(inner);
        if (result != 1) {
            return result;
        }
    }
    return 1;
}

/* Runs the checks of node `index` on `value` (borrowed), then its subtree. */
int
guard_walk(Run *run, int index, PyObject *value)
{
    Program *program = run->program;
    const Node *node = &program->nodes[index];
    if (node->anchor && !run->walk) {
        return guard_anchor(run, index, value);
    }
    const Check *check = &program->checks[node->checks];
    for (int i = 0; i < node->n_checks; i++, check++) {
        int holds = guard_check_holds(check, value);
        if (UNLIKELY(holds != 1)) {
            return holds < 0 ? -1 : check_failed(run, check, value);
        }
    }
    if (node->label >= 0) {
        int noted = guard_note_value(run, node->label, value);
        if (noted != 1) {
            return noted < 0 ? -1 : guard_fail(run, node->id, NULL);
        }
    }
    return node->end == index + 1 ? 1 : guard_children(run, index, value);
}
