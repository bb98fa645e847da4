/* Finding torch's C entry points, once, from Python's side: no torch headers, no linking. */

#include "guard_tensor.h"

/* The C exchange API of a tensor type; NULL where this torch has none. */
static int
find_exchange(PyObject *tensor_type)
{
    PyObject *capsule = PyObject_GetAttrString(tensor_type, "__dlpack_c_exchange_api__");
    if (!capsule) {
        return guard_swallow();
    }
    const DLExchangeApi *api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    Py_DECREF(capsule); /* the struct is static */
    if (!api) {
        return guard_swallow();
    }
    const DLExchangeHeader *header = &api->header;
    while (header && header->major != 1) {
        header = header->previous;
    }
    guard_torch.exchange = header ? ((const DLExchangeApi *)header)->tensor_from_object : NULL;
    return 0;
}

/* A C descriptor of the tensor base type; *out stays NULL where it is something else. */
static int
find_descriptor(PyTypeObject *base, const char *name, PyTypeObject *kind, void *out)
{
    PyObject *found = PyDict_GetItemString(base->tp_dict, name);
    if (!found || !Py_IS_TYPE(found, kind)) {
        return 0;
    }
    if (kind == &PyMethodDescr_Type &&
        ((PyMethodDescrObject *)found)->d_method->ml_flags != METH_NOARGS) {
        return 0;
    }
    *(PyObject **)out = Py_NewRef(found);
    return 0;
}

static PyObject *
attribute_of(const char *module_name, const char *name)
{
    PyObject *module = PyImport_ImportModule(module_name);
    PyObject *found = module ? PyObject_GetAttrString(module, name) : NULL;
    Py_XDECREF(module);
    return found;
}

PyObject *
guard_configure(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *types, *base;
    int native = 1; /* whether the memory of tensors may be read */
    if (!PyArg_ParseTuple(args, "O!O!|p:configure_tensors", &PyTuple_Type, &types, &PyType_Type,
                          &base, &native)) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types); i++) {
        PyObject *type = PyTuple_GET_ITEM(types, i);
        if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, (PyTypeObject *)base)) {
            PyErr_Format(PyExc_TypeError, "tensor_types[%zd] is no tensor type: %R", i, type);
            return NULL;
        }
    }
    if (guard_torch.base) {
        Py_RETURN_NONE;
    }
    PyTypeObject *type = (PyTypeObject *)base;
    PyObject *device = attribute_of("torch", "device");
    PyObject *size = device ? attribute_of("torch", "Size") : NULL;
    guard_torch.values = size ? PyTuple_Pack(2, device, size) : NULL;
    Py_XDECREF(device);
    Py_XDECREF(size);
    guard_torch.disable_torch_function =
        guard_torch.values ? attribute_of("torch._C", "DisableTorchFunction") : NULL;
    guard_torch.keys =
        guard_torch.disable_torch_function ? attribute_of("torch._C", "_dispatch_keys") : NULL;
    guard_torch.mode_depth =
        guard_torch.keys ? attribute_of("torch._C", "_len_torch_function_stack") : NULL;
    if (!guard_torch.mode_depth ||
        (PyTuple_GET_SIZE(types) && find_exchange(PyTuple_GET_ITEM(types, 0)) < 0)) {
        return NULL;
    }
    find_descriptor(type, "requires_grad", &PyGetSetDescr_Type, &guard_torch.requires_grad);
    find_descriptor(type, "dtype", &PyGetSetDescr_Type, &guard_torch.dtype);
    find_descriptor(type, "is_neg", &PyMethodDescr_Type, &guard_torch.is_neg);
    find_descriptor(type, "is_conj", &PyMethodDescr_Type, &guard_torch.is_conj);
    find_descriptor(type, "is_inference", &PyMethodDescr_Type, &guard_torch.is_inference);
    if (!guard_torch.requires_grad || !guard_torch.dtype || !guard_torch.is_neg ||
        !guard_torch.is_conj || !guard_torch.is_inference) {
        guard_torch.exchange = NULL;
    }
    if (native && guard_find_layout() < 0) {
        return NULL;
    }
    guard_torch.types = Py_NewRef(types);
    guard_torch.base = (PyTypeObject *)Py_NewRef(base);
    Py_RETURN_NONE;
}

/* tensor_layout() -> dict of where a tensor's facts were found, for reports and tests. */
PyObject *
guard_layout_report(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    const TensorLayout *l = &guard_layout;
    return Py_BuildValue("{s:N,s:N,s:i,s:i,s:i,s:i,s:K,s:i,s:i,s:i,s:i}", "known",
                         PyBool_FromLong(l->known), "grad_known", PyBool_FromLong(l->grad_known),
                         "body", l->body, "sizes", l->sizes, "keys", l->keys, "kind", l->kind,
                         "kind_mask", (unsigned long long)l->kind_mask, "autograd", l->autograd,
                         "flag", l->flag, "function", l->function, "memory", l->memory);
}
