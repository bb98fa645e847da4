/* Slots of frames from CPython 3.14 on: tagged references, which own the object, borrow it from
 * somebody who outlives them, or are no object at all but an integer. Whatever we put into a frame
 * is owned. Included by frames_shared.h. */

static inline int
slots_used(suture_frame *frame)
{
    return (int)(frame->stackpointer - frame->localsplus);
}

static inline void
slots_set_used(suture_frame *frame, int used)
{
    frame->stackpointer = frame->localsplus + used;
}

/* What slot i, which holds no integer, holds: borrowed, NULL if it is empty. */
static inline PyObject *
slot_get(suture_frame *frame, int i)
{
    _PyStackRef slot = frame->localsplus[i];
    return PyStackRef_IsNull(slot) ? NULL : PyStackRef_AsPyObjectBorrow(slot);
}

#if PY_VERSION_HEX >= 0x030F0000
/* 1 if slots i and i + 1 are those of a loop over a sequence: it, and the index of the next item.
 * Only these types are kept that way, and never their subclasses. Where a handler keeps the offset
 * of an instruction, as an integer too, what lies below it is no such object: a loop's second slot,
 * a manager, an exception or nothing of the stack. */
static inline int
slot_is_indexed(suture_frame *frame, int i)
{
    if (i < FRAME_CODE(frame)->co_nlocalsplus || i + 1 >= slots_used(frame) ||
        !PyStackRef_IsTaggedInt(frame->localsplus[i + 1])) {
        return 0;
    }
    PyObject *value = PyStackRef_IsTaggedInt(frame->localsplus[i]) ? NULL : slot_get(frame, i);
    return value != NULL && (PyList_CheckExact(value) || PyTuple_CheckExact(value) ||
                             PyUnicode_CheckExact(value) || PyBytes_CheckExact(value));
}

/* An iterator that goes on where the loop at slots i and i + 1 does: new, NULL with an error set.
 * The frame keeps its own pair, which a program has no way to see. */
static PyObject *
slot_iterator(suture_frame *frame, int i)
{
    PyObject *iterator = PyObject_GetIter(slot_get(frame, i));
    if (iterator == NULL) {
        return NULL;
    }
    PyObject *done = PyObject_CallMethod(iterator, "__setstate__", "n",
                                         (Py_ssize_t)PyStackRef_UntagInt(frame->localsplus[i + 1]));
    if (done == NULL) {
        Py_DECREF(iterator);
        return NULL;
    }
    Py_DECREF(done);
    return iterator;
}
#endif

/* What slot i holds, as a new reference: an int object for an integer; for a loop that keeps a
 * sequence and an index, an iterator in the first slot and nothing in the second. NULL, no error
 * set, if it is empty; NULL with an error set if there is no memory. */
static inline PyObject *
slot_new(suture_frame *frame, int i)
{
    _PyStackRef slot = frame->localsplus[i];
#if PY_VERSION_HEX >= 0x030F0000
    if (slot_is_indexed(frame, i)) {
        return slot_iterator(frame, i);
    }
    if (slot_is_indexed(frame, i - 1)) {
        return NULL;
    }
#endif
    if (PyStackRef_IsTaggedInt(slot)) {
        return PyLong_FromSsize_t(PyStackRef_UntagInt(slot));
    }
    return PyStackRef_IsNull(slot) ? NULL : Py_NewRef(PyStackRef_AsPyObjectBorrow(slot));
}

/* Puts `value` (stolen, may be NULL) into a slot whose content does not matter. */
static inline void
slot_init(suture_frame *frame, int i, PyObject *value)
{
    frame->localsplus[i] = value == NULL ? PyStackRef_NULL : PyStackRef_FromPyObjectSteal(value);
}

/* Puts `value` (stolen, may be NULL) into slot i, for what that holds. */
static inline void
slot_replace(suture_frame *frame, int i, PyObject *value)
{
    _PyStackRef old = frame->localsplus[i];
    slot_init(frame, i, value);
    PyStackRef_XCLOSE(old);
}

#include "stack_integers.h"

/* Puts an int (stolen) as an integer into a slot whose content does not matter. */
static inline void
slot_init_integer(suture_frame *frame, int i, PyObject *value)
{
    frame->localsplus[i] = PyStackRef_TagInt(PyLong_AsSsize_t(value));
    Py_DECREF(value);
}
