/* Walking a subtree below a pinned object while recording what the outcome depends on. */

#include "guard_state.h"
#include "guard_tensor.h"

#include <string.h>

int
guard_note_word(Trail *trail, const void *address, uint64_t value, int owner)
{
    int n = trail->n_words, room = trail->room_words;
    if (n == room) {
        int *owners = PyMem_Realloc(trail->owners, sizeof(int) * (size_t)(room ? room * 2 : 8));
        if (!owners) {
            PyErr_NoMemory();
            return -1;
        }
        trail->owners = owners;
    }
    Word *word =
        guard_grow((void **)&trail->words, &trail->n_words, &trail->room_words, sizeof(Word));
    if (!word) {
        return -1;
    }
    *word = (Word){(uintptr_t)address, value};
    trail->owners[n] = owner;
    return 0;
}

static int
note_pointer(Trail *trail, const void *address, const void *value)
{
    return guard_note_word(trail, address, (uintptr_t)value, -1);
}

/* An instance of a class made in Python, or a module, can be given another class. */
int
guard_note_class(Trail *trail, PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && !PyModule_Check(object)) {
        return 0;
    }
    return note_pointer(trail, &object->ob_type, type);
}

int
guard_note_type(Trail *trail, PyTypeObject *type)
{
    uintptr_t address = (uintptr_t)&type->tp_version_tag | 1;
    for (int i = 0; i < trail->n_types; i++) {
        if (trail->types[i] == type) {
            return 1;
        }
    }
    static PyObject *any = NULL;
    if (!any && !(any = PyUnicode_InternFromString("__doc__"))) {
        return -1;
    }
    (void)_PyType_Lookup(type, any); /* gives the type a version */
    bool valid = type->tp_version_tag != 0;
#if PY_VERSION_HEX < 0x030D0000
    valid = valid && PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG);
#endif
    if (!valid) {
        return 0;
    }
    PyTypeObject **slot =
        guard_grow((void **)&trail->types, &trail->n_types, &trail->room_types, sizeof *slot);
    if (!slot) {
        return -1;
    }
    *slot = type;
    return guard_note_word(trail, (const void *)address, type->tp_version_tag, -1) < 0 ? -1 : 1;
}

static int
note_live(Trail *trail, PyObject *base, int node, int check)
{
    Live *live =
        guard_grow((void **)&trail->lives, &trail->n_lives, &trail->room_lives, sizeof(Live));
    if (!live) {
        return -1;
    }
    *live = (Live){base, node, check};
    return 0;
}

static int
note_dict(Trail *trail, Noted *noted, PyObject *dict)
{
    if (noted->dict) {
        return 0;
    }
    noted->dict = true;
    return guard_watch(trail, dict, noted->node);
}

static int
note_list(Trail *trail, Noted *noted, PyObject *object)
{
    PyListObject *list = (PyListObject *)object;
    if (noted->list) {
        return 0;
    }
    noted->list = true;
    if (note_pointer(trail, &list->ob_item, list->ob_item) < 0) {
        return -1;
    }
    return guard_note_word(trail, &list->ob_base.ob_size, (uint64_t)Py_SIZE(list), -1);
}

/* Layers of a model are alike: equal specs share one, which then stays in the cache. */
static const DirectSpec *
shared_direct(Trail *trail, const TensorSpec *spec)
{
    for (int i = 0; i < trail->n_directs; i++) {
        if (memcmp(trail->directs[i], &spec->direct, sizeof spec->direct) == 0) {
            return trail->directs[i];
        }
    }
    const DirectSpec **slot =
        guard_grow((void **)&trail->directs, &trail->n_directs, &trail->room_directs, sizeof *slot);
    return slot ? (*slot = &spec->direct) : NULL;
}

static int
note_tensor(Trail *trail, PyObject *object, PyObject *spec)
{
    PinnedTensor *tensor = guard_grow((void **)&trail->tensors, &trail->n_tensors,
                                      &trail->room_tensors, sizeof(PinnedTensor));
    if (!tensor) {
        return -1;
    }
    *tensor = (PinnedTensor){object, spec, NULL};
    if (((const TensorSpec *)spec)->direct_known) {
        tensor->direct = shared_direct(trail, (const TensorSpec *)spec);
        return tensor->direct ? 0 : -1;
    }
    return 0;
}

