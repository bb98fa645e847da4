/* Point: where a frame can be entered, with its variants. */
#include "core.h"

#include <structmember.h>

#include "guards.h"

typedef struct {
    PyObject_HEAD
    PyObject *name;    /* str */
    PyObject *on_miss; /* callable */
    PyObject *data;    /* anything, None at first */
    PyObject *table;   /* tuple (variant, guards, variant, guards, ...), most recent first, then the
                          general ones in the same order; replaced, never changed, so a dispatch can
                          go on with the one it holds */
    Py_ssize_t last;   /* index in table of the variant that hit last, general ones aside */
    Py_ssize_t general; /* how many items at the end of table are of general variants */
    PyObject *weakrefs;
} point_object;

/* Replaces the table by one without the entry at `index`. 0, or -1 with an error set. */
static int
take_out(point_object *point, Py_ssize_t index)
{
    Py_ssize_t size = PyTuple_GET_SIZE(point->table);
    PyObject *table = PyTuple_New(size - 2);
    if (table == NULL) {
        return -1;
    }
    Py_ssize_t to = 0;
    for (Py_ssize_t from = 0; from < size; from++) {
        if (from != index && from != index + 1) {
            PyTuple_SET_ITEM(table, to++, Py_NewRef(PyTuple_GET_ITEM(point->table, from)));
        }
    }
    if (index >= size - point->general) {
        point->general -= 2;
    }
    point->last = 0;
    Py_SETREF(point->table, table);
    return 0;
}

/* Replaces the table by one with (variant, guards), borrowed: in front, or in front of the general
 * ones if it is one. 0, or -1 with an error set. */
static int
put_in(point_object *point, PyObject *variant, PyObject *guards, int general)
{
    Py_ssize_t size = PyTuple_GET_SIZE(point->table);
    Py_ssize_t index_of_new = general ? size - point->general : 0;
    PyObject *table = PyTuple_New(size + 2);
    if (table == NULL) {
        return -1;
    }
    for (Py_ssize_t from = 0; from < size; from++) {
        PyObject *item = PyTuple_GET_ITEM(point->table, from);
        PyTuple_SET_ITEM(table, from < index_of_new ? from : from + 2, Py_NewRef(item));
    }
    PyTuple_SET_ITEM(table, index_of_new, Py_NewRef(variant));
    PyTuple_SET_ITEM(table, index_of_new + 1, Py_NewRef(guards));
    point->general += general ? 2 : 0;
    point->last = 0;
    Py_SETREF(point->table, table);
    return 0;
}

/* Index of `item` (borrowed) among the entries of the current table, or -1. */
static Py_ssize_t
index_of(point_object *point, PyObject *item, int part)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(point->table); i += 2) {
        if (PyTuple_GET_ITEM(point->table, i + part) == item) {
            return i;
        }
    }
    return -1;
}

/* 1 if the guards at `index` hold, 0 if not, -1 with an error set. A program that died is taken
 * out of the point. Arguments borrowed. */
static int
guards_hold(point_object *point, PyObject *table, Py_ssize_t index, PyObject *const *state,
            Py_ssize_t n)
{
    PyObject *guards = PyTuple_GET_ITEM(table, index + 1);
    if (guards == Py_None) {
        return 1;
    }
    int holds = suture_guards_check(guards, state, n);
    if (holds == 0 && suture_guards_dead(guards)) {
        Py_ssize_t now = index_of(point, guards, 1);
        if (now >= 0 && take_out(point, now) < 0) {
            return -1;
        }
    }
    return holds;
}

PyObject *
suture_point_choose(PyObject *self, PyObject *const *state, Py_ssize_t n)
{
    point_object *point = (point_object *)self;
    PyObject *table = Py_NewRef(point->table);
    Py_ssize_t size = PyTuple_GET_SIZE(table), last = point->last;
    PyObject *chosen = NULL;
    int holds = size > 0 ? guards_hold(point, table, last, state, n) : 0;
    if (holds > 0) {
        chosen = Py_NewRef(PyTuple_GET_ITEM(table, last));
    }
    for (Py_ssize_t i = 0; i < size && holds == 0; i += 2) {
        if (i == last) {
            continue;
        }
        holds = guards_hold(point, table, i, state, n);
        if (holds > 0) {
            chosen = Py_NewRef(PyTuple_GET_ITEM(table, i));
            int known = point->table == table && i < size - point->general;
            point->last = known ? i : 0;
        }
    }
    Py_DECREF(table);
    if (holds > 0) {
        holds = suture_choice_stands(self, state, n);
        if (holds <= 0) {
            Py_CLEAR(chosen);
        }
    }
    if (holds != 0) {
        return chosen;
    }
    PyObject *tuple = PyTuple_New(n);
    if (tuple == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(state[i]));
    }
    PyObject *const args[] = {self, tuple};
    chosen = PyObject_Vectorcall(point->on_miss, args, 2, NULL);
    Py_DECREF(tuple);
    return chosen;
}

