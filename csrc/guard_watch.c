/* Noticing that a dict changed: by its version on 3.11, by a watcher from 3.12 on. */

#include "guard_state.h"

#if PY_VERSION_HEX < 0x030C0000

int
guard_watch_init(void)
{
    return 0;
}

bool
guard_can_watch(void)
{
    return true;
}

int
guard_watch(Trail *trail, PyObject *dict, int owner)
{
    const uint64_t *version = &((PyDictObject *)dict)->ma_version_tag;
    trail->n_watches++;
    return guard_note_word(trail, version, *version, owner);
}

void
guard_unwatch(Trail *Py_UNUSED(trail))
{
}

#else

static int watcher = -1;
static Watch **buckets = NULL; /* chains of watches by their dict */
static size_t n_buckets = 0, n_watches = 0;

static size_t
bucket_of(const PyObject *dict)
{
    return ((uintptr_t)dict >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 32 & (n_buckets - 1);
}

/* Called by CPython before a watched dict changes, or goes. */
static int
dict_changes(PyDict_WatchEvent event, PyObject *dict, PyObject *Py_UNUSED(key),
             PyObject *Py_UNUSED(value))
{
    if (!n_buckets) {
        return 0;
    }
    Watch **link = &buckets[bucket_of(dict)];
    while (*link) {
        Watch *watch = *link;
        if (watch->dict != dict) {
            link = &watch->next;
            continue;
        }
        watch->dirty = true;
        watch->trail->dirty = true;
        if (event == PyDict_EVENT_DEALLOCATED) {
            watch->trail->broken = true;
            watch->dict = NULL;
            *link = watch->next;
            n_watches--;
        } else {
            link = &watch->next;
        }
    }
    return 0;
}

/* One watcher for all programs: an interpreter has eight.  Without one no trail is kept. */
int
guard_watch_init(void)
{
    if (watcher < 0) {
        watcher = PyDict_AddWatcher(dict_changes);
    }
    return watcher < 0 ? guard_swallow() : 0;
}

bool
guard_can_watch(void)
{
    return watcher >= 0;
}

static int
grow_buckets(void)
{
    size_t wanted = n_buckets ? n_buckets * 2 : 256, old = n_buckets;
    Watch **grown = PyMem_Calloc(wanted, sizeof *grown);
    if (!grown) {
        PyErr_NoMemory();
        return -1;
    }
    Watch **before = buckets;
    buckets = grown;
    n_buckets = wanted;
    for (size_t i = 0; i < old; i++) {
        for (Watch *watch = before[i], *next; watch; watch = next) {
            next = watch->next;
            Watch **head = &buckets[bucket_of(watch->dict)];
            watch->next = *head;
            *head = watch;
        }
    }
    PyMem_Free(before);
    return 0;
}

int
guard_watch(Trail *trail, PyObject *dict, int owner)
{
    if (n_watches >= n_buckets && grow_buckets() < 0) {
        return -1;
    }
    Watch *watch = PyMem_New(Watch, 1);
    Watch **slot = watch ? guard_grow((void **)&trail->watches, &trail->n_watches,
                                      &trail->room_watches, sizeof *slot)
                         : NULL;
    if (!slot) {
        PyMem_Free(watch);
        PyErr_NoMemory();
        return -1;
    }
    Watch **head = &buckets[bucket_of(dict)];
    *watch = (Watch){
        .dict = dict, .trail = trail, .next = *head, .owner = owner, .position = trail->n_words};
    *head = *slot = watch;
    n_watches++;
    return PyDict_Watch(watcher, dict);
}

/* Takes a watch out of its bucket; tells CPython if it was the last one of its dict. */
static void
forget(Watch *watch)
{
    bool others = false;
    Watch **link = &buckets[bucket_of(watch->dict)];
    while (*link) {
        if (*link == watch) {
            *link = watch->next;
            continue;
        }
        others = others || (*link)->dict == watch->dict;
        link = &(*link)->next;
    }
    n_watches--;
    if (!others && PyDict_Unwatch(watcher, watch->dict) < 0) {
        PyErr_Clear();
    }
}

void
guard_unwatch(Trail *trail)
{
    for (int i = 0; i < trail->n_watches; i++) {
        Watch *watch = trail->watches[i];
        if (watch->dict) {
            forget(watch);
        }
        PyMem_Free(watch);
    }
    trail->n_watches = 0;
}

#endif

/* Whether stores to attributes of `object` will be noticed in its dict.  1, 0, or -1.

   On 3.13 an instance dict may share the values inside the object, and a store to an
   attribute then tells no watcher.  Putting an item in and popping it gives the dict a table
   of its own; that is invisible as long as nobody but the object holds the dict. */
int
guard_own_table(PyObject *object)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject **slot = _PyObject_GetDictPtr(object);
    PyObject *dict = slot ? *slot : NULL;
    if (!dict || !((PyDictObject *)dict)->ma_values) {
        return 1;
    }
    if (Py_REFCNT(dict) != 1) {
        return 0;
    }
    static PyObject *key = NULL;
    if (!key && !(key = PyUnicode_InternFromString("\x00suture"))) {
        return -1;
    }
    if (PyDict_SetItem(dict, key, Py_None) < 0) {
        return -1;
    }
    PyObject *popped = guard_call(dict, "popitem");
    Py_XDECREF(popped);
    return popped ? !((PyDictObject *)dict)->ma_values : -1;
#else
    (void)object;
    return 1;
#endif
}

/* How many dicts the trail depends on. */
int
guard_watched(const Trail *trail)
{
    return trail->n_watches;
}
