/* The module suture._core. */
#include "core.h"

#include "guard_state.h"
#include "guards.h"

PyObject *suture_unbound;

static PyObject *
unbound_repr(PyObject *Py_UNUSED(self))
{
    return PyUnicode_FromString("UNBOUND");
}

/* Pickled and copied by name: there is one. */
static PyObject *
unbound_reduce(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    return PyUnicode_FromString("UNBOUND");
}

static PyMethodDef unbound_methods[] = {
    {"__reduce__", unbound_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject unbound_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "suture._core.Unbound",
    .tp_basicsize = sizeof(PyObject),
    .tp_repr = unbound_repr,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "The type of UNBOUND, which stands for an empty slot of a frame.",
    .tp_methods = unbound_methods,
};

PyDoc_STRVAR(is_interned_doc, "is_interned(text, /)\n--\n\n"
                              "Is this very text the one that literals with these letters give?");

static PyObject *
is_interned(PyObject *Py_UNUSED(module), PyObject *text)
{
    return PyBool_FromLong(PyUnicode_CheckExact(text) && PyUnicode_CHECK_INTERNED(text));
}

PyDoc_STRVAR(type_name_doc, "type_name(type, /)\n--\n\n"
                            "What CPython calls a type in its error messages.");

static PyObject *
type_name(PyObject *Py_UNUSED(module), PyObject *type)
{
    if (!PyType_Check(type)) {
        PyErr_SetString(PyExc_TypeError, "type_name() needs a type");
        return NULL;
    }
    return PyUnicode_FromString(((PyTypeObject *)type)->tp_name);
}

PyDoc_STRVAR(own_table_doc,
             "own_table(object, /)\n--\n\n"
             "Give an object's dict a table of its own, so that stores to attributes are seen by\n"
             "those who watch the dict. Whether it has one: not where others hold the dict.");

static PyObject *
own_table(PyObject *Py_UNUSED(module), PyObject *object)
{
    int own = guard_own_table(object);
    return own < 0 ? NULL : PyBool_FromLong(own);
}

static PyMethodDef object_methods[] = {
    {"is_interned", is_interned, METH_O, is_interned_doc},
    {"type_name", type_name, METH_O, type_name_doc},
    {"own_table", own_table, METH_O, own_table_doc},
    {NULL, NULL, 0, NULL},
};

/* Single-phase: the interpreter has one evaluation function, so there is one of us. */
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "suture._core",
    .m_doc = "Frames that are entered anywhere, points, jumps, and guard programs.",
    .m_size = -1,
};

static int
add_types(PyObject *module)
{
    PyTypeObject *types[] = {&suture_point_type, &suture_jump_type, &suture_leave_type,
                             &suture_compiled_type, &suture_synthetic_frames_type};
    for (size_t i = 0; i < Py_ARRAY_LENGTH(types); i++) {
        if (PyModule_AddType(module, types[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
add_functions(PyObject *module)
{
    PyMethodDef *tables[] = {suture_enter_methods,      suture_generator_methods,
                             suture_jump_methods,       suture_point_methods,
                             suture_hook_methods,       suture_site_methods,
                             suture_traceback_methods,  suture_state_word_methods,
                             suture_outermost_methods,  suture_choice_methods,
                             suture_around_methods,     suture_iterator_methods,
                             suture_plain_call_methods, object_methods};
    for (size_t i = 0; i < Py_ARRAY_LENGTH(tables); i++) {
        if (PyModule_AddFunctions(module, tables[i]) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
add_unbound(PyObject *module)
{
    if (PyModule_AddType(module, &unbound_type) < 0) {
        return -1;
    }
    suture_unbound = PyObject_New(PyObject, &unbound_type);
    return suture_unbound == NULL ? -1 : PyModule_AddObjectRef(module, "UNBOUND", suture_unbound);
}

#ifdef Py_GIL_DISABLED

/* The core relies on the interpreter's lock. A build that can go without turns it on when a module
 * is loaded that does not say that it needs none (and while it is loaded), unless whoever started
 * Python forbade that.
 * 0, or -1 with an error set. */
static int
require_lock(void)
{
    PyObject *ask = PySys_GetObject("_is_gil_enabled"); /* borrowed */
    PyObject *answer = ask == NULL ? NULL : PyObject_CallNoArgs(ask);
    int on = answer == Py_True;
    Py_XDECREF(answer);
    if (!on && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_ImportError,
                        "suture needs the global interpreter lock, which -X gil=0 or PYTHON_GIL=0 "
                        "keep off: without them importing suture turns it on");
    }
    return on ? 0 : -1;
}

#else

static int
require_lock(void)
{
    return 0;
}

#endif

PyMODINIT_FUNC
PyInit__core(void)
{
    if (require_lock() < 0) {
        return NULL;
    }
    PyObject *module = PyModule_Create(&definition);
    if (module == NULL) {
        return NULL;
    }
    if (add_unbound(module) < 0 || suture_frames_init() < 0 || suture_sites_init() < 0 ||
        suture_iterators_init() < 0 || add_types(module) < 0 || add_functions(module) < 0 ||
        suture_guards_init(module) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
