/* Slots of frames up to CPython 3.13: owned object pointers, counted by `stacktop`. Included by
 * frames_shared.h. */

/* Slots in use. */
static inline int
slots_used(suture_frame *frame)
{
    return frame->stacktop;
}

static inline void
slots_set_used(suture_frame *frame, int used)
{
    frame->stacktop = used;
}

/* What slot i holds: borrowed, NULL if it is empty. */
static inline PyObject *
slot_get(suture_frame *frame, int i)
{
    return frame->localsplus[i];
}

/* The same, as a new reference; NULL, no error set, if it is empty. */
static inline PyObject *
slot_new(suture_frame *frame, int i)
{
    return Py_XNewRef(frame->localsplus[i]);
}

/* Puts `value` (stolen, may be NULL) into a slot whose content does not matter. */
static inline void
slot_init(suture_frame *frame, int i, PyObject *value)
{
    frame->localsplus[i] = value;
}

/* Puts `value` (stolen, may be NULL) into slot i, for what that holds. */
static inline void
slot_replace(suture_frame *frame, int i, PyObject *value)
{
    Py_XSETREF(frame->localsplus[i], value);
}

/* Offsets of instructions are int objects on the stack: nothing to mark. */
static inline int
mark_integers(PyCodeObject *Py_UNUSED(code), int Py_UNUSED(unit), PyObject *Py_UNUSED(stack),
              unsigned char **marks)
{
    *marks = NULL;
    return 0;
}

static inline void
slot_init_integer(suture_frame *frame, int i, PyObject *value)
{
    slot_init(frame, i, value);
}
