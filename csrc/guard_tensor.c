/* TensorSpec: what a tensor has to look like, and the fast way to check it. */

#include "guard_tensor.h"

#include <stddef.h>
#include <string.h>

PyTypeObject *guard_tensor_spec_type = NULL;

static const char *const fact_names[] = {
    "type",          "dtype", "device", "layout", "sizes", "strides",
    "requires_grad", "conj",  "neg",    "inference", "keys",
};

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
        holds = getter_is(guard_torch.requires_grad, value,
                          was->requires_grad ? Py_True : Py_False);
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

static void
settle_kind(TensorSpec *spec, PyObject *value)
{
    const char *body = ((const char *const *)value)[guard_layout.body];
    spec->direct.kind = guard_word(body, guard_layout.kind) & guard_layout.kind_mask;
}

/* Prepares the comparison by words.  All facts have to be asked for. */
static void
settle_direct(TensorSpec *self, PyObject *example)
{
    const Facts *facts = &self->facts;
    if (!guard_layout.grad_known || !guard_plain_tensor(example) || !facts->has_sizes ||
        !facts->has_strides || self->checked != FACT_ALL ||
        facts->ndim > DIRECT_DIMS) {
        return;
    }
    DirectSpec *direct = &self->direct;
    direct->keys = facts->keys;
    direct->ndim = (uint64_t)facts->ndim;
    direct->requires_grad = facts->requires_grad;
    settle_kind(self, example);
    for (int i = 0; i < facts->ndim; i++) {
        if (self->fixed_size[i]) {
            direct->dim[direct->n] = (uint8_t)i;
            direct->value[direct->n++] = facts->sizes[i];
        }
    }
    direct->n_sizes = direct->n;
    for (int i = 0; i < facts->ndim; i++) {
        if (self->fixed_stride[i]) {
            direct->dim[direct->n] = (uint8_t)i;
            direct->value[direct->n++] = facts->strides[i];
        }
    }
    self->direct_known = guard_direct_holds(direct, example) == 1;
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
    if (LIKELY(spec->fast && Py_TYPE(value) == spec->type)) {
        int holds = fast_holds(spec, value);
        if (LIKELY(holds >= 0)) {
            if (holds && spec->direct_known) {
                settle_kind(spec, value);
            }
            return holds;
        }
        PyErr_Clear();
    }
    else if (spec->checked & FACT_TYPE && Py_TYPE(value) != spec->type) {
        return 0;
    }
    PyObject *text = slow_compare(spec, value);
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
    PyObject *number = kind == SYMBOL_OFFSET
                           ? PyObject_CallMethod(tensor, "storage_offset", NULL)
                           : PyObject_CallMethod(tensor, kind == SYMBOL_SIZE ? "size" : "stride",
                                                 "i", dim);
    *out = number && PyLong_Check(number) ? PyLong_AsLongLong(number) : -1;
    int got = number && PyLong_Check(number) && !PyErr_Occurred();
    Py_XDECREF(number);
    return got ? 1 : PyErr_Occurred() ? -1 : 0;
}

/* Marks the dimensions named in `dims` as not fixed. */
static int
release_dims(PyObject *dims, bool *fixed, int ndim, const char *what)
{
    for (int i = 0; i < ndim; i++) {
        fixed[i] = true;
    }
    for (Py_ssize_t i = 0; dims && i < PyTuple_GET_SIZE(dims); i++) {
        long dim = PyLong_AsLong(PyTuple_GET_ITEM(dims, i));
        if (dim < 0 || dim >= ndim) {
            if (!PyErr_Occurred()) {
                PyErr_Format(PyExc_ValueError, "%s: no dimension %ld in a tensor of %d", what, dim,
                             ndim);
            }
            return -1;
        }
        fixed[dim] = false;
    }
    return 0;
}

static int
parse_facts(PyObject *names, int *out)
{
    *out = names == Py_None ? FACT_ALL : 0;
    PyObject *items = names == Py_None ? PyTuple_New(0) : PySequence_Tuple(names);
    for (Py_ssize_t i = 0; items && i < PyTuple_GET_SIZE(items); i++) {
        PyObject *name = PyTuple_GET_ITEM(items, i);
        int bit = 0;
        for (size_t k = 0; PyUnicode_Check(name) && k < Py_ARRAY_LENGTH(fact_names); k++) {
            if (PyUnicode_CompareWithASCIIString(name, fact_names[k]) == 0) {
                bit = 1 << k;
            }
        }
        if (!bit) {
            PyErr_Format(PyExc_ValueError, "check: unknown fact of a tensor %R", name);
            Py_CLEAR(items);
            break;
        }
        *out |= bit;
    }
    Py_XDECREF(items);
    return items ? 0 : -1;
}

/* Whether DLPack can tell this tensor from every other with the same types. */
static void
settle_fast(TensorSpec *self, PyObject *example)
{
    DLTensor is;
    if (!guard_plain_tensor(example) || !guard_torch.exchange) {
        return;
    }
    if (guard_torch.exchange(example, &is) != 0) {
        PyErr_Clear();
        return;
    }
    self->fast = true;
    self->dl_dtype = is.dtype;
    self->dl_device = is.device;
    self->byte_dtype = is.dtype.code <= 1 && is.dtype.bits == 8;
}

