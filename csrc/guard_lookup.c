/* Attribute lookups whose outcome is decided by dicts and types alone. */

#include "guard_state.h"

#include <structmember.h>

/* Whether the type looks attributes up as object (or module) does. */
static bool
plain_lookup(PyTypeObject *type)
{
    static PyObject *name = NULL;
    if (!name && !(name = PyUnicode_InternFromString("__getattribute__"))) {
        PyErr_Clear();
        return false;
    }
    PyObject *found = _PyType_Lookup(type, name);
    return found && (found == _PyType_Lookup(&PyBaseObject_Type, name) ||
                     found == _PyType_Lookup(&PyModule_Type, name));
}

static bool
has_fallback(PyObject *object)
{
    static PyObject *name = NULL;
    if (!name && !(name = PyUnicode_InternFromString("__getattr__"))) {
        PyErr_Clear();
        return true;
    }
    if (_PyType_Lookup(Py_TYPE(object), name)) {
        return true;
    }
    return PyModule_Check(object) && PyDict_Contains(PyModule_GetDict(object), name) != 0;
}

/* Notes the class, the type's version, and the instance dict of `object`.  1, 0, -1. */
static int
note_lookup(Trail *trail, Noted *noted, PyObject *object)
{
    if (noted->lookup) {
        return 1;
    }
    if (guard_note_class(trail, object) < 0) {
        return -1;
    }
    int typed = guard_note_type(trail, Py_TYPE(object));
    if (typed != 1) {
        return typed;
    }
    PyObject **dict = _PyObject_GetDictPtr(object);
    if (dict && !*dict) {
        Py_XDECREF(PyObject_GenericGetDict(object, NULL));
    }
    int own = guard_own_table(object);
    if (own != 1) {
        return own;
    }
    if (dict) {
        if (!*dict || guard_note_word(trail, dict, (uintptr_t)*dict, -1) < 0 ||
            guard_watch(trail, *dict, noted->node) < 0) {
            return -1;
        }
    }
    noted->lookup = true;
    return 1;
}

/* A slot of a class with __slots__ is a word of the instance. */
static int
pin_slot(Trail *trail, PyObject *object, PyMemberDescrObject *member, PyObject **value)
{
    if (member->d_member->type != T_OBJECT_EX || member->d_common.d_type == NULL ||
        !PyObject_TypeCheck(object, member->d_common.d_type)) {
        return 0;
    }
    PyObject **slot = (PyObject **)(void *)((char *)object + member->d_member->offset);
    *value = *slot;
    int typed = *value ? guard_note_type(trail, Py_TYPE(object)) : 0;
    if (typed != 1) {
        return typed;
    }
    if (guard_note_class(trail, object) < 0 ||
        guard_note_word(trail, slot, (uintptr_t)*value, -1) < 0) {
        return -1;
    }
    return 1;
}

/* Attribute of a class: found in its MRO and given out as it is. */
static int
pin_class_attribute(Trail *trail, PyTypeObject *type, PyObject *name, PyObject **value)
{
    PyTypeObject *meta = Py_TYPE(type);
    if (meta->tp_getattro != PyType_Type.tp_getattro || _PyType_Lookup(meta, name)) {
        return 0;
    }
    *value = _PyType_Lookup(type, name);
    if (!*value || (Py_TYPE(*value)->tp_descr_get && !PyFunction_Check(*value))) {
        return 0;
    }
    if (guard_note_class(trail, (PyObject *)type) < 0) {
        return -1;
    }
    int typed = guard_note_type(trail, meta);
    return typed == 1 ? guard_note_type(trail, type) : typed;
}

int
guard_pin_attribute(Trail *trail, Noted *noted, PyObject *object, PyObject *name, PyObject **value)
{
    if (PyType_Check(object)) {
        return pin_class_attribute(trail, (PyTypeObject *)object, name, value);
    }
    if (!plain_lookup(Py_TYPE(object))) {
        return 0;
    }
    PyObject *shared = _PyType_Lookup(Py_TYPE(object), name);
    if (shared && Py_TYPE(shared)->tp_descr_set) {
        return Py_IS_TYPE(shared, &PyMemberDescr_Type)
                   ? pin_slot(trail, object, (PyMemberDescrObject *)shared, value)
                   : 0;
    }
    PyObject **dict = _PyObject_GetDictPtr(object);
    *value = dict && *dict ? PyDict_GetItemWithError(*dict, name) : NULL;
    if (!*value) {
        if (PyErr_Occurred()) {
            return -1;
        }
        if (!shared || Py_TYPE(shared)->tp_descr_get) {
            return 0;
        }
        *value = shared;
    }
    return note_lookup(trail, noted, object);
}

int
guard_pin_lacking(Trail *trail, Noted *noted, PyObject *object, PyObject *name)
{
    if (PyType_Check(object) || !plain_lookup(Py_TYPE(object)) || has_fallback(object) ||
        _PyType_Lookup(Py_TYPE(object), name)) {
        return 0;
    }
    return note_lookup(trail, noted, object);
}
