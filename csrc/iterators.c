/* What guards read of the iterators of loops: how many elements are to come, and which dict they
 * are of. Nothing is consumed, and no code of the program runs: of other types than these, and of
 * what they go over, nothing is asked. */
#include "core.h"

enum { KEYS, VALUES, ITEMS, COUNTED = 7 };

/* The types whose iterators count what is to come: those of dicts first, in the order above. */
static PyTypeObject *counted[COUNTED];

static PyObject *reduce_name, *hint_name;

/* The type of iter(of) (stolen; NULL with an error set), borrowed from the interpreter, which has
 * it for good. NULL with an error set. */
static PyTypeObject *
type_of_iterator(PyObject *of)
{
    PyObject *iterator = of == NULL ? NULL : PyObject_GetIter(of);
    PyTypeObject *type = iterator == NULL ? NULL : Py_TYPE(iterator);
    Py_XDECREF(iterator);
    Py_XDECREF(of);
    return type;
}

/* A view of an empty dict. New; NULL with an error set. */
static PyObject *
empty_view(const char *method)
{
    PyObject *dict = PyDict_New();
    PyObject *view = dict == NULL ? NULL : PyObject_CallMethod(dict, method, NULL);
    Py_XDECREF(dict);
    return view;
}

int
suture_iterators_init(void)
{
    counted[KEYS] = &PyDictIterKey_Type;
    counted[VALUES] = type_of_iterator(empty_view("values"));
    counted[ITEMS] = type_of_iterator(empty_view("items"));
    counted[3] = type_of_iterator(PyList_New(0));
    counted[4] = type_of_iterator(PyTuple_New(0));
    counted[5] = type_of_iterator(PyObject_CallFunction((PyObject *)&PyRange_Type, "i", 0));
    counted[6] = type_of_iterator(PyUnicode_FromString(""));
    for (int i = 0; i < COUNTED; i++) {
        if (counted[i] == NULL) {
            return -1;
        }
    }
    reduce_name = PyUnicode_InternFromString("__reduce__");
    hint_name = PyUnicode_InternFromString("__length_hint__");
    return reduce_name == NULL || hint_name == NULL ? -1 : 0;
}

/* Which of the types an iterator has, or -1. */
static int
kind_of(PyObject *iterator)
{
    for (int i = 0; i < COUNTED; i++) {
        if (Py_IS_TYPE(iterator, counted[i])) {
            return i;
        }
    }
    return -1;
}

/* The arguments of which a builtin iterator says that it can be made: a tuple, new; NULL with an
 * error set. */
static PyObject *
made_of(PyObject *iterator)
{
    PyObject *parts = PyObject_CallMethodNoArgs(iterator, reduce_name);
    PyObject *arguments = NULL;
    if (parts != NULL && PyTuple_Check(parts) && PyTuple_GET_SIZE(parts) > 1 &&
        PyTuple_Check(PyTuple_GET_ITEM(parts, 1))) {
        arguments = Py_NewRef(PyTuple_GET_ITEM(parts, 1));
    } else if (parts != NULL) {
        PyErr_SetString(PyExc_TypeError, "a builtin iterator expected");
    }
    Py_XDECREF(parts);
    return arguments;
}

PyDoc_STRVAR(coming_of_doc,
             "coming_of(iterator, /)\n--\n\n"
             "How many elements an iterator counts as still to come; -1 where it does not count.");

static PyObject *
coming_of(PyObject *Py_UNUSED(module), PyObject *iterator)
{
    Py_INCREF(iterator);
    while (Py_IS_TYPE(iterator, &PyZip_Type) || Py_IS_TYPE(iterator, &PyEnum_Type)) {
        PyObject *inners = made_of(iterator);
        int none = inners != NULL && PyTuple_GET_SIZE(inners) == 0;
        PyObject *inner = inners == NULL || none ? NULL : Py_NewRef(PyTuple_GET_ITEM(inners, 0));
        Py_XDECREF(inners);
        Py_SETREF(iterator, inner);
        if (inner == NULL) {
            return none ? PyLong_FromLong(-1) : NULL;
        }
    }
    PyObject *result = kind_of(iterator) < 0 ? PyLong_FromLong(-1)
                                             : PyObject_CallMethodNoArgs(iterator, hint_name);
    Py_DECREF(iterator);
    return result;
}

