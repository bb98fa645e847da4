/* Checks on one object, and what "equals" means. */

#include "guards.h"
#include "core.h"

#include <string.h>

static bool
same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static int
same_attributes(PyObject *a, PyObject *b)
{
    static const char *const names[] = {"start", "stop", "step"};
    for (int i = 0; i < 3; i++) {
        PyObject *left = guard_get(a, names[i]);
        PyObject *right = left ? guard_get(b, names[i]) : NULL;
        int same = right ? guard_same_constant(left, right) : -1;
        Py_XDECREF(left);
        Py_XDECREF(right);
        if (same != 1) {
            return same;
        }
    }
    return 1;
}

static int
same_tuples(PyObject *a, PyObject *b)
{
    if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); i++) {
        int same = guard_same_constant(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i));
        if (same != 1) {
            return same;
        }
    }
    return 1;
}

/* Every element of one has its like, by type and value, in the other (sizes being equal
   and elements of a set being unequal, this is enough). */
static int
same_sets(PyObject *a, PyObject *b)
{
    if (PySet_GET_SIZE(a) != PySet_GET_SIZE(b)) {
        return 0;
    }
    PyObject *left = PySequence_Tuple(a), *right = left ? PySequence_Tuple(b) : NULL;
    int result = right ? 1 : -1;
    for (Py_ssize_t i = 0; result == 1 && i < PyTuple_GET_SIZE(left); i++) {
        result = 0;
        for (Py_ssize_t j = 0; result == 0 && j < PyTuple_GET_SIZE(right); j++) {
            result = guard_same_constant(PyTuple_GET_ITEM(left, i), PyTuple_GET_ITEM(right, j));
        }
    }
    Py_XDECREF(left);
    Py_XDECREF(right);
    return result;
}

/* 1 if the two cannot be told apart as constants: exact type and value, floats by their
   bits, tuples and frozensets by their elements; anything else by identity.  -1: error. */
int
guard_same_constant(PyObject *a, PyObject *b)
{
    if (a == b) {
        return 1;
    }
    PyTypeObject *type = Py_TYPE(a);
    if (type != Py_TYPE(b)) {
        return 0;
    }
    if (type == &PyLong_Type || type == &PyUnicode_Type || type == &PyBytes_Type) {
        return PyObject_RichCompareBool(a, b, Py_EQ);
    }
    if (type == &PyFloat_Type) {
        return same_bits(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
    }
    if (type == &PyComplex_Type) {
        Py_complex x = ((PyComplexObject *)a)->cval, y = ((PyComplexObject *)b)->cval;
        return same_bits(x.real, y.real) && same_bits(x.imag, y.imag);
    }
    int result = 0;
    if (Py_EnterRecursiveCall(" in a guard on a constant")) {
        return -1;
    }
    if (type == &PyTuple_Type || (PyTuple_Check(a) && guard_is_value_type(type))) {
        result = same_tuples(a, b);
    } else if (type == &PyFrozenSet_Type) {
        result = same_sets(a, b);
    } else if (type == &PyRange_Type || type == &PySlice_Type) {
        result = same_attributes(a, b);
    } else if (guard_is_value_type(type)) {
        result = PyObject_RichCompareBool(a, b, Py_EQ);
    }
    Py_LeaveRecursiveCall();
    return result;
}

static Py_ssize_t
length(PyObject *value)
{
    if (PyDict_Check(value)) {
        return PyDict_GET_SIZE(value);
    }
    if (PyList_Check(value) || PyTuple_Check(value)) {
        return Py_SIZE(value);
    }
    return PyObject_Size(value);
}

/* Keys in the order the user sees: an OrderedDict keeps its own. */
static int
same_keys(PyObject *value, PyObject *keys)
{
    if (!PyDict_Check(value) || PyDict_GET_SIZE(value) != PyTuple_GET_SIZE(keys)) {
        return 0;
    }
    PyObject *seen;
    if (!PyODict_Check(value)) {
        Py_ssize_t at = 0;
        PyObject *unused;
        for (Py_ssize_t i = 0;
             i < PyTuple_GET_SIZE(keys) && PyDict_Next(value, &at, &seen, &unused); i++) {
            Py_INCREF(seen);
            int same = guard_same_constant(seen, PyTuple_GET_ITEM(keys, i));
            Py_DECREF(seen);
            if (same != 1) {
                return same;
            }
        }
        return 1;
    }
    PyObject *order = PySequence_Tuple(value);
    int same = order ? same_tuples(order, keys) : -1;
    Py_XDECREF(order);
    return same;
}

/* An attribute that is there, or whose lookup fails otherwise than by AttributeError, fails. */
static int
lacks_attribute(PyObject *value, PyObject *name)
{
    PyObject *found = PyObject_GetAttr(value, name);
    if (found) {
        Py_DECREF(found);
        return 0;
    }
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) {
        return -1;
    }
    PyErr_Clear();
    return 1;
}

