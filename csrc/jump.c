/* What a variant can answer besides a value: Jump (go on at a point) and Leave (go on in CPython's
 * interpreter). Both are short-lived and never change, so, like tuples, they are traversed by the
 * collector and need not be cleared by it. */
#include "core.h"

#include <structmember.h>

#define KEPT_CAPACITY 24
#define KEPT_JUMPS 16
#define LEAVE_PARAMETERS 6

typedef struct {
    PyObject_VAR_HEAD /* ob_size: number of state values */
    PyObject *point;
    PyObject *state[1];
} jump_object;

static jump_object *kept_jumps[KEPT_JUMPS];
static int kept_count;

PyObject *
suture_jump_point(PyObject *jump)
{
    return ((jump_object *)jump)->point;
}

PyObject *const *
suture_jump_state(PyObject *jump)
{
    return ((jump_object *)jump)->state;
}

Py_ssize_t
suture_jump_size(PyObject *jump)
{
    return Py_SIZE(jump);
}

/* A jump with room for `n` state values, fields unset. New, or NULL with an error set. */
static jump_object *
allocate_jump(Py_ssize_t n)
{
    jump_object *jump;
    if (n <= KEPT_CAPACITY && kept_count > 0) {
        jump = kept_jumps[--kept_count];
    } else {
        Py_ssize_t room = n < KEPT_CAPACITY ? KEPT_CAPACITY : n;
        jump = PyObject_GC_NewVar(jump_object, &suture_jump_type, room);
        if (jump == NULL) {
            return NULL;
        }
        Py_SET_SIZE(jump, n);
        return jump;
    }
    return (jump_object *)PyObject_InitVar((PyVarObject *)jump, &suture_jump_type, n);
}

PyDoc_STRVAR(jump_doc, "jump(point, /, *state)\n--\n\nGo on at point with this state.");

static PyObject *
jump(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs < 1 || Py_TYPE(args[0]) != &suture_point_type) {
        PyErr_SetString(PyExc_TypeError, "jump() needs a Point");
        return NULL;
    }
    jump_object *made = allocate_jump(nargs - 1);
    if (made == NULL) {
        return NULL;
    }
    made->point = Py_NewRef(args[0]);
    for (Py_ssize_t i = 1; i < nargs; i++) {
        made->state[i - 1] = Py_NewRef(args[i]);
    }
    PyObject_GC_Track(made);
    return (PyObject *)made;
}

static int
jump_traverse(jump_object *jump, visitproc visit, void *arg)
{
    Py_VISIT(jump->point);
    for (Py_ssize_t i = 0; i < Py_SIZE(jump); i++) {
        Py_VISIT(jump->state[i]);
    }
    return 0;
}

static void
jump_dealloc(jump_object *jump)
{
    PyObject_GC_UnTrack(jump);
    Py_ssize_t n = Py_SIZE(jump);
    Py_DECREF(jump->point);
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_DECREF(jump->state[i]);
    }
    if (n <= KEPT_CAPACITY && kept_count < KEPT_JUMPS) {
        kept_jumps[kept_count++] = jump;
    } else {
        PyObject_GC_Del(jump);
    }
}

static PyObject *
jump_repr(jump_object *jump)
{
    return PyUnicode_FromFormat("<Jump to %R with %zd values>", jump->point, Py_SIZE(jump));
}

static PyObject *
jump_get_state(jump_object *jump, void *Py_UNUSED(closure))
{
    PyObject *state = PyTuple_New(Py_SIZE(jump));
    if (state == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < Py_SIZE(jump); i++) {
        PyTuple_SET_ITEM(state, i, Py_NewRef(jump->state[i]));
    }
    return state;
}

