/* Guards of the whole program: identities between nodes, torch's global state. */

#include "guard_tensor.h"

#include <string.h>

/* A zeroed array for `items`, which has to be a tuple; NULL with an error. */
static void *
array_for(PyObject *items, const char *part, size_t size)
{
    if (!PyTuple_CheckExact(items)) {
        PyErr_Format(PyExc_ValueError, "%s: takes a tuple, not %R", part, items);
        return NULL;
    }
    void *array = PyMem_Calloc((size_t)PyTuple_GET_SIZE(items) + 1, size);
    return array ? array : PyErr_NoMemory();
}

/* Reads one item, a tuple of three or fewer.  0, or -1 with an error. */
typedef int (*ParseItem)(Program *program, const Path *path, PyObject *item);

/* Reads each item of a part of the description; all are tuples of `least` to 3.  Borrows. */
static int
parse_items(Program *program, PyObject *items, const char *part, Py_ssize_t least,
            const char *takes, ParseItem parse)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); i++) {
        Path path = {NULL, part, i};
        PyObject *item = PyTuple_GET_ITEM(items, i);
        Py_ssize_t size = PyTuple_CheckExact(item) ? PyTuple_GET_SIZE(item) : 0;
        if (size < least || size > 3) {
            return guard_wrong(&path, takes, item);
        }
        if (parse(program, &path, item) < 0) {
            return -1;
        }
    }
    return 0;
}

/* The id at this place of an item; -1 if the item ends before it.  0, or -1 with an error. */
static int
parse_id_at(const Path *path, PyObject *item, Py_ssize_t place, int *out)
{
    *out = -1;
    return PyTuple_GET_SIZE(item) <= place
               ? 0
               : guard_parse_id(path, PyTuple_GET_ITEM(item, place), out);
}

static int
parse_same_item(Program *program, const Path *path, PyObject *item)
{
    SamePair pair;
    pair.a = guard_find_label(program, path, PyTuple_GET_ITEM(item, 0));
    pair.b = pair.a < 0 ? -1 : guard_find_label(program, path, PyTuple_GET_ITEM(item, 1));
    if (pair.b < 0 || parse_id_at(path, item, 2, &pair.id) < 0) {
        return -1;
    }
    program->same[program->n_same++] = pair;
    return 0;
}

/* ((label, label[, id]), ...) */
int
guard_parse_same(Program *program, PyObject *items)
{
    program->same = array_for(items, "same", sizeof(SamePair));
    if (!program->same) {
        return -1;
    }
    return parse_items(program, items, "same", 2, "takes (label, label, id)", parse_same_item);
}

static const char takes_distinct[] = "takes ((label, ...), id, memory)";

/* What was allocated for the set belongs to the program, also if this fails. */
static int
parse_distinct_item(Program *program, const Path *path, PyObject *item)
{
    PyObject *labels = PyTuple_GET_ITEM(item, 0);
    if (!PyTuple_CheckExact(labels)) {
        return guard_wrong(path, takes_distinct, item);
    }
    DistinctSet *set = &program->distinct[program->n_distinct++];
    set->labels = PyMem_New(int, PyTuple_GET_SIZE(labels) + 1);
    set->known = PyMem_Calloc((size_t)PyTuple_GET_SIZE(labels) + 1, sizeof *set->known);
    set->memory = PyTuple_GET_SIZE(item) == 3 && PyTuple_GET_ITEM(item, 2) == Py_True;
    if (!set->labels || !set->known) {
        PyErr_NoMemory();
        return -1;
    }
    for (; set->n < PyTuple_GET_SIZE(labels); set->n++) {
        int label = guard_find_label(program, path, PyTuple_GET_ITEM(labels, set->n));
        if (label < 0) {
            return -1;
        }
        set->labels[set->n] = label;
    }
    return parse_id_at(path, item, 1, &set->id);
}

/* ((labels[, id[, memory]]), ...) */
int
guard_parse_distinct(Program *program, PyObject *items)
{
    program->distinct = array_for(items, "distinct", sizeof(DistinctSet));
    if (!program->distinct) {
        return -1;
    }
    return parse_items(program, items, "distinct", 1, takes_distinct, parse_distinct_item);
}

static const char takes_state[] = "takes (function, expected, id)";

/* The program owns references to the function and to what is expected, also if this fails. */
static int
parse_state_item(Program *program, const Path *path, PyObject *item)
{
    if (!PyCallable_Check(PyTuple_GET_ITEM(item, 0))) {
        return guard_wrong(path, takes_state, item);
    }
    TorchState *state = &program->states[program->n_states++];
    state->function = Py_NewRef(PyTuple_GET_ITEM(item, 0));
    state->expected = Py_NewRef(PyTuple_GET_ITEM(item, 1));
    state->word = guard_find_state_word(state->function);
    if (PyCFunction_CheckExact(state->function) &&
        PyCFunction_GET_FLAGS(state->function) == METH_NOARGS) {
        state->direct = PyCFunction_GET_FUNCTION(state->function);
        state->self = PyCFunction_GET_SELF(state->function);
    }
    return parse_id_at(path, item, 2, &state->id);
}

/* ((function, expected[, id]), ...) */
int
guard_parse_states(Program *program, PyObject *items)
{
    program->states = array_for(items, "torch_state", sizeof(TorchState));
    if (!program->states) {
        return -1;
    }
    return parse_items(program, items, "torch_state", 2, takes_state, parse_state_item);
}