static int
predicate(PyObject *function, PyObject *value)
{
    PyObject *answer = PyObject_CallOneArg(function, value);
    int truth = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return truth;
}

static int
check_raw(const Check *check, PyObject *value)
{
    switch ((CheckKind)check->kind) {
    case CHECK_IS:
    case CHECK_WEAK:
        return value == check->arg;
    case CHECK_TYPE:
        return (PyObject *)Py_TYPE(value) == check->arg;
    case CHECK_EQUALS:
        return guard_same_constant(value, check->arg);
    case CHECK_LEN: {
        Py_ssize_t n = length(value);
        return n == -1 && PyErr_Occurred() ? -1 : n == check->count;
    }
    case CHECK_KEYS:
        return same_keys(value, check->arg);
    case CHECK_NO_KEY: {
        int in = PyDict_Check(value) ? PyDict_Contains(value, check->arg) : 1;
        return in < 0 ? -1 : !in;
    }
    case CHECK_NO_ATTR:
        return lacks_attribute(value, check->arg);
    case CHECK_TENSOR:
        return guard_tensor_holds(check->arg, value);
    case CHECK_INT:
        return PyLong_CheckExact(value);
    case CHECK_FLOAT:
        return PyFloat_CheckExact(value);
    case CHECK_BOOL:
        return PyBool_Check(value);
    case CHECK_UNBOUND:
        return value == suture_unbound;
    case CHECK_TRUTH:
        return predicate(check->arg, value);
    case CHECK_NO_MRO_ATTR:
        return PyType_Check(value) && !_PyType_Lookup((PyTypeObject *)value, check->arg);
    }
    Py_UNREACHABLE();
}

/* 1, 0, or -1 with an error that has to be passed on; what else user code raises is a 0. */
int
guard_check_holds(const Check *check, PyObject *value)
{
    int result = check_raw(check, value);
    return LIKELY(result >= 0) ? result : guard_swallow();
}

static PyObject *
type_name(PyObject *type)
{
    return PyType_Check(type) ? guard_get(type, "__qualname__") : PyObject_Repr(type);
}

static PyObject *
is_text(const char *format, PyObject *a, PyObject *b)
{
    PyObject *text = a && b ? PyUnicode_FromFormat(format, a, b) : NULL;
    Py_XDECREF(a);
    Py_XDECREF(b);
    return text;
}

static int prints_itself(PyObject *value, int depth);

/* Whether each of the objects of a list, tuple, dict or set prints itself. */
static int
items_print(PyObject *value, int depth)
{
    if (depth > 3 || PyObject_Size(value) > 64) {
        return 0;
    }
    if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++) {
            if (!prints_itself(PySequence_Fast_GET_ITEM(value, i), depth + 1)) {
                return 0;
            }
        }
        return 1;
    }
    if (PyDict_CheckExact(value)) {
        PyObject *key, *item;
        for (Py_ssize_t at = 0; PyDict_Next(value, &at, &key, &item);) {
            if (!prints_itself(key, depth + 1) || !prints_itself(item, depth + 1)) {
                return 0;
            }
        }
        return 1;
    }
    PyObject *items = PySequence_List(value);
    int result = items ? items_print(items, depth) : 0;
    Py_XDECREF(items);
    PyErr_Clear();
    return result;
}