/* Notes what a check that holds now depends on.  0, or -1. */
static int
note_check(Run *run, Trail *trail, Noted *noted, int index, PyObject *value)
{
    const Check *check = &run->program->checks[index];
    switch ((CheckKind)check->kind) {
    case CHECK_TYPE:
        return guard_note_class(trail, value);
    case CHECK_LEN:
        if (PyDict_Check(value)) {
            return note_dict(trail, noted, value);
        }
        if (PyList_Check(value)) {
            return note_list(trail, noted, value);
        }
        if (PyTuple_Check(value) || PyUnicode_CheckExact(value) || PyBytes_CheckExact(value)) {
            return 0;
        }
        return note_live(trail, value, noted->node, index);
    case CHECK_KEYS:
        if (PyODict_Check(value) && PyDict_GET_SIZE(value) > 1) {
            return note_live(trail, value, noted->node, index);
        }
        return note_dict(trail, noted, value);
    case CHECK_NO_KEY:
        return note_dict(trail, noted, value);
    case CHECK_NO_ATTR: {
        int pinned = guard_pin_lacking(trail, noted, value, check->arg);
        return pinned == 0 ? note_live(trail, value, noted->node, index) : pinned < 0 ? -1 : 0;
    }
    case CHECK_NO_MRO_ATTR: {
        int typed = guard_note_type(trail, (PyTypeObject *)value);
        return typed == 0 ? note_live(trail, value, noted->node, index) : typed < 0 ? -1 : 0;
    }
    case CHECK_TENSOR:
        return note_tensor(trail, value, check->arg);
    case CHECK_TRUTH:
        return note_live(trail, value, noted->node, index);
    case CHECK_IS:
    case CHECK_WEAK:
    case CHECK_EQUALS:
    case CHECK_INT:
    case CHECK_FLOAT:
    case CHECK_BOOL:
    case CHECK_UNBOUND:
        return 0;
    }
    Py_UNREACHABLE();
}

static int
pin_item(Trail *trail, Noted *noted, PyObject *base, PyObject *key, PyObject **value)
{
    if (note_dict(trail, noted, base) < 0) {
        return -1;
    }
    *value = PyDict_GetItemWithError(base, key);
    return *value ? 1 : PyErr_Occurred() ? -1 : 0;
}

static int
pin_index(Trail *trail, Noted *noted, PyObject *base, Py_ssize_t i, PyObject **value)
{
    if (!PyTuple_Check(base) && !PyList_Check(base)) {
        return 0;
    }
    Py_ssize_t n = Py_SIZE(base);
    i = i < 0 ? i + n : i;
    if (i < 0 || i >= n) {
        return 0;
    }
    if (PyTuple_Check(base)) {
        *value = PyTuple_GET_ITEM(base, i);
        return 1;
    }
    PyObject **items = ((PyListObject *)base)->ob_item;
    *value = items[i];
    if (note_list(trail, noted, base) < 0 || note_pointer(trail, &items[i], *value) < 0) {
        return -1;
    }
    return 1;
}

static int
pin_function_part(Trail *trail, const Node *node, PyObject *base, PyObject **value)
{
    if (!PyFunction_Check(base)) {
        return 0;
    }
    PyFunctionObject *function = (PyFunctionObject *)base;
    Noted none = {.node = -1, .dict = false};
    switch (node->access) {
    case ACCESS_CLOSURE: /* read-only */
        return function->func_closure
                   ? pin_index(trail, &none, function->func_closure, node->index, value)
                   : 0;
    case ACCESS_DEFAULT:
        if (!function->func_defaults ||
            note_pointer(trail, &function->func_defaults, function->func_defaults) < 0) {
            return function->func_defaults ? -1 : 0;
        }
        return pin_index(trail, &none, function->func_defaults, node->index, value);
    case ACCESS_KWDEFAULT:
        if (!function->func_kwdefaults ||
            note_pointer(trail, &function->func_kwdefaults, function->func_kwdefaults) < 0) {
            return function->func_kwdefaults ? -1 : 0;
        }
        return pin_item(trail, &none, function->func_kwdefaults, node->arg, value);
    default:
        *value = function->func_code;
        return note_pointer(trail, &function->func_code, *value) < 0 ? -1 : 1;
    }
}

