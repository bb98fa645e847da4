/* Running trails: comparing words instead of walking a model. */

#include "guard_state.h"
#include "guard_tensor.h"

#include <string.h>

#define AHEAD 8
#define AGAIN 2 /* something changed that calls for a new walk */

/* Room for one more item, zeroed.  NULL: MemoryError is set. */
void *
guard_grow(void **items, int *n, int *room, size_t size)
{
    if (*n == *room) {
        int wanted = *room ? *room * 2 : 8;
        void *grown = PyMem_Realloc(*items, (size_t)wanted * size);
        if (!grown) {
            PyErr_NoMemory();
            return NULL;
        }
        *items = grown;
        *room = wanted;
    }
    return memset((char *)*items + (size_t)(*n)++ * size, 0, size);
}

/* Gives up one reference; NULL is fine. */
void
guard_trail_release(Trail *trail)
{
    if (!trail || --trail->refs > 0) {
        return;
    }
    guard_unwatch(trail);
    PyMem_Free(trail->values);
    PyMem_Free(trail->words);
    PyMem_Free(trail->owners);
    PyMem_Free(trail->tensors);
    PyMem_Free(trail->lives);
    PyMem_Free(trail->labels);
    PyMem_Free(trail->watches);
    PyMem_Free(trail->types);
    PyMem_Free(trail->directs);
    PyMem_Free(trail);
}

static Trail *
trail_new(int first, int n)
{
    Trail *trail = PyMem_Calloc(1, sizeof *trail);
    PyObject **values = trail ? PyMem_Calloc((size_t)n, sizeof *values) : NULL;
    if (!values) {
        PyMem_Free(trail);
        PyErr_NoMemory();
        return NULL;
    }
    trail->refs = 1;
    trail->first = first;
    trail->values = values;
    return trail;
}

static inline bool
unchanged(const Word *word)
{
    if (LIKELY(!(word->address & 1))) {
        return *(const uint64_t *)word->address == word->value;
    }
    return *(const uint32_t *)(word->address - 1) == word->value;
}

/* The checks of a node that neither run user code nor look at a tensor. */
static int
checks_hold(const Program *program, const Node *node, PyObject *value)
{
    for (int i = node->checks; i < node->checks + node->n_checks; i++) {
        const Check *check = &program->checks[i];
        if (check->kind != CHECK_TENSOR && check->kind != CHECK_TRUTH) {
            int holds = guard_check_holds(check, value);
            if (holds != 1) {
                return holds;
            }
        }
    }
    return 1;
}

/* Looks at a node again whose dict changed: its checks, and whether each pinned child is
   still the same object.  1, 0, AGAIN, or -1. */
static int
look_again(Run *run, const Trail *trail, int owner)
{
    const Program *program = run->program;
    const Node *node = &program->nodes[owner];
    PyObject *base = Py_NewRef(trail->values[owner - trail->first]);
    int result = checks_hold(program, node, base);
    for (int child = owner + 1; result == 1 && child < node->end;
         child = program->nodes[child].end) {
        PyObject *was = trail->values[child - trail->first];
        if (!was) {
            continue;
        }
        PyObject *is = guard_access(&program->nodes[child], base);
        if (!is) {
            result = guard_swallow();
        } else if (is != was) {
            result = checks_hold(program, &program->nodes[child], is);
            result = result == 1 ? AGAIN : result;
        }
        Py_XDECREF(is);
    }
    Py_DECREF(base);
    return result;
}

/* A word differs.  A dict's version is taken over if what it holds is still the same. */
static int
settle_word(Run *run, Trail *trail, int i)
{
    if (trail->owners[i] < 0) {
        return AGAIN;
    }
    uint64_t now = *(const uint64_t *)trail->words[i].address;
    int result = look_again(run, trail, trail->owners[i]);
    if (result == 1) {
        trail->words[i].value = now;
    }
    return result;
}

static int
words_hold(Run *run, Trail *trail, int from, int to)
{
    const Word *words = trail->words;
    for (int i = from; i < to; i++) {
        if (UNLIKELY(!unchanged(&words[i]))) {
            int result = settle_word(run, trail, i);
            if (result != 1) {
                return result;
            }
        }
    }
    return 1;
}