/* Whether repr(value) runs no code of the program: what it prints may have effects. */
static int
prints_itself(PyObject *value, int depth)
{
    if (PyList_CheckExact(value) || PyTuple_CheckExact(value) || PyDict_CheckExact(value) ||
        PyAnySet_CheckExact(value)) {
        return items_print(value, depth);
    }
    if (PyType_Check(value)) {
        return Py_IS_TYPE(value, &PyType_Type);
    }
    PyObject *method = PyObject_GetAttrString((PyObject *)Py_TYPE(value), "__repr__");
    if (!method) {
        PyErr_Clear();
        return 0;
    }
    int plain = !PyFunction_Check(method);
    if (!plain) { /* of the standard library's enums is known to be harmless */
        PyObject *module = ((PyFunctionObject *)method)->func_module;
        plain = module && PyUnicode_Check(module) &&
                PyUnicode_CompareWithASCIIString(module, "enum") == 0;
    }
    Py_DECREF(method);
    if (!plain || PyDict_Check(value) || PyList_Check(value) || PyTuple_Check(value) ||
        PyAnySet_Check(value)) {
        return 0;
    }
    return 1;
}

/* repr, shortened, of what prints itself, else its type; never raises what repr raises. */
static PyObject *
short_repr(PyObject *value)
{
    PyObject *text = prints_itself(value, 0) ? PyObject_Repr(value) : NULL;
    if (!text) {
        PyErr_Clear();
        return PyUnicode_FromFormat("<%s object>", Py_TYPE(value)->tp_name);
    }
    if (PyUnicode_GET_LENGTH(text) <= 80) {
        return text;
    }
    PyObject *head = PyUnicode_Substring(text, 0, 77);
    Py_DECREF(text);
    PyObject *result = head ? PyUnicode_FromFormat("%U...", head) : NULL;
    Py_XDECREF(head);
    return result;
}

/* The keys of a dict, or those of a tuple, as a list; how many there are if they do not print
 * themselves. No code of the program runs. `keys` borrowed, result new. */
static PyObject *
key_texts(PyObject *keys)
{
    PyObject *list = PyDict_Check(keys) ? PyDict_Keys(keys) : PySequence_List(keys);
    if (list == NULL) {
        return NULL;
    }
    PyObject *text = prints_itself(list, 0)
                         ? short_repr(list)
                         : PyUnicode_FromFormat("%zd objects", PyList_GET_SIZE(list));
    Py_DECREF(list);
    return text;
}

/* New reference: what was expected of `value` and what it is now; NULL with an error. */
PyObject *
guard_check_text(const Check *check, PyObject *value)
{
    switch ((CheckKind)check->kind) {
    case CHECK_IS:
    case CHECK_EQUALS:
        return is_text("was %U, is %U", short_repr(check->arg), short_repr(value));
    case CHECK_WEAK:
        return is_text("was another %U, is %U", type_name((PyObject *)Py_TYPE(value)),
                       short_repr(value));
    case CHECK_TYPE:
        return is_text("type was %U, is %U", type_name(check->arg),
                       type_name((PyObject *)Py_TYPE(value)));
    case CHECK_LEN: {
        Py_ssize_t n = length(value);
        if (n == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            return PyUnicode_FromFormat("len was %zd, is not to be had", check->count);
        }
        return PyUnicode_FromFormat("len was %zd, is %zd", check->count, n);
    }
    case CHECK_KEYS:
        return is_text("keys were %U, are %U", key_texts(check->arg),
                       PyDict_Check(value) ? key_texts(value)
                                           : type_name((PyObject *)Py_TYPE(value)));
    case CHECK_NO_KEY:
        return is_text("key %U was not in it, is in it: %U", short_repr(check->arg),
                       short_repr(value));
    case CHECK_NO_ATTR:
    case CHECK_NO_MRO_ATTR:
        return PyUnicode_FromFormat("had no attribute %R, has one", check->arg);
    case CHECK_TENSOR: {
        PyObject *text = guard_tensor_mismatch(check->arg, value);
        if (text == Py_None) {
            Py_DECREF(text);
            return PyUnicode_FromString("the tensor differed");
        }
        return text;
    }
    case CHECK_INT:
    case CHECK_FLOAT:
    case CHECK_BOOL: {
        const char *was = check->kind == CHECK_INT     ? "int"
                          : check->kind == CHECK_FLOAT ? "float"
                                                       : "bool";
        return is_text("type was %U, is %U", PyUnicode_FromString(was),
                       type_name((PyObject *)Py_TYPE(value)));
    }
    case CHECK_UNBOUND:
        return is_text("was unbound, is %U%U", short_repr(value), PyUnicode_FromString(""));
    case CHECK_TRUTH:
        return is_text("%U is false of %U", short_repr(check->arg), short_repr(value));
    }
    Py_UNREACHABLE();
}