static PyObject *
point_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name", "on_miss", "data", NULL};
    PyObject *name, *on_miss, *data = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "UO|O:Point", names, &name, &on_miss, &data)) {
        return NULL;
    }
    if (!PyCallable_Check(on_miss)) {
        PyErr_SetString(PyExc_TypeError, "on_miss must be callable");
        return NULL;
    }
    PyObject *table = PyTuple_New(0);
    point_object *point = table ? (point_object *)type->tp_alloc(type, 0) : NULL;
    if (point == NULL) {
        Py_XDECREF(table);
        return NULL;
    }
    point->name = Py_NewRef(name);
    point->on_miss = Py_NewRef(on_miss);
    point->data = Py_NewRef(data);
    point->table = table;
    return (PyObject *)point;
}

static int
point_traverse(point_object *point, visitproc visit, void *arg)
{
    Py_VISIT(point->on_miss);
    Py_VISIT(point->data);
    Py_VISIT(point->table);
    return 0;
}

/* What may still be called afterwards stays valid: the table becomes empty, not NULL. */
static int
point_clear(point_object *point)
{
    PyObject *empty = PyTuple_New(0);
    if (empty != NULL) {
        point->last = point->general = 0;
        Py_XSETREF(point->table, empty);
    } else {
        PyErr_Clear();
    }
    Py_XSETREF(point->data, Py_NewRef(Py_None));
    Py_XSETREF(point->on_miss, Py_NewRef(Py_None));
    return 0;
}

static void
point_dealloc(point_object *point)
{
    PyObject_GC_UnTrack(point);
    if (point->weakrefs != NULL) {
        PyObject_ClearWeakRefs((PyObject *)point);
    }
    Py_XDECREF(point->name);
    Py_XDECREF(point->on_miss);
    Py_XDECREF(point->data);
    Py_XDECREF(point->table);
    Py_TYPE(point)->tp_free(point);
}

PyDoc_STRVAR(point_add_doc, "add($self, /, variant, guards=None, general=False)\n--\n\n"
                            "Install a callable taking the state; guards None always hold. A\n"
                            "general variant is tried when no other one fits.");

static PyObject *
point_add(point_object *point, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"variant", "guards", "general", NULL};
    PyObject *variant, *guards = Py_None;
    int general = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|Op:add", names, &variant, &guards,
                                     &general)) {
        return NULL;
    }
    if (!PyCallable_Check(variant)) {
        PyErr_SetString(PyExc_TypeError, "a variant must be callable");
        return NULL;
    }
    if (guards != Py_None && Py_TYPE(guards) != suture_guard_program_type) {
        PyErr_SetString(PyExc_TypeError, "guards must be a GuardProgram or None");
        return NULL;
    }
    if (put_in(point, variant, guards, general) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(point_remove_doc, "remove($self, variant, /)\n--\n\nTake a variant out of the point.");

static PyObject *
point_remove(point_object *point, PyObject *variant)
{
    Py_ssize_t index = index_of(point, variant, 0);
    if (index < 0) {
        PyErr_SetString(PyExc_ValueError, "not a variant of this point");
        return NULL;
    }
    if (take_out(point, index) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef point_methods[] = {
    {"add", (PyCFunction)(void (*)(void))point_add, METH_VARARGS | METH_KEYWORDS, point_add_doc},
    {"remove", (PyCFunction)point_remove, METH_O, point_remove_doc},
    {NULL, NULL, 0, NULL},
};

/* The entries at `part` (0 variants, 1 guards), most recent first, as a new list. */
static PyObject *
table_column(point_object *point, Py_ssize_t part)
{
    Py_ssize_t size = PyTuple_GET_SIZE(point->table) / 2;
    PyObject *list = PyList_New(size);
    for (Py_ssize_t i = 0; list != NULL && i < size; i++) {
        PyList_SET_ITEM(list, i, Py_NewRef(PyTuple_GET_ITEM(point->table, 2 * i + part)));
    }
    return list;
}

static PyObject *
point_variants(point_object *point, void *Py_UNUSED(closure))
{
    return table_column(point, 0);
}

static PyObject *
point_guards(point_object *point, void *Py_UNUSED(closure))
{
    return table_column(point, 1);
}

static PyGetSetDef point_getset[] = {
    {"variants", (getter)point_variants, NULL, "the variants now, most recent first", NULL},
    {"guards", (getter)point_guards, NULL, "their guards, in the same order", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef point_members[] = {
    {"name", T_OBJECT, offsetof(point_object, name), READONLY, "for people"},
    {"data", T_OBJECT, offsetof(point_object, data), 0, "anything"},
    {"on_miss", T_OBJECT, offsetof(point_object, on_miss), READONLY, "asked when nothing fits"},
    {NULL, 0, 0, 0, NULL},
};

static PyObject *
point_repr(point_object *point)
{
    return PyUnicode_FromFormat("<Point %U, %zd variants>", point->name,
                                PyTuple_GET_SIZE(point->table) / 2);
}

PyTypeObject suture_point_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "suture._core.Point",
    .tp_basicsize = sizeof(point_object),
    .tp_dealloc = (destructor)point_dealloc,
    .tp_repr = (reprfunc)point_repr,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Point(name, on_miss, data=None)\n--\n\n"
              "Where a frame can be entered, with its variants.",
    .tp_traverse = (traverseproc)point_traverse,
    .tp_clear = (inquiry)point_clear,
    .tp_weaklistoffset = offsetof(point_object, weakrefs),
    .tp_methods = point_methods,
    .tp_members = point_members,
    .tp_getset = point_getset,
    .tp_new = point_new,
};
