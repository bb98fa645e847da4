/* Compiled: what suture.compile(fn) gives back. Behaves like the function it stands for. */
#include "core.h"

#include <structmember.h>

/* States up to this size are built on the C stack. */
#define SMALL_STATE 16

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *function; /* the Python function */
    PyObject *point;    /* its start */
    PyObject *context;  /* anything; current while compiled code of this object runs */
    PyObject *dict;     /* may be NULL */
    PyObject *weakrefs;
    char bypass; /* call the plain function instead */
} compiled_object;

/* Runs the trampoline in the object's context. All arguments borrowed, result new. */
static PyObject *
run_in_context(compiled_object *self, PyObject *const *state, Py_ssize_t n)
{
    suture_thread *thread = &suture_this_thread;
    PyObject *outer_context = thread->context;
    PyObject *context = Py_NewRef(self->context);
    PyObject *point = Py_NewRef(self->point);
    int outer_compiled = suture_begin_compiled(thread);
    thread->context = context;
    PyObject *result = suture_trampoline(thread, point, state, n);
    thread->context = outer_context;
    thread->compiled = outer_compiled;
    Py_DECREF(point);
    Py_DECREF(context);
    return result;
}

/* Any call that is not one plain value per parameter. All arguments borrowed, result new. */
static PyObject *
call_binding(compiled_object *self, PyCodeObject *code, PyObject *const *args, Py_ssize_t nargs,
             PyObject *kwnames)
{
    PyObject *small[SMALL_STATE];
    PyObject **state = small;
    int count = suture_slot_count(code);
    if (count + 1 > SMALL_STATE) {
        state = PyMem_New(PyObject *, count + 1);
        if (state == NULL) {
            return PyErr_NoMemory();
        }
    }
    PyObject *function = state[0] = Py_NewRef(self->function);
    PyObject *result = NULL;
    int bound = suture_bind(function, code, args, nargs, kwnames, state + 1);
    if (bound > 0) {
        result = run_in_context(self, state, count + 1);
        for (int i = 1; i <= count; i++) {
            Py_DECREF(state[i]);
        }
    } else if (bound == 0) {
        /* CPython words its own TypeError. */
        result = PyObject_Vectorcall(function, args, nargs, kwnames);
    }
    Py_DECREF(function);
    if (state != small) {
        PyMem_Free(state);
    }
    return result;
}

/* One positional argument per parameter: the state is the arguments behind the function. Uses the
 * free entry in front of the arguments where the caller offers one. Arguments borrowed. */
static PyObject *
call_positional(compiled_object *self, PyObject *const *args, size_t nargsf, Py_ssize_t nargs)
{
    PyObject *result, *function = Py_NewRef(self->function);
    if (nargsf & PY_VECTORCALL_ARGUMENTS_OFFSET) {
        PyObject **state = (PyObject **)args - 1;
        PyObject *kept = state[0];
        state[0] = function;
        result = run_in_context(self, state, nargs + 1);
        state[0] = kept;
    } else {
        PyObject *small[SMALL_STATE];
        small[0] = function;
        for (Py_ssize_t i = 0; i < nargs; i++) {
            small[i + 1] = args[i];
        }
        result = run_in_context(self, small, nargs + 1);
    }
    Py_DECREF(function);
    return result;
}

/* Calls the plain function with the hook inactive. All arguments borrowed, result new. */
static PyObject *
call_plainly(compiled_object *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    suture_thread *thread = &suture_this_thread;
    int active = thread->active;
    PyObject *function = Py_NewRef(self->function);
    thread->active = 0;
    PyObject *result = PyObject_Vectorcall(function, args, nargsf, kwnames);
    thread->active = active;
    Py_DECREF(function);
    return result;
}

