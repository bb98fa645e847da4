/* Synthetic frames: what the stack shows while a variant lets Python run something.
 *
 * A variant replaces one frame or several that were inlined, and has the name and the lines of none
 * of them. While it calls out, frames of the program's own code, at the lines they have reached,
 * are linked in its stead: warnings, logging and `sys._getframe` see these. */
#include "core.h"

#include <frameobject.h>
#include <stddef.h>

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *positions; /* tuple of (code, globals, offset), outermost first */
    PyObject
        *frames; /* tuple of frame objects to use, or NULL: none are made, or they are in use */
} suture_synthetic_frames;

static PyObject *
frame_of(PyObject *position)
{
    PyCodeObject *code;
    PyObject *globals;
    int offset;
    if (!PyTuple_Check(position)) {
        PyErr_SetString(PyExc_TypeError, "a position is (code, globals, offset)");
        return NULL;
    }
    if (!PyArg_ParseTuple(position, "O!O!i:SyntheticFrames", &PyCode_Type, &code, &PyDict_Type,
                          &globals, &offset)) {
        return NULL;
    }
    if (offset < 0 || offset / 2 >= Py_SIZE(code)) {
        PyErr_Format(PyExc_ValueError, "%U has no instruction at offset %d", code->co_qualname,
                     offset);
        return NULL;
    }
    return suture_frame_object(code, globals, offset / 2, NULL);
}

/* The frames of `positions` (borrowed). A new tuple; NULL with an error set. */
static PyObject *
make_frames(PyObject *positions)
{
    Py_ssize_t count = PyTuple_GET_SIZE(positions);
    PyObject *frames = PyTuple_New(count);
    for (Py_ssize_t i = 0; frames != NULL && i < count; i++) {
        PyObject *frame = frame_of(PyTuple_GET_ITEM(positions, i));
        if (frame == NULL) {
            Py_CLEAR(frames);
        } else {
            PyTuple_SET_ITEM(frames, i, frame);
        }
    }
    return frames;
}

/* Links the frames (borrowed) behind each other. The innermost one, `below` if there are none. */
static suture_frame *
link_frames(PyObject *frames, suture_frame *below)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(frames); i++) {
        below = suture_frame_object_link((PyFrameObject *)PyTuple_GET_ITEM(frames, i), below);
    }
    return below;
}

/* Unlinks them, innermost first. 1 if nobody has kept one of them: they can be used again. */
static int
unlink_frames(PyObject *frames)
{
    int unused = 1;
    for (Py_ssize_t i = PyTuple_GET_SIZE(frames); i-- > 0;) {
        unused &= suture_frame_object_unlink((PyFrameObject *)PyTuple_GET_ITEM(frames, i));
    }
    return unused;
}

static PyObject *
synthetic_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    suture_synthetic_frames *synthetic = (suture_synthetic_frames *)self;
    size_t nargs = PyVectorcall_NARGS(nargsf);
    if (nargs < 1) {
        PyErr_SetString(PyExc_TypeError, "SyntheticFrames needs something to call");
        return NULL;
    }
    PyObject *frames = synthetic->frames;
    synthetic->frames = NULL;
    if (frames == NULL) {
        frames = make_frames(synthetic->positions);
        if (frames == NULL) {
            return NULL;
        }
    }
    Py_INCREF(self);
    PyThreadState *tstate = PyThreadState_Get();
    suture_frame *current = suture_current_frame(tstate);
    suture_frame *below = suture_this_thread.below;
    suture_set_current_frame(tstate, link_frames(frames, below == NULL ? current : below));
    PyObject *result = PyObject_Vectorcall(args[0], args + 1, nargs - 1, kwnames);
    suture_set_current_frame(tstate, current);
    if (unlink_frames(frames) && synthetic->frames == NULL) {
        synthetic->frames = frames;
    } else {
        Py_DECREF(frames);
    }
    Py_DECREF(self);
    return result;
}

static PyObject *
synthetic_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"positions", NULL};
    PyObject *positions;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!:SyntheticFrames", names, &PyTuple_Type,
                                     &positions)) {
        return NULL;
    }
    PyObject *frames = make_frames(positions);
    if (frames == NULL) {
        return NULL;
    }
    suture_synthetic_frames *self = (suture_synthetic_frames *)type->tp_alloc(type, 0);
    if (self == NULL) {
        Py_DECREF(frames);
        return NULL;
    }
    self->call = synthetic_call;
    self->positions = Py_NewRef(positions);
    self->frames = frames;
    return (PyObject *)self;
}

static int
synthetic_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((suture_synthetic_frames *)self)->positions);
    Py_VISIT(((suture_synthetic_frames *)self)->frames);
    return 0;
}

static int
synthetic_clear(PyObject *self)
{
    Py_CLEAR(((suture_synthetic_frames *)self)->positions);
    Py_CLEAR(((suture_synthetic_frames *)self)->frames);
    return 0;
}

static void
synthetic_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    synthetic_clear(self);
    Py_TYPE(self)->tp_free(self);
}

PyDoc_STRVAR(synthetic_doc,
             "SyntheticFrames(positions)\n--\n\n"
             "Calls what it is given while the stack shows frames at these positions.");

PyTypeObject suture_synthetic_frames_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "suture._core.SyntheticFrames",
    .tp_basicsize = sizeof(suture_synthetic_frames),
    .tp_dealloc = synthetic_dealloc,
    .tp_vectorcall_offset = offsetof(suture_synthetic_frames, call),
    .tp_call = PyVectorcall_Call,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = synthetic_doc,
    .tp_traverse = synthetic_traverse,
    .tp_clear = synthetic_clear,
    .tp_new = synthetic_new,
};