/* Keeps the first dict that an iterator refers to, borrowed. */
static int
keep_dict(PyObject *referent, void *found)
{
    if (*(PyObject **)found == NULL && PyDict_Check(referent)) {
        *(PyObject **)found = referent;
    }
    return 0;
}

/* The dict that an iterator goes over: borrowed from it, NULL once it is through. */
static PyObject *
find_dict(PyObject *iterator)
{
    PyObject *found = NULL;
    if (kind_of(iterator) >= 0 && Py_TYPE(iterator)->tp_traverse != NULL) {
        Py_TYPE(iterator)->tp_traverse(iterator, keep_dict, &found);
    }
    return found;
}

PyDoc_STRVAR(dict_of_doc, "dict_of(iterator, /)\n--\n\n"
                          "The dict an iterator goes over; None once it is through.");

static PyObject *
dict_of(PyObject *Py_UNUSED(module), PyObject *iterator)
{
    PyObject *found = find_dict(iterator);
    return Py_NewRef(found == NULL ? Py_None : found);
}

/* Whether `left` (what an iterator of this kind would give) is what the dict has at a position. */
static int
is_at(int kind, PyObject *left, PyObject *key, PyObject *value)
{
    if (kind == ITEMS) { /* whose pairs are made anew each time */
        return PyTuple_CheckExact(left) && PyTuple_GET_SIZE(left) == 2 &&
               PyTuple_GET_ITEM(left, 0) == key && PyTuple_GET_ITEM(left, 1) == value;
    }
    return left == (kind == KEYS ? key : value);
}

/* Whether the list `left` is what the dict ends with. Arguments borrowed. */
static int
ends_with(PyObject *dict, int kind, PyObject *left)
{
    Py_ssize_t before = PyDict_GET_SIZE(dict) - PyList_GET_SIZE(left), at = 0, i = 0;
    PyObject *key, *value;
    if (before < 0) {
        return 0;
    }
    while (PyDict_Next(dict, &at, &key, &value)) {
        if (before > 0) {
            before--;
        } else if (!is_at(kind, PyList_GET_ITEM(left, i++), key, value)) {
            return 0;
        }
    }
    return i == PyList_GET_SIZE(left);
}

PyDoc_STRVAR(
    left_of_doc,
    "left_of(iterator, /)\n--\n\n"
    "How many of its dict's keys, counted from the end, an iterator has before it. -1: it\n"
    "is through; None: the dict has got other keys since it was made.");

static PyObject *
left_of(PyObject *Py_UNUSED(module), PyObject *iterator)
{
    int kind = kind_of(iterator);
    PyObject *dict = find_dict(iterator);
    if (dict == NULL) {
        return PyLong_FromLong(-1);
    }
    Py_INCREF(dict); /* making the list may collect garbage */
    PyObject *arguments = made_of(iterator), *result = NULL;
    PyObject *left = arguments != NULL && PyTuple_GET_SIZE(arguments) == 1
                         ? PyTuple_GET_ITEM(arguments, 0)
                         : NULL;
    if (left != NULL && PyList_CheckExact(left)) {
        result = ends_with(dict, kind, left) ? PyLong_FromSsize_t(PyList_GET_SIZE(left))
                                             : Py_NewRef(Py_None);
    } else if (arguments != NULL) {
        PyErr_SetString(PyExc_TypeError, "an iterator of a dict expected");
    }
    Py_XDECREF(arguments);
    Py_DECREF(dict);
    return result;
}

PyMethodDef suture_iterator_methods[] = {
    {"coming_of", coming_of, METH_O, coming_of_doc},
    {"dict_of", dict_of, METH_O, dict_of_doc},
    {"left_of", left_of, METH_O, left_of_doc},
    {NULL, NULL, 0, NULL},
};