static int
state_failed(Run *run, const TorchState *state, PyObject *now)
{
    PyObject *text = NULL;
    if (run->explain) {
        PyObject *name = guard_get(state->function, "__name__");
        text = name ? PyUnicode_FromFormat("%S() was %R, is %R", name, state->expected, now) : NULL;
        Py_XDECREF(name);
    }
    return guard_fail(run, state->id, text);
}

/* Asks the Python function. */
static int
ask_state(Run *run, const TorchState *state)
{
    PyObject *now =
        state->direct ? state->direct(state->self, NULL) : PyObject_CallNoArgs(state->function);
    if (!now) {
        return guard_swallow() < 0 ? -1 : guard_fail(run, state->id, NULL);
    }
    int same = now == state->expected ? 1 : guard_same_constant(now, state->expected);
    int result = same == 1 ? 1 : same < 0 ? guard_swallow() : state_failed(run, state, now);
    Py_DECREF(now);
    return result;
}

/* Whether the state is as expected: its state word is what it was when that last held, or the
   function says so. */
static int
state_holds(Run *run, TorchState *state)
{
    if (!state->word) {
        return ask_state(run, state);
    }
    uint64_t words[2];
    guard_read_state_word(state->word, words);
    if (LIKELY(state->known && words[0] == state->words[0] && words[1] == state->words[1])) {
        return 1;
    }
    int result = ask_state(run, state);
    if (result == 1) {
        state->words[0] = words[0];
        state->words[1] = words[1];
        state->known = true;
    }
    return result;
}

int
guard_run_states(Run *run)
{
    const Program *program = run->program;
    for (int i = 0; i < program->n_states; i++) {
        int result = state_holds(run, &program->states[i]);
        if (result != 1) {
            return result;
        }
    }
    return 1;
}

/* Whether no two of n addresses are one, from scratch: by hashing them. */
static bool
all_distinct(const uintptr_t *keys, int n)
{
    size_t room = 32;
    while (room < (size_t)n * 2) {
        room *= 2;
    }
    uintptr_t *table = PyMem_Calloc(room, sizeof *table);
    bool distinct = table != NULL;
    for (int i = 0; distinct && i < n; i++) {
        size_t at = (keys[i] >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 32 & (room - 1);
        while (table[at] && table[at] != keys[i]) {
            at = (at + 1) & (room - 1);
        }
        distinct = table[at] == 0;
        table[at] = keys[i];
    }
    PyMem_Free(table);
    return distinct;
}

/* The same, given that the addresses in set->known are distinct: those that are new are
   compared with all others.  Addresses are compared as numbers, nothing is read from them. */
static bool
still_distinct(const uintptr_t *keys, const DistinctSet *set)
{
    int fresh[8], n_fresh = 0;
    for (int i = 0; i < set->n; i++) {
        if (keys[i] != set->known[i]) {
            if (n_fresh == (int)Py_ARRAY_LENGTH(fresh)) {
                return all_distinct(keys, set->n);
            }
            fresh[n_fresh++] = i;
        }
    }
    for (int k = 0; k < n_fresh; k++) {
        for (int i = 0; i < set->n; i++) {
            if (keys[i] == keys[fresh[k]] && i != fresh[k]) {
                return false;
            }
        }
    }
    return true;
}

/* The addresses that are compared: of the values, or of their memory.  1, 0: there is none for one
   of them, -1: an error that must be passed on. */
static int
read_keys(PyObject *const *values, const DistinctSet *set, uintptr_t *keys)
{
    for (int i = 0; i < set->n; i++) {
        PyObject *value = values[set->labels[i]];
        keys[i] = set->memory ? guard_memory_of(value) : (uintptr_t)value;
        if (!keys[i]) {
            return guard_swallow() < 0 ? -1 : 0;
        }
    }
    return 1;
}

/* 1, 0, -1: an error that must be passed on. */
static int
distinct_holds(PyObject *const *values, DistinctSet *set)
{
    uintptr_t few[64], *keys = few; /* of this run alone: torch may let other threads run */
    if (set->n > (int)Py_ARRAY_LENGTH(few) && !(keys = PyMem_New(uintptr_t, set->n))) {
        PyErr_NoMemory();
        return -1;
    }
    int holds = read_keys(values, set, keys);
    if (holds == 1) {
        bool known = set->n > 0 && set->known[0];
        holds = known ? still_distinct(keys, set) : all_distinct(keys, set->n);
    }
    if (holds == 1) {
        memcpy(set->known, keys, (size_t)set->n * sizeof *keys);
    }
    if (keys != few) {
        PyMem_Free(keys);
    }
    return holds;
}

int
guard_run_identities(Run *run)
{
    const Program *program = run->program;
    for (int i = 0; i < program->n_same; i++) {
        const SamePair *pair = &program->same[i];
        if (run->values[pair->a] != run->values[pair->b]) {
            PyObject *text = run->explain ? PyUnicode_FromString("were one object, are two") : NULL;
            return guard_fail(run, pair->id, text);
        }
    }
    for (int i = 0; i < program->n_distinct; i++) {
        DistinctSet *set = &program->distinct[i];
        int holds = distinct_holds(run->values, set);
        if (holds < 0) {
            return -1;
        }
        if (!holds) {
            const char *said = set->memory ? "had memory of their own, two share it"
                                           : "were different objects, two are one";
            return guard_fail(run, set->id, run->explain ? PyUnicode_FromString(said) : NULL);
        }
    }
    return 1;
}
