/* Tracebacks: entries for frames that a variant stood in for, none for the variants themselves. */
#include "core.h"

#include <frameobject.h>

/* The first traceback entry of an exception (borrowed). New; NULL, no error set, for none. */
static PyObject *
first_entry(PyObject *exc)
{
    PyObject *entry = PyException_GetTraceback(exc);
    if (entry == Py_None) {
        Py_CLEAR(entry);
    }
    return entry;
}

PyObject *
suture_frame_object(PyCodeObject *code, PyObject *globals, int unit, PyObject *locals)
{
    PyFrameObject *frame = PyFrame_New(PyThreadState_Get(), code, globals, NULL);
    if (frame == NULL) {
        return NULL;
    }
    if (suture_frame_object_at(frame, code, unit, locals) < 0) {
        Py_DECREF(frame);
        return NULL;
    }
    return (PyObject *)frame;
}

PyDoc_STRVAR(add_traceback_doc,
             "add_traceback(exc, code, globals, offset, locals=None, /)\n--\n\n"
             "Add a traceback entry, as if exc had passed a frame of code at that instruction.");

static PyObject *
add_traceback(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *exc, *globals, *locals = Py_None;
    PyCodeObject *code;
    int offset;
    if (!PyArg_ParseTuple(args, "OO!O!i|O:add_traceback", &exc, &PyCode_Type, &code, &PyDict_Type,
                          &globals, &offset, &locals)) {
        return NULL;
    }
    if (!PyExceptionInstance_Check(exc)) {
        PyErr_SetString(PyExc_TypeError, "exc must be an exception");
        return NULL;
    }
    PyObject *empty = PyTuple_New(0);
    locals = locals == Py_None ? NULL : locals;
    int wrong = empty == NULL || (locals == NULL && (offset < 0 || offset / 2 >= Py_SIZE(code)));
    if (wrong || (locals != NULL && suture_check_state(code, offset, locals, empty) < 0)) {
        Py_XDECREF(empty);
        if (!PyErr_Occurred()) {
            PyErr_Format(PyExc_ValueError, "%U has no instruction at offset %d", code->co_qualname,
                         offset);
        }
        return NULL;
    }
    Py_DECREF(empty);
    PyObject *frame = suture_frame_object(code, globals, offset / 2, locals);
    if (frame == NULL) {
        return NULL;
    }
    PyObject *next = first_entry(exc);
    PyObject *entry =
        PyObject_CallFunction((PyObject *)&PyTraceBack_Type, "OOii", next ? next : Py_None, frame,
                              offset, PyCode_Addr2Line(code, offset));
    Py_XDECREF(next);
    Py_DECREF(frame);
    if (entry == NULL) {
        return NULL;
    }
    int failed = PyException_SetTraceback(exc, entry);
    Py_DECREF(entry);
    if (failed < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* 1 if the traceback entry (borrowed) is of a frame that runs `code`. */
static int
entry_is_of(PyObject *entry, PyObject *code)
{
    PyCodeObject *of = PyFrame_GetCode(((PyTracebackObject *)entry)->tb_frame);
    int same = (PyObject *)of == code;
    Py_DECREF(of);
    return same;
}

PyDoc_STRVAR(strip_traceback_doc, "strip_traceback(exc, code, /)\n--\n\n"
                                  "Remove leading traceback entries of frames that run code.");

static PyObject *
strip_traceback(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *exc, *code;
    if (!PyArg_ParseTuple(args, "OO!:strip_traceback", &exc, &PyCode_Type, &code)) {
        return NULL;
    }
    if (!PyExceptionInstance_Check(exc)) {
        PyErr_SetString(PyExc_TypeError, "exc must be an exception");
        return NULL;
    }
    PyObject *first = first_entry(exc);
    PyObject *entry = first;
    while (entry != NULL && entry_is_of(entry, code)) {
        entry = (PyObject *)((PyTracebackObject *)entry)->tb_next;
    }
    int failed = entry == first ? 0 : PyException_SetTraceback(exc, entry ? entry : Py_None);
    Py_XDECREF(first);
    if (failed < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyMethodDef suture_traceback_methods[] = {
    {"add_traceback", add_traceback, METH_VARARGS, add_traceback_doc},
    {"strip_traceback", strip_traceback, METH_VARARGS, strip_traceback_doc},
    {NULL, NULL, 0, NULL},
};
