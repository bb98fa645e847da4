/* What the core remembers with a code object: the callbacks' answers and a few derived facts. */
#include "core.h"

#if PY_VERSION_HEX >= 0x030C0000
#define REQUEST_INDEX PyUnstable_Eval_RequestCodeExtraIndex
#define GET_EXTRA PyUnstable_Code_GetExtra
#define SET_EXTRA PyUnstable_Code_SetExtra
#else
#define REQUEST_INDEX _PyEval_RequestCodeExtraIndex
#define GET_EXTRA _PyCode_GetExtra
#define SET_EXTRA _PyCode_SetExtra
#endif

/* One answer: for this unit (-1: the start) and this context. */
typedef struct site {
    struct site *next;
    PyObject *context; /* owned, NULL for none */
    PyObject *point;   /* owned; NULL: run plainly; False: all below, too */
    unsigned long epoch;
    int unit;
} site;

typedef struct {
    site *sites;
    PyObject *kwonly;  /* owned tuple of names, or NULL */
    PyObject *watched; /* owned context for resumed generators, or NULL */
} code_extra;

static Py_ssize_t extra_index = -1;
static PyObject *frame_callback;     /* owned, NULL for none */
static PyObject *generator_callback; /* the same */
static unsigned long epoch = 1;      /* answers of another epoch are of another callback */

/* Releases a list of sites (owned). */
static void
free_sites(site *first)
{
    while (first != NULL) {
        site *next = first->next;
        Py_XDECREF(first->context);
        Py_XDECREF(first->point);
        PyMem_Free(first);
        first = next;
    }
}

/* Called by CPython when the code object dies. Owns `memory`. */
static void
free_extra(void *memory)
{
    code_extra *extra = memory;
    if (extra != NULL) {
        free_sites(extra->sites);
        Py_XDECREF(extra->kwonly);
        Py_XDECREF(extra->watched);
        PyMem_Free(extra);
    }
}

/* What is remembered with `code` (borrowed), or NULL if nothing is. Owned by the code. */
static code_extra *
find_extra(PyCodeObject *code)
{
    void *extra = NULL;
    if (GET_EXTRA((PyObject *)code, extra_index, &extra) < 0) {
        PyErr_Clear();
    }
    return extra;
}

/* The same, made if missing. NULL with an error set. */
static code_extra *
need_extra(PyCodeObject *code)
{
    code_extra *extra = find_extra(code);
    if (extra == NULL) {
        extra = PyMem_Calloc(1, sizeof(code_extra));
        if (extra == NULL) {
            PyErr_NoMemory();
        } else if (SET_EXTRA((PyObject *)code, extra_index, extra) < 0) {
            PyMem_Free(extra);
            extra = NULL;
        }
    }
    return extra;
}

PyObject *
suture_code_kwonly(PyCodeObject *code)
{
    code_extra *extra = need_extra(code);
    if (extra != NULL && extra->kwonly == NULL) {
        extra->kwonly = PyTuple_GetSlice(code->co_localsplusnames, code->co_argcount,
                                         code->co_argcount + code->co_kwonlyargcount);
    }
    return extra == NULL ? NULL : extra->kwonly;
}

PyObject *
suture_code_watched(PyCodeObject *code)
{
    code_extra *extra = find_extra(code);
    return extra == NULL ? NULL : Py_XNewRef(extra->watched);
}

static site *
find_site(code_extra *extra, int unit, PyObject *context)
{
    for (site *s = extra == NULL ? NULL : extra->sites; s != NULL; s = s->next) {
        if (s->unit == unit && s->context == context && s->epoch == epoch) {
            return s;
        }
    }
    return NULL;
}

/* Asks the callback, hook inactive. Arguments borrowed; result new (a Point, None or False), NULL
 * with an error set. */
static PyObject *
ask(suture_thread *thread, PyObject *callback, PyCodeObject *code, PyObject *function, int unit)
{
    int active = thread->active;
    thread->active = 0;
    callback = Py_NewRef(callback);
    PyObject *answer =
        unit < 0 ? PyObject_CallFunctionObjArgs(callback, (PyObject *)code, function, NULL)
                 : PyObject_CallFunction(callback, "OOi", (PyObject *)code, function, unit * 2);
    Py_DECREF(callback);
    thread->active = active;
    if (answer != NULL && answer != Py_None && answer != Py_False &&
        Py_TYPE(answer) != &suture_point_type) {
        PyErr_Format(PyExc_TypeError, "the frame callback must return a Point or None, not %.100s",
                     Py_TYPE(answer)->tp_name);
        Py_CLEAR(answer);
    }
    return answer;
}

/* Remembers `answer` (borrowed). Answers of old epochs for the same site are dropped. 0, or -1
 * with an error set. */