/* With dirty watches: words and watches in the order in which they were recorded. */
static int
dirty_holds(Run *run, Trail *trail)
{
    int done = 0;
    trail->dirty = false;
    for (int i = 0; i < trail->n_watches && trail->watches; i++) {
        Watch *watch = trail->watches[i];
        if (!watch->dirty) {
            continue;
        }
        int result = words_hold(run, trail, done, watch->position);
        done = watch->position;
        if (result == 1) {
            watch->dirty = false;
            result = watch->owner < 0 ? AGAIN : look_again(run, trail, watch->owner);
        }
        if (trail->broken) {
            result = result < 0 ? -1 : AGAIN;
        }
        if (result != 1) {
            watch->dirty = true;
            trail->dirty = true;
            return result;
        }
    }
    return words_hold(run, trail, done, trail->n_words);
}

/* Fetches what will be read of a tensor some turns later. */
static inline void
prefetch(const Trail *trail, int i)
{
    if (i < trail->n_tensors && trail->tensors[i].direct) {
        const char *body = ((const char *const *)trail->tensors[i].object)[guard_layout.body];
        __builtin_prefetch(body + guard_layout.autograd);
        __builtin_prefetch(body + guard_layout.sizes);
        __builtin_prefetch(body + guard_layout.keys);
    }
}

static int
tensors_hold(const Trail *trail)
{
    for (int i = 0; i < trail->n_tensors; i++) {
        const PinnedTensor *tensor = &trail->tensors[i];
        prefetch(trail, i + AHEAD);
        if (LIKELY(tensor->direct && Py_TYPE(tensor->object) == tensor->direct->type)) {
            int holds = guard_direct_holds(tensor->direct, tensor->object);
            if (LIKELY(holds == 1)) {
                continue;
            }
            PyErr_Clear();
        }
        int holds = guard_tensor_holds(tensor->spec, tensor->object);
        if (UNLIKELY(holds != 1)) {
            return holds < 0 ? guard_swallow() : 0;
        }
    }
    return 1;
}

static int
live_holds(Run *run, const Live *live, PyObject *base)
{
    if (live->check >= 0) {
        return guard_check_holds(&run->program->checks[live->check], base);
    }
    PyObject *value = guard_access(&run->program->nodes[live->node], base);
    if (!value) {
        return guard_swallow();
    }
    int result = guard_walk(run, live->node, value);
    Py_DECREF(value);
    return result;
}

/* User code may run here and free what the trail points to: hold it first. */
static int
lives_hold(Run *run, const Trail *trail)
{
    PyObject **bases = PyMem_New(PyObject *, trail->n_lives);
    if (!bases) {
        PyErr_NoMemory();
        return -1;
    }
    for (int i = 0; i < trail->n_lives; i++) {
        bases[i] = Py_NewRef(trail->lives[i].base);
    }
    int result = 1;
    for (int i = 0; i < trail->n_lives; i++) {
        if (result == 1) {
            result = live_holds(run, &trail->lives[i], bases[i]);
        }
    }
    for (int i = 0; i < trail->n_lives; i++) {
        Py_DECREF(bases[i]);
    }
    PyMem_Free(bases);
    return result;
}

static int
trail_holds(Run *run, Trail *trail)
{
    if (UNLIKELY(trail->broken)) {
        return AGAIN;
    }
    int result = UNLIKELY(trail->dirty) ? dirty_holds(run, trail)
                                        : words_hold(run, trail, 0, trail->n_words);
    if (result == 1) {
        result = tensors_hold(trail);
    }
    for (int i = 0; result == 1 && i < trail->n_labels; i++) {
        result = guard_note_value(run, trail->labels[i].label, trail->labels[i].value);
    }
    if (result == 1 && trail->n_lives) {
        result = lives_hold(run, trail);
    }
    return result;
}

/* Node `index`, whose identity check is still to be made: by its trail, or by a walk that
   records a new one. */
int
guard_anchor(Run *run, int index, PyObject *value)
{
    Node *node = &run->program->nodes[index];
    Trail *trail = node->trail;
    if (LIKELY(trail != NULL)) {
        if (UNLIKELY(trail->values[0] != value)) {
            return 0;
        }
        trail->refs++;
        int result = trail_holds(run, trail);
        guard_trail_release(trail);
        if (LIKELY(result != AGAIN)) {
            return result;
        }
    }
    trail = trail_new(index, node->end - index);
    int result = trail ? guard_pin(run, trail, index, value) : -1;
    if (result == 1) {
        Trail *old = node->trail;
        node->trail = trail;
        trail = old;
    }
    guard_trail_release(trail);
    return result;
}
