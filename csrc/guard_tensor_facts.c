/* The slow, complete way to look at a tensor: as Python sees it. */

#include "guard_tensor.h"

TensorAccess guard_torch;

void
guard_drop_facts(Facts *facts)
{
    Py_CLEAR(facts->dtype);
    Py_CLEAR(facts->device);
    Py_CLEAR(facts->layout);
}

/* A bool attribute, or the answer of a method; false where the tensor has none to give. */
static int
flag(PyObject *tensor, const char *name, bool call, bool *out)
{
    PyObject *value = guard_get(tensor, name);
    if (value && call) {
        Py_SETREF(value, PyObject_CallNoArgs(value));
    }
    int truth = value ? PyObject_IsTrue(value) : -1;
    Py_XDECREF(value);
    *out = truth == 1;
    return truth < 0 ? guard_swallow() : 0;
}

/* Reads a sequence of ints.  *there is false where there are none (sparse, nested). */
static int
numbers(PyObject *items, int64_t *out, int *n, bool *there)
{
    *there = false;
    PyObject *tuple = items ? PySequence_Tuple(items) : NULL;
    Py_XDECREF(items);
    if (!tuple || PyTuple_GET_SIZE(tuple) > MAX_DIMS) {
        Py_XDECREF(tuple);
        return guard_swallow();
    }
    *n = (int)PyTuple_GET_SIZE(tuple);
    *there = true;
    for (int i = 0; i < *n; i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        out[i] = PyLong_Check(item) ? PyLong_AsLongLong(item) : -1;
        *there = *there && PyLong_Check(item) && !PyErr_Occurred();
    }
    Py_DECREF(tuple);
    return guard_swallow();
}

/* The raw bits of the dispatch key set.  0, or -1 with an error. */
int
guard_dispatch_keys(PyObject *tensor, uint64_t *out)
{
    PyObject *set = PyObject_CallOneArg(guard_torch.keys, tensor);
    PyObject *raw = set ? guard_call(set, "raw_repr") : NULL;
    *out = raw ? PyLong_AsUnsignedLongLongMask(raw) : 0;
    Py_XDECREF(set);
    Py_XDECREF(raw);
    return PyErr_Occurred() ? -1 : 0;
}

static int
read_all(PyObject *tensor, Facts *out)
{
    out->dtype = guard_get(tensor, "dtype");
    out->device = out->dtype ? guard_get(tensor, "device") : NULL;
    out->layout = out->device ? guard_get(tensor, "layout") : NULL;
    if (!out->layout) {
        return -1;
    }
    int n = 0;
    if (numbers(guard_get(tensor, "shape"), out->sizes, &out->ndim, &out->has_sizes) < 0 ||
        numbers(guard_call(tensor, "stride"), out->strides, &n, &out->has_strides) < 0) {
        return -1;
    }
    out->has_strides = out->has_strides && n == out->ndim;
    if (guard_dispatch_keys(tensor, &out->keys) < 0) {
        return -1;
    }
    if (flag(tensor, "requires_grad", false, &out->requires_grad) < 0 ||
        flag(tensor, "is_conj", true, &out->conj) < 0 ||
        flag(tensor, "is_neg", true, &out->neg) < 0 ||
        flag(tensor, "is_inference", true, &out->inference) < 0) {
        return -1;
    }
    return 0;
}

/* Fills `out` (to be dropped by the caller, also after -1) with __torch_function__ off. */
int
guard_read_facts(PyObject *tensor, Facts *out)
{
    *out = (Facts){0};
    PyObject *disabled = guard_torch.disable_torch_function
                             ? PyObject_CallNoArgs(guard_torch.disable_torch_function)
                             : NULL;
    PyObject *entered = disabled ? guard_call(disabled, "__enter__") : NULL;
    if (!entered) {
        Py_XDECREF(disabled);
        return -1;
    }
    int result = read_all(tensor, out);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *leave = guard_get(disabled, "__exit__");
    PyObject *left =
        leave ? PyObject_CallFunctionObjArgs(leave, Py_None, Py_None, Py_None, NULL) : NULL;
    Py_XDECREF(leave);
    if (left) {
        PyErr_Restore(type, value, traceback);
    } else {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        result = -1;
    }
    Py_XDECREF(left);
    Py_DECREF(entered);
    Py_DECREF(disabled);
    return result;
}

