/* Comparing a tensor with its spec: by words, by DLPack and C getters, or as Python does. */

#include "guard_tensor.h"

#include <stddef.h>
#include <string.h>

/* Whether `value` has exactly one of the plain tensor types. */
bool
guard_plain_tensor(PyObject *value)
{
    PyObject *types = guard_torch.types;
    for (Py_ssize_t i = 0; types && i < PyTuple_GET_SIZE(types); i++) {
        if ((PyObject *)Py_TYPE(value) == PyTuple_GET_ITEM(types, i)) {
            return true;
        }
    }
    return false;
}

bool
guard_is_value_type(PyTypeObject *type)
{
    PyObject *types = guard_torch.values;
    for (Py_ssize_t i = 0; types && i < PyTuple_GET_SIZE(types); i++) {
        if ((PyObject *)type == PyTuple_GET_ITEM(types, i)) {
            return true;
        }
    }
    return false;
}

/* A bool from torch's own C function; no descriptor is called.  -1: error. */
static int
getter_is(PyGetSetDescrObject *descriptor, PyObject *value, PyObject *expected)
{
    PyObject *got = descriptor->d_getset->get(value, descriptor->d_getset->closure);
    Py_XDECREF(got);
    return got ? got == expected : -1;
}

static int
method_is(PyMethodDescrObject *descriptor, PyObject *value, bool expected)
{
    PyObject *got = descriptor->d_method->ml_meth(value, NULL);
    Py_XDECREF(got);
    return got ? got == (expected ? Py_True : Py_False) : -1;
}

/* Whether a torch function mode would see a call. */
static int
modes_active(void)
{
    PyObject *depth = PyObject_CallNoArgs(guard_torch.mode_depth);
    int active = depth ? PyObject_IsTrue(depth) : -1;
    Py_XDECREF(depth);
    return active;
}

int
guard_requires_grad(PyObject *tensor)
{
    int active = modes_active();
    if (active == 0) {
        return getter_is(guard_torch.requires_grad, tensor, Py_True);
    }
    Facts facts = {0};
    int answer = active < 0 ? -1 : guard_read_facts(tensor, &facts);
    guard_drop_facts(&facts);
    return answer < 0 ? -1 : facts.requires_grad;
}

/* What DLPack does not tell.  1, 0, -1: error. */
static int
flags_hold(const TensorSpec *spec, PyObject *value)
{
    const Facts *was = &spec->facts;
    int holds = 1;
    if (spec->checked & FACT_REQUIRES_GRAD) {
        holds =
            getter_is(guard_torch.requires_grad, value, was->requires_grad ? Py_True : Py_False);
    }
    if (holds == 1 && spec->byte_dtype && spec->checked & FACT_DTYPE) {
        holds = getter_is(guard_torch.dtype, value, was->dtype);
    }
    if (holds == 1 && spec->checked & FACT_NEG) {
        holds = method_is(guard_torch.is_neg, value, was->neg);
    }
    if (holds == 1 && spec->checked & FACT_CONJ) {
        holds = method_is(guard_torch.is_conj, value, was->conj);
    }
    if (holds == 1 && spec->checked & FACT_INFERENCE) {
        holds = method_is(guard_torch.is_inference, value, was->inference);
    }
    if (holds == 1 && spec->checked & FACT_KEYS) {
        uint64_t keys;
        holds = guard_dispatch_keys(value, &keys) < 0 ? -1 : keys == was->keys;
    }
    return holds;
}

/* Compares what the exchange API tells.  -1 with an error: it cannot describe this tensor. */
static int
fast_holds(const TensorSpec *spec, PyObject *value)
{
    DLTensor is;
    if (modes_active() != 0 || guard_torch.exchange(value, &is) != 0) {
        return -1;
    }
    const Facts *was = &spec->facts;
    if (spec->checked & FACT_DTYPE && memcmp(&is.dtype, &spec->dl_dtype, sizeof is.dtype) != 0) {
        return 0;
    }
    if (spec->checked & FACT_DEVICE && memcmp(&is.device, &spec->dl_device, sizeof is.device)) {
        return 0;
    }
    if (spec->checked & (FACT_SIZES | FACT_STRIDES) && is.ndim != was->ndim) {
        return 0;
    }
    for (int i = 0; spec->checked & FACT_SIZES && i < is.ndim; i++) {
        if (spec->fixed_size[i] && is.shape[i] != was->sizes[i]) {
            return 0;
        }
    }
    for (int i = 0; spec->checked & FACT_STRIDES && i < is.ndim; i++) {
        if (spec->fixed_stride[i] && is.strides[i] != was->strides[i]) {
            return 0;
        }
    }
    return flags_hold(spec, value);
}

