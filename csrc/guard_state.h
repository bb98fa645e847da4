/* Trails: what a subtree below a pinned object depended on when it was last walked. */

#ifndef SUTURE_GUARD_STATE_H
#define SUTURE_GUARD_STATE_H

#include "guards.h"

/* A memory word that has to keep its value.  Bit 0 of the address marks 32-bit words. */
typedef struct {
    uintptr_t address;
    uint64_t value;
} Word;

/* A dict that has to stay as it is, seen by a watcher (3.12 and later). */
typedef struct Watch {
    PyObject *dict; /* borrowed; NULL once it is gone */
    struct Trail *trail;
    struct Watch *next; /* in the registry's bucket */
    int owner;          /* node to look at again when it changed, or -1: all */
    int position;       /* the words recorded before it are to be checked first */
    bool dirty;
} Watch;

typedef struct {
    PyObject *object; /* borrowed: the words before keep it alive */
    PyObject *spec;
    const struct DirectSpec *direct; /* of this or of an equal spec before it; NULL: none */
} PinnedTensor;

/* Something below a pinned object that has to be looked at each time. */
typedef struct {
    PyObject *base; /* borrowed */
    int node;
    int check; /* index of a check on `base`, or -1: `node` is to be reached from `base` */
} Live;

typedef struct {
    int label;
    PyObject *value; /* borrowed */
} PinnedLabel;

/* Everything is in preorder: what keeps an object alive is checked before the object is
   read.  Nothing is owned, so a trail keeps no model alive. */
struct Trail {
    int refs;
    int first;         /* the anchor's node */
    PyObject **values; /* by node from `first`; NULL: not pinned */
    bool dirty;        /* one of the watches is */
    bool broken;       /* a watched dict is gone */
    Word *words;
    int *owners; /* by word: node to look at again, or -1: all */
    int n_words, room_words;
    PinnedTensor *tensors;
    int n_tensors, room_tensors;
    const struct DirectSpec **directs; /* the different ones */
    int n_directs, room_directs;
    Live *lives;
    int n_lives, room_lives;
    PinnedLabel *labels;
    int n_labels, room_labels;
    PyTypeObject **types; /* whose version is among the words */
    int n_types, room_types;
    Watch **watches;
    int n_watches, room_watches;
};

/* What has been noted for the node whose children are being recorded. */
typedef struct {
    int node;
    bool dict, list, lookup;
} Noted;

/* guard_pin.c.  Functions that note return 0, or -1 with MemoryError. */
int guard_pin(Run *run, Trail *trail, int index, PyObject *value);
int guard_note_word(Trail *trail, const void *address, uint64_t value, int owner);
int guard_note_class(Trail *trail, PyObject *object);
/* 1: noted, 0: the type has no version to go by, -1: error. */
int guard_note_type(Trail *trail, PyTypeObject *type);

/* guard_lookup.c.  1: found (or absent, for `lacks`) and all it depends on noted,
   0: cannot be pinned, -1: error.  *value is borrowed. */
int guard_pin_attribute(Trail *trail, Noted *noted, PyObject *object, PyObject *name,
                        PyObject **value);
int guard_pin_lacking(Trail *trail, Noted *noted, PyObject *object, PyObject *name);

/* guard_watch.c */
int guard_watch_init(void);
bool guard_can_watch(void);
int guard_watch(Trail *trail, PyObject *dict, int owner);
void guard_unwatch(Trail *trail);
int guard_own_table(PyObject *object);
int guard_watched(const Trail *trail);

/* guard_state.c */
void *guard_grow(void **items, int *n, int *room, size_t size);

#endif