static PyMemberDef jump_members[] = {
    {"point", T_OBJECT, offsetof(jump_object, point), READONLY, "where to go on"},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef jump_getset[] = {
    {"state", (getter)jump_get_state, NULL, "the state there, as a tuple", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject suture_jump_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "suture._core.Jump",
    .tp_basicsize = offsetof(jump_object, state),
    .tp_itemsize = sizeof(PyObject *),
    .tp_dealloc = (destructor)jump_dealloc,
    .tp_repr = (reprfunc)jump_repr,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_traverse = (traverseproc)jump_traverse,
    .tp_doc = "Made by jump(); a variant returns it to go on at a point.",
    .tp_members = jump_members,
    .tp_getset = jump_getset,
};

PyDoc_STRVAR(leave_doc,
             "leave(offset, locals, stack, function=None, exc=None, handled=...)\n--\n\n"
             "Go on in CPython's interpreter: in a fresh frame of function, or in the generator\n"
             "frame that is being resumed.");

/* 0 if the parts are what they must be; -1 with an error set. Arguments borrowed, may be NULL. */
static int
check_leave(PyObject *function, PyObject *exc, PyObject *handled)
{
    if (function != NULL && !PyFunction_Check(function)) {
        PyErr_SetString(PyExc_TypeError, "function must be a function or None");
        return -1;
    }
    if ((exc != NULL && !PyExceptionInstance_Check(exc)) ||
        (handled != NULL && handled != Py_None && !PyExceptionInstance_Check(handled))) {
        PyErr_SetString(PyExc_TypeError, "exc and handled must be exceptions or None");
        return -1;
    }
    return 0;
}

/* The index of a parameter of leave() (borrowed, a str), or -1. */
static int
leave_parameter(PyObject *name)
{
    static const char *const names[] = {"offset", "locals", "stack", "function", "exc", "handled"};
    for (int i = 0; i < LEAVE_PARAMETERS; i++) {
        if (PyUnicode_CompareWithASCIIString(name, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

/* Sorts what leave() was called with into `given` (borrowed references, NULL for not given). 0, or
 * -1 with an error set. Arguments borrowed. */
static int
leave_arguments(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames, PyObject **given)
{
    Py_ssize_t nkw = kwnames == NULL ? 0 : PyTuple_GET_SIZE(kwnames);
    if (nargs > LEAVE_PARAMETERS) {
        PyErr_Format(PyExc_TypeError, "leave() takes at most 6 arguments, %zd were given", nargs);
        return -1;
    }
    for (Py_ssize_t i = 0; i < nargs; i++) {
        given[i] = args[i];
    }
    for (Py_ssize_t k = 0; k < nkw; k++) {
        int i = leave_parameter(PyTuple_GET_ITEM(kwnames, k));
        if (i < 0 || given[i] != NULL) {
            PyErr_Format(PyExc_TypeError, "leave() got an unexpected argument %R",
                         PyTuple_GET_ITEM(kwnames, k));
            return -1;
        }
        given[i] = args[nargs + k];
    }
    if (given[0] == NULL || given[1] == NULL || given[2] == NULL || !PyTuple_Check(given[1]) ||
        !PyTuple_Check(given[2])) {
        PyErr_SetString(PyExc_TypeError, "leave() needs an offset and two tuples");
        return -1;
    }
    return 0;
}

static PyObject *
leave(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames)
{
    PyObject *given[LEAVE_PARAMETERS] = {NULL};
    if (leave_arguments(args, nargs, kwnames, given) < 0) {
        return NULL;
    }
    Py_ssize_t offset = PyNumber_AsSsize_t(given[0], PyExc_OverflowError);
    if (offset == -1 && PyErr_Occurred()) {
        return NULL;
    }
    PyObject *locals = given[1], *stack = given[2], *handled = given[5];
    PyObject *function = given[3] == Py_None ? NULL : given[3];
    PyObject *exc = given[4] == Py_None ? NULL : given[4];
    if (check_leave(function, exc, handled) < 0) {
        return NULL;
    }
    suture_leave *made = PyObject_GC_New(suture_leave, &suture_leave_type);
    if (made == NULL) {
        return NULL;
    }
    made->offset = offset;
    made->locals = Py_NewRef(locals);
    made->stack = Py_NewRef(stack);
    made->function = Py_XNewRef(function);
    made->exc = Py_XNewRef(exc);
    made->handled = Py_XNewRef(handled);
    PyObject_GC_Track(made);
    return (PyObject *)made;
}

static int
leave_traverse(suture_leave *leave, visitproc visit, void *arg)
{
    Py_VISIT(leave->locals);
    Py_VISIT(leave->stack);
    Py_VISIT(leave->function);
    Py_VISIT(leave->exc);
    Py_VISIT(leave->handled);
    return 0;
}

static void
leave_dealloc(suture_leave *leave)
{
    PyObject_GC_UnTrack(leave);
    Py_DECREF(leave->locals);
    Py_DECREF(leave->stack);
    Py_XDECREF(leave->function);
    Py_XDECREF(leave->exc);
    Py_XDECREF(leave->handled);
    PyObject_GC_Del(leave);
}

static PyMemberDef leave_members[] = {
    {"offset", T_PYSSIZET, offsetof(suture_leave, offset), READONLY, NULL},
    {"locals", T_OBJECT, offsetof(suture_leave, locals), READONLY, NULL},
    {"stack", T_OBJECT, offsetof(suture_leave, stack), READONLY, NULL},
    {"function", T_OBJECT, offsetof(suture_leave, function), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject suture_leave_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "suture._core.Leave",
    .tp_basicsize = sizeof(suture_leave),
    .tp_dealloc = (destructor)leave_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_traverse = (traverseproc)leave_traverse,
    .tp_doc = "Made by leave(); a variant returns it to go on in CPython's interpreter.",
    .tp_members = leave_members,
};

PyMethodDef suture_jump_methods[] = {
    {"jump", (PyCFunction)(void (*)(void))jump, METH_FASTCALL, jump_doc},
    {"leave", (PyCFunction)(void (*)(void))leave, METH_FASTCALL | METH_KEYWORDS, leave_doc},
    {NULL, NULL, 0, NULL},
};