static PyObject *
flag_text(const char *name, bool was)
{
    return PyUnicode_FromFormat("%s was %s, is %s", name, was ? "True" : "False",
                                was ? "False" : "True");
}

static PyObject *
numbers_text(const TensorSpec *spec, const Facts *is, bool sizes)
{
    const char *word = sizes ? "size" : "stride";
    const int64_t *was = sizes ? spec->facts.sizes : spec->facts.strides;
    const int64_t *now = sizes ? is->sizes : is->strides;
    const bool *fixed = sizes ? spec->fixed_size : spec->fixed_stride;
    for (int i = 0; i < is->ndim; i++) {
        if (fixed[i] && was[i] != now[i]) {
            return PyUnicode_FromFormat("%s(%d) was %lld, is %lld", word, i, (long long)was[i],
                                        (long long)now[i]);
        }
    }
    Py_RETURN_NONE;
}

static PyObject *
compare_shape(const TensorSpec *spec, const Facts *is)
{
    const Facts *was = &spec->facts;
    if (spec->checked & FACT_SIZES) {
        if (was->has_sizes != is->has_sizes) {
            return PyUnicode_FromString("a size was known and is not, or the other way round");
        }
        if (was->ndim != is->ndim) {
            return PyUnicode_FromFormat("dim() was %d, is %d", was->ndim, is->ndim);
        }
        PyObject *text = was->has_sizes ? numbers_text(spec, is, true) : Py_NewRef(Py_None);
        if (text != Py_None) {
            return text;
        }
        Py_DECREF(text);
    }
    if (spec->checked & FACT_STRIDES) {
        if (was->ndim != is->ndim || was->has_strides != is->has_strides) {
            return PyUnicode_FromString("the number of strides differs");
        }
        return was->has_strides ? numbers_text(spec, is, false) : Py_NewRef(Py_None);
    }
    Py_RETURN_NONE;
}

PyObject *
guard_compare_facts(const TensorSpec *spec, PyTypeObject *type, const Facts *is)
{
    const Facts *was = &spec->facts;
    if (spec->checked & FACT_TYPE && type != spec->type) {
        return PyUnicode_FromFormat("type was %s, is %s", spec->type->tp_name, type->tp_name);
    }
    if (spec->checked & FACT_DTYPE && was->dtype != is->dtype) {
        return PyUnicode_FromFormat("dtype was %R, is %R", was->dtype, is->dtype);
    }
    if (spec->checked & FACT_DEVICE) {
        int same = PyObject_RichCompareBool(was->device, is->device, Py_EQ);
        if (same != 1) {
            return same < 0 ? NULL
                            : PyUnicode_FromFormat("device was %S, is %S", was->device, is->device);
        }
    }
    if (spec->checked & FACT_LAYOUT && was->layout != is->layout) {
        return PyUnicode_FromFormat("layout was %R, is %R", was->layout, is->layout);
    }
    PyObject *text = compare_shape(spec, is);
    if (text != Py_None) {
        return text;
    }
    Py_DECREF(text);
    if (spec->checked & FACT_REQUIRES_GRAD && was->requires_grad != is->requires_grad) {
        return flag_text("requires_grad", was->requires_grad);
    }
    if (spec->checked & FACT_CONJ && was->conj != is->conj) {
        return flag_text("is_conj()", was->conj);
    }
    if (spec->checked & FACT_NEG && was->neg != is->neg) {
        return flag_text("is_neg()", was->neg);
    }
    if (spec->checked & FACT_INFERENCE && was->inference != is->inference) {
        return flag_text("is_inference()", was->inference);
    }
    if (spec->checked & FACT_KEYS && was->keys != is->keys) {
        return PyUnicode_FromFormat("dispatch keys were %llx, are %llx",
                                    (unsigned long long)was->keys, (unsigned long long)is->keys);
    }
    Py_RETURN_NONE;
}