/* Reaches a child of a pinned object.  1 and *value (borrowed, pinned), 0: it has to be
   reached anew each time, -1: error. */
static int
pin_child(Trail *trail, Noted *noted, const Node *node, PyObject *base, PyObject **value)
{
    switch ((AccessKind)node->access) {
    case ACCESS_DICT: {
        PyObject **dict = _PyObject_GetDictPtr(base);
        if (!dict || !*dict) {
            return 0;
        }
        *value = *dict;
        return note_pointer(trail, dict, *dict) < 0 ? -1 : 1;
    }
    case ACCESS_ITEM:
        return PyDict_Check(base) ? pin_item(trail, noted, base, node->arg, value) : 0;
    case ACCESS_INDEX:
        return pin_index(trail, noted, base, node->index, value);
    case ACCESS_CELL:
        if (!PyCell_Check(base) || !(*value = PyCell_GET(base))) {
            return 0;
        }
        return note_pointer(trail, &((PyCellObject *)base)->ob_ref, *value) < 0 ? -1 : 1;
    case ACCESS_TYPE:
        *value = (PyObject *)Py_TYPE(base);
        return guard_note_class(trail, base) < 0 ? -1 : 1;
    case ACCESS_GETITEM:
        return PyDict_CheckExact(base) ? pin_item(trail, noted, base, node->arg, value) : 0;
    case ACCESS_CLOSURE:
    case ACCESS_DEFAULT:
    case ACCESS_KWDEFAULT:
    case ACCESS_CODE:
        return pin_function_part(trail, node, base, value);
    case ACCESS_ATTR:
        return guard_pin_attribute(trail, noted, base, node->arg, value);
    case ACCESS_MRO_ATTR: {
        if (!PyType_Check(base)) {
            return 0;
        }
        int typed = guard_note_type(trail, (PyTypeObject *)base);
        *value = _PyType_Lookup((PyTypeObject *)base, node->arg);
        return typed == 1 && !*value ? 0 : typed;
    }
    case ACCESS_KEY:
    case ACCESS_CALL:
    case ACCESS_SLOT:
    case ACCESS_CONST:
    case ACCESS_PICK:
        return 0;
    }
    Py_UNREACHABLE();
}

static int
pin_children(Run *run, Trail *trail, Noted *noted, PyObject *base)
{
    const Node *nodes = run->program->nodes;
    for (int child = noted->node + 1; child < nodes[noted->node].end; child = nodes[child].end) {
        int own = nodes[child].access == ACCESS_DICT ? guard_own_table(base) : 1;
        PyObject *seen = own < 0 ? NULL : guard_access(&nodes[child], base), *value = NULL;
        if (!seen) {
            return guard_swallow();
        }
        int pinned = own ? pin_child(trail, noted, &nodes[child], base, &value) : 0;
        int result = -1;
        if (pinned == 1) {
            result = value == seen ? guard_pin(run, trail, child, value) : 0;
        } else if (pinned == 0 && note_live(trail, base, child, -1) == 0) {
            result = guard_walk(run, child, seen);
        }
        Py_DECREF(seen);
        if (result != 1) {
            return result < 0 ? guard_swallow() : 0;
        }
    }
    return 1;
}

/* As guard_walk, for a `value` that the words recorded so far pin. */
int
guard_pin(Run *run, Trail *trail, int index, PyObject *value)
{
    const Node *node = &run->program->nodes[index];
    Noted noted = {.node = index};
    trail->values[index - trail->first] = value;
    for (int i = node->checks; i < node->checks + node->n_checks; i++) {
        int holds = guard_check_holds(&run->program->checks[i], value);
        if (holds == 1 && note_check(run, trail, &noted, i, value) < 0) {
            holds = -1;
        }
        if (holds != 1) {
            return holds;
        }
    }
    if (node->label >= 0) {
        PinnedLabel *label = guard_grow((void **)&trail->labels, &trail->n_labels,
                                        &trail->room_labels, sizeof(PinnedLabel));
        if (!label) {
            return -1;
        }
        *label = (PinnedLabel){node->label, value};
        int noted_value = guard_note_value(run, node->label, value);
        if (noted_value != 1) {
            return noted_value;
        }
    }
    return pin_children(run, trail, &noted, value);
}
