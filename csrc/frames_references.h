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

/* What slot i holds, as a new reference: an int object for an integer. NULL, no error set, if it
 * is empty; NULL with an error set if there is no memory for the int. */
static inline PyObject *
slot_new(suture_frame *frame, int i)
{
    _PyStackRef slot = frame->localsplus[i];
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