static PyObject *
spec_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"example", "dynamic_sizes", "dynamic_strides", "check", NULL};
    PyObject *example, *sizes = NULL, *strides = NULL, *check = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O!O!O:TensorSpec", names, &example,
                                     &PyTuple_Type, &sizes, &PyTuple_Type, &strides, &check)) {
        return NULL;
    }
    if (!guard_torch.base) {
        PyErr_SetString(PyExc_RuntimeError, "configure_tensors has not been called");
        return NULL;
    }
    if (!PyObject_TypeCheck(example, guard_torch.base)) {
        PyErr_Format(PyExc_TypeError, "TensorSpec takes a tensor, not %s",
                     Py_TYPE(example)->tp_name);
        return NULL;
    }
    TensorSpec *self = (TensorSpec *)type->tp_alloc(type, 0);
    if (!self) {
        return NULL;
    }
    self->type = (PyTypeObject *)Py_NewRef(Py_TYPE(example));
    if (parse_facts(check, &self->checked) < 0 || guard_read_facts(example, &self->facts) < 0 ||
        release_dims(sizes, self->fixed_size, self->facts.ndim, "dynamic_sizes") < 0 ||
        release_dims(strides, self->fixed_stride, self->facts.ndim, "dynamic_strides") < 0) {
        Py_DECREF(self);
        return NULL;
    }
    settle_fast(self, example);
    settle_direct(self, example);
    return (PyObject *)self;
}

static int
spec_traverse(TensorSpec *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->type);
    return 0;
}

static void
spec_dealloc(TensorSpec *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    Py_CLEAR(self->type);
    guard_drop_facts(&self->facts);
    type->tp_free(self);
    Py_DECREF(type);
}

/* "[4, *]": a star for a dimension that is not fixed. */
static PyObject *
dims_text(const int64_t *numbers, const bool *fixed, int n)
{
    PyObject *text = PyUnicode_FromString("[");
    for (int i = 0; text && i < n; i++) {
        const char *comma = i ? ", " : "";
        Py_SETREF(text, fixed[i] ? PyUnicode_FromFormat("%U%s%lld", text, comma,
                                                        (long long)numbers[i])
                                 : PyUnicode_FromFormat("%U%s*", text, comma));
    }
    PyObject *whole = text ? PyUnicode_FromFormat("%U]", text) : NULL;
    Py_XDECREF(text);
    return whole;
}

static PyObject *
spec_repr(TensorSpec *self)
{
    const Facts *facts = &self->facts;
    PyObject *sizes = dims_text(facts->sizes, self->fixed_size, facts->ndim);
    PyObject *strides = dims_text(facts->strides, self->fixed_stride, facts->ndim);
    PyObject *text = NULL;
    if (sizes && strides) {
        text = PyUnicode_FromFormat("TensorSpec(%s, %S, %S, size %U, stride %U%s%s%s%s)",
                                    self->type->tp_name, facts->dtype, facts->device, sizes,
                                    strides, facts->requires_grad ? ", requires_grad" : "",
                                    facts->conj ? ", conj" : "", facts->neg ? ", neg" : "",
                                    facts->inference ? ", inference" : "");
    }
    Py_XDECREF(sizes);
    Py_XDECREF(strides);
    return text;
}

static PyObject *
spec_mismatch(PyObject *self, PyObject *value)
{
    return guard_tensor_mismatch(self, value);
}

static PyObject *
spec_holds(PyObject *self, PyObject *value)
{
    int holds = guard_tensor_holds(self, value);
    return holds < 0 ? NULL : PyBool_FromLong(holds);
}

static PyMethodDef spec_methods[] = {
    {"mismatch", spec_mismatch, METH_O, "mismatch(tensor): how it differs, or None"},
    {"holds", spec_holds, METH_O, "holds(tensor): whether it agrees"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot spec_slots[] = {
    {Py_tp_doc, "TensorSpec(example, dynamic_sizes=(), dynamic_strides=(), check=None)"},
    {Py_tp_new, spec_new},
    {Py_tp_dealloc, spec_dealloc},
    {Py_tp_traverse, spec_traverse},
    {Py_tp_repr, spec_repr},
    {Py_tp_methods, spec_methods},
    {0, NULL},
};

static PyType_Spec spec_spec = {
    .name = "suture._core.TensorSpec",
    .basicsize = sizeof(TensorSpec),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = spec_slots,
};

static PyMethodDef functions[] = {
    {"configure_tensors", guard_configure, METH_VARARGS,
     "configure_tensors(tensor_types, tensor_base): once, after torch is imported"},
    {"tensor_layout", guard_layout_report, METH_NOARGS,
     "tensor_layout(): where in memory a tensor's facts were found"},
    {NULL, NULL, 0, NULL},
};

int
guard_tensor_init(PyObject *module)
{
    guard_tensor_spec_type = (PyTypeObject *)PyType_FromSpec(&spec_spec);
    if (!guard_tensor_spec_type) {
        return -1;
    }
    if (PyModule_AddObjectRef(module, "TensorSpec", (PyObject *)guard_tensor_spec_type) < 0) {
        return -1;
    }
    return PyModule_AddFunctions(module, functions);
}