static int
remember(PyCodeObject *code, int unit, PyObject *context, PyObject *answer)
{
    code_extra *extra = need_extra(code);
    site *made = extra == NULL ? NULL : PyMem_Malloc(sizeof(site));
    if (made == NULL) {
        if (extra != NULL) {
            PyErr_NoMemory();
        }
        return -1;
    }
    site *stale = NULL;
    for (site **at = &extra->sites; *at != NULL;) {
        site *s = *at;
        if (s->epoch != epoch || (s->unit == unit && s->context == context)) {
            *at = s->next;
            s->next = stale;
            stale = s;
        } else {
            at = &s->next;
        }
    }
    *made = (site){
        .next = extra->sites,
        .context = Py_XNewRef(context),
        .point = answer == Py_None ? NULL : Py_NewRef(answer),
        .epoch = epoch,
        .unit = unit,
    };
    extra->sites = made;
    free_sites(stale);
    return 0;
}

/* What suture_site_point says for an answer (borrowed, NULL for None). */
static int
pass_on(PyObject *answer, PyObject **point)
{
    if (answer == Py_False) {
        return 1;
    }
    *point = Py_XNewRef(answer);
    return 0;
}

int
suture_site_point(suture_thread *thread, PyCodeObject *code, PyObject *function, int unit,
                  PyObject **point)
{
    PyObject *callback = unit < 0 ? frame_callback : generator_callback;
    *point = NULL;
    if (callback == NULL) {
        return 0;
    }
    site *known = find_site(find_extra(code), unit, thread->context);
    if (known != NULL) {
        return pass_on(known->point, point);
    }
    PyObject *answer = ask(thread, callback, code, function, unit);
    if (answer == NULL) {
        return -1;
    }
    int found = -1;
    if (remember(code, unit, thread->context, answer) == 0) {
        found = pass_on(answer == Py_None ? NULL : answer, point);
    }
    Py_DECREF(answer);
    return found;
}

/* Replaces a callback (None for none) and makes older answers unknown. Result new: the old one. */
static PyObject *
replace_callback(PyObject **slot, PyObject *callback)
{
    if (callback != Py_None && !PyCallable_Check(callback)) {
        PyErr_SetString(PyExc_TypeError, "a callback must be callable or None");
        return NULL;
    }
    PyObject *before = *slot == NULL ? Py_NewRef(Py_None) : *slot;
    *slot = callback == Py_None ? NULL : Py_NewRef(callback);
    epoch++;
    return before;
}

PyDoc_STRVAR(
    set_frame_callback_doc,
    "set_frame_callback(callback, /)\n--\n\n"
    "callback(code, function) -> Point | None | False, asked once per code object and context.\n"
    "False: the frame and all that it calls run plainly.");

static PyObject *
set_frame_callback(PyObject *Py_UNUSED(module), PyObject *callback)
{
    return replace_callback(&frame_callback, callback);
}

PyDoc_STRVAR(set_generator_callback_doc,
             "set_generator_callback(callback, /)\n--\n\n"
             "callback(code, function, offset) -> Point | None for a generator that is resumed\n"
             "behind the instruction at offset; asked once per code object, offset and context.");

static PyObject *
set_generator_callback(PyObject *Py_UNUSED(module), PyObject *callback)
{
    return replace_callback(&generator_callback, callback);
}

PyDoc_STRVAR(forget_doc, "forget(code, /)\n--\n\nAsk again about frames of this code object.");

static PyObject *
forget(PyObject *Py_UNUSED(module), PyObject *code)
{
    if (!PyCode_Check(code)) {
        PyErr_SetString(PyExc_TypeError, "forget() needs a code object");
        return NULL;
    }
    code_extra *extra = find_extra((PyCodeObject *)code);
    if (extra != NULL) {
        site *sites = extra->sites;
        extra->sites = NULL;
        free_sites(sites);
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(watch_doc,
             "watch(code, context, /)\n--\n\n"
             "Offer resumed generators of this code even outside of compiled code, with this\n"
             "context being current; None ends it. Needs set_frame_permanent(True).");

static PyObject *
watch(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *code, *context;
    if (!PyArg_ParseTuple(args, "O!O:watch", &PyCode_Type, &code, &context)) {
        return NULL;
    }
    code_extra *extra = need_extra((PyCodeObject *)code);
    if (extra == NULL) {
        return NULL;
    }
    Py_XSETREF(extra->watched, context == Py_None ? NULL : Py_NewRef(context));
    Py_RETURN_NONE;
}

PyMethodDef suture_site_methods[] = {
    {"set_frame_callback", set_frame_callback, METH_O, set_frame_callback_doc},
    {"set_generator_callback", set_generator_callback, METH_O, set_generator_callback_doc},
    {"forget", forget, METH_O, forget_doc},
    {"watch", watch, METH_VARARGS, watch_doc},
    {NULL, NULL, 0, NULL},
};

int
suture_sites_init(void)
{
    extra_index = REQUEST_INDEX(free_extra);
    if (extra_index < 0) {
        PyErr_SetString(PyExc_RuntimeError, "no room left for data on code objects");
        return -1;
    }
    return 0;
}