/* All arguments borrowed, result new. */
static PyObject *
compiled_vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    compiled_object *self = (compiled_object *)callable;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (self->bypass) {
        return call_plainly(self, args, nargsf, kwnames);
    }
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(self->function);
    int plain = nargs == code->co_argcount && code->co_kwonlyargcount == 0 &&
                !(code->co_flags & (CO_VARARGS | CO_VARKEYWORDS)) &&
                (kwnames == NULL || PyTuple_GET_SIZE(kwnames) == 0);
    if (plain && (nargsf & PY_VECTORCALL_ARGUMENTS_OFFSET || nargs < SMALL_STATE)) {
        return call_positional(self, args, nargsf, nargs);
    }
    return call_binding(self, code, args, nargs, kwnames);
}

static PyObject *
compiled_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"function", "point", "context", NULL};
    PyObject *function, *point, *context = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!|O:Compiled", names, &PyFunction_Type,
                                     &function, &suture_point_type, &point, &context)) {
        return NULL;
    }
    compiled_object *self = (compiled_object *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = compiled_vectorcall;
    self->function = Py_NewRef(function);
    self->point = Py_NewRef(point);
    self->context = Py_NewRef(context);
    return (PyObject *)self;
}

static int
compiled_traverse(compiled_object *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    Py_VISIT(self->point);
    Py_VISIT(self->context);
    Py_VISIT(self->dict);
    return 0;
}

/* Cycles go through the point, the context or the dictionary; the function and the point have to
 * stay for calls that finalizers may still make, so only what can be missing is cleared. */
static int
compiled_clear(compiled_object *self)
{
    Py_CLEAR(self->dict);
    Py_XSETREF(self->context, Py_NewRef(Py_None));
    self->bypass = 1;
    return 0;
}

