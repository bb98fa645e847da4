/* The type TensorSpec: what a tensor has to look like. */

#include "guard_tensor.h"

#include <stddef.h>

PyTypeObject *guard_tensor_spec_type = NULL;

static const char *const fact_names[] = {
    "type",          "dtype", "device", "layout",    "sizes", "strides",
    "requires_grad", "conj",  "neg",    "inference", "keys",
};

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

/* Whether DLPack can describe this tensor.  It makes copy-on-write tensors copy, so it is
   only asked where the layout of tensors is not known. */
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

/* Prepares the comparison by words.  All facts have to be asked for. */
static void
settle_direct(TensorSpec *self, PyObject *example)
{
    const Facts *facts = &self->facts;
    if (!guard_layout.grad_known || !guard_plain_tensor(example) || !facts->has_sizes ||
        !facts->has_strides || self->checked != FACT_ALL || facts->ndim > DIRECT_DIMS) {
        return;
    }
    DirectSpec *direct = &self->direct;
    direct->type = self->type;
    direct->keys = facts->keys;
    direct->ndim = (uint64_t)facts->ndim;
    direct->requires_grad = facts->requires_grad;
    guard_settle_kind(self, example);
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
    settle_direct(self, example);
    if (!self->direct_known) {
        settle_fast(self, example);
    }
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
        Py_SETREF(text, fixed[i]
                            ? PyUnicode_FromFormat("%U%s%lld", text, comma, (long long)numbers[i])
                            : PyUnicode_FromFormat("%U%s*", text, comma));
    }
    PyObject *whole = text ? PyUnicode_FromFormat("%U]", text) : NULL;
    Py_XDECREF(text);
    return whole;
}

/* ", requires_grad, conj": a word for each flag that is set. */
static PyObject *
flags_text(const Facts *facts)
{
    return PyUnicode_FromFormat("%s%s%s%s", facts->requires_grad ? ", requires_grad" : "",
                                facts->conj ? ", conj" : "", facts->neg ? ", neg" : "",
                                facts->inference ? ", inference" : "");
}

static PyObject *
spec_repr(TensorSpec *self)
{
    const Facts *facts = &self->facts;
    PyObject *sizes = dims_text(facts->sizes, self->fixed_size, facts->ndim);
    PyObject *strides = dims_text(facts->strides, self->fixed_stride, facts->ndim);
    PyObject *flags = flags_text(facts);
    PyObject *text = NULL;
    if (sizes && strides && flags) {
        text = PyUnicode_FromFormat("TensorSpec(%s, %S, %S, size %U, stride %U%U)",
                                    self->type->tp_name, facts->dtype, facts->device, sizes,
                                    strides, flags);
    }
    Py_XDECREF(sizes);
    Py_XDECREF(strides);
    Py_XDECREF(flags);
    return text;
}

/* "Tensor float32[4, *] cpu, stride [1, 1]": for people, in the terms of their program. */
static PyObject *
spec_str(TensorSpec *self)
{
    const Facts *facts = &self->facts;
    PyObject *dtype = PyObject_Str(facts->dtype);
    PyObject *short_dtype =
        dtype ? PyObject_CallMethod(dtype, "removeprefix", "s", "torch.") : NULL;
    PyObject *sizes = dims_text(facts->sizes, self->fixed_size, facts->ndim);
    PyObject *strides = dims_text(facts->strides, self->fixed_stride, facts->ndim);
    PyObject *flags = flags_text(facts);
    PyObject *text = NULL;
    if (short_dtype && sizes && strides && flags) {
        text = PyUnicode_FromFormat("%s %U%U %S, stride %U%U", self->type->tp_name, short_dtype,
                                    sizes, facts->device, strides, flags);
    }
    Py_XDECREF(dtype);
    Py_XDECREF(short_dtype);
    Py_XDECREF(sizes);
    Py_XDECREF(strides);
    Py_XDECREF(flags);
    return text;
}

/* (4, None): None for a dimension that is not fixed. */
static PyObject *
dims_tuple(const int64_t *numbers, const bool *fixed, int n)
{
    PyObject *dims = PyTuple_New(n);
    for (int i = 0; dims && i < n; i++) {
        PyObject *dim = fixed[i] ? PyLong_FromLongLong(numbers[i]) : Py_NewRef(Py_None);
        if (!dim) {
            Py_CLEAR(dims);
        } else {
            PyTuple_SET_ITEM(dims, i, dim);
        }
    }
    return dims;
}

static PyObject *
spec_sizes(TensorSpec *self, void *Py_UNUSED(closure))
{
    return dims_tuple(self->facts.sizes, self->fixed_size, self->facts.ndim);
}

static PyObject *
spec_strides(TensorSpec *self, void *Py_UNUSED(closure))
{
    return dims_tuple(self->facts.strides, self->fixed_stride, self->facts.ndim);
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

static PyGetSetDef spec_getters[] = {
    {"sizes", (getter)(void (*)(void))spec_sizes, NULL, "None where a size is not fixed", NULL},
    {"strides", (getter)(void (*)(void))spec_strides, NULL, "likewise", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot spec_slots[] = {
    {Py_tp_doc, "TensorSpec(example, dynamic_sizes=(), dynamic_strides=(), check=None)"},
    {Py_tp_new, spec_new},
    {Py_tp_dealloc, spec_dealloc},
    {Py_tp_traverse, spec_traverse},
    {Py_tp_repr, spec_repr},
    {Py_tp_str, spec_str},
    {Py_tp_getset, spec_getters},
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
     "configure_tensors(tensor_types, tensor_base, native=True): once, after torch is imported"},
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