/* Takes the dtype and device word over from a tensor that agrees. */
void
guard_settle_kind(TensorSpec *spec, PyObject *value)
{
    const char *body = ((const char *const *)value)[guard_layout.body];
    spec->direct.kind = guard_word(body, guard_layout.kind) & guard_layout.kind_mask;
}

static PyObject *
slow_compare(const TensorSpec *spec, PyObject *value)
{
    if (!guard_torch.base || !PyObject_TypeCheck(value, guard_torch.base)) {
        return PyUnicode_FromFormat("type was %s, is %s", spec->type->tp_name,
                                    Py_TYPE(value)->tp_name);
    }
    Facts facts;
    PyObject *text = NULL;
    if (guard_read_facts(value, &facts) == 0) {
        text = guard_compare_facts(spec, Py_TYPE(value), &facts);
    }
    guard_drop_facts(&facts);
    return text;
}

/* 1, 0, or -1 with an error.  Borrows both. */
int
guard_tensor_holds(PyObject *spec_object, PyObject *value)
{
    TensorSpec *spec = (TensorSpec *)spec_object;
    if (LIKELY(spec->direct_known && Py_TYPE(value) == spec->type)) {
        int holds = guard_direct_holds(&spec->direct, value);
        if (LIKELY(holds != 2)) {
            return holds;
        }
    }
    return guard_tensor_looks(spec, value);
}

/* The same without reading memory; remembers the flags of a tensor that agrees. */
int
guard_tensor_looks(TensorSpec *spec, PyObject *value)
{
    if (spec->checked & FACT_TYPE && Py_TYPE(value) != spec->type) {
        return 0;
    }
    if (spec->fast && Py_TYPE(value) == spec->type) {
        int holds = fast_holds(spec, value);
        if (holds >= 0) {
            return holds;
        }
        PyErr_Clear();
    }
    PyObject *text = slow_compare(spec, value);
    if (text == Py_None && spec->direct_known && Py_TYPE(value) == spec->type) {
        guard_settle_kind(spec, value);
    }
    Py_XDECREF(text);
    return text ? text == Py_None : -1;
}

/* New reference: None, or how `value` differs. */
PyObject *
guard_tensor_mismatch(PyObject *spec, PyObject *value)
{
    return slow_compare((const TensorSpec *)spec, value);
}

int
guard_tensor_number(PyObject *tensor, int kind, int dim, int64_t *out)
{
    bool plain = kind != SYMBOL_OFFSET && guard_plain_tensor(tensor);
    if (plain && guard_layout.known) {
        const char *body = ((const char *const *)tensor)[guard_layout.body];
        const int64_t *strides, *sizes = guard_sizes(body, &strides);
        if ((uint64_t)dim < guard_word(body, guard_layout.sizes - 8)) {
            *out = kind == SYMBOL_SIZE ? sizes[dim] : strides[dim];
            return 1;
        }
        return 0;
    }
    if (plain && guard_torch.exchange) {
        DLTensor is;
        if (guard_torch.exchange(tensor, &is) == 0) {
            if (dim < is.ndim) {
                *out = kind == SYMBOL_SIZE ? is.shape[dim] : is.strides[dim];
            }
            return dim < is.ndim;
        }
        PyErr_Clear();
    }
    if (!guard_torch.base || !PyObject_TypeCheck(tensor, guard_torch.base)) {
        return 0;
    }
    PyObject *number = NULL;
    if (kind == SYMBOL_OFFSET) {
        number = guard_call(tensor, "storage_offset");
    } else {
        PyObject *method = guard_get(tensor, kind == SYMBOL_SIZE ? "size" : "stride");
        number = method ? PyObject_CallFunction(method, "i", dim) : NULL;
        Py_XDECREF(method);
    }
    *out = number && PyLong_Check(number) ? PyLong_AsLongLong(number) : -1;
    int got = number && PyLong_Check(number) && !PyErr_Occurred();
    Py_XDECREF(number);
    return got ? 1 : PyErr_Occurred() ? -1 : 0;
}