static void
compiled_dealloc(compiled_object *self)
{
    PyObject_GC_UnTrack(self);
    if (self->weakrefs != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    Py_XDECREF(self->function);
    Py_XDECREF(self->point);
    Py_XDECREF(self->context);
    Py_XDECREF(self->dict);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *
compiled_repr(compiled_object *self)
{
    return PyUnicode_FromFormat("<compiled function %U>",
                                ((PyFunctionObject *)self->function)->func_qualname);
}

/* Binds like a function. Arguments borrowed, result new. */
static PyObject *
compiled_descr_get(PyObject *self, PyObject *instance, PyObject *Py_UNUSED(owner))
{
    if (instance == NULL || instance == Py_None) {
        return Py_NewRef(self);
    }
    return PyMethod_New(self, instance);
}

/* The object's own attributes first, then the function's. Arguments borrowed, result new. */
static PyObject *
compiled_getattro(PyObject *self, PyObject *name)
{
    PyObject *value = PyObject_GenericGetAttr(self, name);
    if (value != NULL || !PyErr_ExceptionMatches(PyExc_AttributeError)) {
        return value;
    }
    PyErr_Clear();
    value = PyObject_GetAttr(((compiled_object *)self)->function, name);
    if (value == NULL && PyUnicode_CompareWithASCIIString(name, "aot_compile") == 0) {
        PyErr_SetString(PyExc_AttributeError,
                        "suture has no aot_compile: suture.export(fn, args) gives a program to "
                        "keep, and torch._inductor.aoti_compile_and_package compiles that");
    }
    return value;
}

/* An attribute from the object's own dictionary. Result borrowed; NULL, no error set, if none. */
static PyObject *
own_attribute(compiled_object *self, const char *name)
{
    return self->dict == NULL ? NULL : PyDict_GetItemString(self->dict, name);
}

/* Attributes that every type has and that are the function's all the same, unless set on the
 * object. `closure` is the name. Result new. */
static PyObject *
compiled_get_shared(compiled_object *self, void *closure)
{
    PyObject *value = own_attribute(self, closure);
    return value != NULL ? Py_NewRef(value) : PyObject_GetAttrString(self->function, closure);
}

/* What functools.wraps would set; can be set to something else. Result new. */
static PyObject *
compiled_get_wrapped(compiled_object *self, void *closure)
{
    PyObject *value = own_attribute(self, closure);
    return Py_NewRef(value != NULL ? value : self->function);
}

/* What torch compares with id() before it takes a wrapper off, so that neither a bound method nor a
 * function that copies attributes is taken for the compiled function. */
static PyObject *
compiled_get_wrapper_id(compiled_object *self, void *Py_UNUSED(closure))
{
    return PyLong_FromVoidPtr(self);
}

/* `value` borrowed; NULL deletes. */
static int
compiled_set_shared(compiled_object *self, PyObject *value, void *closure)
{
    if (self->dict == NULL && (self->dict = PyDict_New()) == NULL) {
        return -1;
    }
    if (value == NULL) {
        return PyDict_DelItemString(self->dict, closure);
    }
    return PyDict_SetItemString(self->dict, closure, value);
}

/* Copied and pickled by reference, as functions are. */
static PyObject *
compiled_itself(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    return Py_NewRef(self);
}

static PyObject *
compiled_reduce(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    return PyObject_GetAttrString(self, "__qualname__");
}

static PyMethodDef compiled_methods[] = {
    {"__copy__", compiled_itself, METH_NOARGS, NULL},
    {"__deepcopy__", compiled_itself, METH_O, NULL},
    {"__reduce__", compiled_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef compiled_members[] = {
    {"function", T_OBJECT, offsetof(compiled_object, function), READONLY, "the Python function"},
    {"context", T_OBJECT, offsetof(compiled_object, context), 0, "current while it runs"},
    {"bypass", T_BOOL, offsetof(compiled_object, bypass), 0,
     "call the plain function, hook inactive"},
    {NULL, 0, 0, 0, NULL},
};

/* New reference. */
static PyObject *
compiled_get_point(compiled_object *self, void *Py_UNUSED(closure))
{
    return Py_NewRef(self->point);
}

/* Value borrowed. A call that is under way keeps the point it began with. */
static int
compiled_set_point(compiled_object *self, PyObject *value, void *Py_UNUSED(closure))
{
    if (value == NULL || !PyObject_TypeCheck(value, &suture_point_type)) {
        PyErr_SetString(PyExc_TypeError, "point is a Point");
        return -1;
    }
    Py_XSETREF(self->point, Py_NewRef(value));
    return 0;
}

#define SHARED(name)                                                                               \
    {name, (getter)compiled_get_shared, (setter)compiled_set_shared, NULL, (void *)name}

static PyGetSetDef compiled_getset[] = {
    {"point", (getter)compiled_get_point, (setter)compiled_set_point, "the start of the function",
     NULL},
    SHARED("__doc__"),
    SHARED("__module__"),
    SHARED("__name__"),
    SHARED("__qualname__"),
    /* Under the name by which libraries find it behind torch.compile. Not in the dictionary, which
     * functools.wraps copies to functions that are not compiled. */
    {"_torchdynamo_orig_callable", (getter)compiled_get_wrapped, NULL, NULL, "__wrapped__"},
    {"_torchdynamo_wrapper_id", (getter)compiled_get_wrapper_id, NULL, NULL, NULL},
    {"__wrapped__", (getter)compiled_get_wrapped, (setter)compiled_set_shared, NULL, "__wrapped__"},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject suture_compiled_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "suture._core.Compiled",
    .tp_basicsize = sizeof(compiled_object),
    .tp_dealloc = (destructor)compiled_dealloc,
    .tp_vectorcall_offset = offsetof(compiled_object, vectorcall),
    .tp_repr = (reprfunc)compiled_repr,
    .tp_call = PyVectorcall_Call,
    .tp_getattro = compiled_getattro,
    .tp_setattro = PyObject_GenericSetAttr,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_traverse = (traverseproc)compiled_traverse,
    .tp_clear = (inquiry)compiled_clear,
    .tp_weaklistoffset = offsetof(compiled_object, weakrefs),
    .tp_methods = compiled_methods,
    .tp_members = compiled_members,
    .tp_getset = compiled_getset,
    .tp_descr_get = compiled_descr_get,
    .tp_dictoffset = offsetof(compiled_object, dict),
    .tp_new = compiled_new,
};
